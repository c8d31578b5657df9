//! What latest values and NEWS come from.

use super::windows::Windows;
use crate::registry::DataType;

/// The types of rows that latest values and NEWS come from.
pub const VITAL_TYPES: [DataType; 2] = [DataType::Activity, DataType::Tests];

/// Windows to evaluate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interval(pub Windows);

impl Interval {
    /// With the window after them, where the next evaluation mostly is.
    pub fn with_next(&self) -> Windows {
        self.0.start..self.0.end + 1
    }
}
