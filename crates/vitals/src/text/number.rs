//! Cells as decimal text.

use crate::registry::Column;

/// Appends the number of a cell, with no more digits behind the point than it needs.
pub fn push_number(text: &mut Vec<u8>, column: &Column, cell: i32) {
    let mut digits = itoa::Buffer::new();
    let decimals = column.decimals() as usize;
    if decimals == 0 {
        text.extend_from_slice(digits.format(cell).as_bytes());
        return;
    }
    let steps = column.steps_per_unit().unsigned_abs();
    // The sign is written apart: -0.5 has a whole part of 0, which has no sign.
    let magnitude = cell.unsigned_abs();
    if cell < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(digits.format(magnitude / steps).as_bytes());
    let fraction = magnitude % steps;
    if fraction == 0 {
        return;
    }
    text.push(b'.');
    let fraction = digits.format(fraction).as_bytes();
    text.extend(std::iter::repeat_n(b'0', decimals - fraction.len()));
    let significant = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    text.extend_from_slice(&fraction[..significant]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::DataType;

    #[test]
    fn digits_behind_the_point_are_as_few_as_needed() {
        let ecg = DataType::Ecg.column("ecg").unwrap();
        let text = |cell| {
            let mut text = Vec::new();
            push_number(&mut text, ecg, cell);
            String::from_utf8(text).unwrap()
        };
        let cases = [
            (0, "0"),
            (1, "0.001"),
            (-1, "-0.001"),
            (1500, "1.5"),
            (-12_345, "-12.345"),
            (20_000, "20"),
            (1010, "1.01"),
        ];
        for (cell, expected) in cases {
            assert_eq!(text(cell), expected);
        }
    }
}
