//! What a batch is likely to need, read at once and in one snapshot. What it needs beyond that is read when it asks.

use std::collections::BTreeMap;

use store::{DerivationInputs, InputRange};
use vitals::cells::WINDOW_MS;
use vitals::derivation::{
    Answer, Batch, DaysAhead, DerivedRow, LOOK_BACK_WINDOWS, Output, Rows, VITAL_TYPES, Windows, days_around, joined,
    keys_of_days,
};
use vitals::registry::DataType;
use vitals::summary::RECOVERY_REACH_DAYS;
use vitals::zone::{LocalDay, WINDOW_US};

use super::plan::Plan;
use super::reader::StoredPatient;

/// Windows of which rows are read ahead: more are read as they are computed, so that memory does not grow with a history.
const LONGEST_ROWS_WINDOWS: i64 = 12;
/// The same for waveforms, which have a hundred rows a second.
const LONGEST_WAVEFORM_WINDOWS: i64 = 2;
/// Windows of an hour.
const HOUR_WINDOWS: i64 = 12;
/// Types whose rows mostly change what a night says, and with it the recovery of the days that are compared with it.
const NIGHT_TYPES: [DataType; 2] = [DataType::Sleep, DataType::HeartRateVariability];

/// Reads what a plan is likely to need, and gives it to the batch.
pub(super) async fn read_ahead(stored: &StoredPatient, plan: &Plan, batch: &mut Batch) -> store::Result<()> {
    let Some(ahead) = plan.span().map(|span| Ahead::of(plan, &span)) else { return Ok(()) };
    let inputs = stored.health.derivation_inputs(stored.patient.uuid(), ahead.range.clone()).await?;
    ahead.give(batch, inputs);
    Ok(())
}

/// What is read ahead of a batch.
#[derive(Debug)]
struct Ahead {
    /// Days of which window aggregates are read.
    days: (LocalDay, LocalDay),
    range: InputRange,
}

impl Ahead {
    fn of(plan: &Plan, span: &Windows) -> Self {
        let has_vitals = touches_any(plan, &VITAL_TYPES);
        let around =
            if has_vitals { span.start - LOOK_BACK_WINDOWS..span.end + LOOK_BACK_WINDOWS } else { span.clone() };
        let loaded = days_around(&around);
        let days = (LocalDay(loaded.start().0 - 1), LocalDay(loaded.end().0 + 1));
        let hours = span.start.div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS
            ..(span.end + HOUR_WINDOWS - 1).div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS;
        let times_ms = (hours.start * WINDOW_MS, around.end.max(hours.end) * WINDOW_MS);
        // The next evaluation of NEWS is mostly in the window after the last one.
        let mut rows = span.start..span.end + 1;
        let types = types_of(plan, span);
        // Windows of atrial fibrillation are counted from the first beat of an hour: whole hours of beats are needed.
        if types.contains(&DataType::RrInterval) {
            rows = hours.start..hours.end.max(rows.end);
        }
        let us = |windows: &Windows| (windows.start * WINDOW_US, windows.end * WINDOW_US - 1);
        let waveforms_us = waveforms_of(plan).map_or((0, -1), |windows| us(&windows));
        let outputs = outputs_of(plan, days, times_ms);
        Ahead { days, range: InputRange { outputs, news_ms: times_ms, types, rows_us: us(&rows), waveforms_us } }
    }

    fn give(&self, batch: &mut Batch, inputs: DerivationInputs) {
        let DerivationInputs { derived, days_with_slots, rows } = inputs;
        for (data_type, blocks) in rows {
            let (from_us, to_us) = self.range.rows_of(data_type);
            batch.take_rows_ahead(Rows { data_type, from_us, to_us, blocks });
        }
        let (slots, derived): (Vec<_>, Vec<_>) = derived.into_iter().partition(|row| row.output == Output::Slots);
        let (first, last) = self.days;
        // Where nothing lies before, the search for the last day with vital signs need not ask the store.
        let is_from_begin = days_with_slots.is_none_or(|(earliest, _)| earliest >= first);
        let is_to_end = days_with_slots.is_none_or(|(_, latest)| latest <= last);
        batch.take_days_ahead(DaysAhead { first, last, rows: slots, is_from_begin, is_to_end });
        for answer in self.answers(&derived) {
            batch.take(answer);
        }
    }

    /// Returns what is known of the outputs that were asked for, apart from window aggregates. Of any other output nothing
    /// is known.
    fn answers(&self, derived: &[DerivedRow]) -> Vec<Answer> {
        let rows_of = |output| derived.iter().filter(|row| row.output == output).cloned().collect::<Vec<_>>();
        let asked = self.range.outputs.iter().filter(|(output, _)| **output != Output::Slots);
        let answer = |(output, keys): (&Output, &(i64, i64))| Answer::Derived {
            output: *output,
            keys: *keys,
            rows: rows_of(*output),
        };
        asked.map(answer).chain(self.answers_of_news(rows_of(Output::News))).collect()
    }

