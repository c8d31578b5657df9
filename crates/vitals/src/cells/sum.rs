//! Sums of what rows hold, from which means follow.

use super::pack::{Packer, Unpacker};

/// A sum of values and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Sum, in the steps of the column. Wide, because nothing limits how many rows a window has.
    pub sum: u64,
    /// Number of values.
    pub count: u32,
}

impl Sum {
    pub(super) fn add(&mut self, value: i32) {
        // Columns that are summed begin at 0; the cell of no value lies below and is left out before.
        self.sum += value.max(0) as u64;
        self.count += 1;
    }

    pub(crate) fn absorb(&mut self, other: Sum) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Returns the mean in steps of the column; `None` of nothing.
    pub fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / f64::from(self.count))
    }

    /// Returns the mean times `factor`, rounded half up: hundredths come from here without a float.
    pub fn scaled_mean(self, factor: u64) -> Option<u64> {
        let count = u64::from(self.count);
        // In integers, so that a slot shows the same digits on every machine.
        (count > 0).then(|| (self.sum * factor * 2 + count) / (2 * count))
    }

    pub(super) fn pack(self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.count));
        if self.count > 0 {
            packer.unsigned(self.sum);
        }
    }

    pub(super) fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let count = unpacker.number()?;
        let sum = if count > 0 { unpacker.unsigned()? } else { 0 };
        Some(Sum { sum, count })
    }
}

/// A vital sign: its valid values and their qualities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vital {
    /// Rows that have a value at all, be it 0, poor or off the wrist.
    pub measured: u32,
    /// Valid values, in the steps of the column.
    pub values: Sum,
    /// Qualities of the valid values, where given.
    pub qualities: Sum,
}

impl Vital {
    pub(super) fn add(&mut self, valid: Option<i32>, quality: Option<i32>) {
        let Some(value) = valid else { return };
        self.values.add(value);
        if let Some(quality) = quality {
            self.qualities.add(quality);
        }
    }

    pub(super) fn absorb(&mut self, other: &Vital) {
        self.measured += other.measured;
        self.values.absorb(other.values);
        self.qualities.absorb(other.qualities);
    }

    pub(super) fn pack(&self, packer: &mut Packer) {
        packer.unsigned(u64::from(self.measured));
        if self.measured > 0 {
            self.values.pack(packer);
            self.qualities.pack(packer);
        }
    }

    pub(super) fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let measured = unpacker.number()?;
        if measured == 0 {
            return Some(Vital::default());
        }
        Some(Vital { measured, values: Sum::unpack(unpacker)?, qualities: Sum::unpack(unpacker)? })
    }
}
