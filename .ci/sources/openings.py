"""How documentation begins: a first line that asks (`What the row holds`) is read twice before it is understood."""

import re

FIRST_LINE = re.compile(r"^[ \t]*(//[/!])(?!/)[ \t]?(.*)$", re.M)
QUESTION = re.compile(r"(?:What|How|Who|Whether|Which|Where|When|Why|Until when|Since when)\b")


def of(raw):
    """First lines of the documentation of a Rust file."""
    end_of_last = None
    for found in FIRST_LINE.finditer(raw):
        is_continued = end_of_last == (found.start(), found[1])
        end_of_last = (found.end() + 1, found[1])
        if not is_continued:
            yield found[2]


def counts(sources):
    """First lines that ask, and all."""
    lines = [line for path, source in sources.items() if path.endswith(".rs") for line in of(source.raw)]
    return sum(bool(QUESTION.match(line)) for line in lines), len(lines)
