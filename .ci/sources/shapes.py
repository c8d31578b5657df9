"""The shapes that a sample passes, as ARCHITECTURE.md lists them: each is a type of the sources, and so is each carrier.

A function that takes a shape or a carrier and answers a type of ours has made something of a sample. What it makes is on a
way, a carrier, or a part: a form that nobody has counted is found that way.
"""

import re

from sources import functions, rust

DOCUMENT = "ARCHITECTURE.md"
HEADING = "### The shapes of a sample"
TEXT = "the text"
CARRIERS = "Carriers"
PARTS = "Parts"
NAME = re.compile(r"`(\w+)`")
TYPE = re.compile(r"\b(?:struct|enum)\s+(\w+)|^\s*///.*\n\s*(\w+), DataType::", re.M)
CRATES = re.compile(r"(^|/)crates/(store|platform|api|vitals)/src/")
# Where samples and what is derived of them are handled. Alarm rules are left out, because nothing uses them yet.
OF_SAMPLES = re.compile(
    r"(^|/)crates/(vitals/src/(?!alarms/)|store/src/(health|segment|columnar)/|platform/src/data/"
    r"|api/src/(health_cloud|integration|portal|raw_rows|days))"
)
OF_TESTS = re.compile(r"(^|/)(tests|contract)/|(^|/)(tests|[^/]*_tests)\.rs$")
IMPL = re.compile(r"\bimpl(?:<[^{]*?>)?\s+(?:[\w:<>', ]+\s+for\s+)?(?:\w+::)*(\w+)")
RECEIVER = re.compile(r"\(\s*&?\s*(?:'\w+\s+)?(?:mut\s+)?self\b")
STRUCT = re.compile(r"\bstruct\s+(\w+)\s*(<[^>]*>)?")
ENUM = re.compile(r"\benum\s+(\w+)\s*(<[^>]*>)?\s*\{")


def section(document):
    """The section of the shapes, up to the next heading."""
    _, _, rest = document.partition(HEADING)
    return re.split(r"^##", rest, maxsplit=1, flags=re.M)[0]


def listed(document):
    """({way: [shapes of each step]}, carriers, parts). A step that is one of several types names them all."""
    text = section(document)
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    ways = {way: [steps_of(step) for step in steps.split("→")] for way, steps in (row for row in rows[2:] if len(row) == 2)}
    return ways, named_in(text, CARRIERS), named_in(text, PARTS)


def named_in(text, beginning):
    """The names in the paragraph that begins so."""
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip().startswith(beginning)]
    return [name for paragraph in paragraphs for name in NAME.findall(paragraph)]


def steps_of(step):
    return NAME.findall(step) or ([TEXT] if step.strip() == TEXT else [])


def faults(sources, ways, carriers, parts):
    """What is wrong with the list: what no type is, what is on two lists, a step that names nothing, a way without text,
    and what functions make of a sample that is on none."""
    types = {name for text in sources.values() if CRATES.search(text.path) and text.path.endswith(".rs")
             for found in TYPE.findall(rust.without_tests(text.code)) for name in found if name}
    shapes = {name for way in ways.values() for step in way for name in step} - {TEXT}
    found = [f"{name} is no type" for name in sorted((shapes | set(carriers) | set(parts)) - types)]
    found += [f"{name} is a shape and a carrier" for name in sorted(shapes & set(carriers))]
    found += [f"{name} is a part and more than that" for name in sorted((shapes | set(carriers)) & set(parts))]
    for way, steps in ways.items():
        found += [f"a step of {way} names nothing"] * steps.count([])
        if steps[:1] != [[TEXT]] or steps[-1:] != [[TEXT]]:
            found.append(f"{way} does not begin and end with {TEXT}")
    made = made_of(sources, shapes | set(carriers))
    found += [f"{name} is made of a sample and is on no list: {where}" for name, where in sorted(made.items())
              if name not in shapes | set(carriers) | set(parts)]
    needed = set(made) | shapes | set(carriers)
    found += [f"nothing makes the part {name}" for name in sorted(set(parts) & types - needed)]
    return found


def made_of(sources, shapes):
    """{type that owns something: where} of what functions make of shapes and answer."""
    counted = [text for path, text in sources.items() if OF_SAMPLES.search(path) and path.endswith(".rs") and not OF_TESTS.search(path)]
    owned = {name for text in counted for name in owning_types(rust.without_tests(text.code))}
    found = {}
    for text in counted:
        code = rust.without_tests(text.code)
        impls = [(each.start(), each[1]) for each in IMPL.finditer(code)]
        for _, start, name, arguments in functions.rust_functions(text):
            head = re.split(r"[{;]", code[start:], maxsplit=1)[0]
            if "->" not in head:
                continue
            own = next((of for at, of in reversed(impls) if at < start), "")
            taken = set(re.findall(r"\w+", " ".join(arguments).replace("Self", own))) | ({own} if RECEIVER.search(head) else set())
            if taken & shapes:
                answered = re.findall(r"\b[A-Z]\w+", head.rsplit("->", 1)[1].replace("Self", own))
                for made in owned & set(answered):
                    found.setdefault(made, f"{text.path} {name}")
    return found


def owning_types(code):
    """Structs and enums that hold something and borrow nothing. An enum of bare names says which, and not what."""
    for name, generics in STRUCT.findall(code):
        if "'" not in generics:
            yield name
    for found in ENUM.finditer(code):
        body = code[found.end():rust.end_of_group(code, found.end() - 1)]
        if "'" not in (found[2] or "") and re.search(r"\w\s*[({]", re.sub(r"#\s*\[[^\]]*\]", "", body)):
            yield found[1]
