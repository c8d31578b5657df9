//! The version of a database's schema, found out without changing anything.

use std::path::Path;
use std::time::Duration;

use rusqlite::OptionalExtension as _;

use super::address::Address;
use super::blocking::blocking;
use super::migrate::Migrations;
use super::postgres::{connect_directly, first_value};
use super::sqlite::file;
use crate::error::{Result, StoreError};

/// State of the database at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// No database of ours.
    Missing,
    /// One that an earlier version of the program has made, and its version.
    Older(i64),
    /// One that this version reads.
    Current,
}

/// Time that another process may hold a file for.
const LONGEST_LOCK: Duration = Duration::from_secs(10);

impl Migrations {
    /// Looks how far a database is. A file that is not there is not made.
    ///
    /// # Errors
    /// [`StoreError::SchemaVersion`](crate::StoreError::SchemaVersion) for the database of a newer program.
    pub(crate) async fn state_of(self, address: Address) -> Result<SchemaState> {
        let found = match address {
            Address::File(path) => blocking(move || version_of_file(&path)).await?,
            Address::Postgres(url) => version_of_server(&url).await?,
        };
        let Some(found) = found else { return Ok(SchemaState::Missing) };
        self.check(found)?;
        Ok(if found == self.version() { SchemaState::Current } else { SchemaState::Older(found) })
    }
}

fn version_of_file(path: &Path) -> Result<Option<i64>> {
    if !path.exists() {
        return Ok(None);
    }
    let file = file::open_existing(path)?;
    file.busy_timeout(LONGEST_LOCK)?;
    let has_version = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
    if file.query_row(has_version, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    Ok(file.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).optional()?)
}

async fn version_of_server(url: &str) -> Result<Option<i64>> {
    let client = connect_directly(url, "pulseward").await?;
    if first_value(&client, "SELECT to_regclass('schema_version')").await?.is_none() {
        return Ok(None);
    }
    let found = first_value(&client, "SELECT version FROM schema_version").await?;
    found
        .map(|version| version.parse().map_err(|_| StoreError::Damaged(format!("schema version {version}"))))
        .transpose()
}
