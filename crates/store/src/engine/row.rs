//! Rows of answers that are the same on both engines.

use crate::error::Result;

/// A value that both drivers can read from a column.
pub trait FromColumn: rusqlite::types::FromSql + for<'column> tokio_postgres::types::FromSql<'column> {}
impl<T: rusqlite::types::FromSql + for<'column> tokio_postgres::types::FromSql<'column>> FromColumn for T {}

/// A row of an answer.
pub enum Row<'row> {
    /// On SQLite.
    Sqlite(&'row rusqlite::Row<'row>),
    /// On PostgreSQL.
    Postgres(&'row tokio_postgres::Row),
}

impl Row<'_> {
    /// Returns the value of the column at a position, from 0.
    pub fn get<T: FromColumn>(&self, column: usize) -> Result<T> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row) => Ok(row.try_get(column)?),
        }
    }
}

/// The columns of a row, taken one after another in the order in which its statement lists them.
pub struct Columns<'row, 'answer> {
    row: &'row Row<'answer>,
    next: usize,
}

impl<'row, 'answer> Columns<'row, 'answer> {
    /// From the first column on.
    pub fn of(row: &'row Row<'answer>) -> Self {
        Columns { row, next: 0 }
    }

    /// From a position on.
    pub fn after(row: &'row Row<'answer>, position: usize) -> Self {
        Columns { row, next: position }
    }

    /// Returns the value of the next column.
    pub fn take<T: FromColumn>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }
}
