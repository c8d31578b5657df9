"""Functions with more arguments than a reader keeps in mind, or with a bare `bool` among others."""

import re

from sources import rust

RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)\s*(?=[<(])")
TYPESCRIPT_FUNCTION = re.compile(r"\bfunction\s+(\w+)\s*(?=[<(])|\bconst\s+(\w+)\s*=\s*(?:async\s*)?(?=\([^()]*\)\s*(?::[^=;]*)?=>)")
RECEIVER = re.compile(r"&?\s*('\w+\s+)?(mut\s+)?self\b")
# In TypeScript the type of an argument may be left to its default.
BOOL = re.compile(r":\s*(bool|boolean)\s*(=.*)?$|^\w+\s*=\s*(true|false)$")


def split_arguments(text):
    parts, depth, start = [], 0, 0
    text = text.replace("->", "  ").replace("=>", "  ")
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def functions(text):
    """(line, name, arguments without the receiver) of each function of a file outside of tests."""
    is_rust = text.path.endswith(".rs")
    each = rust_functions(text) if is_rust else functions_of(text.code, TYPESCRIPT_FUNCTION)
    for code, start, name, arguments in each:
        yield code.count("\n", 0, start) + 1, name, arguments


def rust_functions(text):
    """(code outside of tests, where it begins there, name, arguments without the receiver) of each function."""
    return functions_of(rust.without_tests(text.code), RUST_FUNCTION)


def functions_of(code, pattern):
    for found in pattern.finditer(code):
        start = code.find("(", found.end()) if code[found.end()] != "<" else after_generics(code, found.end())
        end = rust.end_of_group(code, start)
        arguments = [a for a in split_arguments(code[start + 1:end - 1]) if not RECEIVER.match(a)]
        yield code, found.start(), found[1] or found[found.lastindex], arguments


def after_generics(code, start):
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "<") - (code[at] == ">" and code[at - 1] not in "-=")
        if depth == 0:
            return code.find("(", at)
    return start


def with_many_arguments(text, most):
    return [(line, name, len(arguments)) for line, name, arguments in functions(text) if len(arguments) > most]


def with_bare_bools(text):
    found = []
    for line, name, arguments in functions(text):
        flags = [a for a in arguments if BOOL.search(a)]
        if flags and len(arguments) > 1:
            found.append((line, name, [re.split("[:=]", flag)[0].strip() for flag in flags]))
    return found
