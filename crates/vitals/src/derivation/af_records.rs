//! Atrial-fibrillation records: counting begins again in each UTC hour, so an hour with a touched window is counted
//! whole.

use std::ops::Range;

use super::aggregates::{BEAT_WINDOWS, HOUR_WINDOWS};
use super::declaration::{Derivation, Input, Work};
use super::frozen::Frozen;
use super::need::{Computed, Missing};
use super::output::Output;
use super::view::View;
use super::windows::{Windows, cut};
use crate::af::{AfRecord, hour_of, pack_hour, records_of_hour, unpack_hour, with_times};
use crate::beats::beats_of;
use crate::block::Block;
use crate::cells::WINDOW_MS;
use crate::registry::DataType;
use crate::zone::{LocalClock, WINDOW_US};

/// Version of the definitions.
const VERSION: i64 = 1;

/// Records of the hours of touched beat intervals.
pub(super) const AF_RECORDS: Derivation = Derivation {
    id: "af_records",
    version: VERSION,
    output: Some(Output::AfHour),
    inputs: &[Input::Rows(DataType::RrInterval)],
    work: Work::Windows { aligned: HOUR_WINDOWS, at_once: Some(BEAT_WINDOWS), compute },
    frozen,
    is_same,
};

/// Records of hours before the first beat that is left.
fn frozen(frozen: &Frozen, key: i64, body: &[u8]) -> Option<Vec<u8>> {
    let first_beat_ms = frozen.first_of(&[DataType::RrInterval]).div_euclid(1000);
    (key < hour_of(first_beat_ms)).then(|| body.to_vec())
}

/// Returns the same records: when the service learned of them is not derived from rows.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let records = |bytes: &[u8]| -> Option<Vec<AfRecord>> {
        Some(unpack_hour(bytes)?.into_iter().map(|stored| stored.record).collect())
    };
    records(one).is_some_and(|one| Some(one) == records(other))
}

fn compute(view: &mut View, hours: &[Windows]) -> Computed {
    let rows = hours.iter().map(|windows| view.rows(DataType::RrInterval, windows));
    let rows = Missing::gather(rows)?;
    let known = |windows: &Windows| -> Computed<Vec<(i64, Vec<u8>)>> {
        let stored = view.stored(Output::AfHour, windows.start * WINDOW_MS, (windows.end - 1) * WINDOW_MS)?;
        Ok(stored.map(|(hour_ms, records)| (hour_ms, records.to_vec())).collect())
    };
    let known = Missing::gather(hours.iter().map(known))?;
    for ((windows, blocks), known) in hours.iter().zip(rows).zip(known) {
        for hour in cut(windows, HOUR_WINDOWS) {
            let hour_ms = hour.start * WINDOW_MS;
            let known = known.iter().find(|(found_ms, _)| *found_ms == hour_ms).map_or(&[][..], |(_, bytes)| bytes);
            let new = blocks.first().map(|block| records(block, &hour)).unwrap_or_default();
            // Records of another version of the program count as missing.
            let body = pack_hour(&with_times(new, &unpack_hour(known).unwrap_or_default(), view.now_ms));
            view.put(Output::AfHour, hour_ms, VERSION, (!body.is_empty()).then_some(body));
        }
    }
    Ok(())
}

fn records(block: &Block, hour: &Windows) -> Vec<AfRecord> {
    let rows = block.rows_between(hour.start * WINDOW_US, hour.end * WINDOW_US - 1);
    let mut clock = Clock::of(block);
    records_of_hour(&beats_of(block, rows.clone()), |time_ms| clock.offset_s(rows.clone(), time_ms))
}

/// The local clock of rows in the order of time.
struct Clock<'block> {
    block: &'block Block,
    /// The row after the last one of the zone's run, and the clock of the zone.
    run: Option<(usize, LocalClock)>,
}

impl<'block> Clock<'block> {
    fn of(block: &'block Block) -> Self {
        Clock { block, run: None }
    }

    /// Returns the offset of the first of some rows at a time, ms, or after it; seconds.
    fn offset_s(&mut self, rows: Range<usize>, time_ms: i64) -> i32 {
        let times_us = &self.block.times_us[rows.clone()];
        let row = rows.start + times_us.partition_point(|time_us| *time_us < time_ms * 1000);
        if self.run.as_ref().is_none_or(|(end, _)| row >= *end) {
            let (end, zone) = self.block.zones.run_of(row.min(rows.end - 1));
            self.run = Some((end, LocalClock::new(zone)));
        }
        self.run.as_mut().map_or(0, |(_, clock)| clock.offset_seconds(time_ms * 1000))
    }
}
