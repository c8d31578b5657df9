//! Figures of a day beyond the specification: answers carry them in one object, `extra`, by topic.

pub(super) mod night_resting_heart_rate;
pub(super) mod values;

use super::declaration::{Derivation, Work, is_equal};
use super::figure::Figure;
use super::output::Output;
use super::sections::{AGGREGATES_OF_A_DAY, frozen_day};

impl Figure {
    /// Returns the derivation of the figure.
    pub(super) const fn derivation(self, id: &'static str, version: i64) -> Derivation {
        Derivation {
            id,
            version,
            output: Some(Output::Extra),
            inputs: AGGREGATES_OF_A_DAY,
            work: Work::Figure(self),
            frozen: frozen_day,
            is_same: is_equal,
        }
    }
}
