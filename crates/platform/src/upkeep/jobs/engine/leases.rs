//! The leases of this node: which are prolonged, which are lost, and which nobody here uses.
//!
//! A claim whose answer is lost may have been carried out, and may be so only later: what was sent over a link that was cut
//! arrives when it is mended. Its subjects would then wait for the end of a lease that nobody works under. So what the
//! database says that this node holds is compared with what runs, for as long as such a lease can last.

use std::sync::atomic::Ordering;

use runtime::Instant;
use store::{Claim, Failures, HeldJob, JobLease, NodeId};

use super::{Engine, PROLONG_EVERY, Running};
use crate::upkeep::jobs::job::Turn;
use crate::upkeep::jobs::queue;

impl Engine {
    /// Prolongs what has run for long. Most runs take milliseconds, and prolonging is a transaction.
    pub(super) async fn prolong_old(&mut self) {
        if self.running.values().any(is_old) {
            self.prolong().await;
        }
    }

    /// Looks for leases that a claim without an answer has taken, while there can be any; whether there was one.
    pub(super) async fn give_back_unanswered(&mut self) -> bool {
        self.unanswered_until = self.unanswered_until.filter(|until| *until > Instant::now());
        self.unanswered_until.is_some() && self.prolong().await > 0
    }

    /// Prolongs leases, notes those that are lost, and gives back those that nobody here works on: the answer to their
    /// claim, or their end, was lost. Returns how many these were.
    async fn prolong(&mut self) -> usize {
        let Some(node) = self.membership.id().cloned() else { return 0 };
        self.try_prolong(&node).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "leases of background work could not be prolonged");
            0
        })
    }

    async fn try_prolong(&self, node: &NodeId) -> store::Result<usize> {
        let core = &self.upkeep.core;
        let held = queue::prolong(core, node).await?;
        let held_patients = match queue::held_patients(core, node).await {
            // Prolonging is by patient, and a row that cannot be read is no reason to leave the others to other nodes.
            Err(error) if error.is_damage() => {
                tracing::warn!(%error, "which patients this node holds could not be read");
                Vec::new()
            }
            held => held?,
        };
        let (patients, others): (Vec<&Running>, Vec<&Running>) =
            self.running.values().partition(|run| run.kind.spec.turn == Turn::PatientDue);
        for run in patients.iter().filter(|run| is_old(run)) {
            if let Err(error) = queue::prolong_patient(core, &run.lease).await {
                tracing::warn!(%error, "the lease of a derivation could not be prolonged");
            }
        }
        for run in others.iter().filter(|run| !held.iter().any(|held| is_of(run, held))) {
            run.lost.store(true, Ordering::Relaxed);
        }
        let mut unused = 0;
        for held in held.iter().filter(|held| !others.iter().any(|run| is_of(run, held))) {
            self.give_back(held).await;
            unused += 1;
        }
        let is_used = |claim: &Claim| patients.iter().any(|run| is_claim_of(run, claim));
        for claim in held_patients.into_iter().filter(|claim| !is_used(claim)) {
            if let Err(error) = queue::give_patient_back(core, claim).await {
                tracing::warn!(%error, "a patient that nobody derives could not be given back");
            }
            unused += 1;
        }
        Ok(unused)
    }

    async fn give_back(&self, HeldJob { kind, subject, token }: &HeldJob) {
        // Of this life of the node, so of a kind that it has.
        let Some(kind) = self.kinds.iter().find(|known| known.spec.kind.name() == kind) else { return };
        let lease = JobLease {
            kind: kind.spec.kind,
            subject: subject.clone(),
            patient: None,
            token: *token,
            failures: Failures::default(),
        };
        if let Err(error) = self.upkeep.core.health().give_job_back(&lease, self.upkeep.core.now_ms()).await {
            tracing::warn!(%error, "a lease that nobody uses could not be given back");
        }
    }
}

fn is_old(run: &Running) -> bool {
    run.begun.elapsed() >= PROLONG_EVERY / 2
}

fn is_of(run: &Running, HeldJob { kind, subject, token }: &HeldJob) -> bool {
    run.lease.kind.name() == kind && run.lease.subject == *subject && run.lease.token == *token
}

fn is_claim_of(run: &Running, claim: &Claim) -> bool {
    run.lease.subject.as_str() == claim.patient.as_str() && run.lease.token == claim.token
}
