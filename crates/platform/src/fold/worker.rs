//! The worker: claims patients who are due, folds several at once, commits what is ready together.

use std::time::Duration;

use futures::StreamExt;
use runtime::HashMap;
use store::{Claim, FoldCommit, FoldOutcome};
use tokio::sync::watch;

use super::derive::derive;
use crate::environment::Platform;

/// How long a claim holds without a commit.
const LEASE_MS: i64 = 60_000;
/// How often the worker looks for what is due when nobody rings.
const POLL: Duration = Duration::from_millis(500);
/// Patients who are claimed together.
const CLAIMS: usize = 64;
/// Folds that are committed together at most.
const COMMITS: usize = 16;
/// A failed fold is tried again after this, and after twice as long each further time.
const FIRST_RETRY_MS: i64 = 1_000;
/// The longest time between two tries.
const LONGEST_RETRY_MS: i64 = 5 * 60_000;

/// Folds what is due until it is stopped. Several may run at once, on one node or on many.
#[derive(Debug)]
pub struct FoldWorker {
    platform: Platform,
    folds_at_once: usize,
    /// How often in a row the folds of a patient have failed here.
    failures: HashMap<String, u32>,
}

impl FoldWorker {
    /// A worker that folds some patients at once.
    pub fn new(platform: Platform, folds_at_once: usize) -> Self {
        FoldWorker { platform, folds_at_once: folds_at_once.max(1), failures: HashMap::default() }
    }

    /// Folds until `stop` becomes true or its sender is gone; the batch at hand is finished first.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let folded = match self.drain_batch().await {
                Ok(folded) => folded,
                Err(error) => {
                    tracing::warn!(%error, "the worker could not look for due patients");
                    0
                }
            };
            if folded > 0 {
                continue;
            }
            tokio::select! {
                biased;
                changed = stop.changed() => if changed.is_err() { return },
                () = self.platform.due_bell.notified() => {}
                () = runtime::sleep(POLL) => {}
            }
        }
    }

    /// Folds until nothing is due now; answers how many folds were committed.
    pub async fn drain(&mut self) -> store::Result<usize> {
        let mut total = 0;
        loop {
            let folded = self.drain_batch().await?;
            if folded == 0 {
                return Ok(total);
            }
            total += folded;
        }
    }

    /// Claims a batch of patients and folds them; answers how many were committed.
    async fn drain_batch(&mut self) -> store::Result<usize> {
        let platform = self.platform.clone();
        let claims = platform.health.claim_due(platform.now_ms(), LEASE_MS, CLAIMS).await?;
        let folds = claims.into_iter().map(|claim| {
            let platform = &platform;
            async move { (derive(platform, claim.clone()).await, claim) }
        });
        let mut ready = futures::stream::iter(folds).buffer_unordered(self.folds_at_once).ready_chunks(COMMITS);
        let mut committed = 0;
        while let Some(finished) = ready.next().await {
            let mut commits = Vec::with_capacity(finished.len());
            for (folded, claim) in finished {
                match folded {
                    Ok(commit) => commits.push(commit),
                    Err(error) => self.put_off(claim, &error).await,
                }
            }
            committed += self.commit(commits).await;
        }
        Ok(committed)
    }

    /// Commits folds together; where that fails, one by one, so that one cannot stop the others.
    async fn commit(&mut self, commits: Vec<FoldCommit>) -> usize {
        if commits.is_empty() {
            return 0;
        }
        let claims: Vec<Claim> = commits.iter().map(|commit| commit.claim.clone()).collect();
        match self.platform.health.commit_folds(commits.clone()).await {
            Ok(outcomes) => return self.note(&claims, &outcomes),
            Err(error) if commits.len() == 1 => {
                self.put_off(commits[0].claim.clone(), &error).await;
                return 0;
            }
            Err(_) => {}
        }
        let mut committed = 0;
        for commit in commits {
            let claim = commit.claim.clone();
            match self.platform.health.commit_folds(vec![commit]).await {
                Ok(outcomes) => committed += self.note(&[claim], &outcomes),
                Err(error) => self.put_off(claim, &error).await,
            }
        }
        committed
    }

    fn note(&mut self, claims: &[Claim], outcomes: &[FoldOutcome]) -> usize {
        for (claim, outcome) in claims.iter().zip(outcomes) {
            self.failures.remove(&claim.patient);
            if *outcome == FoldOutcome::LeaseLost {
                tracing::debug!(patient = %claim.patient, "another worker has taken the fold over");
            }
        }
        self.platform.wake_boards();
        outcomes.iter().filter(|outcome| **outcome == FoldOutcome::Committed).count()
    }

    /// Leaves a patient alone for a while after a failure.
    async fn put_off(&mut self, claim: Claim, error: &store::StoreError) {
        let failures = self.failures.entry(claim.patient.clone()).or_default();
        *failures += 1;
        let retry_ms = retry_ms(*failures);
        tracing::error!(patient = %claim.patient, %error, failures = *failures, retry_ms, "a fold failed");
        let until_ms = self.platform.now_ms().saturating_add(retry_ms);
        if let Err(error) = self.platform.health.hold_claim(claim, until_ms).await {
            // The lease runs out by itself.
            tracing::warn!(%error, "a failed fold could not be put off");
        }
    }
}

fn retry_ms(failures: u32) -> i64 {
    let doublings = failures.saturating_sub(1).min(20);
    (FIRST_RETRY_MS << doublings).min(LONGEST_RETRY_MS)
}

/// Folds one patient until nothing is due of him; answers false when somebody else has him.
pub(super) async fn commit_due(platform: &Platform, patient: &str, now_ms: i64, lease_ms: i64) -> store::Result<bool> {
    let health = &platform.health;
    while !health.due_of(patient, now_ms).await?.is_empty() {
        let Some(claim) = health.claim_patient(patient, now_ms, lease_ms).await? else { return Ok(false) };
        let commit = derive(platform, claim).await?;
        if health.commit_folds(vec![commit]).await? != [FoldOutcome::Committed] {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_grows_up_to_a_limit() {
        assert_eq!([1, 2, 3, 40].map(retry_ms), [1_000, 2_000, 4_000, LONGEST_RETRY_MS]);
    }
}
