//! What five minutes of sleep rows hold: the stage of each epoch.

use super::cell::WindowCell;
use super::groups::{CellsByDay, groups};
use super::pack::{Packer, Unpacker};
use super::place::Place;
use crate::block::Block;
use crate::registry::DataType;
use crate::sleep::{Stage, StageEpoch};

/// All epochs that begin in one window. Rows without a stage are none.
#[derive(Clone, Debug, PartialEq)]
pub struct StageCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// The epochs, in the order of time.
    pub epochs: Vec<StageEpoch>,
}

impl WindowCell for StageCell {
    const DATA_TYPE: DataType = DataType::Sleep;
    const FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        StageCell { place, rows: 0, epochs: Vec::new() }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.epochs.extend_from_slice(&other.epochs);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        packer.unsigned(self.epochs.len() as u64);
        let mut last_ms = self.place.start_ms();
        for epoch in &self.epochs {
            // Four stages fit below the time since the epoch before.
            packer.unsigned((epoch.time_ms - last_ms) as u64 * 4 + epoch.stage.state() as u64);
            last_ms = epoch.time_ms;
        }
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let rows = unpacker.number()?;
        let count: usize = unpacker.number()?;
        let mut epochs = Vec::with_capacity(count.min(1024));
        let mut time_ms = place.start_ms();
        for _ in 0..count {
            let packed = unpacker.unsigned()?;
            time_ms = time_ms.checked_add_unsigned(packed / 4)?;
            epochs.push(StageEpoch { time_ms, stage: Stage::from_state((packed % 4) as i64)? });
        }
        Some(StageCell { place, rows, epochs })
    }
}

/// Returns the cells of a block of `sleep` rows.
pub fn stage_cells(block: &Block) -> CellsByDay<StageCell> {
    let states = block.column("sleep_state");
    let mut days = CellsByDay::new();
    for group in groups(block) {
        let mut cell = StageCell::at(group.place);
        for row in group.rows() {
            cell.rows += 1;
            let time_ms = block.times_us[row].div_euclid(1000);
            // A state that this version does not know is no stage, and its row still counts as a row.
            let stage = Stage::from_state(i64::from(states.get(row)));
            cell.epochs.extend(stage.map(|stage| StageEpoch { time_ms, stage }));
        }
        days.entry(group.day).or_default().push(cell);
    }
    days
}
