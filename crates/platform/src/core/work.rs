//! A piece of background work while it is done: what is held, and how it can end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::{Claim, JobLease, StoreError};
use tokio::sync::watch;

use crate::core::error::Result;

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The work is done; the engine ends the lease.
    Done,
    /// The same, and a task that runs again and again is to run again after this time.
    AgainIn(Duration),
    /// The work is done, and the transaction that completed it has ended the lease.
    Committed,
    /// The same, and more of the subject is due.
    CommittedInPart,
}

/// Work that is held under a lease.
#[derive(Clone)]
pub(crate) struct Work {
    /// What is held.
    pub lease: JobLease,
    /// Whether the lease was lost.
    pub lost: Arc<AtomicBool>,
    /// Whether the node stops.
    pub stopping: watch::Receiver<bool>,
}

impl Work {
    /// Fails when the work should end early: another node has taken it over, or this one stops. Long work asks now and
    /// then.
    pub fn check(&self) -> Result<()> {
        if self.lost.load(Ordering::Relaxed) || *self.stopping.borrow() {
            return Err(StoreError::LeaseLost.into());
        }
        Ok(())
    }

    /// Returns the lease as a claim of a patient.
    pub fn claim(&self) -> Claim {
        claim_of(&self.lease)
    }
}

/// Returns the claim of a patient that a lease represents.
pub(crate) fn claim_of(lease: &JobLease) -> Claim {
    Claim { patient: lease.subject.to_patient(), token: lease.token, failures: lease.failures }
}
