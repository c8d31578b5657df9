//! Arrays of integers, which is what nearly all of a sync with waveforms is.

/// Digits that a number may have: each of those fits 64 bits.
const MOST_DIGITS: usize = 18;

/// Hands on each element of an array of integers and nulls, in order. `array` is the text of one JSON value.
///
/// Answers whether all was handed on. When not, the array holds something else, which the parser must report; what was
/// handed on until then means nothing. The parser asks of each element what it is, which takes several times as long.
pub(super) fn for_each(array: &str, mut take: impl FnMut(Option<i64>)) -> bool {
    let Some(elements) = array.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    let bytes = elements.trim_ascii().as_bytes();
    let mut at = 0;
    loop {
        let is_negative = bytes.get(at) == Some(&b'-');
        at += usize::from(is_negative);
        let start = at;
        let mut number = 0_i64;
        while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
            at += 1;
        }
        match at - start {
            0 if bytes[at..].starts_with(b"null") && !is_negative => {
                take(None);
                at += b"null".len();
            }
            1..=MOST_DIGITS => take(Some(if is_negative { -number } else { number })),
            _ => return false,
        }
        match bytes.get(at) {
            None => return true,
            Some(b',') => at += 1,
            Some(_) => return false,
        }
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(array: &str) -> Option<Vec<Option<i64>>> {
        let mut numbers = Vec::new();
        for_each(array, |number| numbers.push(number)).then_some(numbers)
    }

    #[test]
    fn what_is_no_integer_is_left_to_the_parser() {
        for other in [
            "",
            "1",
            "[]",
            "[ ]",
            "[",
            "{}",
            "[1.5]",
            "[1e3]",
            "[1,2.0]",
            "[true]",
            "[\"1\"]",
            "[1,[2]]",
            "[1,\"]\"]",
            "[1234567890123456789]",
            "[1 ,2]",
            "[-]",
            "[1,]",
            "[nul]",
            "[null1]",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(
            read("[-0,null,\n\t 999999999999999999 ]"),
            Some(vec![Some(0), None, Some(999_999_999_999_999_999)])
        );
    }

    proptest! {
        #[test]
        fn numbers_and_nulls_are_read_as_the_parser_reads_them(
            numbers in prop::collection::vec(prop::option::of(-999_999_999_999_999_999_i64..=999_999_999_999_999_999), 1..50),
            is_pretty: bool,
        ) {
            let text = if is_pretty { serde_json::to_string_pretty(&numbers) } else { serde_json::to_string(&numbers) };
            prop_assert_eq!(read(&text.unwrap()), Some(numbers));
        }
    }
}
