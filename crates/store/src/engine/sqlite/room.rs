//! Whether a database file can grow. A small write says little about it: pages that were freed, and the beginning of a
//! write-ahead log, take it on a disk that is full, while the next upload finds no place.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Result, StoreError};

/// What a trial writes: as much as uploads of ordinary size need.
const TRIAL_BYTES: usize = 4 << 20;
static BLOCK: [u8; 64 << 10] = [0; 64 << 10];

/// What is known of the room on the disk of a database.
#[derive(Debug)]
pub(super) struct Room {
    trial: PathBuf,
    /// A write has failed for want of room, or of the disk, and no trial has succeeded since.
    is_doubtful: AtomicBool,
}

impl Room {
    pub fn next_to(database: &Path) -> Self {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push("-room");
        Room { trial: database.with_file_name(name), is_doubtful: AtomicBool::new(false) }
    }

    /// A write was undone because the disk did not take it.
    pub fn doubt(&self) {
        self.is_doubtful.store(true, Ordering::Relaxed);
    }

    /// The same, where an error says so.
    pub fn note(&self, error: &rusqlite::Error) {
        if matches!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::SystemIoFailure)
        ) {
            self.doubt();
        }
    }

    /// Returns whether a trial is to be made. Without a failure none is: it would cost every probe a write.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful.load(Ordering::Relaxed)
    }

    /// Writes next to the database, and removes it again.
    pub fn check(&self) -> Result<()> {
        let written = self.write();
        // Also half of it, which takes the last of the room.
        let _ = std::fs::remove_file(&self.trial);
        written
            .map_err(|error| StoreError::Unavailable(format!("there is no room for a database to grow: {error}")))?;
        self.is_doubtful.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn write(&self) -> std::io::Result<()> {
        let mut file = File::create(&self.trial)?;
        for _ in 0..TRIAL_BYTES / BLOCK.len() {
            file.write_all(&BLOCK)?;
        }
        // Some file systems find out only now.
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_lasts_until_something_large_can_be_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let room = Room::next_to(&folder.path().join("health.db"));
        assert!(!room.is_doubtful());
        room.doubt();
        room.check().expect("room");
        assert!(!room.is_doubtful());
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the trial is gone");

        room.doubt();
        let gone = folder.path().to_owned();
        drop(folder);
        assert!(!gone.exists());
        assert!(matches!(room.check(), Err(StoreError::Unavailable(_))));
        assert!(room.is_doubtful());
    }
}
