//! What the derivations of a node share: turns for their work, and commits that are made together.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{CommitOutcome, DerivationCommit, HealthDb, StoreError};
use tokio::sync::{Notify, Semaphore, oneshot};

use super::counts::DerivationCounts;

/// Patients that are read or computed at the same time: while one waits for its rows, another one computes.
const DERIVATIONS_PER_CORE: usize = 2;
/// Derivations that are committed together at most.
const COMMITS: usize = 16;
/// Time for which a commit waits at most for derivations that are still computed: each commit is a transaction that is
/// flushed.
const GATHER: Duration = Duration::from_millis(10);

/// What the derivations of a node share: turns for their work, and commits that are made together.
///
/// A derivation gives its turn back before its commit, so that the next patient is computed while the disk is flushed.
#[derive(Debug)]
pub(crate) struct Derivations {
    pub turns: Semaphore,
    /// How many were begun and are not computed yet.
    under_way: AtomicUsize,
    waiting: Mutex<Vec<Waiting>>,
    /// Rings when a derivation is computed or has failed.
    computed: Notify,
    committing: tokio::sync::Mutex<()>,
    /// What was computed, for metrics.
    pub counts: DerivationCounts,
}

/// A derivation that is not computed yet.
pub(crate) struct UnderWay<'derivations>(&'derivations Derivations);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
        self.0.computed.notify_waiters();
    }
}

#[derive(Debug)]
struct Waiting {
    commit: DerivationCommit,
    reply: oneshot::Sender<store::Result<CommitOutcome>>,
}

impl Derivations {
    /// As many turns as the cores of this machine can use.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Derivations {
            turns: Semaphore::new(DERIVATIONS_PER_CORE * cores),
            under_way: AtomicUsize::default(),
            waiting: Mutex::default(),
            computed: Notify::new(),
            committing: tokio::sync::Mutex::default(),
            counts: DerivationCounts::default(),
        }
    }

    pub fn begin(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits a derivation, with others that are ready by then.
    pub async fn commit(
        &self,
        health: &HealthDb,
        commit: DerivationCommit,
        under_way: UnderWay<'_>,
    ) -> store::Result<CommitOutcome> {
        let (reply, mut answer) = oneshot::channel();
        // In this order: were the count lowered first, `gather` could see nothing under way and miss this commit.
        self.waiting().push(Waiting { commit, reply });
        // Also wakes those who gather, so that the last derivation does not wait for the time to run out.
        drop(under_way);
        loop {
            // The first to come commits for all that wait; the others find their answers.
            let _turn = self.committing.lock().await;
            match answer.try_recv() {
                Ok(answer) => return answer,
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.gather().await;
                    self.commit_some(health).await;
                }
                Err(oneshot::error::TryRecvError::Closed) => {
                    return Err(StoreError::Unavailable("a commit was broken off".to_owned()));
                }
            }
        }
    }

    /// Waits for a while until enough is computed to be committed together, or everything that was begun.
    async fn gather(&self) {
        let enough = async {
            loop {
                // Before the look: a derivation that ends between the look and the wait would not be heard.
                let computed = self.computed.notified();
                if self.under_way.load(Ordering::Relaxed) == 0 || self.waiting().len() >= COMMITS {
                    return;
                }
                computed.await;
            }
        };
        // What is there by then is enough.
        let _ = runtime::timeout(GATHER, enough).await;
    }

    /// Commits what has waited longest together; where that fails, one by one, so that one cannot stop the others.
    async fn commit_some(&self, health: &HealthDb) {
        let some: Vec<Waiting> = {
            let mut waiting = self.waiting();
            let count = waiting.len().min(COMMITS);
            waiting.drain(..count).collect()
        };
        let commits: Vec<DerivationCommit> = some.iter().map(|waiting| waiting.commit.clone()).collect();
        match health.commit_derivations(commits).await {
            Ok(outcomes) => {
                for (Waiting { reply, .. }, outcome) in some.into_iter().zip(outcomes) {
                    // A derivation that was broken off is committed all the same.
                    let _ = reply.send(Ok(outcome));
                }
            }
            Err(error) if some.len() == 1 => {
                let alone = some.into_iter().next();
                drop(alone.map(|Waiting { reply, .. }| reply.send(Err(error))));
            }
            Err(error) => {
                // A connection that breaks says nothing of the commit. Where it was made it has ended the leases, so what is
                // not held any more is done, and not lost.
                let may_be_made = matches!(error, StoreError::Unavailable(_));
                for Waiting { commit, reply } in some {
                    let outcomes = health.commit_derivations(vec![commit]).await;
                    let _ = reply.send(outcomes.map(|outcomes| match outcomes[0] {
                        CommitOutcome::LeaseLost if may_be_made => CommitOutcome::Committed,
                        outcome => outcome,
                    }));
                }
            }
        }
    }
}
