//! A column that is being read: where faults of it are reported, and how long it may become.

use serde::de::Error;
use vitals::registry::{CellError, DataType};

use super::body::place::{Place, most_rows};

/// A column that is being read.
#[derive(Clone, Copy)]
pub(super) struct ColumnPlace<'place> {
    pub data_type: DataType,
    /// Its name.
    pub name: &'static str,
    pub place: &'place Place,
    /// The rows of the object, where an array before this one has given their number.
    pub rows: Option<usize>,
}

impl ColumnPlace<'_> {
    /// Notes what is wrong and makes the error that ends the parsing.
    pub(super) fn fail<E: Error>(&self, message: impl Into<String>) -> E {
        self.place.fail(format!("data.{}.{}", self.data_type.name(), self.name), message)
    }

    pub(super) fn wrong_kind<E: Error>(&self) -> E {
        self.fail("must be a value of this column, null, or an array of such")
    }

    /// Returns the most elements that the array may have: as many as the first array of the object, or as one sync may
    /// bring.
    pub(super) fn most(&self) -> usize {
        self.rows.unwrap_or_else(|| most_rows(self.data_type))
    }

    /// Makes room for one more element of the array, unless it has as many as it may have.
    pub(super) fn grow<T, E: Error>(&self, elements: &mut Vec<T>) -> Result<(), E> {
        if elements.len() < self.most() {
            return self.place.grow(elements, self.most());
        }
        Err(match self.rows {
            Some(rows) => self.fail(format!("has another length than the {rows} rows before it")),
            None => self.place.too_many_rows(format!("data.{}.{}", self.data_type.name(), self.name), self.data_type),
        })
    }

    /// Notes that a row is wrong.
    pub(super) fn note<E: Error>(
        &self,
        faults: &mut Vec<(u32, CellError)>,
        row: usize,
        error: CellError,
    ) -> Result<(), E> {
        if faults.len() == faults.capacity() {
            self.place.grow(faults, self.most())?;
        }
        faults.push((row as u32, error));
        Ok(())
    }
}
