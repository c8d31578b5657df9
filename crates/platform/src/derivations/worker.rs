//! The task that derives what is due of a patient.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{CommitOutcome, DERIVE_KIND, DerivationCommit, HealthDb, StoreError};
use tokio::sync::{Notify, Semaphore, oneshot};
use tracing::Instrument as _;
use vitals::derivation::DERIVATIONS;

use super::derive::derive;
use super::versions::mark_other_versions;
use crate::core::error::Result;
use crate::jobs::{Ended, Job, Run, Spec, Turn};
use crate::platform::Platform;

/// Patients that a node holds at once: some are read and computed, others wait for their turn or for their commit.
const HELD_AT_ONCE: usize = 64;
/// Derivations that are committed together at most.
const COMMITS: usize = 16;
/// How long a commit waits at most for derivations that are still computed: each commit is a transaction that is flushed.
const GATHER: Duration = Duration::from_millis(10);

/// Derives what is due of a patient.
pub(crate) struct Derive;

impl Job for Derive {
    const SPEC: Spec =
        Spec { at_once: HELD_AT_ONCE, longest: Duration::from_mins(30), ..Spec::new(DERIVE_KIND, Turn::PatientDue) };

    fn parse(_subject: &str) -> Option<Self> {
        Some(Derive)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let platform = &run.platform;
        let derivations = &platform.derivations;
        let under_way = derivations.begin();
        let turn = derivations.turns.acquire().await;
        run.check()?;
        #[cfg(test)]
        super::worker_tests::panic_if_asked(&run.lease.subject);
        let commit = derive(platform, run.claim()).instrument(tracing::debug_span!("derive")).await?;
        drop(turn);
        let now_ms = platform.core.now_ms();
        let is_partial = commit.due.iter().any(|range| range.ready_ms <= now_ms);
        if derivations.commit(platform.core.health(), commit, under_way).await? == CommitOutcome::LeaseLost {
            return Err(StoreError::LeaseLost.into());
        }
        platform.wake_boards();
        if run.lease.failures.runs > 0 {
            platform.core.health().forget_derivation_failures(&run.lease.subject).await?;
        }
        Ok(if is_partial { Ended::CommittedInPart } else { Ended::Committed })
    }
}

/// Marks what other versions of the derivations have computed.
pub(crate) struct DeriveAgain;

impl Job for DeriveAgain {
    const SPEC: Spec = Spec::new("recompute_older_days", Turn::AtStart);

    fn parse(_subject: &str) -> Option<Self> {
        Some(DeriveAgain)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let patients = mark_other_versions(&run.platform).await?;
        if patients > 0 {
            tracing::info!(patients, "what other versions of derivations have computed is computed again");
        }
        Ok(Ended::Done)
    }
}

/// What the derivations of a node share: turns for their work, and commits that are made together.
///
/// A derivation gives its turn back before its commit, so that the next patient is computed while the disk is flushed.
#[derive(Debug)]
pub(crate) struct Derivations {
    turns: Semaphore,
    /// How many were begun and are not computed yet.
    under_way: AtomicUsize,
    waiting: Mutex<Vec<Waiting>>,
    /// Rings when a derivation is computed or has failed.
    computed: Notify,
    committing: tokio::sync::Mutex<()>,
    /// What was computed, for metrics.
    pub counts: DerivationCounts,
}

/// Counts of computations of each derivation, and their time, µs. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct DerivationCounts(Arc<[(AtomicU64, AtomicU64)]>);

impl Default for DerivationCounts {
    fn default() -> Self {
        DerivationCounts(DERIVATIONS.iter().map(|_| Default::default()).collect())
    }
}

impl DerivationCounts {
    /// Counts a computation of a derivation.
    pub fn add(&self, id: &str, time: Duration) {
        let of_id = DERIVATIONS.iter().zip(&*self.0).find(|(derivation, _)| derivation.id == id);
        if let Some((_, (count, time_us))) = of_id {
            count.fetch_add(1, Ordering::Relaxed);
            time_us.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        }
    }

    /// Returns the id of each derivation, how often it was computed and in which time, µs.
    pub fn all(&self) -> Vec<(&'static str, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let of_each = DERIVATIONS.iter().zip(&*self.0);
        of_each.map(|(derivation, (count, time_us))| (derivation.id, read(count), read(time_us))).collect()
    }
}

/// A derivation that is not computed yet.
struct UnderWay<'derivations>(&'derivations Derivations);

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
    /// Some that are read or computed at the same time.
    pub fn new(at_once: usize) -> Self {
        Derivations {
            turns: Semaphore::new(at_once.max(1)),
            under_way: AtomicUsize::default(),
            waiting: Mutex::default(),
            computed: Notify::new(),
            committing: tokio::sync::Mutex::default(),
            counts: DerivationCounts::default(),
        }
    }

    fn begin(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits a derivation, with others that are ready by then.
    async fn commit(
        &self,
        health: &HealthDb,
        commit: DerivationCommit,
        under_way: UnderWay<'_>,
    ) -> store::Result<CommitOutcome> {
        let (reply, mut answer) = oneshot::channel();
        self.waiting().push(Waiting { commit, reply });
        drop(under_way);
        loop {
            // Whoever comes first commits for all who wait; the others find their answers.
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
            Err(_) => {
                for Waiting { commit, reply } in some {
                    let outcomes = health.commit_derivations(vec![commit]).await;
                    let _ = reply.send(outcomes.map(|outcomes| outcomes[0]));
                }
            }
        }
    }
}

/// Derives what is due of one patient until nothing is left; false when somebody else has the patient.
pub(super) async fn commit_due(platform: &Platform, patient: &str, now_ms: i64, lease_ms: i64) -> store::Result<bool> {
    let health = platform.core.health();
    while !health.due_of(patient, now_ms).await?.is_empty() {
        let Some(claim) = health.claim_patient(patient, now_ms, lease_ms).await? else { return Ok(false) };
        let commit = derive(platform, claim).await?;
        if health.commit_derivations(vec![commit]).await? != [CommitOutcome::Committed] {
            return Ok(false);
        }
    }
    Ok(true)
}
