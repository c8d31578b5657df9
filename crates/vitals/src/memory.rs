//! How much memory things take that are kept by the million.

/// Returns the memory that a shared text takes by itself, bytes: its characters and two counters.
pub fn bytes_of_text(text: &str) -> usize {
    const COUNTERS: usize = 2 * size_of::<usize>();
    (COUNTERS + text.len()).next_multiple_of(COUNTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_its_characters_and_two_counters() {
        assert_eq!([0, 1, 16, 17].map(|length| bytes_of_text(&"x".repeat(length))), [16, 32, 32, 48]);
    }
}
