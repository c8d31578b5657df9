//! Memory that the parser takes for itself, where no account of ours reaches.
//!
//! It keeps a byte for each bracket that is open in what it steps over, and a copy of each text that has an escape, both
//! in a vector that doubles. Bodies that are not made to be hostile have few of either.

/// Below this, bytes, it is not worth looking.
const SMALL: usize = 64 << 10;

/// Returns the most bytes that the parser takes for a body.
pub(super) fn most_bytes(body: &[u8]) -> usize {
    if body.len() <= SMALL {
        return 0;
    }
    let brackets = count(body, |byte| matches!(byte, b'[' | b'{'));
    // Looked for first: without an escape there is no copy, and finding the longest takes as long as parsing.
    let text = if count(body, |byte| byte == b'\\') > 0 { longest_text(body) } else { 0 };
    2 * brackets.max(text)
}

/// Returns how many bytes are of a kind.
pub(in super::super) fn count(bytes: &[u8], is_counted: impl Fn(u8) -> bool) -> usize {
    // Sums that fit a byte, which the compiler makes vector instructions of.
    const PIECE: usize = 128;
    let of_piece = |piece: &[u8]| piece.iter().map(|byte| u8::from(is_counted(*byte))).sum::<u8>();
    bytes.chunks(PIECE).map(|piece| usize::from(of_piece(piece))).sum()
}

/// Returns the length of the longest text that has an escape.
fn longest_text(body: &[u8]) -> usize {
    let (mut longest, mut at) = (0, 0);
    while let Some(start) = body[at..].iter().position(|byte| *byte == b'"').map(|found| at + found + 1) {
        let (mut end, mut is_escaped) = (start, false);
        while let Some(byte) = body.get(end).filter(|byte| **byte != b'"') {
            let escapes = *byte == b'\\';
            is_escaped |= escapes;
            end += 1 + usize::from(escapes);
        }
        if is_escaped {
            longest = longest.max(end.min(body.len()) - start);
        }
        at = (end + 1).min(body.len());
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_escaped_texts_are_counted() {
        let many = "[".repeat(SMALL + 1);
        assert_eq!(most_bytes(many.as_bytes()), 2 * (SMALL + 1));
        let plain = format!("[\"{}\"]", "x".repeat(2 * SMALL));
        assert_eq!(most_bytes(plain.as_bytes()), 2);
        let escaped = format!("[\"{}\\n\", \"a\\\"b\"]", "x".repeat(2 * SMALL));
        assert_eq!(most_bytes(escaped.as_bytes()), 2 * (2 * SMALL + 2));
        assert_eq!(most_bytes(&escaped.as_bytes()[..SMALL]), 0, "small bodies are not looked at");
        assert_eq!(longest_text(b"\"abc\\"), 4);
        assert_eq!(count(&[1; 1000], |byte| byte == 1), 1000);
    }
}
