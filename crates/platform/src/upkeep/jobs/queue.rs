//! Where subjects wait and where their leases are: rows of `job`, or the patients' own rows.

use std::time::Duration;

use store::{Claim, DamageFinding, Failures, HeldJob, JobFailure, JobLease, JobSubject, NEVER_MS, NodeId};

use super::job::{Kind, Turn};
use crate::core::Core;
use crate::core::work::claim_of;

/// Time for which a lease holds without being prolonged. The leases of a node that has died end sooner.
pub(super) const LEASE: Duration = Duration::from_mins(1);
const LEASE_MS: i64 = LEASE.as_millis() as i64;

/// Claims up to `limit` subjects. `version` is what puts aside patients whose rows cannot be read.
pub(super) async fn claim(
    core: &Core,
    kind: &Kind,
    node: &NodeId,
    version: &str,
    limit: usize,
) -> store::Result<Vec<JobLease>> {
    let now_ms = core.now_ms();
    if kind.spec.turn != Turn::PatientDue {
        return core.health().claim_jobs(kind.spec.kind, node, now_ms, now_ms + LEASE_MS, limit).await;
    }
    let claims = match core.health().claim_due(node, now_ms, LEASE_MS, limit).await {
        Err(error) if error.is_damage() => {
            let (claims, unread) = core.health().claim_around_damage(node, now_ms, LEASE_MS, limit).await?;
            for finding in unread {
                put_aside(core, finding, version).await;
            }
            claims
        }
        claims => claims?,
    };
    let lease = |claim: Claim| JobLease {
        kind: kind.spec.kind,
        subject: JobSubject::from(&claim.patient),
        patient: Some(claim.patient),
        token: claim.token,
        failures: claim.failures,
    };
    Ok(claims.into_iter().map(lease).collect())
}

/// Puts a patient aside whose row cannot be read, so that an operator hears of it by name. The derivation goes on by itself
/// once the row can be read again.
async fn put_aside(core: &Core, DamageFinding { patient, error }: DamageFinding, version: &str) {
    tracing::error!(%patient, %error, "a patient whose row cannot be read was put aside; pulseward doctor lists them");
    let failure = JobFailure {
        failures: Failures { runs: 1, panics: 0 },
        error: error.to_string(),
        failed_ms: core.now_ms(),
        retry_ms: NEVER_MS,
        put_aside: Some(version.to_owned()),
    };
    // The claims of the others must not be lost for it; the next claim finds the patient again.
    if let Err(error) = core.health().note_unread_patient(&patient, failure).await {
        tracing::warn!(%patient, %error, "that a patient was put aside could not be noted");
    }
}

/// Prolongs the leases of a patient's work that takes long.
pub(super) async fn prolong_patient(core: &Core, lease: &JobLease) -> store::Result<()> {
    core.health().prolong_claim(claim_of(lease), core.now_ms() + LEASE_MS).await
}

/// The patients that a node holds.
pub(super) async fn held_patients(core: &Core, node: &NodeId) -> store::Result<Vec<Claim>> {
    core.health().claims_of(node, core.now_ms()).await
}

/// Gives a patient back that nobody works on.
pub(super) async fn give_patient_back(core: &Core, claim: Claim) -> store::Result<()> {
    // By the statement that waits for a row only briefly: the engine itself waits for it.
    core.health().prolong_claim(claim, core.now_ms()).await
}

/// Prolongs all other leases of a node; returns what it still holds.
pub(super) async fn prolong(core: &Core, node: &NodeId) -> store::Result<Vec<HeldJob>> {
    core.health().prolong_jobs(node, core.now_ms() + LEASE_MS).await
}

/// Ends the lease of work that is done. `again_in_ms` says when a task that runs again and again has its next turn.
pub(super) async fn finish(
    core: &Core,
    kind: &Kind,
    lease: &JobLease,
    again_in_ms: Option<i64>,
) -> store::Result<bool> {
    let now_ms = core.now_ms();
    match kind.spec.turn {
        // The commit of what was derived has ended it.
        Turn::PatientDue => Ok(true),
        Turn::Every(period) => {
            let wait_ms = again_in_ms.unwrap_or(i64::try_from(period.as_millis()).unwrap_or(NEVER_MS));
            core.health().move_job_on(lease, now_ms.saturating_add(wait_ms)).await
        }
        Turn::Enqueued | Turn::AtStart => match again_in_ms {
            Some(wait_ms) => core.health().move_job_on(lease, now_ms + wait_ms).await,
            None => core.health().finish_job(lease).await,
        },
    }
}

/// Gives work back that was neither done nor failed.
pub(super) async fn give_back(core: &Core, kind: &Kind, lease: &JobLease) -> store::Result<()> {
    let now_ms = core.now_ms();
    if kind.spec.turn == Turn::PatientDue {
        // A claim lies on the patient's rows and has no row of its own among the jobs.
        return core.health().hold_claim(claim_of(lease), now_ms).await;
    }
    core.health().give_job_back(lease, now_ms).await.map(drop)
}

/// Notes a failure.
pub(super) async fn fail(core: &Core, kind: &Kind, lease: &JobLease, failure: JobFailure) -> store::Result<bool> {
    if kind.spec.turn == Turn::PatientDue {
        return core.health().fail_derivation(&claim_of(lease), failure).await;
    }
    core.health().fail_job(lease, failure).await
}
