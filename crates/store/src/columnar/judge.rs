//! Which rows of a batch are refused, and why.
//!
//! Every column is judged on its own, because a column is judged fast as a whole; a row is refused once, for the
//! first of its faults that is met.

use std::fmt;

use vitals::registry::CellError;

/// How many refused rows of one batch are named; all are counted.
const NAMED_ROWS: usize = 100;

/// Why a row is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A value cannot be a cell of its column.
    Cell(CellError),
    /// The sample's time lies outside what is accepted now.
    Time,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Cell(error) => error.fmt(formatter),
            Reason::Time => formatter.write_str("time not accepted"),
        }
    }
}

/// A refused row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedRow {
    /// The row's position in the batch, from 0.
    pub row: usize,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong with it.
    pub reason: Reason,
}

/// The refused rows of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRows {
    /// How many there are.
    pub count: u64,
    /// The first hundred of them, ascending.
    pub named: Vec<RejectedRow>,
}

/// Collects the refused rows of one batch.
#[derive(Debug)]
pub(super) struct Judge {
    rows: usize,
    /// One flag a row; empty until the first row is refused.
    refused: Vec<bool>,
    count: u64,
    named: Vec<RejectedRow>,
    column: &'static str,
    named_of_column: usize,
}

impl Judge {
    pub(super) fn new(rows: usize) -> Self {
        Judge { rows, refused: Vec::new(), count: 0, named: Vec::new(), column: "", named_of_column: 0 }
    }

    /// Turns to a column; its rows are then judged in ascending order.
    pub(super) fn turn_to(&mut self, column: &'static str) {
        self.column = column;
        self.named_of_column = 0;
    }

    /// Refuses a row for its value in the column at hand.
    pub(super) fn refuse(&mut self, row: usize, reason: Reason) {
        if self.refused.is_empty() {
            self.refused = vec![false; self.rows];
        }
        if self.refused[row] {
            return;
        }
        self.refused[row] = true;
        self.count += 1;
        // A row among the first hundred refused is also among the first hundred that its column refuses, so more
        // need not be kept of any column.
        if self.named_of_column < NAMED_ROWS {
            self.named_of_column += 1;
            self.named.push(RejectedRow { row, column: self.column, reason });
        }
    }

    /// Refuses all rows.
    pub(super) fn refuse_all(&mut self, reason: Reason) {
        for row in 0..self.rows {
            self.refuse(row, reason);
        }
    }

    pub(super) fn none_refused(&self) -> bool {
        self.count == 0
    }

    pub(super) fn is_refused(&self, row: usize) -> bool {
        self.refused.get(row).copied().unwrap_or(false)
    }

    pub(super) fn into_rejected(mut self) -> RejectedRows {
        self.named.sort_by_key(|rejected| rejected.row);
        self.named.truncate(NAMED_ROWS);
        RejectedRows { count: self.count, named: self.named }
    }
}
