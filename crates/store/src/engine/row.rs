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
    /// The value of the column at a position, from 0.
    pub fn get<T: FromColumn>(&self, column: usize) -> Result<T> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row) => Ok(row.try_get(column)?),
        }
    }
}
