//! Statements, parameters and rows that are the same on both engines.

use std::collections::HashMap;

use crate::error::Result;

/// A value that both drivers can bind: i64, f64, bool, text, bytes, and options of them.
pub trait Param: rusqlite::ToSql + ::postgres::types::ToSql + Sync {}
impl<T: rusqlite::ToSql + ::postgres::types::ToSql + Sync> Param for T {}

/// A value that both drivers can read from a column.
pub trait FromColumn: rusqlite::types::FromSql + for<'column> ::postgres::types::FromSql<'column> {}
impl<T: rusqlite::types::FromSql + for<'column> ::postgres::types::FromSql<'column>> FromColumn for T {}

/// A transaction on either engine.
pub enum Tx<'connection> {
    /// On SQLite. The caller has begun the transaction.
    Sqlite(&'connection rusqlite::Connection),
    /// On PostgreSQL.
    Postgres {
        /// The driver's transaction.
        transaction: ::postgres::Transaction<'connection>,
        /// Statements that this connection has prepared, by their text.
        prepared: &'connection mut HashMap<&'static str, ::postgres::Statement>,
    },
}

/// A row of an answer.
pub enum Row<'row> {
    /// On SQLite.
    Sqlite(&'row rusqlite::Row<'row>),
    /// On PostgreSQL.
    Postgres(&'row ::postgres::Row),
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

impl Tx<'_> {
    /// Runs a statement; answers how many rows it touched.
    pub fn execute(&mut self, text: &'static str, params: &[&dyn Param]) -> Result<u64> {
        match self {
            Tx::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(&sqlite_text(text))?;
                Ok(statement.execute(&sqlite_params(params)[..])? as u64)
            }
            Tx::Postgres { transaction, prepared } => {
                let statement = prepare_once(transaction, prepared, text)?;
                Ok(transaction.execute(&statement, &postgres_params(params))?)
            }
        }
    }

    /// Runs a query; answers what `read` makes of each row.
    pub fn query<T>(
        &mut self,
        text: &'static str,
        params: &[&dyn Param],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut answers = Vec::new();
        match self {
            Tx::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(&sqlite_text(text))?;
                let mut rows = statement.query(&sqlite_params(params)[..])?;
                while let Some(row) = rows.next()? {
                    answers.push(read(&Row::Sqlite(row))?);
                }
            }
            Tx::Postgres { transaction, prepared } => {
                let statement = prepare_once(transaction, prepared, text)?;
                for row in transaction.query(&statement, &postgres_params(params))? {
                    answers.push(read(&Row::Postgres(&row))?);
                }
            }
        }
        Ok(answers)
    }

    /// Runs a query that answers at most one row.
    pub fn query_opt<T>(
        &mut self,
        text: &'static str,
        params: &[&dyn Param],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(text, params, read)?.into_iter().next())
    }

    /// Commits where the transaction is the driver's own; on SQLite the writer thread commits for the whole group.
    pub(super) fn commit(self) -> Result<()> {
        match self {
            Tx::Sqlite(_) => Ok(()),
            Tx::Postgres { transaction, .. } => Ok(transaction.commit()?),
        }
    }

    /// Whether what is deleted from now on in this transaction is overwritten wherever it lies, also in pages that
    /// become free. That costs a write for each of them, so it is on for erasure alone. It is to be turned off again.
    /// PostgreSQL keeps deleted rows until it vacuums, and has no such switch.
    pub(crate) fn overwrite_deleted(&mut self, on: bool) -> Result<()> {
        match self {
            Tx::Sqlite(connection) => {
                let text = if on { "PRAGMA secure_delete = ON" } else { "PRAGMA secure_delete = FAST" };
                Ok(connection.execute_batch(text)?)
            }
            Tx::Postgres { .. } => Ok(()),
        }
    }

    /// Prepares a statement without running it.
    pub fn prepare(&mut self, text: &'static str) -> Result<()> {
        match self {
            Tx::Sqlite(connection) => {
                connection.prepare_cached(&sqlite_text(text))?;
            }
            Tx::Postgres { transaction, prepared } => {
                prepare_once(transaction, prepared, text)?;
            }
        }
        Ok(())
    }
}

/// SQLite counts `$1` as a name and numbers names as they appear; `?1` is a number.
fn sqlite_text(text: &str) -> String {
    text.replace('$', "?")
}

fn sqlite_params<'params>(params: &[&'params dyn Param]) -> Vec<&'params dyn rusqlite::ToSql> {
    params.iter().map(|param| *param as &dyn rusqlite::ToSql).collect()
}

fn postgres_params<'params>(params: &[&'params dyn Param]) -> Vec<&'params (dyn ::postgres::types::ToSql + Sync)> {
    params.iter().map(|param| *param as &(dyn ::postgres::types::ToSql + Sync)).collect()
}

fn prepare_once(
    transaction: &mut ::postgres::Transaction<'_>,
    prepared: &mut HashMap<&'static str, ::postgres::Statement>,
    text: &'static str,
) -> Result<::postgres::Statement> {
    if let Some(statement) = prepared.get(text) {
        return Ok(statement.clone());
    }
    let statement = transaction.prepare(text)?;
    prepared.insert(text, statement.clone());
    Ok(statement)
}
