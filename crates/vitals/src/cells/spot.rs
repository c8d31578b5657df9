//! What five minutes of spot measurements hold: the newest of each vital sign, for latest values and NEWS.

use std::collections::BTreeMap;

use super::cell::WindowCell;
use super::groups::{CellsByDay, groups};
use super::pack::{Packer, Unpacker};
use super::place::Place;
use crate::block::Block;
use crate::measured::Measured;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// All facts of one window of tests.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows, of whatever kind.
    pub rows: u32,
    /// Newest measurements of each vital sign in the window.
    pub newest: Measured,
}

impl WindowCell for SpotCell {
    const DATA_TYPE: DataType = DataType::Tests;
    const FORMAT: u8 = 2;
    // Without poor measurements.
    const OLDEST_FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        SpotCell { place, rows: 0, newest: Measured::default() }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.newest.merge_newer(&other.newest);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        packer.newest(&self.newest, self.place.start_ms());
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        Some(SpotCell { place, rows: unpacker.number()?, newest: unpacker.newest(place.start_ms())? })
    }
}

/// Returns the cells of the blocks of tests, one block for each kind of test.
pub fn spot_cells(blocks: &[Block]) -> CellsByDay<SpotCell> {
    let mut cells: BTreeMap<(LocalDay, i64), SpotCell> = BTreeMap::new();
    for block in blocks.iter().filter(|block| block.data_type == DataType::Tests) {
        for group in groups(block) {
            // Kinds of tests are channels of their own, so one window meets several blocks.
            let key = (group.day, group.place.window());
            let cell = cells.entry(key).or_insert_with(|| SpotCell::at(group.place));
            cell.rows += group.row_count() as u32;
            for rows in &group.rows {
                cell.newest.merge_newer(&Measured::in_rows(block, rows.clone()));
            }
        }
    }
    let mut days = CellsByDay::new();
    for ((day, _), cell) in cells {
        days.entry(day).or_default().push(cell);
    }
    days
}
