//! `sync_json.dict` and `sync_arrow.dict`: the words of the fuzzers that are names of types, columns, kinds of tests and units.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use vitals::registry::{Declaration, TestKind};

const END: &str = "# Other texts\n";

/// Of the JSON of a sync, where names are keys.
pub(super) fn of_json(types: &[&Declaration], dictionary: &str) -> String {
    let mut text = String::new();
    for opening in ["{", "[{"] {
        for one in types {
            push_word(&mut text, &format!("\"{}\":{opening}", one.name));
        }
    }
    text.push_str("# Columns\n");
    for name in columns(types) {
        push_word(&mut text, &format!("\"{name}\":"));
    }
    text.push_str("# Kinds of tests and their units\n");
    for name in tests_and_units() {
        push_word(&mut text, &format!("\"{name}\""));
    }
    super::part::with_part(dictionary, "# Data types\n", END, &text)
}

/// Of Arrow streams, whose type is in the address.
pub(super) fn of_arrow(types: &[&Declaration], dictionary: &str) -> String {
    let mut text = String::new();
    for name in columns(types) {
        push_word(&mut text, name);
    }
    text.push_str("# Kinds of tests and their units\n");
    for name in tests_and_units() {
        push_word(&mut text, name);
    }
    super::part::with_part(dictionary, "# Columns\n", END, &text)
}

fn columns(types: &[&Declaration]) -> Vec<&'static str> {
    once_each(types.iter().flat_map(|one| one.columns).map(|column| column.name))
}

fn tests_and_units() -> Vec<&'static str> {
    once_each(TestKind::ALL.iter().flat_map(|kind| [kind.name].into_iter().chain(kind.units.iter().map(|unit| unit.0))))
}

fn once_each(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// A word as the fuzzer reads it: bytes beyond ASCII and quotes by escapes.
fn push_word(text: &mut String, word: &str) {
    text.push('"');
    for byte in word.bytes() {
        match byte {
            b'"' => text.push_str("\\\""),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push_str("\"\n");
}
