//! Where a database is, and what its connections may take.

use std::path::PathBuf;
use std::time::Duration;

use super::deadlines::LONGEST_WAIT;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL connection string or `postgres://` address.
    Postgres(String),
}

/// What a pool of PostgreSQL connections may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at most.
    pub connections: usize,
    /// Time for which an operation waits for one before it fails as unavailable.
    pub wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 16, wait: LONGEST_WAIT }
    }
}
