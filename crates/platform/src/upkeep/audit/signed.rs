//! When a signed checkpoint was last seen to cover the whole audit log: its age is a metric.
//!
//! It is remembered, because a listing of all checkpoints in a bucket costs a request for each thousand of them.

use std::sync::atomic::{AtomicI64, Ordering};

use boxed_futures::boxed_futures;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

/// What this node remembers.
#[derive(Debug, Default)]
pub(crate) struct LastSigned {
    /// Time, ms; 0 before anything is known.
    at_ms: AtomicI64,
}

impl LastSigned {
    pub fn note(&self, at_ms: i64) {
        // Not the latest of all: a clock that was ahead and is right again would hide that nothing is signed any more.
        self.at_ms.store(at_ms, Ordering::Relaxed);
    }

    fn note_first(&self, at_ms: i64) {
        // What the job has found meanwhile is newer.
        let _ = self.at_ms.compare_exchange(0, at_ms, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[boxed_futures]
impl Upkeep {
    /// Returns when a signed checkpoint was last seen to cover the whole audit log, ms; before any, when the log was sealed.
    /// `None` before anything is known.
    pub fn audit_signed_ms(&self) -> Option<i64> {
        let at_ms = self.last_signed.at_ms.load(Ordering::Relaxed);
        (at_ms > 0).then_some(at_ms)
    }

    /// Finds out how far checkpoints of the audit log go, for [`Upkeep::audit_signed_ms`]: once at the start of a node,
    /// whose job comes an hour later or, on another node, never.
    pub async fn recall_audit_signed(&self) -> Result<()> {
        self.last_signed.note_first(self.newest_checkpoint().await?.signed_ms);
        Ok(())
    }
}
