"""The shapes that a sample passes, as ARCHITECTURE.md lists them: each is a type of the sources, and so is each carrier."""

import re

from sources import rust

DOCUMENT = "ARCHITECTURE.md"
HEADING = "### The shapes of a sample"
TEXT = "the text"
CARRIERS = "Carriers:"
NAME = re.compile(r"`(\w+)`")
TYPE = re.compile(r"\b(?:struct|enum)\s+(\w+)|^\s*///.*\n\s*(\w+), DataType::", re.M)
CRATES = re.compile(r"(^|/)crates/(store|platform|api|vitals)/src/")


def section(document):
    """The section of the shapes, up to the next heading."""
    _, _, rest = document.partition(HEADING)
    return re.split(r"^##", rest, maxsplit=1, flags=re.M)[0]


def listed(document):
    """({way: [shapes of each step]}, carriers). A step that is one of several types names them all."""
    text = section(document)
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    ways = {way: [steps_of(step) for step in steps.split("→")] for way, steps in (row for row in rows[2:] if len(row) == 2)}
    lines = [line for line in re.split(r"\n\s*\n", text) if line.strip().startswith(CARRIERS)]
    return ways, [name for line in lines for name in NAME.findall(line)]


def steps_of(step):
    return NAME.findall(step) or ([TEXT] if step.strip() == TEXT else [])


def faults(sources, ways, carriers):
    """What is wrong with the list: what no type is, what is on both lists, a step that names nothing, a way without text."""
    types = {name for text in sources.values() if CRATES.search(text.path) and text.path.endswith(".rs")
             for found in TYPE.findall(rust.without_tests(text.code)) for name in found if name}
    shapes = {name for way in ways.values() for step in way for name in step} - {TEXT}
    found = [f"{name} is no type" for name in sorted((shapes | set(carriers)) - types)]
    found += [f"{name} is a shape and a carrier" for name in sorted(shapes & set(carriers))]
    for way, steps in ways.items():
        found += [f"a step of {way} names nothing"] * steps.count([])
        if steps[:1] != [[TEXT]] or steps[-1:] != [[TEXT]]:
            found.append(f"{way} does not begin and end with {TEXT}")
    return found
