//! The file that a database is copied into.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::layout;
use crate::engine::migrate::Migrations;
use crate::engine::sqlite;
use crate::engine::sqlite::file::{open, open_to_read};
use crate::error::{Result, StoreError};

/// Pages that are copied in one go.
const PAGES: std::ffi::c_int = 4096;

/// Neither a log nor flushes while it is filled: a file whose making was cut off is thrown away.
const FILLING: &str = "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    PRAGMA cache_size = -16384; PRAGMA foreign_keys = OFF;";

/// A file with a database, open to be read.
pub(crate) struct Copied {
    // Before the file in the order of fields: it is closed first.
    connection: Connection,
    /// Where an older database was brought up to date.
    _updated: Option<Updated>,
}

impl Copied {
    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// A file that is deleted when this is dropped.
struct Updated(PathBuf);

impl Drop for Updated {
    fn drop(&mut self) {
        // One that stays is overwritten by the next restore.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Copies the pages of a snapshot.
pub(super) fn copy_whole(source: &Connection, to: &Path) -> Result<()> {
    let mut copy = empty(to)?;
    Backup::new(source, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    // The copy is one file: a write-ahead log next to it would be forgotten when it is moved.
    copy.execute_batch("PRAGMA journal_mode = DELETE;")?;
    drop(copy);
    flush(to)
}

/// Makes a file with the schema and without any row, and begins to fill it.
pub(super) fn begin(to: &Path, migrations: Migrations) -> Result<Connection> {
    let file = sqlite::migrated(empty(to)?, migrations)?;
    file.execute_batch("BEGIN")?;
    for table in layout::tables(&file)? {
        // Migrations put a first row into some.
        file.execute_batch(&format!("DELETE FROM {}", table.name))?;
    }
    Ok(file)
}

/// A new file. Its header comes first: what is copied after it gets its checksums.
fn empty(to: &Path) -> Result<Connection> {
    let file = open(to)?;
    file.execute_batch(FILLING)?;
    page_sums::mark(&file)?;
    Ok(file)
}

/// Ends the filling of a file.
pub(super) fn finish(file: Connection, to: &Path) -> Result<()> {
    file.execute_batch("COMMIT; PRAGMA journal_mode = DELETE;")?;
    drop(file);
    flush(to)
}

/// A backup that is said to be made has to outlive a loss of power.
fn flush(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| StoreError::Unavailable(error.to_string()))
}

/// The version of the schema of a file.
pub(super) fn version_of(path: &Path) -> Result<i64> {
    Ok(open_to_read(path)?.query_row("SELECT version FROM schema_version", [], |row| row.get(0))?)
}

/// Opens a copy to read it as a database of this version. One of an older version is brought up to date in a copy of its
/// own in the folder `work`; the file itself stays as it is.
pub(crate) fn open_current(path: &Path, migrations: Migrations, work: &Path) -> Result<Copied> {
    let found = version_of(path)?;
    if found == migrations.version() {
        return Ok(Copied { connection: open_to_read(path)?, _updated: None });
    }
    let updated = work.join(updated_name(path));
    std::fs::copy(path, &updated).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    let updated = Updated(updated);
    let connection = open(&updated.0)?;
    connection.execute_batch(FILLING)?;
    Ok(Copied { connection: sqlite::migrated(connection, migrations)?, _updated: Some(updated) })
}

fn updated_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("restoring-{name}"))
}
