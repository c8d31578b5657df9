//! The rows of a block by window and local day.

use std::collections::BTreeMap;
use std::ops::Range;

use super::place::{Place, window_of};
use crate::block::Block;
use crate::zone::{DAY_US, LocalClock, LocalDay, SECOND_US, WINDOW_US};

/// Cells by local day, each day in the order of time.
pub type CellsByDay<C> = BTreeMap<LocalDay, Vec<C>>;

/// The rows of one window that lie on one local day.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) day: LocalDay,
    pub(super) place: Place,
    pub(super) rows: Vec<Range<usize>>,
}

impl Group {
    pub(super) fn row_count(&self) -> usize {
        self.rows.iter().map(Range::len).sum()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().flat_map(Clone::clone)
    }
}

/// Returns the rows of a block by window and local day, in the order of time.
pub(super) fn groups(block: &Block) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (run, zone) in block.zones.iter() {
        let mut clock = LocalClock::new(zone);
        let mut start = run.start;
        while start < run.end {
            let window = window_of(block.times_us[start]);
            let window_end_us = (window + 1) * WINDOW_US;
            let end = start + block.times_us[start..run.end].partition_point(|time| *time < window_end_us);
            // Of the window and not of each row: clocks change at full quarters of an hour, which no window crosses.
            let offset_seconds = clock.offset_seconds(window * WINDOW_US);
            let local_us = window * WINDOW_US + i64::from(offset_seconds) * SECOND_US;
            let day = LocalDay(local_us.div_euclid(DAY_US) as i32);
            let place = Place { start_minute: window * 5, offset_minutes: (offset_seconds / 60) as i16 };
            add_rows(&mut groups, day, place, start..end);
            start = end;
        }
    }
    groups
}

/// Adds rows to the group of their window and day; the zone of the first row gives the offset.
fn add_rows(groups: &mut Vec<Group>, day: LocalDay, place: Place, rows: Range<usize>) {
    // From the end: rows ascend in time, so a group of the same window is among the last.
    let same_window = groups.iter_mut().rev().take_while(|group| group.place.window() == place.window());
    for group in same_window {
        if group.day == day {
            group.rows.push(rows);
            return;
        }
    }
    groups.push(Group { day, place, rows: vec![rows] });
}
