//! Samples on their way in: rows as an app sent them, sorted into channels, bad rows taken out and named.
//!
//! A bad value rejects its row and never sinks the good ones. What is wrong with the structure of a sync (unequal
//! lengths, an unknown column) is the decoder's business and never comes this far.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block::{Block, Cells, Pick};
use crate::registry::{CellError, Channel, DataType, NULL, TestKind};
use crate::zone::{DAY_US, ZoneName, ZoneRuns};

/// The number of rejected rows that an answer names.
pub const NAMED_REJECTIONS: usize = 100;
/// Samples before this time are rejected: 2000-01-01T00:00Z.
pub const EARLIEST_US: i64 = 946_684_800_000_000;
/// Reason why a sample is rejected that is older than samples of its type are kept.
pub const PAST_RETENTION: &str = "past_retention";
/// Represents a time that is not there.
pub const NO_TIME: i64 = i64::MIN;
/// Represents a time that could not be read.
pub const UNREADABLE_TIME: i64 = i64::MIN + 1;
/// The earliest of the numbers that represent times.
pub const EARLIEST_TIME: i64 = i64::MIN + 2;
/// Forms of a time.
pub const FORMS_OF_A_TIME: &str = "must be milliseconds since 1970 or ISO 8601 with an offset";
/// Samples further ahead of the server's clock than this are rejected.
pub const FURTHEST_AHEAD_US: i64 = DAY_US;
/// Blocks that may wait to be joined: some times the number of channels that ppg2 can have.
const MOST_PARTS: usize = 1 << 18;

/// A row that is not stored, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Position of the row among the rows of its type, from 0.
    pub index: u64,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// A cell that could not be read, found while decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The row within its batch.
    pub row: u32,
    /// The column's name.
    pub column: &'static str,
    /// What is wrong.
    pub error: CellError,
}

/// Rows of one type in the order they were sent, of any channel, not checked for time and completeness yet.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Times in µs; [`NO_TIME`] where there is none, [`UNREADABLE_TIME`] for what is no time.
    pub times_us: Vec<i64>,
    /// Cells of each of the type's columns.
    pub columns: Vec<Cells>,
    /// Cells that could not be read; they hold [`NULL`].
    pub faults: Vec<Fault>,
    /// The zone of each row; `None` where all are in the zone of the sync.
    pub zones: Option<ZoneRuns>,
}

impl Batch {
    /// Returns a batch without rows.
    pub fn empty(data_type: DataType) -> Self {
        // A column that is left out is null in each row and costs nothing.
        let columns = vec![Cells::Constant(NULL); data_type.columns().len()];
        Batch { times_us: Vec::new(), columns, faults: Vec::new(), zones: None }
    }

    /// Returns the memory that the batch takes, bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Batch>()
            + self.times_us.capacity() * size_of::<i64>()
            + self.columns.capacity() * size_of::<Cells>()
            + self.columns.iter().map(Cells::bytes).sum::<usize>()
            + self.faults.capacity() * size_of::<Fault>()
            + self.zones.as_ref().map_or(0, ZoneRuns::bytes)
    }
}

/// What a sync brings of one data type.
#[derive(Clone, Debug)]
pub struct Intake {
    data_type: DataType,
    latest_allowed_us: i64,
    /// Samples before this time are no longer kept.
    kept_from_us: i64,
    rows_seen: u64,
    parts: BTreeMap<Channel, Vec<Block>>,
    /// Blocks in `parts`, and how many there may be before those of each channel are joined.
    part_count: usize,
    most_parts: usize,
    groups: GroupOfCode,
    rejected: u64,
    rejections: Vec<Rejection>,
}

/// The good rows of one type by channel, still in the order they were sent, and the bad ones.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The data type.
    pub data_type: DataType,
    /// One block a channel. Times may be in any order and repeat.
    pub blocks: Vec<Block>,
    /// How many rows were rejected.
    pub rejected: u64,
    /// The first of them.
    pub rejections: Vec<Rejection>,
}

impl Intake {
    /// Nothing yet. `now_us` is the server's time.
    pub fn new(data_type: DataType, now_us: i64) -> Self {
        Intake {
            data_type,
            latest_allowed_us: now_us + FURTHEST_AHEAD_US,
            kept_from_us: EARLIEST_US,
            rows_seen: 0,
            parts: BTreeMap::new(),
            part_count: 0,
            most_parts: MOST_PARTS,
            groups: GroupOfCode::default(),
            rejected: 0,
            rejections: Vec::new(),
        }
    }

    /// Does the same for a type whose samples are kept from a time on, µs: earlier ones are rejected.
    #[must_use]
    pub fn keeping_from(self, kept_from_us: i64) -> Self {
        Intake { kept_from_us: kept_from_us.max(EARLIEST_US), ..self }
    }

