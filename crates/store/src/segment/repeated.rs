//! A signal that a device sends twice, in two units: sealed files hold it once.
//!
//! Parquet compresses each column by itself, so that the second copy would cost as much as the first. Where all rows of a
//! piece have the same cells in both columns, one is left out, the file's metadata name the piece, and anyone who reads rows
//! back makes it again from the other.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, Int32Array, RecordBatch, new_null_array};
use parquet::file::metadata::FileMetaData;
use vitals::block::{Block, Cells};
use vitals::registry::{DataType, NULL};

use super::layout::{data_type_of, has_pieces, read_pieces};
use crate::columnar::Run;
use crate::error::{Result, StoreError};

/// Positions of two columns that may have the same cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    /// The one that is left out.
    copy: usize,
    /// The one that is kept.
    kept: usize,
}

impl Repeated {
    /// Returns the columns of a type; `None` where no column repeats another.
    pub(super) fn of(data_type: DataType) -> Option<Self> {
        let mut columns = data_type.columns().iter().enumerate();
        columns.find_map(|(copy, column)| Some(Repeated { copy, kept: data_type.column_index(column.repeats?)? }))
    }

    /// Returns whether both columns have the same cells in all rows, and a value in any.
    pub(super) fn holds(self, runs: &[Run<'_>]) -> bool {
        let is_empty = |run: &Run<'_>| run.block.columns[self.kept] == Cells::Constant(NULL);
        let is_same = |run: &Run<'_>| {
            let columns = &run.block.columns;
            match (&columns[self.copy], &columns[self.kept]) {
                (Cells::Values(copy), Cells::Values(kept)) => copy[run.rows.clone()] == kept[run.rows.clone()],
                (copy, kept) => run.rows.clone().all(|row| copy.get(row) == kept.get(row)),
            }
        };
        runs.iter().all(is_same) && !runs.iter().all(is_empty)
    }

    /// Returns the batch without the copy.
    pub(super) fn left_out(self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut arrays = batch.columns().to_vec();
        // Times are the first column of a batch.
        let array = &mut arrays[self.copy + 1];
        *array = new_null_array(array.data_type(), batch.num_rows());
        Ok(RecordBatch::try_new(batch.schema(), arrays)?)
    }

    /// Makes the copy again.
    pub(super) fn restore(self, block: &mut Block) {
        block.columns[self.copy] = block.columns[self.kept].clone();
    }
}

/// The rows of a Parquet file of which a column was left out, for programs that read the file by themselves.
#[derive(Debug)]
pub struct RepeatedRows {
    found: Option<(DataType, Repeated)>,
    /// In the order of the file.
    ranges: Vec<Range<u64>>,
}

impl RepeatedRows {
    /// Reads which rows of a file they are; none of a file that sealing has not written.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the file's own list of them cannot be read.
    pub fn of(metadata: &FileMetaData) -> Result<Self> {
        let entries = metadata.key_value_metadata();
        let data_type = data_type_of(entries).filter(|_| has_pieces(entries));
        let found = data_type.and_then(|data_type| Some((data_type, Repeated::of(data_type)?)));
        let mut ranges = Vec::new();
        if found.is_some() {
            let mut row = 0;
            for piece in read_pieces(entries, usize::try_from(metadata.num_rows()).unwrap_or(0))? {
                let rows: usize = piece.runs.iter().map(|(_, rows)| rows).sum();
                let end = row + rows as u64;
                if piece.is_repeated {
                    ranges.push(row..end);
                }
                row = end;
            }
        }
        Ok(RepeatedRows { found, ranges })
    }

    /// Returns a batch with what was left out of its rows, of which the first has this place in the file, from 0.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the columns are not there, or of other types.
    pub fn restored(&self, batch: RecordBatch, first_row: u64) -> Result<RecordBatch> {
        let end = first_row + batch.num_rows() as u64;
        let mut ranges = self.ranges.iter().filter(|range| range.start < end && range.end > first_row).peekable();
        let Some((data_type, repeated)) = self.found.filter(|_| ranges.peek().is_some()) else { return Ok(batch) };
        let columns = data_type.columns();
        let wrong = || StoreError::Damaged(format!("column {} cannot be made again", columns[repeated.copy].name));
        let kept = &columns[repeated.kept];
        let place = batch.schema().index_of(columns[repeated.copy].name).map_err(|_| wrong())?;
        let copy = batch.column(place).as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
        let values = batch.column_by_name(kept.name).and_then(|array| array.as_primitive_opt::<Float64Type>());
        let values = values.ok_or_else(wrong)?;
        let mut cells: Vec<Option<i32>> = copy.iter().collect();
        for range in ranges {
            let rows = range.start.max(first_row) - first_row..range.end.min(end) - first_row;
            let rows = rows.start as usize..rows.end as usize;
            for (cell, row) in cells[rows.clone()].iter_mut().zip(rows) {
                let value = values.is_valid(row).then(|| kept.cell_from_f64(values.value(row)));
                *cell = value.transpose().map_err(|_| wrong())?;
            }
        }
        let mut arrays = batch.columns().to_vec();
        arrays[place] = Arc::new(Int32Array::from(cells));
        Ok(RecordBatch::try_new(batch.schema(), arrays)?)
    }
}
