"""Public functions that take an identifier as a text, and public fields that hold one as a text: text becomes an identifier
once, where it comes in, and an identifier becomes text once, where it goes out."""

import re

from sources import functions, rust

CRATES = re.compile(r"(^|/)crates/(store|platform|api|vitals|pulseward)/src/")
PUBLIC = re.compile(r"\bpub\s+((const|async|unsafe)\s+)*$")
# The last words of names that identifiers have.
IDENTIFIER = re.compile(
    r"(^|_)(id|ids|uuid|uuids|patient|patients|account|accounts|user|owner|researcher|group|groups|group_code|customer_code"
    r"|serial|serial_number|bracelet|attachment|subject|kind|client|consent|session|sessions|family|login|node|export|exports"
    r"|entity|action|action_code|action_type|hold|setting|derivation|key|keys|kid|epoch|code|codes|voucher|rows_of|lines?)$"
)
PUBLIC_STRUCT = re.compile(r"\bpub\s+struct\s+(\w+)[^;{(]*\{")
PUBLIC_FIELD = re.compile(r"\bpub\s+(\w+)\s*:\s*([^,\n}]+)")
TEXT = re.compile(r"\b(str|String)\b")
# A function that is handed over, or a table, is no identifier.
NO_VALUE = re.compile(r"\b(Fn|FnMut|FnOnce|fn)\b|\b(Hash|BTree)?Map\b")
# (end of the path, argument or field) -> why it is a text there: this is the edge itself, or no identifier in spite of its name.
ALLOWED = {
    ("api/src/parameters.rs", "key"): "the name of a query parameter",
    ("api/src/error.rs", "code"): "the code of an error, which names no thing",
    ("platform/src/core/audit.rs", "code"): "the text that is looked up among the actions, as `parse` does",
    ("platform/src/core/person.rs", "external_patient_id"): "words of a researcher about a person, by which nothing is found",
    ("platform/src/people/profile.rs", "external_patient_id"): "the same words",
    ("platform/src/data/portal/board_row.rs", "external_id"): "the same words",
    ("platform/src/identity/portal/account.rs", "code"): "six digits or a recovery code, which prove somebody and name nobody",
    ("platform/src/upkeep/audit/checkpoint.rs", "public_key"): "the key itself",
    ("platform/src/upkeep/audit/verify.rs", "public_key"): "the key itself, before its identifier",
    ("store/src/audit_entry.rs", "kind"): "a name as entries hold it, also those of other versions of the program",
    ("store/src/audit_entry.rs", "action_type"): "a code as entries hold it, also those of other versions of the program",
    ("store/src/users/audit_link.rs", "action_type"): "the same",
    ("store/src/health/jobs.rs", "kind"): "a kind as rows hold it, also those of other versions of the program",
    ("store/src/objects/s3.rs", "access_key_id"): "a setting that goes to the service as it is",
    ("store/src/objects/s3.rs", "secret_access_key"): "a secret",
    ("vitals/src/alarms/rule.rs", "id"): "a word of the profile; nothing uses alarm rules yet",
    ("vitals/src/derivation/declaration.rs", "id"): "the declaration, from which the name is taken",
    ("platform/src/identity/api_keys.rs", "api_key"): "a secret that a client presents; the key's id is found by its hash",
}


def found(text):
    """(line, function, argument) of each identifier that a public function takes as a text."""
    if not CRATES.search(text.path) or not text.path.endswith(".rs"):
        return []
    return [(line, name, of) for line, name, of, _ in all_of(text) if not is_allowed(text.path, of)]


def all_of(text):
    yield from fields_of(text)
    for code, start, name, arguments in functions.rust_functions(text):
        if not PUBLIC.search(code, 0, start):
            continue
        for argument in arguments:
            of, _, kind = argument.partition(":")
            of = of.replace("mut ", "").strip().strip("_")
            if IDENTIFIER.search(of) and TEXT.search(kind) and not NO_VALUE.search(kind):
                yield code.count("\n", 0, start) + 1, name, of, kind


def fields_of(text):
    """Public fields of public structs: one that everybody may read is handed on like an argument."""
    code = rust.without_tests(text.code)
    for found_struct in PUBLIC_STRUCT.finditer(code):
        end = rust.end_of_group(code, found_struct.end() - 1) - 1
        for field in PUBLIC_FIELD.finditer(code, found_struct.end(), end):
            of, kind = field[1], field[2]
            if IDENTIFIER.search(of) and TEXT.search(kind) and not NO_VALUE.search(kind):
                yield code.count("\n", 0, field.start()) + 1, found_struct[1], of, kind


def is_allowed(path, argument):
    return any(path.endswith(end) and argument == of for end, of in ALLOWED)


def unused(sources):
    """Allowances that nothing needs any more."""
    needed = {(end, of) for text in sources.values() if CRATES.search(text.path) and text.path.endswith(".rs")
              for _, _, of, _ in all_of(text) for end, allowed in ALLOWED if allowed == of and text.path.endswith(end)}
    return sorted(set(ALLOWED) - needed)