    /// Returns the type that is taken in.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Takes in the rows of a batch. Those without a zone of their own are in `zone`.
    pub fn push(&mut self, mut batch: Batch, zone: &ZoneName) {
        let rows = batch.times_us.len();
        let bad = self.find_bad_rows(&mut batch);
        let first_index = self.rows_seen;
        self.rows_seen += rows as u64;
        self.rejected += bad.count;
        // Batches come in order and each names its first rows, so the first hundred of all are those of the earliest
        // batches.
        let room = NAMED_REJECTIONS - self.rejections.len();
        for (row, (column, reason)) in bad.named.iter().take(room) {
            let index = first_index + u64::from(*row);
            self.rejections.push(Rejection { index, column, reason: reason.clone() });
        }
        // A batch of nothing but bad rows must not leave an empty block behind.
        if bad.count == rows as u64 {
            return;
        }
        let all = Block {
            data_type: self.data_type,
            channel: Channel::default(),
            times_us: batch.times_us,
            columns: batch.columns,
            zones: batch.zones.unwrap_or_else(|| ZoneRuns::constant(zone.clone(), rows)),
        };
        for block in split_by_channel(all, &bad, &mut self.groups) {
            self.parts.entry(block.channel).or_default().push(block);
            self.part_count += 1;
        }
        // A body of a million rows in a million batches is legal JSON.
        if self.part_count > self.most_parts {
            self.join_parts();
        }
    }

    /// Makes one block of those of each channel. A block of one row takes fifty times the memory of the row, and a
    /// batch can have a block for each of its rows.
    fn join_parts(&mut self) {
        for parts in self.parts.values_mut() {
            *parts = vec![joined(std::mem::take(parts))];
        }
        self.part_count = self.parts.len();
        // The more there is to copy, the longer until the next time, so that all in all each row is copied a few times.
        self.most_parts = MOST_PARTS.max(self.rows_seen as usize / 8);
    }

    /// Returns what was taken in.
    pub fn finish(self) -> Accepted {
        let blocks = self.parts.into_values().map(joined).collect();
        Accepted { data_type: self.data_type, blocks, rejected: self.rejected, rejections: self.rejections }
    }

    /// Returns what is wrong with a cell; of a column that the registry lists, with what it takes.
    fn reason_of(&self, fault: &Fault) -> String {
        let column = self.data_type.column(fault.column);
        column.map_or_else(|| fault.error.to_string(), |column| column.reason(fault.error))
    }

    /// Returns the rows that cannot be stored.
    fn find_bad_rows(&self, batch: &mut Batch) -> BadRows {
        let rows = batch.times_us.len();
        let mut bad = BadRows::new(rows);
        for fault in &batch.faults {
            bad.reject(fault.row, fault.column, || self.reason_of(fault));
        }
        for (row, time) in batch.times_us.iter().enumerate() {
            if *time >= self.kept_from_us && *time <= self.latest_allowed_us {
                continue;
            }
            let reason = match *time {
                NO_TIME => "there is no time",
                UNREADABLE_TIME => FORMS_OF_A_TIME,
                early if early < EARLIEST_US => "before the year 2000",
                early if early < self.kept_from_us => PAST_RETENTION,
                _ => "more than 24 h ahead",
            };
            bad.reject(row as u32, "timestamp", || reason.to_owned());
        }
        for (column, cells) in self.data_type.columns().iter().zip(&batch.columns) {
            // Columns that must be given are few, and are filled in nearly every batch.
            if column.nullable || !cells.has_null() {
                continue;
            }
            for row in (0..rows).filter(|row| cells.get(*row) == NULL) {
                bad.reject(row as u32, column.name, || CellError::Null.to_string());
            }
        }
        if self.data_type == DataType::Tests {
            check_tests(batch, &mut bad);
        }
        bad
    }
}

fn joined(parts: Vec<Block>) -> Block {
    match <[Block; 1]>::try_from(parts) {
        Ok([only]) => only,
        Err(parts) => Block::concatenated(&parts.iter().collect::<Vec<_>>()),
    }
}

/// The bad rows of a batch: all are known, the first are named. A body of nothing but bad rows must not cost more
/// memory than one of good ones.
struct BadRows {
    is_bad: Vec<bool>,
    count: u64,
    /// The first rows, each with the first of its faults that was met.
    named: BTreeMap<u32, (&'static str, String)>,
}

impl BadRows {
    fn new(rows: usize) -> Self {
        BadRows { is_bad: vec![false; rows], count: 0, named: BTreeMap::new() }
    }

