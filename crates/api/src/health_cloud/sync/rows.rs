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

/// Rows that come one by one or a few at a time, gathered into columns.
pub(super) struct RowCollector {
    data_type: DataType,
    times_us: Vec<i64>,
    columns: Vec<Option<Cells>>,
    /// Rows that there is room for in times and columns, which is counted.
    room_rows: usize,
    /// What a cell takes in each of the columns that a row has given, bytes.
    bytes_of_cells: usize,
    faults: Vec<Fault>,
}

impl RowCollector {
    pub(super) fn new(data_type: DataType) -> Self {
        let columns = vec![None; data_type.columns().len()];
        let (times_us, faults) = (Vec::new(), Vec::new());
        RowCollector { data_type, times_us, columns, room_rows: 0, bytes_of_cells: 0, faults }
    }

    /// Returns the memory that more rows take: a column that is new to the rows is filled up from the first of them.
    pub(super) fn bytes_for(&self, rows: usize, fields: &[(usize, Field)]) -> usize {
        let new = fields.iter().filter(|(index, _)| self.columns[*index].is_none());
        let bytes_of_new: usize = new.map(|(index, _)| bytes_of_cell(self.data_type, *index)).sum();
        rows * (size_of::<i64>() + self.bytes_of_cells)
            + (self.times_us.len() + rows) * bytes_of_new
            + bytes_of_faults(fields, rows)
    }

    /// Appends rows; what `fields` held is given back.
    pub(super) fn append<E: Error>(
        &mut self,
        place: &Place,
        times_us: &[i64],
        fields: Vec<(usize, Field)>,
    ) -> Result<(), E> {
        let (first, rows) = (self.times_us.len(), times_us.len());
        self.make_room(place, first + rows)?;
        self.times_us.extend_from_slice(times_us);
        for fault in faults_of(self.data_type, &fields, rows) {
            self.note(place, Fault { row: first as u32 + fault.row, ..fault })?;
        }
        for (index, field) in fields {
            place.give_back(field.counted_bytes());
            let is_text = self.data_type.columns()[index].is_text();
            if self.columns[index].is_none() {
                let bytes = bytes_of_cell(self.data_type, index);
                place.take(self.room_rows * bytes)?;
                self.bytes_of_cells += bytes;
            }
            let room = self.room_rows;
            let empty = || {
                if is_text { Cells::Text(Vec::with_capacity(room)) } else { Cells::Values(Vec::with_capacity(room)) }
            };
            match self.columns[index].get_or_insert_with(empty) {
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
        if self.faults.len() == self.faults.capacity() {
            place.grow(&mut self.faults, usize::MAX)?;
        }
        self.faults.push(fault);
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
        self.times_us.reserve_exact(wanted - self.times_us.len());
        for cells in self.columns.iter_mut().flatten() {
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
        let gathered = std::mem::replace(self, RowCollector::new(self.data_type));
        let rows = gathered.times_us.len();
        let finish = |cells: Option<Cells>| match cells {
            None => Cells::Constant(NULL),
            Some(Cells::Values(mut cells)) => {
                cells.resize(rows, NULL);
                Cells::Values(cells).simplified()
            }
            Some(Cells::Text(mut texts)) => {
                texts.resize(rows, None);
                Cells::Text(texts).simplified()
            }
            Some(constant @ Cells::Constant(_)) => constant,
        };
        let columns = gathered.columns.into_iter().map(finish).collect();
        (rows > 0).then_some(Batch { times_us: gathered.times_us, columns, faults: gathered.faults, zones: None })
    }
}
