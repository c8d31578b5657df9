//! From when on samples of a patient are kept.

use std::collections::BTreeMap;

use store::IntakeFacts;
use vitals::registry::DataType;
use vitals::zone::DAY_US;

/// What of each type is kept: nothing before these times, µs. Types that are not named are kept from the beginning.
pub(crate) type KeptFrom = BTreeMap<DataType, i64>;

/// From when on samples of a patient are taken in, by type.
pub(crate) fn kept_from(intake: &IntakeFacts, now_ms: i64) -> KeptFrom {
    let mut kept_from = intake.retention.as_ref().map(|rule| kept_by_rule(rule, now_ms)).unwrap_or_default();
    for (data_type, expired_us) in &intake.expired_us {
        let from_us = kept_from.entry(*data_type).or_insert(*expired_us);
        // Once deleted is deleted: a longer rule that is set later does not make room for old rows again.
        *from_us = (*expired_us).max(*from_us);
    }
    kept_from
}

/// From when on a rule such as `{"ppg2": 30}` keeps each type, µs: the beginning of a day of UTC.
pub(crate) fn kept_by_rule(rule: &str, now_ms: i64) -> KeptFrom {
    let days: BTreeMap<String, i64> = serde_json::from_str(rule).unwrap_or_default();
    // Whole days of UTC, as retention deletes whole periods; a rule of no day would reject all of yesterday.
    let today_us = (now_ms * 1000).div_euclid(DAY_US) * DAY_US;
    let kept = |(name, days): (String, i64)| Some((DataType::from_name(&name)?, today_us - days.max(1) * DAY_US));
    days.into_iter().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_counts_whole_days_and_null_keeps_everything() {
        let noon_ms = 1_763_640_000_000; // 2025-11-20T12:00Z
        let midnight_us = 1_763_596_800_000_000;
        let kept = kept_by_rule("{\"ppg2\": 2, \"pulse\": 3}", noon_ms);
        assert_eq!(kept, BTreeMap::from([(DataType::Ppg2, midnight_us - 2 * DAY_US)]));
        assert!(kept_by_rule("null", noon_ms).is_empty());
    }
}