    /// Returns the same of NEWS, of which the last entry before the range comes too, and the newest of all, after which
    /// nothing is stored.
    fn answers_of_news(&self, rows: Vec<DerivedRow>) -> Vec<Answer> {
        let (output, (from, to)) = (Output::News, self.range.news_ms);
        let before = rows.iter().map(|row| row.key).min().filter(|key| *key < from);
        let newest = rows.iter().max_by_key(|row| row.key).filter(|newest| newest.key > to).cloned();
        let keys = (before.unwrap_or(i64::MIN), if newest.is_some() { to } else { i64::MAX });
        let behind = newest.map(|row| Answer::Derived { output, keys: (row.key, i64::MAX), rows: vec![row] });
        behind.into_iter().chain([Answer::Derived { output, keys, rows }]).collect()
    }
}

/// Returns the types whose rows are read.
fn types_of(plan: &Plan, span: &Windows) -> Vec<DataType> {
    // Days are read ahead of longer spans as well; for their rows the batch asks as it goes.
    let is_short = span.end - span.start <= LONGEST_ROWS_WINDOWS;
    let are_waveforms_short =
        waveforms_of(plan).is_some_and(|windows| windows.end - windows.start <= LONGEST_WAVEFORM_WINDOWS);
    let is_read = |data_type: &DataType| is_short && (are_waveforms_short || !data_type.is_waveform());
    let mut types: Vec<DataType> = plan.touched.keys().copied().filter(is_read).collect();
    if is_short && touches_any(plan, &VITAL_TYPES) {
        types.extend(VITAL_TYPES);
        types.sort_unstable();
        types.dedup();
    }
    types
}

/// Returns whether windows of any of some types are touched.
fn touches_any(plan: &Plan, types: &[DataType]) -> bool {
    types.iter().any(|data_type| !plan.windows_of(*data_type).is_empty())
}

/// Returns the first to the last touched window of waveforms.
fn waveforms_of(plan: &Plan) -> Option<Windows> {
    let touched = plan.touched.iter().filter(|(data_type, _)| data_type.is_waveform());
    let windows = joined(touched.flat_map(|(_, windows)| windows).cloned().collect());
    Some(windows.first()?.start..windows.last()?.end)
}

