//! Parts of a file that are generated, between lines that stay.

/// Returns a text with another part between two lines that stay; the part ends with the end of a line.
pub(super) fn with_part(text: &str, begin: &str, end: &str, part: &str) -> String {
    let (head, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no line {begin:?}"));
    let (_, tail) = rest.split_once(end).unwrap_or_else(|| panic!("no line {end:?}"));
    format!("{head}{begin}{part}{end}{tail}")
}
