//! What is checked of texts in more than one service.

use std::ops::Range;

use serde_json::Value;

use crate::core::error::{FieldFaults, PlatformError, Result};

/// Longest e-mail address, in characters.
const LONGEST_EMAIL: usize = 254;

/// Returns whether a character is blank as ECMA-262 has it in patterns, which the OpenAPI document states as `\s`: also one
/// of no width.
pub(crate) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

/// Returns whether a text shows nothing.
pub(crate) fn is_all_blank(text: &str) -> bool {
    text.chars().all(is_blank)
}

/// Returns a name; `None` of blanks alone, which are none.
pub(crate) fn named(text: String) -> Option<String> {
    Some(text).filter(|text| !is_all_blank(text))
}

/// Returns a text without blanks around it.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Returns whether a text is a line that shows something: with so many characters at most besides blanks around it.
pub(crate) fn is_short_line(text: &str, longest: usize) -> bool {
    let text = trimmed(text);
    (1..=longest).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

/// Returns an e-mail as it is stored and looked up: trimmed, in lower case. Invalid when it cannot be one.
pub(crate) fn clean_email(email: &str) -> Result<String> {
    let email = email.trim();
    let clean = email.to_lowercase();
    let fits = match clean.split_once('@') {
        Some((local, domain)) => !local.is_empty() && !domain.is_empty() && !domain.contains('@'),
        None => false,
    };
    // The longest path of RFC 5321 has 254 bytes, of which characters are what a schema can count. Whether the address
    // exists, only a message to it could say.
    let is_short = email.chars().count() <= LONGEST_EMAIL;
    if !fits || !is_short || clean.chars().any(|letter| is_blank(letter) || letter.is_control()) {
        return Err(PlatformError::invalid("email", "must be an e-mail address"));
    }
    Ok(clean)
}

/// Returns what is wrong of an e-mail, as of the field `email`.
pub fn email_faults(email: &str) -> FieldFaults {
    faults_of(clean_email(email))
}

/// Returns what a check has found wrong.
pub(crate) fn faults_of<T>(checked: Result<T>) -> FieldFaults {
    match checked {
        Err(PlatformError::Invalid(faults)) => faults,
        _ => FieldFaults::new(),
    }
}

/// Returns the integer that a JSON value is. A fraction of zeros is none, as JSON Schema has it: some languages write 1 as 1.0.
pub fn integer_of(value: &Value) -> Option<i64> {
    // Bounds of i64; the upper one is the first number that is too large.
    const NUMBERS: Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    let whole = |number: &f64| number.fract() == 0.0 && NUMBERS.contains(number);
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|number| number as i64))
}

/// Returns names as a sentence has them: `a, b or c`.
pub fn alternatives<'name>(names: impl IntoIterator<Item = &'name str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Returns what is wrong of names that are not known: which they are, and which there are.
pub fn unknown_names<'name>(unknown: &[&str], known: impl IntoIterator<Item = &'name str>) -> String {
    format!("unknown: {}; must be {}", unknown.join(", "), alternatives(known))
}

/// Notes what is not valid of a field.
pub(crate) fn note(errors: &mut FieldFaults, field: &str, message: &str) {
    errors.entry(field.to_owned()).or_default().push(message.to_owned());
}

/// Invalid when anything was found wrong.
pub(crate) fn refuse(faults: FieldFaults) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(PlatformError::Invalid(faults)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn number_without_a_fraction_is_an_integer_however_it_is_written() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!(-0.0), Some(0)),
            (json!(-1e3), Some(-1000)),
            (json!(i64::MAX), Some(i64::MAX)),
            (json!(i64::MIN as f64), Some(i64::MIN)),
            (json!(i64::MAX as f64), None),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!(7.5), None),
            (json!("7"), None),
            (json!(true), None),
            (json!(null), None),
        ] {
            assert_eq!(integer_of(&value), expected, "{value}");
        }
    }

    #[test]
    fn unknown_names_come_with_the_known_ones() {
        assert_eq!(unknown_names(&["x", "y"], ["a", "b", "c"]), "unknown: x, y; must be a, b or c");
        assert_eq!(alternatives(["a"]), "a");
    }
}
