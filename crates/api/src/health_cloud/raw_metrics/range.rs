//! The range of a request: with a zone, or in the patient's local time.

use jiff::Timestamp;
use platform::PlatformError;
use platform::samples::Range;
use vitals::instant;
use vitals::registry::DataType;
use vitals::zone::LocalClock;

use crate::parameters::Parameters;
use crate::range_end::AskedRange;
use crate::times;

const DAY_MS: i64 = 86_400_000;
const HALF_HOUR_MS: i64 = 30 * 60_000;

/// The present of a request.
pub(super) struct Present<'caller> {
    /// Unix epoch ms.
    pub now_ms: i64,
    /// Time zone of the patient.
    pub zone: &'caller str,
}

impl Present<'_> {
    /// Milliseconds since 1970-01-01T00:00 of the patient's clock.
    fn local_ms(&self) -> i64 {
        LocalClock::new(self.zone).local_us(self.now_ms.saturating_mul(1000)).div_euclid(1000)
    }
}

/// Returns the range that the parameters ask for. Malformed when they are not a pair, cannot be read, or ask for too
/// much.
pub(super) fn read(
    data_type: DataType,
    parameters: &Parameters,
    present: &Present<'_>,
) -> Result<Range, PlatformError> {
    let names = ["from_date", "to_date", "from_client_date", "to_client_date"];
    let [from, to, from_client, to_client] = names.map(|name| parameters.one(name));
    // The answer comes at once and unpaged, and half an hour of a waveform has more rows than days of the rest.
    let largest_ms = if data_type.is_waveform() { HALF_HOUR_MS } else { DAY_MS };
    let clamped = |from_ms: i64, to_ms: i64, now_ms: i64| AskedRange { from_ms, to_ms }.clamped_end(largest_ms, now_ms);
    // Any mixture is refused: half a range in each clock has two meanings.
    let (range, from_ms, to_ms) = match (from, to, from_client, to_client) {
        (Some(from), Some(to), None, None) => {
            let (from_ms, to_ms) = (zoned_ms("from_date", from)?, zoned_ms("to_date", to)?);
            let to_ms = clamped(from_ms, to_ms, present.now_ms);
            (Range::Utc { from_ms, to_ms }, from_ms, to_ms)
        }
        (None, None, Some(from), Some(to)) => {
            let (from_ms, to_ms) = (local_ms("from_client_date", from)?, local_ms("to_client_date", to)?);
            let to_ms = clamped(from_ms, to_ms, present.local_ms());
            (Range::Local { from_ms, to_ms }, from_ms, to_ms)
        }
        _ => {
            let message = "give from_date and to_date, or from_client_date and to_client_date";
            return Err(malformed("wrong_range", message.to_owned()));
        }
    };
    if to_ms < from_ms {
        return Err(malformed("wrong_range", "the range ends before it begins".to_owned()));
    }
    // Of local times this is the span of the clock, so that a day of 25 hours can be asked for as one day.
    if to_ms - from_ms > largest_ms {
        let message = format!("at most {} minutes of {} at once", largest_ms / 60_000, data_type.name());
        return Err(malformed("window_too_large", message));
    }
    Ok(range)
}

fn malformed(code: &'static str, message: String) -> PlatformError {
    PlatformError::Malformed { code, message }
}

/// Milliseconds since 1970 of a date and time with a zone. In a query a `+` arrives as a blank.
fn zoned_ms(name: &str, text: &str) -> Result<i64, PlatformError> {
    let text = text.trim();
    let repaired = match text.rfind(' ') {
        // Only behind the time: between date and time a blank is a blank.
        Some(at) if at > "YYYY-MM-DDT".len() => format!("{}+{}", &text[..at], &text[at + 1..]),
        _ => text.to_owned(),
    };
    let not_a_time = || malformed("wrong_range", format!("{name} is not an ISO 8601 date and time with a zone"));
    // Rows are shown with whole milliseconds, cut off; ends of ranges are cut in the same way, or a shown time would
    // miss its row.
    Ok(floor_ms(instant::parse(&repaired).ok_or_else(not_a_time)?))
}

fn floor_ms(timestamp: Timestamp) -> i64 {
    timestamp.as_microsecond().div_euclid(1000)
}

