//! Derives what is due of a patient, and what other versions have computed.

use boxed_futures::boxed_futures;
use store::{CommitOutcome, StoreError};
use tracing::Instrument as _;

use super::derive::derive;
use crate::core::error::Result;
use crate::core::work::{Ended, Work};
use crate::data::Data;

/// A patient whose derivation panics, as that of one whose samples hit an error of the program.
#[cfg(test)]
pub(crate) const PANICS: &str = "panics";

#[boxed_futures]
impl Data {
    /// Derives what is due of the patient who is held.
    pub(crate) async fn derive_held(&self, work: &Work) -> Result<Ended> {
        let derivations = &self.derivations;
        let under_way = derivations.begin();
        let turn = derivations.turns.acquire().await;
        // A turn can take long to come; the lease may have been lost meanwhile.
        work.check()?;
        #[cfg(test)]
        assert!(work.lease.subject.as_str() != PANICS, "a derivation that panics for a test");
        let commit = derive(&self.core, &derivations.counts, work.claim());
        let commit = commit.instrument(tracing::debug_span!("derive")).await?;
        drop(turn);
        let now_ms = self.core.now_ms();
        let is_partial = commit.due.iter().any(|range| range.ready_ms <= now_ms);
        if derivations.commit(self.core.health(), commit, under_way).await? == CommitOutcome::LeaseLost {
            return Err(StoreError::LeaseLost.into());
        }
        // After the commit: a board that reads before it shows the old row until its next poll.
        self.wake_listeners();
        if work.lease.failures.runs > 0 {
            self.core.health().forget_derivation_failures(&work.claim().patient).await?;
        }
        Ok(if is_partial { Ended::CommittedInPart } else { Ended::Committed })
    }

    /// Patients whose derived values wait to be computed, whichever node will do it.
    pub async fn patients_due(&self) -> Result<u64> {
        Ok(self.core.health().count_due(self.core.now_ms()).await?)
    }

    /// Returns the id of each derivation, how often this node has computed it and in which time, µs.
    pub fn derivation_counts(&self) -> Vec<(&'static str, u64, u64)> {
        self.derivations.counts.all()
    }
}
