//! Cells: all facts of one five-minute UTC window on one local day.
//!
//! A cell is a pure function of the rows that lie in its window. It is recomputed from them whenever one of them
//! changes and never patched, so the order of syncs cannot change it. Thirty-minute slots, daily sums, averages,
//! compliance and what was last measured before a time all follow from cells, so none of them needs the rows again.
//!
//! A window can lie on two local days: when the patient travelled within it, its rows name two zones.

mod activity;
mod day;
mod motion;
mod pack;
mod spot;
mod stage;
mod temperature;
mod variability;
mod waveform;

use std::collections::BTreeMap;
use std::ops::Range;

pub use activity::{ActivityCell, Sum, Vital, ZONES, activity_cells};
pub use day::{Day, Kept};
pub use motion::{ANGLES, MotionCell, motion_cells};
pub use pack::{Packer, Unpacker};
pub use spot::{SpotCell, spot_cells};
pub use stage::{StageCell, stage_cells};
pub use temperature::{Sensor, TemperatureCell, temperature_cells};
pub use variability::{BeatCell, MEASURES, Measures, VariabilityCell, beat_cells, variability_cells};
pub use waveform::{EcgCell, Ppg1Cell, Ppg2Cell, Rates, ecg_cells, ppg1_cells, ppg2_cells};

use crate::block::Block;
use crate::registry::DataType;
use crate::zone::{DAY_US, LocalClock, LocalDay, SECOND_US, WINDOW_US};

/// Milliseconds of a five-minute window.
pub const WINDOW_MS: i64 = WINDOW_US / 1000;
/// Minutes of a thirty-minute slot.
const HALF_HOUR_MINUTES: i64 = 30;
const DAY_MINUTES: i64 = 1440;

/// Number of the five-minute window that holds a time, counted from 1970.
pub fn window_of(time_us: i64) -> i64 {
    time_us.div_euclid(WINDOW_US)
}

/// Where a cell lies: its start, and what the local clock showed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// First minute of the cell, counted from 1970 UTC.
    pub start_minute: i64,
    /// Minutes that local time was ahead of UTC.
    pub offset_minutes: i16,
}

impl Place {
    /// Start of the cell, ms since 1970.
    pub fn start_ms(self) -> i64 {
        self.start_minute * 60_000
    }

    /// Number of the five-minute window.
    pub fn window(self) -> i64 {
        self.start_minute.div_euclid(5)
    }

    /// Minute of the local day, 0 to 1439.
    pub fn local_minute(self) -> i64 {
        (self.start_minute + i64::from(self.offset_minutes)).rem_euclid(DAY_MINUTES)
    }

    /// The thirty-minute slot of the local clock that the cell lies in.
    #[must_use]
    pub fn half_hour(self) -> Place {
        let into_slot = self.local_minute() % HALF_HOUR_MINUTES;
        Place { start_minute: self.start_minute - into_slot, ..self }
    }
}

/// A cell of one data type.
pub trait WindowCell: Clone + PartialEq + std::fmt::Debug {
    /// The type of the rows it is made of.
    const DATA_TYPE: DataType;
    /// Version of the packed form; a change of fields raises it.
    const FORMAT: u8;

    /// Where the cell lies.
    fn place(&self) -> Place;
    /// A cell of no rows.
    #[must_use]
    fn at(place: Place) -> Self;
    /// Adds the rows of another cell: how slots of thirty minutes are made.
    fn absorb(&mut self, other: &Self);
    /// Writes everything but the place.
    fn pack(&self, packer: &mut Packer);
    /// Reads what [`WindowCell::pack`] wrote; `None` when the bytes are not such.
    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self>;
}

/// The cells of one local day, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct DayCells<C> {
    cells: Vec<C>,
}

impl<C> Default for DayCells<C> {
    fn default() -> Self {
        DayCells { cells: Vec::new() }
    }
}

