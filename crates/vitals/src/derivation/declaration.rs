//! A derivation: what it is computed from, what a change of that reaches, and how it is computed.

use std::collections::BTreeSet;

use super::figure::Figure;
use super::frozen::Frozen;
use super::need::Computed;
use super::output::Output;
use super::view::View;
use super::windows::Windows;
use crate::registry::DataType;
use crate::zone::LocalDay;

/// Something that is computed from a patient's rows and settings.
#[derive(Clone, Copy, Debug)]
pub struct Derivation {
    /// Name, for metrics and versions. It never changes.
    pub id: &'static str,
    /// Version of its definitions; a change of them raises it, and every patient becomes dirty.
    pub version: i64,
    /// Where its values are kept; `None` for those that are part of the patient's row.
    pub output: Option<Output>,
    /// What it is computed from.
    pub inputs: &'static [Input],
    /// What a change of its inputs reaches, and how that is computed.
    pub work: Work,
    /// What remains of a stored value where rows have expired that it came from; `None` where it can be computed again.
    pub frozen: fn(&Frozen, i64, &[u8]) -> Option<Vec<u8>>,
    /// Whether two bodies say the same.
    pub is_same: fn(&[u8], &[u8]) -> bool,
}

/// What a derivation is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Rows of a type.
    Rows(DataType),
    /// Values of another derivation, by its id.
    Derived(&'static str),
    /// Window aggregates of all types.
    Aggregates,
    /// Birthday, sex, height and weight.
    Body,
    /// Settings of patient and study.
    Settings,
}

/// What a change reaches, and how that is computed.
#[derive(Clone, Copy)]
pub enum Work {
    /// Windows of five minutes, of rows.
    Windows {
        /// Touched windows are widened to multiples of so many.
        aligned: i64,
        /// Windows whose rows are in memory at once; all of a batch without.
        at_once: Option<i64>,
        /// Computes some of the touched windows.
        compute: fn(&mut View, &[Windows]) -> Computed,
    },
    /// Local days whose inputs have changed.
    Days {
        /// So many days after a changed one are reached.
        after: i32,
        /// Computes the days.
        compute: fn(&mut View, &BTreeSet<LocalDay>) -> Computed,
    },
    /// A figure of a local day; nights begin the evening before, so the next day is reached.
    Figure(Figure),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Work::Windows { .. } => "Windows",
            Work::Days { .. } => "Days",
            Work::Figure(_) => "Figure",
        })
    }
}

impl Derivation {
    /// Returns the types of rows that it reads itself.
    pub fn row_types(&self) -> impl Iterator<Item = DataType> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Rows(data_type) => Some(*data_type),
            _ => None,
        })
    }
}

pub(super) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one == other
}
