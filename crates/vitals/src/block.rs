//! Samples of one channel in columns, in the order of their times.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::bytes_of_text;
use crate::registry::{Channel, Column, DataType, NULL};
use crate::zone::{ZoneName, ZoneRuns};

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// The same cell in every row; a column that a sync does not name is a constant [`NULL`].
    Constant(i32),
    /// One cell a row; [`NULL`] where there is no value.
    Values(Vec<i32>),
    /// One text a row, for text columns.
    Text(Vec<Option<Arc<str>>>),
}

impl Cells {
    /// Returns the memory that the column takes, bytes. A text that the next row shares counts once.
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Constant(_) => 0,
            Cells::Values(cells) => cells.capacity() * size_of::<i32>(),
            Cells::Text(texts) => {
                let mut bytes = texts.capacity() * size_of::<Option<Arc<str>>>();
                let mut last: Option<&Arc<str>> = None;
                for text in texts.iter().flatten() {
                    if last.is_none_or(|last| !Arc::ptr_eq(last, text)) {
                        bytes += bytes_of_text(text);
                    }
                    last = Some(text);
                }
                bytes
            }
        }
    }

    /// Returns the cell of a row; [`NULL`] for texts.
    pub fn get(&self, row: usize) -> i32 {
        match self {
            Cells::Constant(cell) => *cell,
            Cells::Values(cells) => cells[row],
            Cells::Text(_) => NULL,
        }
    }

    /// Returns whether a row has [`NULL`] for its cell, as all texts have.
    pub fn has_null(&self) -> bool {
        match self {
            Cells::Constant(cell) => *cell == NULL,
            Cells::Values(cells) => cells.contains(&NULL),
            Cells::Text(_) => true,
        }
    }

    /// Returns the text of a row; `None` for numbers.
    pub fn text(&self, row: usize) -> Option<&Arc<str>> {
        match self {
            Cells::Text(texts) => texts[row].as_ref(),
            _ => None,
        }
    }

    /// Returns whether a row has a value.
    pub fn is_there(&self, row: usize) -> bool {
        self.get(row) != NULL || self.text(row).is_some()
    }

    /// Returns whether a row of this column equals a row of another.
    pub fn row_equals(&self, row: usize, other: &Cells, other_row: usize) -> bool {
        self.get(row) == other.get(other_row) && self.text(row) == other.text(other_row)
    }

    /// Returns the same cells as a constant where they are all alike. Keeps equal blocks equal however they were built.
    #[must_use]
    pub fn simplified(self) -> Self {
        match self {
            Cells::Values(cells) if cells.iter().all(|cell| *cell == cells[0]) => {
                Cells::Constant(cells.first().copied().unwrap_or(NULL))
            }
            Cells::Text(texts) if texts.iter().all(Option::is_none) => Cells::Constant(NULL),
            other => other,
        }
    }

    fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Cells::Constant(cell) => Cells::Constant(*cell),
            Cells::Values(cells) => Cells::Values(cells[rows].to_vec()).simplified(),
            Cells::Text(texts) => Cells::Text(texts[rows].to_vec()).simplified(),
        }
    }
}

/// Samples of one type and channel: times strictly ascending, columns as the registry lists them.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The data type.
    pub data_type: DataType,
    /// The channel that all rows belong to.
    pub channel: Channel,
    /// Sample times, µs since 1970 UTC, strictly ascending.
    pub times_us: Vec<i64>,
    /// One entry for each of the type's columns, each as long as `times_us`.
    pub columns: Vec<Cells>,
    /// The zone of each row.
    pub zones: ZoneRuns,
}

