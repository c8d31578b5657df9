//! Exports that have ended on this node, counted for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a node.
#[derive(Debug, Default)]
pub(crate) struct ExportCounts {
    done: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
}

/// Exports that have ended on a node since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedExports {
    /// Archives that were written.
    pub done: u64,
    /// Exports that were given up.
    pub failed: u64,
    /// Bytes of the archives.
    pub bytes: u64,
}

impl ExportCounts {
    /// Counts an archive that is written.
    pub(super) fn done(&self, bytes: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts an export that is given up.
    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts.
    pub(super) fn ended(&self) -> EndedExports {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EndedExports { done: read(&self.done), failed: read(&self.failed), bytes: read(&self.bytes) }
    }
}
