//! Ends of ranges that mean "no end", such as 9999-12-31.

/// Length of a day, ms.
const DAY_MS: i64 = 86_400_000;

/// A range that is asked for, both ends included, ms of one clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedRange {
    pub from_ms: i64,
    pub to_ms: i64,
}

impl AskedRange {
    /// Returns the end to read to, where a range may be `longest_ms` long and the clock of its ends shows `now_ms`.
    ///
    /// An end more than a day ahead, where no sample can be, is brought to the longest range if that reaches the present:
    /// everything until now is in it. Any other end stays as it is, so that nothing that was asked for is left out silently.
    pub(crate) fn clamped_end(self, longest_ms: i64, now_ms: i64) -> i64 {
        let AskedRange { from_ms, to_ms } = self;
        let longest_end = from_ms.saturating_add(longest_ms);
        let is_open = to_ms > now_ms.saturating_add(DAY_MS) && longest_end >= now_ms;
        if is_open { to_ms.min(longest_end) } else { to_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_mean_no_end_are_clamped_where_nothing_is_left_out() {
        const HOUR_MS: i64 = DAY_MS / 24;
        let never = 253_402_300_799_999;
        let now = 1_763_600_000_000;
        for (from_ms, to_ms, longest, expected) in [
            (now - HOUR_MS, never, DAY_MS, now + 23 * HOUR_MS),
            (now - DAY_MS, never, DAY_MS, now),
            (now - DAY_MS - 1, never, DAY_MS, never),
            (now - HOUR_MS, i64::MAX, DAY_MS / 48, i64::MAX),
            (now - HOUR_MS, now + DAY_MS, DAY_MS, now + DAY_MS),
            (now + 2 * DAY_MS, now + 3 * DAY_MS, 2 * DAY_MS, now + 3 * DAY_MS),
            (i64::MAX, i64::MAX, DAY_MS, i64::MAX),
        ] {
            assert_eq!(AskedRange { from_ms, to_ms }.clamped_end(longest, now), expected, "{from_ms} {to_ms}");
        }
    }
}
