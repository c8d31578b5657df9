//! Where subjects wait and where their leases are: rows of `job`, or the patients' own rows.

use std::time::Duration;

use store::{Claim, HeldJob, JobFailure, JobLease, JobSubject, NEVER_MS, NodeId};

use super::job::{Kind, Turn};
use crate::core::Core;
use crate::core::work::claim_of;

/// Time for which a lease holds without being prolonged. The leases of a node that has died end sooner.
pub(super) const LEASE: Duration = Duration::from_mins(1);
const LEASE_MS: i64 = LEASE.as_millis() as i64;

/// Claims up to `limit` subjects.
pub(super) async fn claim(core: &Core, kind: &Kind, node: &NodeId, limit: usize) -> store::Result<Vec<JobLease>> {
    let now_ms = core.now_ms();
    if kind.spec.turn != Turn::PatientDue {
        return core.health().claim_jobs(kind.spec.kind, node, now_ms, now_ms + LEASE_MS, limit).await;
    }
    let claims = core.health().claim_due(node, now_ms, LEASE_MS, limit).await?;
    let lease = |claim: Claim| JobLease {
        kind: kind.spec.kind,
        subject: JobSubject::from(&claim.patient),
        patient: Some(claim.patient),
        token: claim.token,
        failures: claim.failures,
    };
    Ok(claims.into_iter().map(lease).collect())
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
