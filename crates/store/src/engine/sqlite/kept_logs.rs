//! Write-ahead logs that were damaged when their database was opened after a crash, and were kept.

use std::path::{Path, PathBuf};

use crate::error::{Result, StoreError};

/// A log that was kept as it was found. Its transactions before the damage are in the database, the others are not, unless
/// they had been moved into the file already: pages of two moments can then lie next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedLog {
    /// The file.
    pub file: PathBuf,
    /// The first damaged frame, from 1 on; 0 where it is the header.
    pub frame: u64,
    /// Groups of transactions from there on that were committed together, as far as they can be counted.
    pub lost_commits: u64,
}

/// Returns how many logs of a database were kept.
pub(in crate::engine) fn count(database: &Path) -> Result<u64> {
    Ok(files(database)?.len() as u64)
}

/// Lists the logs of a database that were kept, and what is wrong with them.
pub(in crate::engine) fn list(database: &Path) -> Result<Vec<DamagedLog>> {
    let look = |file: PathBuf| -> Result<DamagedLog> {
        let damage = page_sums::examine_log(&file).map_err(|error| unreadable(&error))?;
        // A log in which there is nothing to be found was emptied by an erasure, or damaged further since it was kept.
        let (frame, lost_commits) = damage.map_or((0, 0), |damage| (damage.frame, damage.lost_commits));
        Ok(DamagedLog { file, frame, lost_commits })
    };
    files(database)?.into_iter().map(look).collect()
}

/// Names them in the log of the program, each time that the database is opened, until somebody has moved them away.
pub(super) fn report(database: &Path) {
    match list(database) {
        Ok(logs) => {
            for DamagedLog { file, frame, lost_commits } in logs {
                tracing::error!(
                    file = %file.display(), frame, lost_commits,
                    "a write-ahead log was damaged when its database was opened after a crash: what was committed behind \
                     the damage is lost, and pages of two moments can lie in the file; run doctor --verify and restore"
                );
            }
        }
        Err(error) => tracing::warn!(%error, "damaged write-ahead logs could not be looked for"),
    }
}

/// Empties them: rows that were erased since are in them. The empty files go on saying that something was lost.
pub(super) fn empty(database: &Path) -> Result<()> {
    for file in files(database)? {
        tracing::warn!(file = %file.display(), "a damaged write-ahead log is emptied, because data were erased");
        let emptied = std::fs::OpenOptions::new().write(true).open(&file).and_then(|log| {
            log.set_len(0)?;
            log.sync_all()
        });
        emptied.map_err(|error| unreadable(&error))?;
    }
    Ok(())
}

fn files(database: &Path) -> Result<Vec<PathBuf>> {
    page_sums::damaged_logs(database).map_err(|error| unreadable(&error))
}

fn unreadable(error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("damaged write-ahead logs: {error}"))
}
