//! The cells of one data type on one local day.

use std::ops::Range;

use super::cell::WindowCell;
use super::pack::{Packer, Unpacker};
use super::place::{Place, WINDOW_MS};

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
    /// Returns the cells in the order of time.
    pub fn cells(&self) -> &[C] {
        &self.cells
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the cell of a window, counted in windows of five minutes since 1970.
    pub fn in_window(&self, window: i64) -> Option<&C> {
        let found = self.cells.binary_search_by_key(&window, |cell| cell.place().window());
        found.ok().map(|at| &self.cells[at])
    }

    /// Returns the cells whose windows lie in a range.
    pub fn in_windows(&self, windows: Range<i64>) -> &[C] {
        let start = self.cells.partition_point(|cell| cell.place().window() < windows.start);
        let end = self.cells.partition_point(|cell| cell.place().window() < windows.end);
        &self.cells[start..end.max(start)]
    }

    /// Replaces all cells that lie in a range of windows. `cells` have to lie there too, in the order of time.
    pub fn replace(&mut self, windows: Range<i64>, cells: impl IntoIterator<Item = C>) {
        let start = self.cells.partition_point(|cell| cell.place().window() < windows.start);
        let end = self.cells.partition_point(|cell| cell.place().window() < windows.end);
        self.cells.splice(start..end.max(start), cells);
    }

    /// Returns the thirty-minute slots of the local clock that have rows.
    pub fn half_hours(&self) -> Vec<C> {
        // A day of 25 hours has 50, and one more where its clock changes within a half hour.
        let mut slots: Vec<C> = Vec::with_capacity(51);
        for cell in &self.cells {
            let place = cell.place().half_hour();
            // By the instant of the start: where clocks go back, two slots show the same local time and stay two;
            // where they change in the middle of a half hour, what comes before and after is one. At a border the clocks of
            // two zones take turns, and so do their slots.
            let at = match slots.binary_search_by_key(&place.start_minute, |slot| slot.place().start_minute) {
                Ok(at) => at,
                Err(at) => {
                    slots.insert(at, C::at(place));
                    at
                }
            };
            slots[at].absorb(cell);
        }
        slots
    }

    /// Returns the day as bytes.
    pub fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::with_capacity(16 + self.cells.len() * 32);
        packer.byte(C::FORMAT);
        packer.unsigned(self.cells.len() as u64);
        let mut last = Place { start_minute: 0, offset_minutes: 0 };
        for cell in &self.cells {
            let place = cell.place();
            // Steps from one to the next: a full day of cells needs one byte for each place.
            packer.unsigned((place.window() - last.window()) as u64);
            packer.signed(i64::from(place.offset_minutes) - i64::from(last.offset_minutes));
            cell.pack(&mut packer);
            last = place;
        }
        packer.into_bytes()
    }

    /// Reads the bytes of [`DayCells::pack`]; `None` when they are damaged or of another version.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        if !(C::OLDEST_FORMAT..=C::FORMAT).contains(&unpacker.byte()?) {
            return None;
        }
        let count = usize::try_from(unpacker.unsigned()?).ok()?;
        // A cell has at least one byte, so that a damaged count cannot ask for much memory.
        let mut cells = Vec::with_capacity(count.min(bytes.len()));
        let (mut window, mut offset_minutes) = (0_i64, 0_i64);
        for _ in 0..count {
            window = window.checked_add_unsigned(unpacker.unsigned()?)?;
            offset_minutes = offset_minutes.checked_add(unpacker.signed()?)?;
            let offset_minutes = i16::try_from(offset_minutes).ok()?;
            // A damaged window may be so far away that its time does not fit: it is no window.
            window.checked_mul(WINDOW_MS)?;
            let place = Place { start_minute: window * 5, offset_minutes };
            cells.push(C::unpack(place, &mut unpacker)?);
        }
        // Bytes that are left over mean another format or damage: a day that is half right is worse than one computed
        // again.
        unpacker.is_at_end().then_some(DayCells { cells })
    }
}
