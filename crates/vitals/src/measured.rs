//! What was measured last: the newest valid value of each vital sign, and the newest that was too poor to be one.
//!
//! Latest values show what is valid. NEWS also has to say why a sign is missing: a sensor that sits badly is another
//! matter than none.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::latest::{LatestValues, Readings, Timed, newest_in_rows};

/// The newest measurements of each vital sign. Serialised as the valid ones with the poor ones in a field of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Of good quality, or of one that is not given.
    #[serde(flatten)]
    pub valid: LatestValues,
    /// Of a quality below 2.
    #[serde(default, skip_serializing_if = "LatestValues::is_empty")]
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

    /// Returns the newest measurements among the rows of a block that are not later than `not_after_us`.
    pub fn of(block: &Block, not_after_us: i64) -> Self {
        let rows = block.times_us.partition_point(|time| *time <= not_after_us);
        Measured::in_rows(block, 0..rows)
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

    /// Returns the vital signs, the valid ones and then the poor ones, always in the same order.
    pub fn signs(&self) -> [Option<Timed>; 12] {
        let mut copy = *self;
        copy.signs_mut().map(|sign| *sign)
    }

    /// Returns the vital signs to be changed, in the order of [`Measured::signs`].
    #[allow(clippy::many_single_char_names, reason = "twelve places, whose names say nothing here")]
    pub fn signs_mut(&mut self) -> [&mut Option<Timed>; 12] {
        let [a, b, c, d, e, f] = self.valid.signs_mut();
        let [g, h, i, j, k, l] = self.poor.signs_mut();
        [a, b, c, d, e, f, g, h, i, j, k, l]
    }

    /// Keeps the vital signs that fulfil a condition.
    pub fn retain(&mut self, keep: impl Fn(&Timed) -> bool) {
        self.valid.retain(&keep);
        self.poor.retain(&keep);
    }

    /// Returns whether no vital sign was ever measured.
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty() && self.poor.is_empty()
    }

    /// Returns the measurements that are not later than a time.
    #[must_use]
    pub fn not_after(self, time_ms: i64) -> Self {
        Measured { valid: self.valid.not_after(time_ms), poor: self.poor.not_after(time_ms) }
    }
}
