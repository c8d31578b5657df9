//! The time at which a signed checkpoint was last seen to cover the whole audit log, as a node remembers it.

use std::sync::atomic::{AtomicI64, Ordering};

/// The time.
#[derive(Debug, Default)]
pub(crate) struct LastSigned {
    /// Time, ms; 0 before anything is known.
    at_ms: AtomicI64,
}

impl LastSigned {
    pub fn at_ms(&self) -> Option<i64> {
        let at_ms = self.at_ms.load(Ordering::Relaxed);
        (at_ms > 0).then_some(at_ms)
    }

    pub fn note(&self, at_ms: i64) {
        // Not the latest of all: a clock that was ahead and is right again would hide that nothing is signed any more.
        self.at_ms.store(at_ms, Ordering::Relaxed);
    }

    pub fn note_first(&self, at_ms: i64) {
        // What the job has found meanwhile is newer.
        let _ = self.at_ms.compare_exchange(0, at_ms, Ordering::Relaxed, Ordering::Relaxed);
    }
}
