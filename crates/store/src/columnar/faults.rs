//! Values of a batch that cannot be cells, noted column by column.
//!
//! One fault is enough to reject a row, so no row has more than one. Else a batch whose every value is wrong would
//! take many times the memory of a good one.

use vitals::intake::Fault;
use vitals::registry::CellError;

/// Collects the faults of one batch.
#[derive(Debug, Default)]
pub(super) struct Faults {
    column: &'static str,
    faults: Vec<Fault>,
    /// The rows that have a fault, as far as the last of them.
    is_bad: Vec<bool>,
}

impl Faults {
    /// Turns to a column.
    pub(super) fn turn_to(&mut self, column: &'static str) {
        self.column = column;
    }

    /// Notes that a row's value in the column at hand cannot be a cell. Only the first of a row is kept.
    pub(super) fn note(&mut self, row: usize, error: CellError) {
        if row >= self.is_bad.len() {
            self.is_bad.resize(row + 1, false);
        }
        if std::mem::replace(&mut self.is_bad[row], true) {
            return;
        }
        self.faults.push(Fault { row: row as u32, column: self.column, error });
    }

    pub(super) fn into_vec(self) -> Vec<Fault> {
        self.faults
    }
}
