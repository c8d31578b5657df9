//! Ranges of time that pages ask for.

use platform::PlatformError;
use platform::portal::{LONGEST_SERIES_MS, SERIES_RANGE};

use crate::parameters::{Parameters, both};
use crate::range_end::AskedRange;

/// Times beyond this are no times of samples, and would overflow as microseconds.
const FURTHEST_MS: i64 = 1 << 43;

/// Returns the range from `from` to `to`, whose end may mean "no end". Invalid with an end that is no time of a sample or
/// before `earliest_ms`; how long the range may be is for the caller to check.
pub(super) fn read(parameters: &Parameters, earliest_ms: i64, now_ms: i64) -> Result<AskedRange, PlatformError> {
    let (from_ms, to_ms) = both(parameters.required_ms("from"), parameters.required_ms("to"))?;
    let to_ms = AskedRange { from_ms, to_ms }.clamped_end(LONGEST_SERIES_MS, now_ms);
    let is_time = |time_ms: i64| (earliest_ms..FURTHEST_MS).contains(&time_ms);
    if !is_time(from_ms) {
        return Err(PlatformError::invalid("from", "must be a time in ms"));
    }
    if !is_time(to_ms) {
        // An end that means "no end" would have been brought to the longest range, had that reached the present.
        let is_long = to_ms >= FURTHEST_MS && to_ms - from_ms > LONGEST_SERIES_MS;
        return Err(PlatformError::invalid("to", if is_long { SERIES_RANGE } else { "must be a time in ms" }));
    }
    Ok(AskedRange { from_ms, to_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_mean_no_end_are_times_and_others_beyond_samples_are_not() {
        const NEVER_MS: i64 = 253_402_300_799_999;
        let now_ms = 1_763_600_000_000;
        let range_of = |from: i64, to: i64| {
            let parameters = Parameters::of(&format!("/?from={from}&to={to}").parse().expect("an address"));
            read(&parameters, 0, now_ms).map(|range| (range.from_ms, range.to_ms))
        };
        assert_eq!(range_of(now_ms, NEVER_MS).expect("a range"), (now_ms, now_ms + LONGEST_SERIES_MS));
        assert_eq!(range_of(1, 2).expect("a range"), (1, 2));
        assert_eq!(range_of(1, FURTHEST_MS - 1).expect("a range"), (1, FURTHEST_MS - 1));
        for (from, to, key, reason) in [
            (1, NEVER_MS, "to", "400 days"),
            (1, FURTHEST_MS, "to", "400 days"),
            (1, -1, "to", "a time in ms"),
            (-1, 1, "from", "a time in ms"),
            (NEVER_MS, NEVER_MS, "from", "a time in ms"),
            (i64::MIN, i64::MAX, "from", "a time in ms"),
        ] {
            let Err(PlatformError::Invalid(faults)) = range_of(from, to) else { panic!("{from} {to}") };
            assert!(faults[key][0].contains(reason), "{from} {to}: {faults:?}");
        }
    }
}
