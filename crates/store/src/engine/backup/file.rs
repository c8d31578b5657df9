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

/// Neither a log nor flushes while it is filled: a file whose making was cut off is thrown away. What is deleted is overwritten,
/// because SQLite would not write a page that was made and freed in one transaction, and leave a hole without a checksum.
const FILLING: &str = "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    PRAGMA cache_size = -16384; PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON;";

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
    // Pages are copied as they are: those of before there were checksums have no room for one.
    let mut copy = if page_sums::are_in(source)? { empty(to)? } else { Connection::open(to)? };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users;

    const ROWS: i64 = 3_000;

    /// More than the cache of a copy holds, so that its pages are written before its header.
    fn large(path: &Path) -> Connection {
        let file = Connection::open(path).expect("a file");
        file.execute_batch("PRAGMA page_size = 8192; CREATE TABLE thing (number BIGINT, body BYTEA); BEGIN")
            .expect("made");
        for number in 0..ROWS {
            let body = vec![number as u8; 8 * 1024];
            file.execute("INSERT INTO thing VALUES (?1, ?2)", (number, body)).expect("a row");
        }
        file.execute_batch("COMMIT").expect("committed");
        file
    }

    /// Compares every byte of every body, and that there are as many rows.
    fn check(path: &Path) {
        let file = open_to_read(path).expect("a file");
        let whole = "SELECT COUNT(*) FROM thing WHERE hex(body) = replace(hex(zeroblob(8192)), '00', printf('%02X', number % 256))";
        assert_eq!(file.query_row(whole, [], |row| row.get::<_, i64>(0)).expect("a count"), ROWS);
    }

    #[test]
    fn copy_of_a_file_without_checksums_is_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        page_sums::install().expect("installed");
        let source = large(&folder.path().join("source.db"));
        assert!(!page_sums::are_in(&source).expect("a header"));
        let to = folder.path().join("copy.db");
        copy_whole(&source, &to).expect("copied");
        check(&to);
    }

    #[test]
    fn copy_of_a_file_with_checksums_has_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = folder.path().join("source.db");
        drop(empty(&from).expect("a file"));
        let source = large(&from);
        let to = folder.path().join("copy.db");
        copy_whole(&source, &to).expect("copied");
        assert!(page_sums::are_in(&open_to_read(&to).expect("a file")).expect("a header"));
        check(&to);
    }

    #[test]
    fn file_that_was_filled_can_be_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let filled = folder.path().join("filled.db");
        finish(begin(&filled, users::MIGRATIONS).expect("begun"), &filled).expect("finished");
        let source = open_to_read(&filled).expect("a file");
        assert!(page_sums::are_in(&source).expect("a header"));
        copy_whole(&source, &folder.path().join("copy.db")).expect("no page is a hole");
    }
}
