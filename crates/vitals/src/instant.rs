//! Times as texts: ISO 8601 with an offset from UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;

/// Returns the time that a text represents; `None` when it is no ISO 8601 date and time with an offset.
///
/// The calendar ends with the year 9999 and [`Timestamp`] a day earlier, so that 9999-12-31, which programs write for "no
/// end", is no timestamp: such a time becomes the nearest that there is.
pub fn parse(text: &str) -> Option<Timestamp> {
    if let Ok(timestamp) = text.parse() {
        return Some(timestamp);
    }
    let pieces = Pieces::parse(text).ok()?;
    // A zone in brackets may contradict the offset, and was refused for it above.
    let offset = pieces.to_numeric_offset().filter(|_| pieces.time_zone_annotation().is_none())?;
    let local = DateTime::from_parts(pieces.date(), pieces.time()?);
    let furthest = if local.year() > 0 { Timestamp::MAX } else { Timestamp::MIN };
    Some(offset.to_timestamp(local).unwrap_or(furthest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_at_the_end_of_the_calendar_are_the_last_there_is() {
        for text in ["9999-12-31T23:59:59.999Z", "9999-12-31T00:00:00-12:00", "9999-12-30T22:00:01Z"] {
            assert_eq!(parse(text), Some(Timestamp::MAX), "{text}");
        }
        assert_eq!(parse("-009999-01-01T00:00:00+14:00"), Some(Timestamp::MIN));
        assert_eq!(
            parse("2025-11-20T01:53:20.0000015+01:00").map(Timestamp::as_nanosecond),
            Some(1_763_600_000_000_001_500)
        );
    }

    #[test]
    fn texts_without_date_time_and_offset_are_no_times() {
        for text in [
            "",
            "noon",
            "9999-12-31",
            "9999-12-31T23:59:59",
            "9999-12-31T23:59:59[UTC]",
            "9999-12-32T00:00:00Z",
            "2025-11-20T00:53:20",
            "1763600000000",
            "20:15Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
