//! What is known of the files of a database.

use super::sqlite::kept_logs::DamagedLog;

/// The state of a database's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFiles {
    /// Whether each page has a checksum: otherwise a changed bit can hide rows.
    pub have_page_checksums: bool,
    /// Whether they are files of ours, or of a PostgreSQL server.
    pub are_ours: bool,
    /// Write-ahead logs that were damaged when the database was opened after a crash.
    pub damaged_logs: Vec<DamagedLog>,
    /// Why the engine cannot check its indexes, and what lets it.
    pub cannot_check: Option<String>,
}
