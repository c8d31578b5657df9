//! Values of a batch that cannot be cells, noted column by column.

use vitals::intake::Fault;
use vitals::registry::CellError;

/// Collects the faults of one batch.
#[derive(Debug, Default)]
pub(super) struct Faults {
    column: &'static str,
    faults: Vec<Fault>,
}

impl Faults {
    /// Turns to a column.
    pub(super) fn turn_to(&mut self, column: &'static str) {
        self.column = column;
    }

    /// Notes that a row's value in the column at hand cannot be a cell.
    pub(super) fn note(&mut self, row: usize, error: CellError) {
        self.faults.push(Fault { row: row as u32, column: self.column, error });
    }

    pub(super) fn into_vec(self) -> Vec<Fault> {
        self.faults
    }
}
