//! States of a bracelet from rows that come at once, one by one, late and in any order.

use crate::block::{Block, Cells};
use crate::bracelet::BraceletState::{self, Charging, Heard, NotCharging, NotWorn, Silent, Worn};
use crate::bracelet::{BraceletChange, KnownBracelet, NOT_WORN_AFTER_MS, SILENT_AFTER_MS};
use crate::registry::{Channel, DataType, NULL};
use crate::zone::ZoneRuns;

const MINUTE_MS: i64 = 60_000;
/// Later than every row of these tests.
const NEVER_US: i64 = i64::MAX;

/// Activity rows of some minutes with the values of a column.
fn rows(column: &str, values: &[(i64, i32)]) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = values.iter().map(|(minute, _)| minute * MINUTE_MS * 1000).collect();
    let column = DataType::Activity.column_index(column).expect("a column");
    block.columns[column] = Cells::Values(values.iter().map(|(_, value)| *value).collect()).simplified();
    block.zones = ZoneRuns::constant("UTC".into(), values.len());
    block
}

fn wearing(values: &[(i64, i32)]) -> Block {
    rows("wearing", values)
}

/// States that a sync of a block brings, with the minutes of the samples that show them.
fn take(known: &mut KnownBracelet, block: &Block) -> Vec<(BraceletState, i64)> {
    let changes = known.take([block].into_iter(), 0, NEVER_US);
    changes.into_iter().map(|BraceletChange { state, time_ms }| (state, time_ms / MINUTE_MS)).collect()
}

#[test]
fn charging_follows_the_newest_row_that_reports_it_and_is_reported_at_the_change() {
    let mut known = KnownBracelet::default();
    assert_eq!(take(&mut known, &rows("charging", &[(1, 0)])), []);
    assert_eq!(take(&mut known, &rows("charging", &[(2, 1), (3, NULL)])), [(Charging, 2)]);
    assert_eq!(take(&mut known, &rows("charging", &[(4, 1)])), []);
    // Rows that say nothing of it leave it as it is.
    assert_eq!(take(&mut known, &rows("bpm", &[(5, 60)])), []);
    // What lies before is an older state, and comes and goes within one sync.
    assert_eq!(take(&mut known, &rows("charging", &[(1, 0), (3, 0)])), []);
    assert_eq!(take(&mut known, &rows("charging", &[(6, 0), (7, 1)])), []);
    assert_eq!(take(&mut known, &rows("charging", &[(8, 0)])), [(NotCharging, 8)]);
    // A row that takes the place of the newest one.
    assert_eq!(take(&mut known, &rows("charging", &[(8, 1)])), [(Charging, 8)]);
}

#[test]
fn bracelet_is_not_worn_once_its_rows_say_so_for_half_an_hour() {
    assert_eq!(NOT_WORN_AFTER_MS, 30 * MINUTE_MS);
    let mut known = KnownBracelet::default();
    assert_eq!(take(&mut known, &wearing(&[(0, 4), (10, 0), (39, 0)])), []);
    assert_eq!(take(&mut known, &wearing(&[(40, 0)])), [(NotWorn, 40)]);
    assert_eq!(take(&mut known, &wearing(&[(50, 0), (51, NULL)])), []);
    assert_eq!(take(&mut known, &wearing(&[(52, 1)])), [(Worn, 52)]);
    assert_eq!(take(&mut known, &wearing(&[(53, 0), (82, 0)])), []);
    assert_eq!(take(&mut known, &wearing(&[(83, 0)])), [(NotWorn, 83)]);
    // All of it in one sync, or without anything that was known before.
    assert_eq!(take(&mut KnownBracelet::default(), &wearing(&[(10, 0), (40, 0)])), [(NotWorn, 40)]);
    assert_eq!(take(&mut KnownBracelet::default(), &wearing(&[(10, 0), (40, 0), (41, 4)])), []);
}