impl Block {
    /// Makes a block without rows.
    pub fn empty(data_type: DataType, channel: Channel) -> Self {
        let columns = vec![Cells::Constant(NULL); data_type.columns().len()];
        Block { data_type, channel, times_us: Vec::new(), columns, zones: ZoneRuns::default() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.times_us.len()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.times_us.is_empty()
    }

    /// Time of the first row, µs.
    pub fn first_us(&self) -> Option<i64> {
        self.times_us.first().copied()
    }

    /// Time of the last row, µs.
    pub fn last_us(&self) -> Option<i64> {
        self.times_us.last().copied()
    }

    /// Returns the column of a name.
    ///
    /// # Panics
    /// When the type has no such column: the names are written in code.
    pub fn column(&self, name: &str) -> &Cells {
        self.declared_column(name).1
    }

    /// Returns the column of a name, with what is declared of it.
    ///
    /// # Panics
    /// When the type has no such column: the names are written in code.
    pub fn declared_column(&self, name: &str) -> (&'static Column, &Cells) {
        let index = self.data_type.column_index(name);
        let index = index.unwrap_or_else(|| panic!("{} has no column {name}", self.data_type.name()));
        (&self.data_type.columns()[index], &self.columns[index])
    }

    /// Returns the zone of a row.
    pub fn zone_of(&self, row: usize) -> &ZoneName {
        self.zones.zone_of(row)
    }

    /// Some of the rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Block {
        Block {
            data_type: self.data_type,
            channel: self.channel,
            times_us: self.times_us[rows.clone()].to_vec(),
            columns: self.columns.iter().map(|cells| cells.slice(rows.clone())).collect(),
            zones: self.zones.slice(rows),
        }
    }

    /// Returns the rows whose times lie in the range, both ends included.
    pub fn rows_between(&self, from_us: i64, to_us: i64) -> Range<usize> {
        let start = self.times_us.partition_point(|time| *time < from_us);
        let end = self.times_us.partition_point(|time| *time <= to_us);
        // A reversed range is empty and not a panic: ends come from requests.
        start..end.max(start)
    }

    /// Keeps only the rows whose times lie in the range, both ends included.
    #[must_use]
    pub fn clipped(self, from_us: i64, to_us: i64) -> Block {
        let rows = self.rows_between(from_us, to_us);
        // Most blocks lie wholly in the range that is asked for, and are handed on without a copy.
        if rows.len() == self.rows() { self } else { self.slice(rows) }
    }

    /// Rows of several blocks of the same channel, in the order picked. A pick is the number of the block and the
    /// row in it; the zones are picked on their own, because a sample keeps the zone it was first stored with.
    ///
    /// # Panics
    /// When a pick names a row that is not there.
    pub fn gather(blocks: &[&Block], picks: &[Pick], zones: ZoneRuns) -> Block {
        let first = blocks[0];
        let columns = (0..first.columns.len()).map(|column| gather_column(blocks, column, picks)).collect();
        Block {
            data_type: first.data_type,
            channel: first.channel,
            times_us: picks.iter().map(|pick| blocks[pick.block as usize].times_us[pick.row as usize]).collect(),
            columns,
            zones,
        }
    }

    /// One block after the other. Where rows are to be in the order of time, each must begin after the one before has
    /// ended.
    ///
    /// # Panics
    /// When there is no block.
    pub fn concatenated(blocks: &[&Block]) -> Block {
        let first = blocks[0];
        let rows = blocks.iter().map(|block| block.rows()).sum();
        let mut times_us = Vec::with_capacity(rows);
        let mut zones = ZoneRuns::default();
        for block in blocks {
            times_us.extend_from_slice(&block.times_us);
            for (run, zone) in block.zones.iter() {
                zones.push(zone.clone(), run.len());
            }
        }
        let columns = (0..first.columns.len()).map(|column| concatenated_column(blocks, column, rows)).collect();
        Block { data_type: first.data_type, channel: first.channel, times_us, columns, zones }
    }
}

/// One row of one of several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Which block.
    pub block: u32,
    /// Which of its rows.
    pub row: u32,
}

