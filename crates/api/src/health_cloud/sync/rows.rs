//! Rows that come one by one or a few at a time, gathered into columns.

use std::sync::Arc;

use serde::de::Error;
use vitals::block::Cells;
use vitals::intake::{Batch, Fault};
use vitals::registry::{DataType, NULL};

use super::body::place::{Place, most_rows};
use super::cells::Field;

/// The column of times, which the registry does not list.
pub(super) const TIME_COLUMN: &str = "timestamp";

/// Returns what a cell of a column takes, bytes; a text without its characters.
pub(super) fn bytes_of_cell(data_type: DataType, index: usize) -> usize {
    if data_type.columns()[index].is_text() { size_of::<Option<Arc<str>>>() } else { size_of::<i32>() }
}

/// Returns what the faults of some rows take, bytes.
pub(super) fn bytes_of_faults(fields: &[(usize, Field)], rows: usize) -> usize {
    let mut faults = 0;
    for (_, field) in fields {
        if field.fault().is_some() {
            // The first bad constant is reported for every row, and the ones after it for none (`faults_of`).
            faults += rows;
            break;
        }
        faults += field.faults().len();
    }
    faults * size_of::<Fault>()
}

/// Returns what is wrong with the rows of an object, in the order of its columns. A bad constant is bad in every row,
/// so what comes after it adds nothing.
pub(super) fn faults_of(data_type: DataType, fields: &[(usize, Field)], rows: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, field) in fields {
        let column = data_type.columns()[*index].name;
        if let Some(error) = field.fault() {
            faults.extend((0..rows as u32).map(|row| Fault { row, column, error }));
            break;
        }
        faults.extend(field.faults().iter().map(|(row, error)| Fault { row: *row, column, error: *error }));
    }
    faults
}

/// A batch that grows by rows that come one by one or a few at a time.
pub(super) struct GrowingBatch {
    data_type: DataType,
    /// A column that no row has given yet is a constant; any other may lack the last rows, which did not give it.
    batch: Batch,
    /// Rows that there is room for in times and columns, which is counted.
    room_rows: usize,
    /// What a cell takes in each of the columns that a row has given, bytes.
    bytes_of_cells: usize,
}

impl GrowingBatch {
    pub(super) fn new(data_type: DataType) -> Self {
        GrowingBatch { data_type, batch: Batch::empty(data_type), room_rows: 0, bytes_of_cells: 0 }
    }

    /// Returns the memory that more rows take: a column that is new to the rows is filled up from the first of them.
    pub(super) fn bytes_for(&self, rows: usize, fields: &[(usize, Field)]) -> usize {
        let new = fields.iter().filter(|(index, _)| matches!(self.batch.columns[*index], Cells::Constant(_)));
        let bytes_of_new: usize = new.map(|(index, _)| bytes_of_cell(self.data_type, *index)).sum();
        rows * (size_of::<i64>() + self.bytes_of_cells)
            + (self.batch.times_us.len() + rows) * bytes_of_new
            + bytes_of_faults(fields, rows)
    }

    /// Appends rows; what `fields` held is given back.
    pub(super) fn append<E: Error>(
        &mut self,
        place: &Place,
        times_us: &[i64],
        fields: Vec<(usize, Field)>,
    ) -> Result<(), E> {
        let (first, rows) = (self.batch.times_us.len(), times_us.len());
        self.make_room(place, first + rows)?;
        self.batch.times_us.extend_from_slice(times_us);
        for fault in faults_of(self.data_type, &fields, rows) {
            self.note(place, Fault { row: first as u32 + fault.row, ..fault })?;
        }
        for (index, field) in fields {
            place.give_back(field.counted_bytes());
            let column = &mut self.batch.columns[index];
            if matches!(column, Cells::Constant(_)) {
                let bytes = bytes_of_cell(self.data_type, index);
                place.take(self.room_rows * bytes)?;
                self.bytes_of_cells += bytes;
                let (is_text, room) = (self.data_type.columns()[index].is_text(), self.room_rows);
                *column = if is_text {
                    Cells::Text(Vec::with_capacity(room))
                } else {
                    Cells::Values(Vec::with_capacity(room))
                };
            }
            match column {
                Cells::Values(cells) => {
                    cells.resize(first, NULL);
                    field.append_cells(rows, cells);
                }
                Cells::Text(texts) => {
                    texts.resize(first, None);
                    field.append_texts(rows, texts);
                }
                Cells::Constant(_) => {}
            }
        }
        Ok(())
    }

    fn note<E: Error>(&mut self, place: &Place, fault: Fault) -> Result<(), E> {
        let faults = &mut self.batch.faults;
        if faults.len() == faults.capacity() {
            place.grow(faults, usize::MAX)?;
        }
        faults.push(fault);
        Ok(())
    }

    /// Makes room for so many rows in times and columns, which grow together.
    fn make_room<E: Error>(&mut self, place: &Place, rows: usize) -> Result<(), E> {
        const FIRST: usize = 16;
        if rows <= self.room_rows {
            return Ok(());
        }
        let wanted = (2 * self.room_rows).max(FIRST).min(most_rows(self.data_type)).max(rows);
        let bytes_of_row = size_of::<i64>() + self.bytes_of_cells;
        // Both copies are there while one grows.
        place.take(wanted * bytes_of_row)?;
        self.batch.times_us.reserve_exact(wanted - self.batch.times_us.len());
        for cells in &mut self.batch.columns {
            match cells {
                Cells::Values(cells) => cells.reserve_exact(wanted - cells.len()),
                Cells::Text(texts) => texts.reserve_exact(wanted - texts.len()),
                Cells::Constant(_) => {}
            }
        }
        place.give_back(self.room_rows * bytes_of_row);
        self.room_rows = wanted;
        Ok(())
    }

    /// Returns the batch of what was gathered since the last call.
    pub(super) fn take(&mut self) -> Option<Batch> {
        // What comes after a block of columns begins at row 0 of a new batch.
        let GrowingBatch { mut batch, .. } = std::mem::replace(self, GrowingBatch::new(self.data_type));
        let rows = batch.times_us.len();
        for column in &mut batch.columns {
            match column {
                Cells::Values(cells) => cells.resize(rows, NULL),
                Cells::Text(texts) => texts.resize(rows, None),
                Cells::Constant(_) => continue,
            }
            *column = std::mem::replace(column, Cells::Constant(NULL)).simplified();
        }
        (rows > 0).then_some(batch)
    }
}