#[test]
fn rows_that_come_late_change_the_time_and_bring_no_older_state_back() {
    let mut known = KnownBracelet::default();
    assert_eq!(take(&mut known, &wearing(&[(0, 4)])), []);
    assert_eq!(take(&mut known, &wearing(&[(60, 0)])), []);
    // It was taken off before: known now, and true of the newest row.
    assert_eq!(take(&mut known, &wearing(&[(31, 0)])), []);
    assert_eq!(take(&mut known, &wearing(&[(30, 0)])), [(NotWorn, 60)]);
    // Worn meanwhile, which shortens the time but is no present state.
    assert_eq!(take(&mut known, &wearing(&[(45, 4)])), []);
    assert_eq!(take(&mut known, &wearing(&[(61, 4)])), [(Worn, 61)]);

    let mut known = KnownBracelet::default();
    assert_eq!(take(&mut known, &wearing(&[(0, 0), (29, 0)])), []);
    assert_eq!(take(&mut known, &wearing(&[(10, 3)])), []);
    assert_eq!(take(&mut known, &wearing(&[(39, 0), (58, 0)])), []);
    assert_eq!(take(&mut known, &wearing(&[(59, 0)])), [(NotWorn, 59)]);
}

#[test]
fn bracelet_is_silent_an_hour_after_its_last_newer_sample_and_heard_with_the_next() {
    let mut known = KnownBracelet::default();
    let hear = |known: &mut KnownBracelet, minute: i64, received_ms: i64| {
        let changes = known.take([&rows("bpm", &[(minute, 60)])].into_iter(), received_ms, NEVER_US);
        changes.into_iter().map(|change| (change.state, change.time_ms / MINUTE_MS)).collect::<Vec<_>>()
    };
    let silent = |known: &mut KnownBracelet, now_ms: i64| {
        known.fall_silent(now_ms).map(|change| (change.state, change.time_ms / MINUTE_MS))
    };
    assert_eq!((known.silent_from_ms(), silent(&mut known, NEVER_US)), (None, None));
    assert_eq!(hear(&mut known, 10, 1_000), []);
    // Older samples and repeated ones are no sign of life.
    assert_eq!(hear(&mut known, 9, 50_000), []);
    assert_eq!(hear(&mut known, 10, 50_000), []);
    assert_eq!(known.silent_from_ms(), Some(1_000 + SILENT_AFTER_MS));
    assert_eq!(silent(&mut known, 999 + SILENT_AFTER_MS), None);
    assert_eq!(silent(&mut known, 1_000 + SILENT_AFTER_MS), Some((Silent, 10)));
    assert_eq!((known.silent_from_ms(), silent(&mut known, NEVER_US)), (None, None));
    assert_eq!(hear(&mut known, 9, 9_000_000), []);
    assert_eq!(hear(&mut known, 11, 9_000_000), [(Heard, 11)]);
    assert_eq!(known.silent_from_ms(), Some(9_000_000 + SILENT_AFTER_MS));
}

/// A row of each minute comes at once, from a bracelet that is six minutes ahead, where five are taken.
#[test]
fn bracelet_whose_clock_is_ahead_is_heard_with_each_sync() {
    let mut known = KnownBracelet::default();
    for minute in 0..61 {
        let not_after_us = (minute + 5) * MINUTE_MS * 1000;
        known.take([&rows("bpm", &[(minute + 6, 60)])].into_iter(), minute * MINUTE_MS, not_after_us);
    }
    assert_eq!(known.silent_from_ms(), Some(60 * MINUTE_MS + SILENT_AFTER_MS));
    // A clock that is right again is heard once its time has come.
    known.take([&rows("bpm", &[(67, 60)])].into_iter(), 67 * MINUTE_MS, 72 * MINUTE_MS * 1000);
    assert_eq!(known.silent_from_ms(), Some(67 * MINUTE_MS + SILENT_AFTER_MS));
}

#[test]
fn rows_ahead_of_the_clock_change_nothing() {
    let mut known = KnownBracelet::default();
    let block = rows("charging", &[(1, 0), (100, 1)]);
    assert_eq!(known.take([&block].into_iter(), 0, 99 * MINUTE_MS * 1000), []);
    // The row before them has been heard.
    assert_eq!(known.silent_from_ms(), Some(SILENT_AFTER_MS));
    assert_eq!(take(&mut known, &rows("charging", &[(2, 1)])), [(Charging, 2)]);
}

#[test]
fn what_is_known_is_read_back_as_it_was_written() {
    let mut known = KnownBracelet::default();
    take(&mut known, &wearing(&[(10, 0), (40, 0)]));
    take(&mut known, &rows("charging", &[(41, 1)]));
    let text = serde_json::to_string(&known).expect("a text");
    assert_eq!(serde_json::from_str::<KnownBracelet>(&text).expect("known"), known);
    assert_eq!(serde_json::from_str::<KnownBracelet>("{}").expect("known"), KnownBracelet::default());
}
