//! When a signed checkpoint was last seen to cover the whole audit log: its age is a metric.
//!
//! It is remembered, because a listing of all checkpoints in a bucket costs a request for each thousand of them.

use boxed_futures::boxed_futures;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Returns when a signed checkpoint was last seen to cover the whole audit log, ms; before any, when the log was sealed.
    /// `None` before anything is known.
    pub fn audit_signed_ms(&self) -> Option<i64> {
        self.last_signed.at_ms()
    }

    /// Finds out how far checkpoints of the audit log go, for [`Upkeep::audit_signed_ms`]: once at the start of a node,
    /// whose job comes an hour later or, on another node, never.
    pub async fn recall_audit_signed(&self) -> Result<()> {
        self.last_signed.note_first(self.newest_checkpoint().await?.signed_ms);
        Ok(())
    }
}
