"""Public async functions of the types that other crates call, whose futures are not in boxes (see `boxed_futures`)."""

import re

from sources import rust

# The services and databases: each crate above would compile their functions again.
TYPES = {
    "crates/platform/": {"Core", "Data", "Identity", "People", "Upkeep"},
    "crates/store/": {"EventLog", "HealthDb", "Objects", "UsersDb"},
}
BLOCK = re.compile(r"^((?:#\[[^\n]*\]\n)*)impl (\w+) \{", re.M)
FUNCTION = re.compile(r"^    pub async fn (\w+)\(", re.M)


def found(text):
    """(line, type, function) of each in a file, outside of tests."""
    types = next((types for folder, types in TYPES.items() if text.path.startswith(folder)), set())
    code = rust.without_tests(text.code)
    for block in BLOCK.finditer(code):
        if block[2] not in types or "#[boxed_futures]" in block[1]:
            continue
        end = rust.end_of_group(code, block.end() - 1)
        for function in FUNCTION.finditer(code, block.end(), end):
            yield code.count("\n", 0, function.start()) + 1, block[2], function[1]
