//! A connection to a file: how it is opened, and how store work is run on it.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::file;
use crate::engine::migrate::{Migrations, Target, text_for};
use crate::error::{Result, StoreError};

/// Longest wait of a connection for another process that holds the file.
pub(super) const FILE_WAIT: Duration = Duration::from_secs(10);
const PREPARED_STATEMENTS: usize = 256;

impl Target for Connection {
    async fn run(&mut self, text: &str) -> Result<()> {
        let text = text_for("sqlite", text).replace("/*clustered*/", "WITHOUT ROWID");
        Ok(self.execute_batch(&text)?)
    }

    async fn version(&mut self) -> Result<i64> {
        Ok(self.query_row("SELECT version FROM schema_version", [], |row| row.get(0))?)
    }
}

/// The outcome of store work. It runs on SQLite, where each statement is answered when it is asked, so there is nothing
/// to wait for.
pub(super) fn at_once(work: impl Future<Output = Result<()>>) -> Result<()> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(StoreError::Database("store work waits for something that is no statement".to_owned())),
    }
}

pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the database is closed".to_owned())
}

/// Brings the schema of a database up to date.
pub(in crate::engine) fn migrated(mut connection: Connection, migrations: Migrations) -> Result<Connection> {
    // The writer's lock from the start: two processes that first read the version could both find it old, and one of
    // them would fail where it now waits.
    connection.execute_batch("BEGIN IMMEDIATE")?;
    at_once(migrations.apply(&mut connection))?;
    connection.execute_batch("COMMIT")?;
    Ok(connection)
}

pub(super) fn connect(path: &Path) -> Result<Connection> {
    let connection = file::open(path)?;
    // The time-out comes first: the pragmas below can meet another process that holds the file.
    connection.busy_timeout(FILE_WAIT)?;
    connection.execute_batch(
        // Size first, since it cannot be changed once there is a write-ahead log. With synchronous below FULL the last
        // commits would not outlive a loss of power, and 200 has been answered for them. Checkpoints are rare, so that
        // a page that many syncs write is moved into the file once. What is deleted is overwritten where that costs no
        // write of its own; erasure asks for more. SQLite leaves foreign keys unchecked unless each connection asks.
        "PRAGMA page_size = 8192;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA cache_size = -2048;
         PRAGMA secure_delete = FAST;
         PRAGMA foreign_keys = ON;",
    )?;
    // Otherwise a statement with a range is compiled again for each new bound of it, to look into statistics that
    // nobody gathers.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}