/// Returns the outputs that are read, each with its first and last key.
fn outputs_of(plan: &Plan, days: (LocalDay, LocalDay), times_ms: (i64, i64)) -> BTreeMap<Output, (i64, i64)> {
    let reach = if touches_any(plan, &NIGHT_TYPES) { RECOVERY_REACH_DAYS } else { 0 };
    let (first, last) = days;
    let (before, after) = (LocalDay(first.0 - reach), LocalDay(last.0 + reach));
    let keys_of = |output| match output {
        Output::Slots | Output::Extra => Some(keys_of_days(first, last)),
        Output::Section => Some(keys_of_days(first, after)),
        Output::DayInputs => Some(keys_of_days(before, after)),
        Output::AfHour => Some(times_ms),
        // Asked for in its own way, to the last entry before and the newest of all.
        Output::News => None,
    };
    let asked = Output::ALL.into_iter().filter_map(|output| Some((output, keys_of(output)?)));
    asked.take(InputRange::MOST_OUTPUTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use vitals::derivation::is_input;

    /// 2025-11-20T12:00Z, in windows.
    const NOON: i64 = 1_763_640_000_000 / WINDOW_MS;

    fn plan(touched: &[(DataType, Windows)]) -> Plan {
        let touched = touched.iter().map(|(data_type, windows)| (*data_type, vec![windows.clone()])).collect();
        Plan { touched, ..Plan::default() }
    }

    fn ahead(touched: &[(DataType, Windows)]) -> Ahead {
        let plan = plan(touched);
        Ahead::of(&plan, &plan.span().expect("a span"))
    }

    fn range(touched: &[(DataType, Windows)]) -> InputRange {
        ahead(touched).range
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
        let acceleration = range(&[(DataType::Acc, touched.clone())]);
        assert_eq!(acceleration.rows_of(DataType::Acc), (NOON * WINDOW_US, (NOON + 2) * WINDOW_US - 1));
        let longer = range(&[(DataType::Acc, NOON..NOON + 1 + LONGEST_WAVEFORM_WINDOWS), (DataType::Sleep, touched)]);
        assert_eq!(longer.types, [DataType::Sleep], "waveforms are too much to be read ahead");
    }

    #[test]
    fn beats_are_read_by_the_hour() {
        // Fibrillation is found by hours: one that was touched at its end is read from its begin.
        let touched = NOON + HOUR_WINDOWS - 1..NOON + HOUR_WINDOWS;
        let beats = range(&[(DataType::RrInterval, touched.clone())]);
        assert_eq!(beats.rows_us.0, NOON * WINDOW_US);
        assert!(holds(&beats, &touched, 1), "{beats:?}");
        assert_eq!(beats.news_ms, (NOON * WINDOW_MS, (NOON + HOUR_WINDOWS) * WINDOW_MS));
        // An hour of waveforms would fill the memory.
        let last = NOON + HOUR_WINDOWS - 1;
        let both = range(&[(DataType::RrInterval, last..last + 1), (DataType::Ecg, last..last + 1)]);
        assert_eq!(both.rows_of(DataType::Ecg), (last * WINDOW_US, (last + 1) * WINDOW_US - 1));
        assert_eq!(both.rows_of(DataType::RrInterval).0, NOON * WINDOW_US);
    }

    #[test]
    fn a_history_is_not_read_at_once() {
        let longest = |windows| range(&[(DataType::Sleep, NOON..NOON + windows)]).types;
        assert_eq!(longest(LONGEST_ROWS_WINDOWS), [DataType::Sleep]);
        assert!(longest(LONGEST_ROWS_WINDOWS + 1).is_empty());
    }

    /// Whatever a sync brings, its rows are read in one statement.
    #[test]
    fn rows_of_all_types_that_anything_is_derived_from_are_read_together() {
        let mut derived: Vec<DataType> = DataType::ALL.into_iter().filter(|data_type| is_input(*data_type)).collect();
        derived.sort_unstable();
        let all: Vec<_> = derived.iter().map(|data_type| (*data_type, NOON..NOON + 1)).collect();
        let mut types = range(&all).types;
        types.sort_unstable();
        assert_eq!(types, derived);
        for are_waveforms in [false, true] {
            let count = types.iter().filter(|data_type| data_type.is_waveform() == are_waveforms).count();
            assert!(count <= InputRange::MOST_TYPES, "{count} types; a statement asks for fewer");
        }
        assert!(Output::ALL.len() - 1 <= InputRange::MOST_OUTPUTS, "a statement asks for fewer outputs");
    }

    /// An answer without rows says that nothing is stored, so there must be none to what was not asked.
    #[test]
    fn only_outputs_that_were_asked_for_are_answered() {
        let mut asked = ahead(&[(DataType::Activity, NOON..NOON + 1)]);
        let answered = |ahead: &Ahead| -> Vec<(Output, (i64, i64))> {
            let answers = ahead.answers(&[]).into_iter().filter_map(|answer| match answer {
                Answer::Derived { output, keys, .. } => Some((output, keys)),
                _ => None,
            });
            answers.collect()
        };
        let all = answered(&asked);
        let outputs: Vec<Output> = all.iter().map(|(output, _)| *output).collect();
        assert!(Output::ALL.iter().all(|output| *output == Output::Slots || outputs.contains(output)), "{outputs:?}");
        for (output, keys) in all.iter().filter(|(output, _)| *output != Output::News) {
            assert_eq!(asked.range.outputs[output], *keys);
        }
        asked.range.outputs.remove(&Output::Extra);
        assert!(answered(&asked).iter().all(|(output, _)| *output != Output::Extra));
    }

    #[test]
    fn nights_are_read_with_all_days_that_are_compared_with_them() {
        let keys = |data_type, output| range(&[(data_type, NOON..NOON + 1)]).outputs[&output];
        let day = |key: i64| vitals::derivation::day_of(key).0.0;
        let (first, last) = keys(DataType::Sleep, Output::DayInputs);
        let (own_first, own_last) = keys(DataType::Sleep, Output::Slots);
        assert_eq!(
            (day(own_first) - day(first), day(last) - day(own_last)),
            (RECOVERY_REACH_DAYS, RECOVERY_REACH_DAYS)
        );
        assert_eq!(keys(DataType::Activity, Output::DayInputs), keys(DataType::Activity, Output::Slots));
    }

    #[test]
    fn days_are_those_of_every_zone_and_of_all_that_is_looked_back_on() {
        let of = |data_type| ahead(&[(data_type, NOON..NOON + 1)]);
        let (sleep, vitals) = (of(DataType::Sleep), of(DataType::Activity));
        let day = LocalDay::parse("2025-11-20").expect("a day").0;
        assert!(sleep.days.0.0 < day && day < sleep.days.1.0, "{:?}", sleep.days);
        // Scores look back, and later ones look back on what was touched.
        assert!(vitals.days.0 <= sleep.days.0 && sleep.days.1 <= vitals.days.1, "{vitals:?}");
        assert_eq!(vitals.range.news_ms.1, (NOON + 1 + LOOK_BACK_WINDOWS).max(NOON + HOUR_WINDOWS) * WINDOW_MS);
        assert_eq!(sleep.range.news_ms.1, (NOON + HOUR_WINDOWS) * WINDOW_MS);
    }
}
