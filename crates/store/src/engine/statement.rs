//! Statements that are the same on both engines.

use super::param::Param;
use super::postgres::flight::Flight;
use super::row::Row;
use super::row_texts;
use crate::error::Result;

/// A transaction on either engine.
///
/// Statements that do not need each other's answers are one group: run them with `try_join!`, and PostgreSQL gets them
/// in one round trip, in the order in which they are written. On SQLite every one of these futures is ready at its
/// first poll.
pub struct Tx<'connection>(On<'connection>);

enum On<'connection> {
    /// The caller has begun the transaction.
    Sqlite(&'connection rusqlite::Connection),
    Postgres(&'connection Flight),
}

impl<'connection> Tx<'connection> {
    pub(super) fn on_sqlite(connection: &'connection rusqlite::Connection) -> Self {
        Tx(On::Sqlite(connection))
    }

    pub(super) fn on_postgres(flight: &'connection Flight) -> Self {
        Tx(On::Postgres(flight))
    }

    /// Runs a statement; returns how many rows it touched.
    pub async fn execute(&self, text: &'static str, params: &[&dyn Param]) -> Result<u64> {
        match self.0 {
            On::Sqlite(connection) => execute_inline(connection, text, params),
            On::Postgres(flight) => flight.execute(text, params).await,
        }
    }

    /// Runs a statement whose answer nobody needs. On PostgreSQL it is only sent: a failure ends the transaction at its
    /// next question or at its commit.
    pub async fn put(&self, text: &'static str, params: &[&dyn Param]) -> Result<()> {
        match self.0 {
            On::Sqlite(connection) => execute_inline(connection, text, params).map(drop),
            On::Postgres(flight) => flight.put(text, params).await,
        }
    }

    /// Runs a statement `... VALUES (one row) ...` for several rows, in their order, as one statement for up to
    /// 64 of them on PostgreSQL. Parameters are in the row's brackets alone.
    pub async fn put_rows<const WIDTH: usize>(&self, text: &'static str, rows: &[[&dyn Param; WIDTH]]) -> Result<()> {
        match self.0 {
            On::Sqlite(connection) => {
                if rows.is_empty() {
                    return Ok(());
                }
                let mut statement = connection.prepare_cached(&sqlite_text(text))?;
                for row in rows {
                    statement.execute(&sqlite_params(row)[..])?;
                }
            }
            On::Postgres(flight) => {
                let mut rows = rows;
                while !rows.is_empty() {
                    // Of a few lengths only: each length is a text that the server prepares and every connection keeps.
                    let (some, rest) = rows.split_at(row_texts::rows_at_once(rows.len()));
                    let several = row_texts::with_rows(text, WIDTH, some.len());
                    flight.put_rows(text, several, some.len(), some.as_flattened()).await?;
                    rows = rest;
                }
            }
        }
        Ok(())
    }

    /// Runs a query; returns what `read` makes of each row.
    pub async fn query<T>(
        &self,
        text: &'static str,
        params: &[&dyn Param],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut answers = Vec::new();
        let mut collect = |row: &Row<'_>| {
            answers.push(read(row)?);
            Ok(())
        };
        self.rows(text, params, &mut collect).await?;
        Ok(answers)
    }

    /// Runs a query and hands over its rows as they come. Without the types of its caller, so that it is compiled once.
    async fn rows(
        &self,
        text: &'static str,
        params: &[&dyn Param],
        each: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.0 {
            On::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(&sqlite_text(text))?;
                let mut rows = statement.query(&sqlite_params(params)[..])?;
                while let Some(row) = rows.next()? {
                    each(&Row::Sqlite(row))?;
                }
                Ok(())
            }
            On::Postgres(flight) => flight.query(text, params, each).await,
        }
    }

    /// Runs a query that returns at most one row.
    pub async fn query_opt<T>(
        &self,
        text: &'static str,
        params: &[&dyn Param],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.query(text, params, read).await?.into_iter().next())
    }

    /// Whether what is deleted from now on in this transaction is overwritten wherever it lies, also in pages that
    /// become free. That costs a write for each of them, so it is on for erasure alone. It is to be turned off again.
    /// PostgreSQL keeps deleted rows until it vacuums, and has no such switch.
    pub(crate) fn overwrite_deleted(&self, on: bool) -> Result<()> {
        match self.0 {
            On::Sqlite(connection) => {
                let text = if on { "PRAGMA secure_delete = ON" } else { "PRAGMA secure_delete = FAST" };
                Ok(connection.execute_batch(text)?)
            }
            On::Postgres(_) => Ok(()),
        }
    }

    /// Prepares a statement without running it.
    pub async fn prepare(&self, text: &'static str) -> Result<()> {
        match self.0 {
            On::Sqlite(connection) => {
                connection.prepare_cached(&sqlite_text(text))?;
                Ok(())
            }
            On::Postgres(flight) => flight.prepare(text).await,
        }
    }
}

fn execute_inline(connection: &rusqlite::Connection, text: &str, params: &[&dyn Param]) -> Result<u64> {
    let mut statement = connection.prepare_cached(&sqlite_text(text))?;
    Ok(statement.execute(&sqlite_params(params)[..])? as u64)
}

/// SQLite counts `$1` as a name and numbers names as they appear; `?1` is a number.
fn sqlite_text(text: &str) -> String {
    text.replace('$', "?")
}

fn sqlite_params<'params>(params: &[&'params dyn Param]) -> Vec<&'params dyn rusqlite::ToSql> {
    params.iter().map(|param| *param as &dyn rusqlite::ToSql).collect()
}