fn concatenated_column(blocks: &[&Block], column: usize, rows: usize) -> Cells {
    if let Cells::Constant(cell) = blocks[0].columns[column]
        && blocks.iter().all(|block| block.columns[column] == Cells::Constant(cell))
    {
        return Cells::Constant(cell);
    }
    if blocks.iter().any(|block| matches!(block.columns[column], Cells::Text(_))) {
        let texts = |block: &&Block| (0..block.rows()).map(|row| block.columns[column].text(row).cloned()).collect();
        return Cells::Text(blocks.iter().flat_map(|block| -> Vec<_> { texts(block) }).collect()).simplified();
    }
    let mut cells = Vec::with_capacity(rows);
    for block in blocks {
        match &block.columns[column] {
            Cells::Values(values) => cells.extend_from_slice(values),
            // A column that one sync does not name and another does: its rows hold no value there.
            constant => cells.resize(cells.len() + block.rows(), constant.get(0)),
        }
    }
    Cells::Values(cells).simplified()
}

fn gather_column(blocks: &[&Block], column: usize, picks: &[Pick]) -> Cells {
    let sources: Vec<&Cells> = blocks.iter().map(|block| &block.columns[column]).collect();
    if let Cells::Constant(cell) = sources[0]
        && sources.iter().all(|source| **source == Cells::Constant(*cell))
    {
        return Cells::Constant(*cell);
    }
    if sources.iter().any(|source| matches!(source, Cells::Text(_))) {
        let pick_text = |pick: &Pick| sources[pick.block as usize].text(pick.row as usize).cloned();
        return Cells::Text(picks.iter().map(pick_text).collect()).simplified();
    }
    let pick_cell = |pick: &Pick| sources[pick.block as usize].get(pick.row as usize);
    Cells::Values(picks.iter().map(pick_cell).collect()).simplified()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(times_us: &[i64], bpm: &[i32]) -> Block {
        let mut block = Block::empty(DataType::Activity, Channel::default());
        block.times_us = times_us.to_vec();
        block.columns[0] = Cells::Values(bpm.to_vec());
        block.zones = ZoneRuns::constant("UTC".into(), times_us.len());
        block
    }

    #[test]
    fn ranges_include_both_ends() {
        let block = block(&[10, 20, 30], &[60, 61, 62]);
        assert_eq!(block.rows_between(10, 30), 0..3);
        assert_eq!(block.rows_between(11, 29), 1..2);
        assert_eq!(block.rows_between(31, 99), 3..3);
        assert_eq!(block.rows_between(30, 10), 2..2);
        assert_eq!(block.clipped(20, 30).column("bpm"), &Cells::Values(vec![61, 62]));
    }

    #[test]
    fn concatenation_keeps_rows_and_zones() {
        let early = block(&[10, 20], &[60, 61]);
        let mut late = block(&[30], &[62]);
        late.zones = ZoneRuns::constant("Europe/Zurich".into(), 1);
        let both = Block::concatenated(&[&early, &late]);
        assert_eq!(both.times_us, [10, 20, 30]);
        assert_eq!(both.column("bpm"), &Cells::Values(vec![60, 61, 62]));
        assert_eq!(&**both.zone_of(1), "UTC");
        assert_eq!(&**both.zone_of(2), "Europe/Zurich");
    }

    #[test]
    fn memory_counts_what_vectors_can_hold_and_shared_texts_once() {
        let mut cells = Vec::with_capacity(100);
        cells.push(7);
        assert_eq!(Cells::Values(cells).bytes(), 400);
        assert_eq!(Cells::Constant(7).bytes(), 0);
        let (note, other): (Arc<str>, Arc<str>) = ("note".into(), "a longer note of a nurse".into());
        let texts = vec![Some(note.clone()), Some(note), None, Some(other)];
        assert_eq!(Cells::Text(texts).bytes(), 4 * 16 + 32 + 48);
    }

    #[test]
    fn alike_cells_become_a_constant() {
        assert_eq!(Cells::Values(vec![7, 7]).simplified(), Cells::Constant(7));
        assert_eq!(Cells::Text(vec![None, None]).simplified(), Cells::Constant(NULL));
        assert_eq!(block(&[1, 2], &[5, 5]).slice(0..1).columns[0], Cells::Constant(5));
    }
}
