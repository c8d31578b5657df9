//! Which windows a batch of derivations computes again, out of the marks that are due.

use std::collections::BTreeMap;

use store::DueRange;
use vitals::cells::window_of;
use vitals::derivation::{Windows, is_input, joined};
use vitals::registry::DataType;
use vitals::zone::WINDOW_US;

/// Windows that one batch spans at most: eight days. More is left for the next one, so that a history sent at once
/// neither fills the memory nor outlives the lease.
const LONGEST_SPAN_WINDOWS: i64 = 8 * 288;

/// Windows of waveforms that one batch spans at most: a day, for a second of them is a hundred rows.
const LONGEST_WAVEFORM_SPAN_WINDOWS: i64 = 288;

/// The arrival of marks that no sync has left.
pub(super) const OF_NO_SYNC: i64 = 0;

/// What one batch does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Windows to compute again by type, in order, apart from each other.
    pub touched: BTreeMap<DataType, Vec<Windows>>,
    /// Touched windows that no sync has touched: something else that enters formulas has changed.
    pub revisited: Vec<Windows>,
    /// Marks that the batch ends.
    pub done: Vec<DueRange>,
    /// What it leaves of them.
    pub left: Vec<DueRange>,
}

impl Plan {
    /// Plans a batch of the earliest marks. Types that nothing is derived from are done at once, and so is what
    /// lies before the time from which a type is kept, µs: there is nothing left to compute it from, and what was
    /// computed stays.
    pub fn of(mut due: Vec<DueRange>, kept_from_us: &BTreeMap<DataType, i64>) -> Self {
        // Earliest first: a later day takes averages of the days before it, which then need no second run.
        due.sort_by_key(|range| (range.first_us, range.data_type, range.arrival));
        let mut plan = Plan::default();
        let Some(first) = due.first() else { return plan };
        let start = window_of(first.first_us);
        for range in due {
            let data_type = DataType::from_number(range.data_type).filter(|data_type| is_input(*data_type));
            let Some(data_type) = data_type else {
                plan.done.push(range);
                continue;
            };
            let first_us = kept_from_us.get(&data_type).map_or(range.first_us, |from_us| range.first_us.max(*from_us));
            if first_us > range.last_us {
                plan.done.push(range);
                continue;
            }
            let longest = if data_type.is_waveform() { LONGEST_WAVEFORM_SPAN_WINDOWS } else { LONGEST_SPAN_WINDOWS };
            let end = start + longest;
            let windows = window_of(first_us)..window_of(range.last_us) + 1;
            // The mark stays in the store and begins the next batch.
            if windows.start >= end {
                continue;
            }
            plan.done.push(range);
            if windows.end > end {
                plan.left.push(DueRange { first_us: end * WINDOW_US, ..range });
            }
            let windows = windows.start..windows.end.min(end);
            if range.arrival == OF_NO_SYNC {
                plan.revisited.push(windows.clone());
            }
            plan.touched.entry(data_type).or_default().push(windows);
        }
        plan.revisited = joined(std::mem::take(&mut plan.revisited));
        for windows in plan.touched.values_mut() {
            *windows = joined(std::mem::take(windows));
        }
        plan
    }

    /// Returns the touched windows of a type.
    pub fn windows_of(&self, data_type: DataType) -> &[Windows] {
        self.touched.get(&data_type).map_or(&[], Vec::as_slice)
    }

    /// Returns the first and the last touched window of all types.
    pub fn span(&self) -> Option<Windows> {
        let start = self.touched.values().flatten().map(|windows| windows.start).min()?;
        let end = self.touched.values().flatten().map(|windows| windows.end).max()?;
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(data_type: DataType, first_window: i64, last_window: i64) -> DueRange {
        DueRange {
            arrival: 1,
            data_type: data_type.number(),
            first_us: first_window * WINDOW_US + 7,
            last_us: last_window * WINDOW_US + 9,
            ready_ms: 0,
        }
    }

    #[test]
    fn windows_that_touch_become_one() {
        let marks = [(10, 10), (11, 12), (20, 20), (5, 5)];
        let plan = Plan::of(
            marks.iter().map(|(first, last)| due(DataType::Activity, *first, *last)).collect(),
            &BTreeMap::new(),
        );
        assert_eq!(plan.windows_of(DataType::Activity), [5..6, 10..13, 20..21]);
        assert_eq!(plan.span(), Some(5..21));
        assert_eq!(plan.done.len(), 4);
        assert!(plan.left.is_empty());
    }

    #[test]
    fn what_was_retired_is_settled_and_not_touched() {
        let kept = BTreeMap::from([(DataType::Activity, 12 * WINDOW_US)]);
        let gone = due(DataType::Activity, 3, 11);
        let other = due(DataType::Tests, 11, 11);
        let plan = Plan::of(vec![gone, due(DataType::Activity, 10, 13), other], &kept);
        assert_eq!(plan.windows_of(DataType::Activity), std::slice::from_ref(&(12..14)));
        assert_eq!(plan.windows_of(DataType::Tests), std::slice::from_ref(&(11..12)));
        assert_eq!(plan.done.len(), 3);
    }

    #[test]
    fn what_is_too_far_is_left_and_what_nothing_follows_from_is_settled() {
        let long = due(DataType::Activity, 0, 10_000);
        let far = due(DataType::Temperature, 5_000, 5_000);
        let impedance = due(DataType::Bioz, 0, 20_000);
        let waveform = due(DataType::Ppg1, 0, 20_000);
        let plan = Plan::of(vec![far, long, impedance, waveform], &BTreeMap::new());
        assert_eq!(plan.windows_of(DataType::Activity), std::slice::from_ref(&(0..LONGEST_SPAN_WINDOWS)));
        assert!(plan.windows_of(DataType::Temperature).is_empty());
        let from = |window: i64, mark: DueRange| DueRange { first_us: window * WINDOW_US, ..mark };
        assert_eq!(plan.left, [from(LONGEST_SPAN_WINDOWS, long), from(LONGEST_WAVEFORM_SPAN_WINDOWS, waveform)]);
        assert!([long, waveform, impedance].iter().all(|mark| plan.done.contains(mark)) && !plan.done.contains(&far));
        assert!(plan.revisited.is_empty());
        let revisited = Plan::of(vec![DueRange { arrival: OF_NO_SYNC, ..far }], &BTreeMap::new()).revisited;
        assert_eq!(revisited, std::slice::from_ref(&(5_000..5_001)));
    }
}
