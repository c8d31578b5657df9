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