/// Milliseconds of the local clock since 1970-01-01T00:00.
fn local_ms(name: &str, text: &str) -> Result<i64, PlatformError> {
    let not_local = || malformed("wrong_range", format!("{name} is not a local date and time without a zone"));
    times::local_ms(text).ok_or_else(not_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(data_type: DataType, query: &str) -> Result<Range, &'static str> {
        let uri = format!("/?{query}").parse().unwrap();
        let present = Present { now_ms: 1_763_600_000_000, zone: "Pacific/Auckland" };
        match read(data_type, &Parameters::of(&uri), &present) {
            Ok(range) => Ok(range),
            Err(PlatformError::Malformed { code, .. }) => Err(code),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_forms_are_read_and_a_blank_is_a_plus() {
        let expected = Ok(Range::Utc { from_ms: 1_763_596_800_000, to_ms: 1_763_596_801_500 });
        for query in [
            "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T00:00:01.500Z",
            "from_date=2025-11-20T01:00:00+01:00&to_date=2025-11-20T01:00:01.5+01:00",
            "from_date=2025-11-20T01:00:00%2B01:00&to_date=2025-11-19T19:00:01.5-05:00",
        ] {
            assert_eq!(range(DataType::Activity, query), expected, "{query}");
        }
        let local = "from_client_date=2025-11-20T00:00:00&to_client_date=2025-11-20T00:00:01.5";
        let expected = Range::Local { from_ms: 1_763_596_800_000, to_ms: 1_763_596_801_500 };
        assert_eq!(range(DataType::Activity, local), Ok(expected));
    }

    #[test]
    fn an_end_that_means_no_end_is_clamped_in_both_clocks() {
        let hour_ms = 3_600_000;
        let now_ms = 1_763_600_000_000;
        for never in ["9999-12-31T23:59:59.999Z", "9999-12-31T00:00:00-11:00", "2999-01-01T00:00:00Z"] {
            let query = format!("from_date=2025-11-20T00:43:20Z&to_date={never}");
            let expected = |length_ms| Ok(Range::Utc { from_ms: now_ms - hour_ms / 6, to_ms: now_ms + length_ms });
            assert_eq!(range(DataType::Ecg, &query), expected(hour_ms / 3));
            assert_eq!(range(DataType::Activity, &query), expected(24 * hour_ms - hour_ms / 6));
            let query = format!("from_date=2025-11-19T00:43:20Z&to_date={never}");
            assert_eq!(range(DataType::Activity, &query), Err("window_too_large"), "a part would be left out");
        }
        // Thirteen hours ahead of UTC.
        let query = "from_client_date=2025-11-20T13:33:20&to_client_date=9999-12-31T23:59:59.999";
        let from_ms = now_ms + 13 * hour_ms - hour_ms / 3;
        assert_eq!(range(DataType::Ecg, query), Ok(Range::Local { from_ms, to_ms: from_ms + hour_ms / 2 }));
        let query = "from_client_date=2025-11-20T00:53:20&to_client_date=9999-12-31T23:59:59.999";
        assert_eq!(range(DataType::Ecg, query), Err("window_too_large"));
    }

    #[test]
    fn anything_else_is_malformed() {
        let day = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-21T00:00:00Z";
        assert!(range(DataType::Activity, day).is_ok());
        assert_eq!(range(DataType::Ecg, day), Err("window_too_large"));
        for wrong in [
            "",
            "from_date=2025-11-20T00:00:00Z",
            "from_date=2025-11-20T00:00:00Z&to_client_date=2025-11-20T00:00:01",
            "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T00:00:01Z&from_client_date=2025-11-20T00:00:00",
            "from_date=2025-11-20T00:00:00&to_date=2025-11-20T00:00:01",
            "from_client_date=2025-11-20T00:00:00Z&to_client_date=2025-11-20T00:00:01Z",
            "from_client_date=2025-11-20T00:00:00%2B01:00&to_client_date=2025-11-20T00:00:01",
            "from_date=yesterday&to_date=today",
            "from_date=2025-11-20T00:00:01Z&to_date=2025-11-20T00:00:00Z",
        ] {
            assert_eq!(range(DataType::Activity, wrong), Err("wrong_range"), "{wrong}");
        }
        let more = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-21T00:00:00.001Z";
        assert_eq!(range(DataType::Activity, more), Err("window_too_large"));
    }
}
