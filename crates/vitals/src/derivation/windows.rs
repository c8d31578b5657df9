//! Ranges of five-minute windows.

use std::ops::Range;

/// Windows of five minutes, counted from 1970: first (included) to last (excluded).
pub type Windows = Range<i64>;

/// Returns the same windows in order, with those that touch or overlap made one.
pub fn joined(mut windows: Vec<Windows>) -> Vec<Windows> {
    windows.sort_by_key(|windows| windows.start);
    let mut joined: Vec<Windows> = Vec::with_capacity(windows.len());
    for next in windows {
        match joined.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => joined.push(next),
        }
    }
    joined
}

/// Cuts windows in parts that begin at multiples of a length.
pub(super) fn cut(windows: &Windows, length: i64) -> impl Iterator<Item = Windows> + use<> {
    let Windows { start, end } = *windows;
    let first = start.div_euclid(length);
    let last = (end.saturating_add(length - 1)).div_euclid(length);
    (first..last).map(move |part| (part * length).max(start)..((part + 1) * length).min(end))
}

/// Widens windows to multiples of a length.
pub(super) fn widened(windows: &Windows, length: i64) -> Windows {
    windows.start.div_euclid(length) * length..(windows.end + length - 1).div_euclid(length) * length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_joined_cut_and_widened() {
        assert_eq!(joined(vec![11..13, 20..21, 5..6, 10..11]), [5..6, 10..13, 20..21]);
        assert_eq!(cut(&(5..26), 12).collect::<Vec<_>>(), [5..12, 12..24, 24..26]);
        assert_eq!(widened(&(5..13), 12), 0..24);
        assert_eq!(widened(&(-1..12), 12), -12..12);
    }
}
