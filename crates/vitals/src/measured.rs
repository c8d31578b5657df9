//! What was measured last: the newest valid value of each vital sign, and the newest that was too poor to be one.
//!
//! Latest values show what is valid. NEWS also has to say why a sign is missing: a sensor that sits badly is another
//! matter than none.

use std::ops::Range;

use crate::block::Block;
use crate::latest::{LatestValues, Readings, newest_in_rows};

/// The newest measurements of each vital sign.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Of good quality, or of one that is not given.
    pub valid: LatestValues,
    /// Of a quality below 2.
    pub poor: LatestValues,
}

impl From<LatestValues> for Measured {
    fn from(valid: LatestValues) -> Self {
        Measured { valid, poor: LatestValues::default() }
    }
}

impl Measured {
    /// Returns the newest measurements among some rows of a block.
    pub fn in_rows(block: &Block, rows: Range<usize>) -> Self {
        let mut poor = LatestValues::default();
        if let Some(readings) = Readings::of(block) {
            for row in rows.clone() {
                poor.merge_newer(&readings.poor_at(row, block.times_us[row].div_euclid(1000)));
            }
        }
        Measured { valid: newest_in_rows(block, rows), poor }
    }

    /// Takes over every measurement of `other` that is newer, as [`LatestValues::merge_newer`] does.
    pub fn merge_newer(&mut self, other: &Measured) {
        self.valid.merge_newer(&other.valid);
        self.poor.merge_newer(&other.poor);
    }

    /// Returns the newest time at which a vital sign was measured that NEWS scores, ms.
    pub fn scored_ms(&self) -> Option<i64> {
        self.valid.scored_ms().max(self.poor.scored_ms())
    }

    /// Returns the measurements that are not later than a time.
    #[must_use]
    pub fn not_after(self, time_ms: i64) -> Self {
        Measured { valid: self.valid.not_after(time_ms), poor: self.poor.not_after(time_ms) }
    }
}
