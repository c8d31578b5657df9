//! Times as the answers write them.

use jiff::Timestamp;

/// ISO 8601 in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`.
pub fn iso_ms(time_ms: i64) -> String {
    let timestamp = Timestamp::from_millisecond(time_ms).unwrap_or_default();
    timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_always_written() {
        assert_eq!(iso_ms(1_763_600_000_000), "2025-11-20T00:53:20.000Z");
        assert_eq!(iso_ms(1_763_600_000_007), "2025-11-20T00:53:20.007Z");
    }
}
