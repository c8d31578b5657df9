//! Times as the answers write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use vitals::zone::LocalDay;

/// ISO 8601 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`.
pub fn iso_ms(time_ms: i64) -> String {
    // Times in the store were checked when they came; the default is for none of them.
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

/// Milliseconds of a local clock since 1970-01-01T00:00, from a date and time without zone; none when it is something
/// else.
pub fn local_ms(text: &str) -> Option<i64> {
    let text = text.trim();
    // A zone on a local time would be ignored silently, and the range would be hours off.
    let has_zone = text.ends_with(['Z', 'z']) || text.get(10..).is_none_or(|time| time.contains(['+', '-', '[']));
    let local: DateTime = text.parse().ok().filter(|_| !has_zone && text.len() > 10)?;
    let of_day_ms = i64::from(local.hour()) * 3_600_000
        + i64::from(local.minute()) * 60_000
        + i64::from(local.second()) * 1000
        + i64::from(local.millisecond());
    Some(i64::from(LocalDay::from_date(local.date()).0) * 86_400_000 + of_day_ms)
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

    #[test]
    fn local_times_have_no_zone() {
        assert_eq!(local_ms("2025-11-20T00:53:20.007"), Some(1_763_600_000_007));
        assert_eq!(local_ms("2025-11-20T00:53:20"), Some(1_763_600_000_000));
        for other in
            ["", "2025-11-20", "2025-11-20T00:53:20Z", "2025-11-20T00:53:20+01:00", "yesterday", "2025-13-01T00:00"]
        {
            assert_eq!(local_ms(other), None, "{other}");
        }
    }
}