impl<C: WindowCell> DayCells<C> {
    /// The cells in the order of time.
    pub fn cells(&self) -> &[C] {
        &self.cells
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cell of a window.
    pub fn in_window(&self, window: i64) -> Option<&C> {
        let found = self.cells.binary_search_by_key(&window, |cell| cell.place().window());
        found.ok().map(|at| &self.cells[at])
    }

    /// The cells whose windows lie in a range.
    pub fn in_windows(&self, windows: Range<i64>) -> &[C] {
        let start = self.cells.partition_point(|cell| cell.place().window() < windows.start);
        let end = self.cells.partition_point(|cell| cell.place().window() < windows.end);
        &self.cells[start..end.max(start)]
    }

    /// Puts cells in the place of all that lie in a range of windows.
    pub fn replace(&mut self, windows: Range<i64>, cells: impl IntoIterator<Item = C>) {
        let start = self.cells.partition_point(|cell| cell.place().window() < windows.start);
        let end = self.cells.partition_point(|cell| cell.place().window() < windows.end);
        self.cells.splice(start..end.max(start), cells);
    }

    /// The thirty-minute slots of the local clock that have rows.
    pub fn half_hours(&self) -> Vec<C> {
        let mut slots: Vec<C> = Vec::with_capacity(51);
        for cell in &self.cells {
            let place = cell.place().half_hour();
            match slots.last_mut() {
                Some(slot) if slot.place() == place => slot.absorb(cell),
                _ => {
                    let mut slot = C::at(place);
                    slot.absorb(cell);
                    slots.push(slot);
                }
            }
        }
        slots
    }

    /// The day as bytes.
    pub fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::with_capacity(16 + self.cells.len() * 32);
        packer.byte(C::FORMAT);
        packer.unsigned(self.cells.len() as u64);
        let mut last = Place { start_minute: 0, offset_minutes: 0 };
        for cell in &self.cells {
            let place = cell.place();
            packer.unsigned((place.window() - last.window()) as u64);
            packer.signed(i64::from(place.offset_minutes) - i64::from(last.offset_minutes));
            cell.pack(&mut packer);
            last = place;
        }
        packer.into_bytes()
    }

    /// The day that [`DayCells::pack`] made the bytes of; `None` when they are not such, or of another version.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        if unpacker.byte()? != C::FORMAT {
            return None;
        }
        let count = usize::try_from(unpacker.unsigned()?).ok()?;
        // More cells than bytes cannot be: a damaged count must not ask for memory.
        let mut cells = Vec::with_capacity(count.min(bytes.len()));
        let (mut window, mut offset_minutes) = (0_i64, 0_i64);
        for _ in 0..count {
            window = window.checked_add_unsigned(unpacker.unsigned()?)?;
            offset_minutes = offset_minutes.checked_add(unpacker.signed()?)?;
            let offset_minutes = i16::try_from(offset_minutes).ok()?;
            let place = Place { start_minute: window.checked_mul(5)?, offset_minutes };
            cells.push(C::unpack(place, &mut unpacker)?);
        }
        unpacker.is_at_end().then_some(DayCells { cells })
    }
}

/// Cells by local day, each day in the order of time.
pub type CellsByDay<C> = BTreeMap<LocalDay, Vec<C>>;

/// The rows of one window that lie on one local day.
#[derive(Clone, Debug)]
struct Group {
    day: LocalDay,
    place: Place,
    rows: Vec<Range<usize>>,
}

impl Group {
    fn row_count(&self) -> usize {
        self.rows.iter().map(Range::len).sum()
    }

    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().flat_map(Clone::clone)
    }
}

/// The rows of a block by window and local day, in the order of time.
fn groups(block: &Block) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (run, zone) in block.zones.iter() {
        let mut clock = LocalClock::new(zone);
        let mut start = run.start;
        while start < run.end {
            let window = window_of(block.times_us[start]);
            let window_end_us = (window + 1) * WINDOW_US;
            let end = start + block.times_us[start..run.end].partition_point(|time| *time < window_end_us);
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
    let same_window = groups.iter_mut().rev().take_while(|group| group.place.window() == place.window());
    for group in same_window {
        if group.day == day {
            group.rows.push(rows);
            return;
        }
    }
    groups.push(Group { day, place, rows: vec![rows] });
}

#[cfg(test)]
mod tests;
