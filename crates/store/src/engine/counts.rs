//! What a database reports of itself to operators.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::durations::DurationCounts;
use super::operations::OperationCounts;

/// What a database has done on this node since it was opened, and what is under way.
#[derive(Clone, Debug)]
pub struct DbCounts {
    /// Name of the database: `users` or `health`.
    pub database: &'static str,
    /// Each operation that has been called.
    pub operations: Vec<OperationCounts>,
    /// The connections: all of a PostgreSQL database, those that read a SQLite file.
    pub pool: PoolCounts,
    /// Transactions that wait for the one writer of a SQLite file.
    pub writer_queue: Option<usize>,
}

/// What a pool of connections holds at a moment, and what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Connections that there are.
    pub size: usize,
    /// Connections that operations use.
    pub in_use: usize,
    /// Operations that wait for a connection.
    pub waiting: usize,
    /// Connections that there can be.
    pub limit: usize,
    /// Connections that have been opened.
    pub opened: u64,
    /// Time for which operations waited for a connection, also for one that was opened meanwhile.
    pub waits: DurationCounts,
    /// Number of times that the server stopped answering.
    pub breaks: u64,
    /// Whether it gives no answer now, and operations fail at once.
    pub is_broken: bool,
}

/// An operation that waits for a connection: counted until this is dropped, also when its caller goes away.
pub(super) struct Waiting<'count>(&'count AtomicUsize);

impl<'count> Waiting<'count> {
    pub fn begin(count: &'count AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
