//! What a batch is likely to need, read at once and in one snapshot. What it needs beyond that is read when it asks.

use store::{DerivationInputs, InputRange};
use vitals::cells::WINDOW_MS;
use vitals::derivation::{
    Answer, Batch, DaysAhead, LOOK_BACK_WINDOWS, Output, Rows, VITAL_TYPES, Windows, days_around, keys_of_days,
};
use vitals::registry::DataType;
use vitals::zone::{LocalDay, WINDOW_US};

use super::plan::Plan;
use super::reader::StoredPatient;

/// Windows of which rows are read ahead: more are read as they are computed, so that memory does not grow with a history.
const LONGEST_ROWS_WINDOWS: i64 = 12;
/// Windows of an hour.
const HOUR_WINDOWS: i64 = 12;

/// Reads what a plan is likely to need, and gives it to the batch.
pub(super) async fn read_ahead(stored: &StoredPatient, plan: &Plan, batch: &mut Batch) -> store::Result<()> {
    let Some(range) = plan.span().map(|span| range_of(plan, &span)) else { return Ok(()) };
    let inputs = stored.health.derivation_inputs(stored.patient.uuid(), range.clone()).await?;
    give(batch, &range, inputs);
    Ok(())
}

fn range_of(plan: &Plan, span: &Windows) -> InputRange {
    let has_vitals = VITAL_TYPES.iter().any(|data_type| !plan.windows_of(*data_type).is_empty());
    let around = if has_vitals { span.start - LOOK_BACK_WINDOWS..span.end + LOOK_BACK_WINDOWS } else { span.clone() };
    let loaded = days_around(&around);
    let days = (LocalDay(loaded.start().0 - 1), LocalDay(loaded.end().0 + 1));
    let hours = span.start.div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS
        ..(span.end + HOUR_WINDOWS - 1).div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS;
    // The next evaluation of NEWS mostly is in the window after the last one.
    let mut rows = span.start..span.end + 1;
    let mut types: Vec<DataType> = plan.touched.keys().copied().filter(|data_type| !data_type.is_waveform()).collect();
    if has_vitals {
        types.extend(VITAL_TYPES);
        types.sort_unstable();
        types.dedup();
    }
    // Windows of atrial fibrillation are counted from the first beat of an hour: whole hours of beats are needed.
    if types.contains(&DataType::RrInterval) {
        rows = hours.start..hours.end.max(rows.end);
    }
    // The days are still worth reading ahead; the batch asks for the rows as it goes.
    if span.end - span.start > LONGEST_ROWS_WINDOWS || types.len() > InputRange::MOST_TYPES {
        types.clear();
    }
    InputRange {
        days,
        times_ms: (hours.start * WINDOW_MS, around.end.max(hours.end) * WINDOW_MS),
        types,
        rows_us: (rows.start * WINDOW_US, rows.end * WINDOW_US - 1),
    }
}

