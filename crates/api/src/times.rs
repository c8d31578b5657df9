//! Times as the answers write them.

use jiff::Timestamp;
use jiff::tz::Offset;

/// ISO 8601 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`.
pub fn iso_ms(time_ms: i64) -> String {
    let timestamp = Timestamp::from_millisecond(time_ms).unwrap_or_default();
    let time = Offset::UTC.to_datetime(timestamp);
    let numbers = [
        (i64::from(time.year()), 4, '-'),
        (i64::from(time.month()), 2, '-'),
        (i64::from(time.day()), 2, 'T'),
        (i64::from(time.hour()), 2, ':'),
        (i64::from(time.minute()), 2, ':'),
        (i64::from(time.second()), 2, '.'),
        (i64::from(time.millisecond()), 3, 'Z'),
    ];
    // Digit by digit: a list of thousands has one of these in each row, and the general formatter takes ten times
    // as long.
    let mut text = String::with_capacity(24);
    for (number, digits, end) in numbers {
        for place in (0..digits).rev() {
            let digit = number.div_euclid(10_i64.pow(place)).rem_euclid(10);
            text.push(char::from(b'0' + digit as u8));
        }
        text.push(end);
    }
    text
}

/// Date and time without a zone, such as `2026-01-31 12:00:00`: of UTC, or of the clock that the time was taken from.
pub fn plain_seconds(time_ms: i64) -> String {
    let mut text = iso_ms(time_ms);
    text.truncate(19);
    text.replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_always_written() {
        assert_eq!(iso_ms(1_763_600_000_000), "2025-11-20T00:53:20.000Z");
        assert_eq!(iso_ms(1_763_600_000_007), "2025-11-20T00:53:20.007Z");
        assert_eq!(iso_ms(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(plain_seconds(1_763_600_000_999), "2025-11-20 00:53:20");
    }
}
