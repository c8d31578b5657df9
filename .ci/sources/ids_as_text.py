"""Public functions that take an identifier as a text: text becomes an identifier once, where it comes in."""

import re

from sources import functions

CRATES = re.compile(r"(^|/)crates/(store|platform|api|vitals|pulseward)/src/")
PUBLIC = re.compile(r"\bpub\s+((const|async|unsafe)\s+)*$")
# The last words of names that identifiers have.
IDENTIFIER = re.compile(
    r"(^|_)(id|ids|uuid|uuids|patient|patients|account|accounts|user|owner|researcher|group|groups|group_code|customer_code"
    r"|serial|serial_number|bracelet|attachment|subject|kind|client|consent|session|sessions|family|login|node|export|exports"
    r"|entity|action|action_code|hold|setting|derivation|key|keys)$"
)
TEXT = re.compile(r"\b(str|String)\b")
# A function that is handed over, or a table, is no identifier.
NO_VALUE = re.compile(r"\b(Fn|FnMut|FnOnce|fn)\b|\b(Hash|BTree)?Map\b")
# (end of the path, argument) -> why it is a text there: this is the edge itself, or no identifier in spite of its name.
ALLOWED = {
    ("api/src/parameters.rs", "key"): "the name of a query parameter",
    ("platform/src/identity/api_keys.rs", "api_key"): "a secret that a client presents; the key's id is found by its hash",
}


def found(text):
    """(line, function, argument) of each identifier that a public function takes as a text."""
    if not CRATES.search(text.path) or not text.path.endswith(".rs"):
        return []
    return [(line, name, of) for line, name, of, _ in all_of(text) if not is_allowed(text.path, of)]


def all_of(text):
    for code, start, name, arguments in functions.rust_functions(text):
        if not PUBLIC.search(code, 0, start):
            continue
        for argument in arguments:
            of, _, kind = argument.partition(":")
            of = of.replace("mut ", "").strip().strip("_")
            if IDENTIFIER.search(of) and TEXT.search(kind) and not NO_VALUE.search(kind):
                yield code.count("\n", 0, start) + 1, name, of, kind


def is_allowed(path, argument):
    return any(path.endswith(end) and argument == of for end, of in ALLOWED)


def unused(sources):
    """Allowances that nothing needs any more."""
    needed = {(end, of) for text in sources.values() if CRATES.search(text.path) and text.path.endswith(".rs")
              for _, _, of, _ in all_of(text) for end, allowed in ALLOWED if allowed == of and text.path.endswith(end)}
    return sorted(set(ALLOWED) - needed)
