//! What five minutes of skin temperatures hold. They never become a body temperature.

use super::cell::WindowCell;
use super::groups::{CellsByDay, groups};
use super::pack::{Packer, Unpacker};
use super::place::Place;
use crate::block::Block;
use crate::registry::{DataType, NULL};

/// The temperatures of one sensor, hundredths of a °C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sensor {
    /// Sum.
    pub sum: i64,
    /// Number of values.
    pub count: u32,
    /// Highest; only meaningful when there is one.
    pub highest: i32,
}

impl Sensor {
    fn add(&mut self, value: i32) {
        if value == NULL {
            return;
        }
        self.absorb(Sensor { sum: i64::from(value), count: 1, highest: value });
    }

    fn absorb(&mut self, other: Sensor) {
        if other.count == 0 {
            return;
        }
        // A highest of 0 from nothing would hide frost.
        self.highest = if self.count == 0 { other.highest } else { self.highest.max(other.highest) };
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Returns the mean in hundredths, rounded half up; `None` of nothing.
    pub fn mean_hundredths(self) -> Option<i64> {
        let count = i64::from(self.count);
        // Temperatures fall below zero in winter; a division that cuts towards zero would round those up and the
        // others down.
        (count > 0).then(|| (self.sum * 2 + count).div_euclid(2 * count))
    }

    fn pack(self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.count));
        if self.count > 0 {
            packer.signed(self.sum);
            packer.signed(i64::from(self.highest));
        }
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let count = unpacker.number()?;
        if count == 0 {
            return Some(Sensor::default());
        }
        Some(Sensor { sum: unpacker.signed()?, count, highest: i32::try_from(unpacker.signed()?).ok()? })
    }
}

/// All facts of one window of temperature rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperatureCell {
    /// Where it lies.
    pub place: Place,
    /// Number of rows.
    pub rows: u32,
    /// Skin, sensor 1.
    pub sk1: Sensor,
    /// Skin, sensor 2.
    pub sk2: Sensor,
}

impl WindowCell for TemperatureCell {
    const DATA_TYPE: DataType = DataType::Temperature;
    const FORMAT: u8 = 1;

    fn place(&self) -> Place {
        self.place
    }

    fn at(place: Place) -> Self {
        TemperatureCell { place, rows: 0, sk1: Sensor::default(), sk2: Sensor::default() }
    }

    fn absorb(&mut self, other: &Self) {
        self.rows += other.rows;
        self.sk1.absorb(other.sk1);
        self.sk2.absorb(other.sk2);
    }

    fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.rows));
        self.sk1.pack(packer);
        self.sk2.pack(packer);
    }

    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let rows = unpacker.number()?;
        Some(TemperatureCell { place, rows, sk1: Sensor::unpack(unpacker)?, sk2: Sensor::unpack(unpacker)? })
    }
}

/// Returns the cells of a block of temperature rows.
pub fn temperature_cells(block: &Block) -> CellsByDay<TemperatureCell> {
    let (sk1, sk2) = (block.column("temp_sk1"), block.column("temp_sk2"));
    let mut days = CellsByDay::new();
    for group in groups(block) {
        let mut cell = TemperatureCell::at(group.place);
        for row in group.rows() {
            cell.rows += 1;
            cell.sk1.add(sk1.get(row));
            cell.sk2.add(sk2.get(row));
        }
        days.entry(group.day).or_default().push(cell);
    }
    days
}