fn give(batch: &mut Batch, range: &InputRange, inputs: DerivationInputs) {
    let DerivationInputs { derived, days_with_slots, rows } = inputs;
    let (from_us, to_us) = range.rows_us;
    for (data_type, blocks) in rows {
        batch.take_rows_ahead(Rows { data_type, from_us, to_us, blocks });
    }
    let (slots, derived): (Vec<_>, Vec<_>) = derived.into_iter().partition(|row| row.output == Output::Slots);
    let (first, last) = range.days;
    // Where nothing lies before, the search for the last day with vital signs need not ask the store.
    let is_from_begin = days_with_slots.is_none_or(|(earliest, _)| earliest >= first);
    let is_to_end = days_with_slots.is_none_or(|(_, latest)| latest <= last);
    batch.take_days_ahead(DaysAhead { first, last, rows: slots, is_from_begin, is_to_end });
    for output in Output::ALL.into_iter().filter(|output| *output != Output::Slots) {
        let rows: Vec<_> = derived.iter().filter(|row| row.output == output).cloned().collect();
        let mut keys = if output.is_of_days() { keys_of_days(range.days.0, range.days.1) } else { range.times_ms };
        if output == Output::News {
            // The last entry before the range came with it, and the newest of all, after which nothing is stored.
            let first = rows.iter().map(|row| row.key).min().filter(|key| *key < keys.0);
            keys.0 = first.unwrap_or(i64::MIN);
            match rows.iter().max_by_key(|row| row.key).filter(|newest| newest.key > keys.1) {
                Some(newest) => {
                    let answer = Answer::Derived { output, keys: (newest.key, i64::MAX), rows: vec![newest.clone()] };
                    batch.take(answer);
                }
                None => keys.1 = i64::MAX,
            }
        }
        batch.take(Answer::Derived { output, keys, rows });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2025-11-20T12:00Z, in windows.
    const NOON: i64 = 1_763_640_000_000 / WINDOW_MS;

    fn plan(touched: &[(DataType, Windows)]) -> Plan {
        let touched = touched.iter().map(|(data_type, windows)| (*data_type, vec![windows.clone()])).collect();
        Plan { touched, ..Plan::default() }
    }

    fn range(touched: &[(DataType, Windows)]) -> InputRange {
        let plan = plan(touched);
        range_of(&plan, &plan.span().expect("a span"))
    }

    /// Returns whether a range of rows holds these windows and no more than so many behind them.
    fn holds(range: &InputRange, windows: &Windows, more: i64) -> bool {
        range.rows_us.0 <= windows.start * WINDOW_US
            && (windows.end * WINDOW_US - 1..(windows.end + more) * WINDOW_US).contains(&range.rows_us.1)
    }

    #[test]
    fn rows_are_read_of_what_was_touched_and_of_the_window_behind_it() {
        let touched = NOON..NOON + 2;
        let sleep = range(&[(DataType::Sleep, touched.clone())]);
        assert_eq!(sleep.types, [DataType::Sleep]);
        assert!(holds(&sleep, &touched, 1), "{sleep:?}");
        let vitals = range(&[(DataType::Activity, touched.clone()), (DataType::Sleep, touched.clone())]);
        let mut types = vec![DataType::Activity, DataType::Tests, DataType::Sleep];
        types.sort_unstable();
        assert_eq!(vitals.types, types, "scores are of both types of vital signs");
        let acceleration = range(&[(DataType::Acc, touched)]);
        assert!(acceleration.types.is_empty(), "waveforms are too much to be read ahead");
    }

    #[test]
    fn beats_are_read_by_the_hour() {
        // Fibrillation is found by hours: one that was touched at its end is read from its begin.
        let touched = NOON + HOUR_WINDOWS - 1..NOON + HOUR_WINDOWS;
        let beats = range(&[(DataType::RrInterval, touched.clone())]);
        assert_eq!(beats.rows_us.0, NOON * WINDOW_US);
        assert!(holds(&beats, &touched, 1), "{beats:?}");
        assert_eq!(beats.times_ms, (NOON * WINDOW_MS, (NOON + HOUR_WINDOWS) * WINDOW_MS));
    }

    #[test]
    fn a_history_is_not_read_at_once() {
        let longest = |windows| range(&[(DataType::Sleep, NOON..NOON + windows)]).types;
        assert_eq!(longest(LONGEST_ROWS_WINDOWS), [DataType::Sleep]);
        assert!(longest(LONGEST_ROWS_WINDOWS + 1).is_empty());
        let four = [DataType::Activity, DataType::RrInterval, DataType::Sleep].map(|of| (of, NOON..NOON + 1));
        assert_eq!(range(&four).types.len(), InputRange::MOST_TYPES, "with spot tests, which come with activity");
        let five = [DataType::Activity, DataType::RrInterval, DataType::Sleep, DataType::Temperature];
        assert!(range(&five.map(|of| (of, NOON..NOON + 1))).types.is_empty());
    }

    #[test]
    fn days_are_those_of_every_zone_and_of_all_that_is_looked_back_on() {
        let of = |data_type| range(&[(data_type, NOON..NOON + 1)]);
        let (sleep, vitals) = (of(DataType::Sleep), of(DataType::Activity));
        let day = LocalDay::parse("2025-11-20").expect("a day").0;
        assert!(sleep.days.0.0 < day && day < sleep.days.1.0, "{sleep:?}");
        // Scores look back, and later ones look back on what was touched.
        assert!(vitals.days.0 <= sleep.days.0 && sleep.days.1 <= vitals.days.1, "{vitals:?}");
        assert_eq!(vitals.times_ms.1, (NOON + 1 + LOOK_BACK_WINDOWS).max(NOON + HOUR_WINDOWS) * WINDOW_MS);
        assert_eq!(sleep.times_ms.1, (NOON + HOUR_WINDOWS) * WINDOW_MS);
    }
}