    fn reject(&mut self, row: u32, column: &'static str, reason: impl FnOnce() -> String) {
        // A row counts once, however much is wrong with it.
        if std::mem::replace(&mut self.is_bad[row as usize], true) {
            return;
        }
        self.count += 1;
        let is_full = self.named.len() == NAMED_REJECTIONS;
        if is_full && self.named.last_key_value().is_some_and(|(last, _)| *last < row) {
            return;
        }
        if is_full {
            self.named.pop_last();
        }
        self.named.insert(row, (column, reason()));
    }
}

/// Holds spot measurements to the units and plausible ranges of their kind and fills in units that were left out.
fn check_tests(batch: &mut Batch, bad: &mut BadRows) {
    let rows = batch.times_us.len();
    let mut units: Vec<Option<Arc<str>>> = Vec::with_capacity(rows);
    let [kinds, values, sent_units, ..] = &batch.columns[..] else {
        return;
    };
    for row in 0..rows {
        let sent = sent_units.text(row);
        let kind = TestKind::of_cell(kinds.get(row));
        let value = values.get(row);
        let (Some(kind), true) = (kind, value != NULL) else {
            units.push(None);
            continue;
        };
        // A temperature in degrees Fahrenheit must never be taken for Celsius: where the unit is not the kind's, the
        // row is rejected and not converted.
        match kind.check(f64::from(value) / 1000.0, sent.map(AsRef::as_ref)) {
            Ok(unit) => units.push(unit.map(Arc::from).or_else(|| sent.cloned())),
            Err(column) => {
                bad.reject(row as u32, column, || kind.reason(column, sent.map(AsRef::as_ref)));
                units.push(None);
            }
        }
    }
    batch.columns[2] = Cells::Text(units).simplified();
}

/// One block for each channel that has a good row.
fn split_by_channel(all: Block, bad: &BadRows, groups: &mut GroupOfCode) -> Vec<Block> {
    let positions = all.data_type.channel_columns();
    let one_channel = positions.iter().all(|position| matches!(all.columns[*position], Cells::Constant(_)));
    // The usual case of one channel and no bad row moves the columns and copies nothing.
    if one_channel && bad.count == 0 {
        let channel = channel_of(&all, 0);
        return vec![Block { channel, ..all }];
    }
    rows_by_channel(&all, bad, groups).into_iter().map(|(channel, rows)| block_of(&all, channel, &rows)).collect()
}

fn channel_of(all: &Block, row: usize) -> Channel {
    let positions = all.data_type.channel_columns();
    let cells: Vec<i32> = positions.iter().map(|position| all.columns[*position].get(row)).collect();
    all.data_type.channel(&cells)
}

/// Values that a channel column can take: 0 to 255, and null.
const CODES: usize = 257;
const NO_GROUP: u32 = u32::MAX;

/// The group of rows that the cells of a channel belong to. A batch of many channels costs no more than one of few,
/// and as the table is kept from batch to batch, many small ones no more than a large one.
#[derive(Clone, Debug, Default)]
struct GroupOfCode {
    table: Vec<u32>,
}

/// Returns the good rows of each channel, ascending.
fn rows_by_channel(all: &Block, bad: &BadRows, groups: &mut GroupOfCode) -> Vec<(Channel, Vec<u32>)> {
    let code_of = |cell: i32| if cell == NULL { 0 } else { cell as usize + 1 };
    let columns: Vec<&Cells> = all.data_type.channel_columns().iter().map(|position| &all.columns[*position]).collect();
    groups.table.resize(CODES.pow(columns.len() as u32), NO_GROUP);
    let mut codes = Vec::new();
    let mut found: Vec<(Channel, Vec<u32>)> = Vec::new();
    for row in (0..all.rows()).filter(|row| !bad.is_bad[*row]) {
        let code = columns.iter().fold(0, |code, cells| code * CODES + code_of(cells.get(row)));
        if groups.table[code] == NO_GROUP {
            groups.table[code] = found.len() as u32;
            codes.push(code);
            found.push((channel_of(all, row), Vec::new()));
        }
        found[groups.table[code] as usize].1.push(row as u32);
    }
    // Only the entries that were used are reset: the table of two columns has 66,000 of them.
    for code in codes {
        groups.table[code] = NO_GROUP;
    }
    found
}

fn block_of(all: &Block, channel: Channel, rows: &[u32]) -> Block {
    let mut zones = ZoneRuns::default();
    let mut remaining = rows;
    while let Some(first) = remaining.first() {
        let (end, zone) = all.zones.run_of(*first as usize);
        let of_run = remaining.partition_point(|row| (*row as usize) < end);
        zones.push(ZoneName::clone(zone), of_run);
        remaining = &remaining[of_run..];
    }
    let picks: Vec<Pick> = rows.iter().map(|row| Pick { block: 0, row: *row }).collect();
    Block { channel, ..Block::gather(&[all], &picks, zones) }
}

#[cfg(test)]
mod tests;
