//! Fields of a body that there are not: refused with the nearest name, or ignored and named in a header.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderName;
use platform::alternatives;

/// Header that names the fields of a body which were ignored.
pub(crate) const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-ignored-fields");

/// Fields that are named at most: a body can have thousands.
const MOST_NAMED: usize = 20;
/// Characters of a name that are repeated and compared.
const LONGEST_NAME: usize = 64;

/// Fields of a request's body that were ignored, for the header of its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoredFields(Arc<Mutex<Vec<String>>>);

impl IgnoredFields {
    /// Keeps the names.
    pub(crate) fn set(&self, names: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Returns the value of the header; `None` when nothing was ignored.
    pub(crate) fn header_value(&self) -> Option<String> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<String> = names.iter().take(MOST_NAMED).map(|name| in_header(name)).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

/// Returns a name as a header may have it: anything but letters, digits, `_`, `-`, `.`, `[` and `]` in percent encoding.
fn in_header(name: &str) -> String {
    let mut text = String::new();
    for byte in shortened(name).bytes() {
        if byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    text
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Returns the faults of the fields that there are not, each with what might have been meant among `known`.
pub(crate) fn faults(unknown: &[String], known: &[String]) -> Vec<(String, String)> {
    let fault = |name: &String| {
        let name = shortened(name);
        let message = format!("is no field here{}", meant(&name, known.iter().map(String::as_str)));
        (name, message)
    };
    unknown.iter().take(MOST_NAMED).map(fault).collect()
}

/// Returns what might have been meant by a name that is none of the known ones, as the end of a sentence: the nearest of them, or
/// all where none is near.
pub(crate) fn meant<'known>(name: &str, known: impl Iterator<Item = &'known str> + Clone) -> String {
    let name = shortened(name);
    let nearest = known.clone().map(|known| (distance(&name, known), known)).min();
    match nearest {
        // A typo, or another way to write it: what is further away is none.
        Some((away, known)) if away <= known.chars().count().div_ceil(2) => format!("; did you mean {known}?"),
        _ => format!(": must be {}", alternatives(known)),
    }
}

/// Returns as much of a name as is repeated.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// Returns how many letters have to be added, left out or exchanged to make one word of another. Capitals, blanks and
/// hyphens do not count: `firstName` is `first_name` with one letter left out.
fn distance(one: &str, other: &str) -> usize {
    let letters = |word: &str| -> Vec<char> {
        word.chars().map(|letter| if " -".contains(letter) { '_' } else { letter.to_ascii_lowercase() }).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, second) in other.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != second);
            diagonal = row[column + 1];
            row[column + 1] = exchanged.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_nearest_name_is_proposed_and_all_where_none_is_near() {
        let known = names(&["first_name", "last_name", "email", "height"]);
        for (unknown, near) in
            [("firstName", "first_name"), ("e-mail", "email"), ("HEIGHT", "height"), ("lastname", "last_name")]
        {
            let expected = format!("is no field here; did you mean {near}?");
            assert_eq!(faults(&names(&[unknown]), &known), [(unknown.to_owned(), expected)]);
        }
        let none = "is no field here: must be first_name, last_name, email or height";
        assert_eq!(faults(&names(&["__proto__"]), &known)[0].1, none);
    }

    #[test]
    fn long_and_many_names_are_cut_and_headers_are_ascii() {
        let many: Vec<String> = (0..1000).map(|at| format!("{at}{}", "x".repeat(10_000))).collect();
        let shown = faults(&many, &names(&["a"]));
        assert!(shown.len() == MOST_NAMED && shown.iter().all(|(name, _)| name.len() == LONGEST_NAME));
        let ignored = IgnoredFields::default();
        assert_eq!(ignored.header_value(), None);
        ignored.set(many);
        assert!(ignored.header_value().is_some_and(|value| value.len() < MOST_NAMED * (LONGEST_NAME + 2)));
        ignored.set(names(&["größe", "a,b", "fields[]", "\n"]));
        assert_eq!(ignored.header_value().as_deref(), Some("gr%C3%B6%C3%9Fe, a%2Cb, fields[], %0A"));
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (one, other, away) in
            [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("a b", "A-B", 0), ("flaw", "lawn", 2)]
        {
            assert_eq!(distance(one, other), away, "{one} {other}");
        }
    }
}
