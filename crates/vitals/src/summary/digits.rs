//! Writes numbers as JSON, faster than a formatter would: answers with slots are hundreds of megabytes of them.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Writes a number below 100 with two digits.
pub(super) fn put_two(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&PAIRS[value * 2..value * 2 + 2]);
}

/// Writes an integer.
pub(super) fn put_unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    // Two digits at a time halve the divisions, which are what formatting costs.
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[value as usize * 2..value as usize * 2 + 2]);
    } else {
        start -= 1;
        digits[start] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Writes an integer that may be below zero.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    put_unsigned(out, value.unsigned_abs());
}

/// Writes a number given in hundredths, without zeros at its end: 7250 is `72.5`.
pub(super) fn put_hundredths(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    let value = value.unsigned_abs();
    put_unsigned(out, value / 100);
    let fraction = (value % 100) as usize;
    if fraction == 0 {
        return;
    }
    out.push(b'.');
    if fraction.is_multiple_of(10) {
        out.push(b'0' + (fraction / 10) as u8);
    } else {
        put_two(out, fraction);
    }
}

/// Writes a number given in hundredths, or `null`.
pub(super) fn put_hundredths_or_null(out: &mut Vec<u8>, value: Option<i64>) {
    match value {
        Some(value) => put_hundredths(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// Writes an integer, or `null`.
pub(super) fn put_unsigned_or_null(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => put_unsigned(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_the_standard_formatter_writes_them(unsigned: u64, signed: i64, hundredths in -1_000_000_i64..1_000_000) {
            prop_assert_eq!(written(|out| put_unsigned(out, unsigned)), unsigned.to_string());
            prop_assert_eq!(written(|out| put_unsigned(out, unsigned % 1000)), (unsigned % 1000).to_string());
            prop_assert_eq!(written(|out| put_signed(out, signed)), signed.to_string());
            prop_assert_eq!(written(|out| put_hundredths(out, hundredths)), (hundredths as f64 / 100.0).to_string());
        }
    }
}
