//! Latest values after a fold.
//!
//! A newer value among the touched rows simply takes over. A value whose own row lies in a touched window may be gone
//! or replaced; it is looked for anew, in the touched rows and then backwards through the cells.

use std::collections::BTreeMap;

use vitals::cells::{Day, WINDOW_MS, window_of};
use vitals::latest::{LatestValues, Timed, newest_of};
use vitals::zone::LocalDay;

use super::days::{Days, read_days};
use super::news::{Interval, vital_rows};
use super::plan::Windows;
use super::source::FoldSource;

/// How many more days are looked at once a value is found: local days of a patient who travels overlap.
const OVERLAPPING_DAYS: i32 = 2;

/// The latest values, given what they were when the fold began. Rows after `not_after_us` do not count yet.
pub(crate) async fn compute(
    source: &impl FoldSource,
    days: &Days,
    seen: &LatestValues,
    touched: &[Windows],
    intervals: &[Interval],
    not_after_us: i64,
) -> store::Result<LatestValues> {
    let is_touched = |timed: &Timed| {
        let window = timed.timestamp_ms.div_euclid(WINDOW_MS);
        touched.iter().any(|windows| windows.contains(&window))
    };
    let mut latest = *seen;
    latest.retain(|timed| !is_touched(timed));
    for interval in intervals {
        for block in &interval.blocks {
            latest.merge_newer(&newest_of(block, not_after_us));
        }
    }
    if has_lost(seen, &latest, is_touched) {
        let wanted = present(seen);
        latest.merge_newer(&search(source, days, wanted, not_after_us).await?);
    }
    Ok(latest)
}

/// Whether a value has gone and something that was not touched may be the newest now. Whatever was not touched is older
/// than the value that has gone, so a value from the same window or a later one is newer than all of it.
fn has_lost(seen: &LatestValues, found: &LatestValues, is_touched: impl Fn(&Timed) -> bool) -> bool {
    let window = |timed: &Timed| timed.timestamp_ms.div_euclid(WINDOW_MS);
    let pairs = seen.signs().into_iter().zip(found.signs());
    pairs
        .filter_map(|(seen, found)| Some((seen?, found)))
        .any(|(seen, found)| is_touched(&seen) && found.is_none_or(|found| window(&found) < window(&seen)))
}

fn present(values: &LatestValues) -> [bool; 6] {
    values.signs().map(|sign| sign.is_some())
}

fn has_all(values: &LatestValues, wanted: [bool; 6]) -> bool {
    present(values).into_iter().zip(wanted).all(|(present, wanted)| present || !wanted)
}

/// Looks backwards through the cells until all wanted values are found or there are no more.
async fn search(
    source: &impl FoldSource,
    days: &Days,
    wanted: [bool; 6],
    not_after_us: i64,
) -> store::Result<LatestValues> {
    // The window of the limit may hold rows that do not count yet, and a cell knows only its newest.
    let limit = window_of(not_after_us);
    let mut found = LatestValues::default();
    for block in vital_rows(source, &(limit..limit + 1)).await? {
        found.merge_newer(&newest_of(&block, not_after_us));
    }
    let mut complete_on: Option<LocalDay> = None;
    let mut look = |date: LocalDay, day: &Day, found: &mut LatestValues| -> bool {
        if complete_on.is_some_and(|complete| date.0 < complete.0 - OVERLAPPING_DAYS) {
            return false;
        }
        found.merge_newer(&day.newest(&(i64::MIN..limit)));
        if complete_on.is_none() && has_all(found, wanted) {
            complete_on = Some(date);
        }
        true
    };
    for (date, day) in days.after_loaded(source).await?.iter().rev() {
        look(*date, day, &mut found);
    }
    for (date, day) in days.latest_first() {
        if !look(date, day, &mut found) {
            return Ok(found);
        }
    }
    let mut before = days.first_loaded();
    loop {
        let rows = source.slots_before(before).await?;
        let Some(earliest) = rows.last() else { return Ok(found) };
        before = earliest.day;
        let earlier: BTreeMap<LocalDay, Day> = read_days(&rows);
        for (date, day) in earlier.iter().rev() {
            if !look(*date, day, &mut found) {
                return Ok(found);
            }
        }
    }
}
