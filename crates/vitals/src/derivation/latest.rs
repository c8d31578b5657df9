//! Latest values after a batch.
//!
//! A newer value among the touched rows simply takes over. A value whose own row lies in a touched window may be gone
//! or replaced; it is looked for again, in the touched rows and then backwards through the aggregates.

use super::declaration::{Derivation, Input, Work, is_equal};
use super::need::{Computed, Missing};
use super::news::{changes_of_settings, vital_intervals};
use super::view::{View, vital_rows};
use super::vital::{Interval, VITAL_TYPES};
use super::windows::Windows;
use crate::block::Block;
use crate::cells::{Day, WINDOW_MS, window_of};
use crate::latest::Timed;
use crate::measured::Measured;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// How many more days are looked at once a value is found: local days of a patient who travels overlap.
const OVERLAPPING_DAYS: i32 = 2;

/// The latest values, which are part of the patient's row: syncs write them too.
pub(super) const LATEST: Derivation = Derivation {
    id: "latest",
    version: 2,
    output: None,
    inputs: &[
        Input::Rows(DataType::Activity),
        Input::Rows(DataType::Tests),
        Input::Derived("aggregates.activity"),
        Input::Derived("aggregates.tests"),
        Input::Derived("news"),
    ],
    work: Work::Windows { aligned: 1, at_once: None, compute },
    frozen: |_, _, _| None,
    is_same: is_equal,
};

fn compute(view: &mut View, _touched: &[Windows]) -> Computed {
    let intervals = vital_intervals(view)?;
    if intervals.is_empty() {
        return Ok(());
    }
    let rows = Missing::gather(intervals.iter().map(|interval| vital_rows(view, &interval.with_next())))?;
    let mut latest = newest(view, &rows)?;
    let entry = view.newest_news.and_then(|newest| newest.after);
    latest.valid.news_score =
        entry.and_then(|entry| Some(Timed { value: f64::from(entry.total?), timestamp_ms: entry.time_ms }));
    note_ahead(view, &intervals, &rows);
    view.latest = Some(latest);
    Ok(())
}

fn newest(view: &View, rows: &[Vec<Block>]) -> Computed<Measured> {
    let touched = view.touched_of(&VITAL_TYPES);
    let is_touched = |timed: &Timed| {
        let window = timed.timestamp_ms.div_euclid(WINDOW_MS);
        touched.iter().any(|windows| windows.contains(&window))
    };
    let mut latest = view.seen;
    latest.retain(|timed| !is_touched(timed));
    for block in rows.iter().flatten() {
        latest.merge_newer(&Measured::of(block, view.not_after_us));
    }
    let lost = lost(&view.seen, &latest, is_touched);
    if lost.contains(&true) {
        latest.merge_newer(&search(view, lost)?);
    }
    Ok(latest)
}

/// Takes note of rows and changes of settings whose time has not come: latest values and NEWS take them then.
fn note_ahead(view: &mut View, intervals: &[Interval], rows: &[Vec<Block>]) {
    for (interval, blocks) in intervals.iter().zip(rows) {
        for block in blocks {
            let first = block.times_us.partition_point(|time_us| *time_us <= view.not_after_us);
            view.ahead_us.entry(block.data_type).or_default().extend(&block.times_us[first..]);
        }
        let changes_us = changes_of_settings(view, &interval.0).into_iter().map(|time_ms| time_ms * 1000);
        let ahead_us: Vec<i64> = changes_us.filter(|time_us| *time_us > view.not_after_us).collect();
        view.ahead_us.entry(DataType::Activity).or_default().extend(ahead_us);
    }
}

/// Returns which signs have lost their value, so that something that was not touched may be the newest now. What was not
/// touched is older than the value that has gone, so a value from the same window or a later one is newer than all of it.
fn lost(seen: &Measured, found: &Measured, is_touched: impl Fn(&Timed) -> bool) -> Signs {
    let window = |timed: &Timed| timed.timestamp_ms.div_euclid(WINDOW_MS);
    let (seen, found) = (seen.signs(), found.signs());
    std::array::from_fn(|sign| {
        let is_older = |seen: &Timed| found[sign].is_none_or(|found| window(&found) < window(seen));
        seen[sign].is_some_and(|seen| is_touched(&seen) && is_older(&seen))
    })
}

/// Some of [`Measured::signs`].
type Signs = [bool; 12];

fn has_all(values: &Measured, wanted: Signs) -> bool {
    values.signs().into_iter().zip(wanted).all(|(sign, wanted)| sign.is_some() || !wanted)
}

/// Looks backwards through the aggregates until all wanted values are found or there are no more.
fn search(view: &View, wanted: Signs) -> Computed<Measured> {
    view.days.everything_after()?;
    // The window of the limit may hold rows that do not count yet, and an aggregate knows only its newest.
    let limit = window_of(view.not_after_us);
    let mut found = Measured::default();
    for block in vital_rows(view, &(limit..limit + 1))? {
        found.merge_newer(&Measured::of(&block, view.not_after_us));
    }
    let mut complete_on: Option<LocalDay> = None;
    let mut look = |date: LocalDay, day: &Day| -> bool {
        if complete_on.is_some_and(|complete| date.0 < complete.0 - OVERLAPPING_DAYS) {
            return false;
        }
        found.merge_newer(&day.newest(&(i64::MIN..limit)));
        if complete_on.is_none() && has_all(&found, wanted) {
            complete_on = Some(date);
        }
        true
    };
    if view.days.latest_first().all(|(date, day)| look(date, day)) {
        view.days.everything_before()?;
    }
    Ok(found)
}
