//! Cells and atrial-fibrillation records of beat intervals.
//!
//! A cell takes the rows of its window, a record those of its UTC hour: counting begins anew in each. So the hours of
//! the touched windows are read whole, a UTC day at a time, that a history costs no more memory than a day.

use std::ops::Range;

use store::AfHourRow;
use vitals::af::{HOUR_MS, pack_hour, records_of_hour, unpack_hour, with_times};
use vitals::beats::beats_of;
use vitals::block::Block;
use vitals::cells::{WINDOW_MS, beat_cells};
use vitals::registry::DataType;
use vitals::zone::{DAY_US, LocalClock, WINDOW_US};

use super::days::Days;
use super::plan::{Windows, joined};
use super::source::FoldSource;

/// Windows of an hour.
const HOUR_WINDOWS: i64 = HOUR_MS / WINDOW_MS;
/// Windows of a day.
const DAY_WINDOWS: i64 = DAY_US / WINDOW_US;

/// Computes the cells of touched windows, and answers the records of their hours that have changed.
pub(crate) async fn fold(
    source: &impl FoldSource,
    days: &mut Days,
    touched: &[Windows],
    now_ms: i64,
) -> store::Result<Vec<AfHourRow>> {
    let mut changed = Vec::new();
    let hours = |windows: &Windows| {
        let start = windows.start.div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS;
        start..(windows.end + HOUR_WINDOWS - 1).div_euclid(HOUR_WINDOWS) * HOUR_WINDOWS
    };
    for part in joined(touched.iter().map(hours).collect()).iter().flat_map(|windows| cut(windows, DAY_WINDOWS)) {
        let blocks = source.rows(DataType::RrInterval, part.start * WINDOW_US, part.end * WINDOW_US - 1).await?;
        let block = blocks.first();
        for windows in touched {
            let windows = windows.start.max(part.start)..windows.end.min(part.end);
            if windows.is_empty() {
                continue;
            }
            let rows = block.map(|block| block.slice(rows_in(block, &windows)));
            days.replace(&windows, rows.as_ref().map(beat_cells).unwrap_or_default());
        }
        changed.extend(records(source, block, &part, now_ms).await?);
    }
    Ok(changed)
}

/// The records of the hours of some windows, where they differ from those that are stored.
async fn records(
    source: &impl FoldSource,
    block: Option<&Block>,
    windows: &Windows,
    now_ms: i64,
) -> store::Result<Vec<AfHourRow>> {
    let stored = source.af_hours(windows.start * WINDOW_MS, (windows.end - 1) * WINDOW_MS).await?;
    let mut changed = Vec::new();
    for hour in cut(windows, HOUR_WINDOWS) {
        let hour_ms = hour.start * WINDOW_MS;
        let known = stored.iter().find(|row| row.hour_ms == hour_ms).map_or(&[][..], |row| row.records.as_slice());
        let mut new = Vec::new();
        if let Some(block) = block {
            let rows = rows_in(block, &hour);
            let mut clock = Clock::of(block);
            new = records_of_hour(&beats_of(block, rows.clone()), |time_ms| clock.offset_s(rows.clone(), time_ms));
        }
        // Records of another version of the program count as missing.
        let records = pack_hour(&with_times(new, &unpack_hour(known).unwrap_or_default(), now_ms));
        if records != known {
            changed.push(AfHourRow { hour_ms, records });
        }
    }
    Ok(changed)
}

fn rows_in(block: &Block, windows: &Windows) -> Range<usize> {
    block.rows_between(windows.start * WINDOW_US, windows.end * WINDOW_US - 1)
}

/// Windows in parts that begin at multiples of a length.
pub(crate) fn cut(windows: &Windows, length: i64) -> impl Iterator<Item = Windows> + use<> {
    let Windows { start, end } = *windows;
    let first = start.div_euclid(length);
    let last = (end + length - 1).div_euclid(length);
    (first..last).map(move |part| (part * length).max(start)..((part + 1) * length).min(end))
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

    /// The offset of the first of some rows at a time, ms, or after it; seconds.
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
