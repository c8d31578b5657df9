//! Copies of database files as they were at one moment.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Result, StoreError};

/// Pages that are copied in one go.
const PAGES: std::ffi::c_int = 4096;

/// Copies files, each to its place, all as they were at the same moment. Other processes may use them: writers wait
/// while that moment is agreed on, and neither they nor readers wait for the copying.
///
/// # Errors
/// [`StoreError::Conflict`] when a place is taken.
pub fn copy_files(copies: &[(&Path, &Path)]) -> Result<()> {
    for (_, to) in copies {
        if to.exists() {
            return Err(StoreError::Conflict(format!("{} is there", to.display())));
        }
    }
    // Nobody writes while all of these hold the right to; what is read then is in all of them at once.
    let holders: Vec<Connection> = copies.iter().map(|(from, _)| open(from)).collect::<Result<_>>()?;
    for holder in &holders {
        holder.execute_batch("BEGIN IMMEDIATE")?;
    }
    // Other connections than the holders: a snapshot keeps no writer waiting, so copying may take as long as it does.
    let sources: Vec<Connection> = copies.iter().map(|(from, _)| open(from)).collect::<Result<_>>()?;
    for source in &sources {
        // BEGIN alone takes no snapshot; the first read does.
        source.execute_batch("BEGIN; SELECT version FROM schema_version;")?;
    }
    for holder in &holders {
        holder.execute_batch("ROLLBACK")?;
    }
    for (source, (_, to)) in sources.iter().zip(copies) {
        let mut copy = Connection::open(to)?;
        Backup::new(source, &mut copy)?.run_to_completion(PAGES, Duration::ZERO, None)?;
        // The copy is one file: a write-ahead log next to it would be forgotten when it is moved.
        copy.execute_batch("PRAGMA journal_mode = DELETE;")?;
        drop(copy);
        // A backup that is said to be made has to outlive a loss of power.
        let synced = std::fs::File::open(to).and_then(|file| file.sync_all());
        synced.map_err(|error| StoreError::Unavailable(error.to_string()))?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_of_one_moment_and_stands_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let database = |name: &str| {
            let connection = Connection::open(path(name)).expect("a database");
            let text = "PRAGMA journal_mode = WAL; CREATE TABLE schema_version (version BIGINT);
                INSERT INTO schema_version VALUES (7);";
            connection.execute_batch(text).expect("a table");
            connection
        };
        let (one, _other) = (database("one"), database("other"));
        let (one_at, other_at) = (path("one"), path("other"));
        let (one_to, other_to) = (path("one.copy"), path("other.copy"));
        let copies = [(one_at.as_path(), one_to.as_path()), (other_at.as_path(), other_to.as_path())];
        copy_files(&copies).expect("copied");
        assert!(matches!(copy_files(&copies), Err(StoreError::Conflict(_))));
        one.execute_batch("UPDATE schema_version SET version = 8").expect("changed");
        let copy = Connection::open(&one_to).expect("a database");
        let version: i64 = copy.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).expect("a row");
        assert_eq!(version, 7);
    }
}
