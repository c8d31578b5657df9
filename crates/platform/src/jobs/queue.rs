//! Where subjects wait and where their leases are: rows of `job`, or the patients' own rows.

use store::{JobFailure, JobLease, NEVER_MS};

use super::job::{Kind, Turn};
use crate::core::work::claim_of;
use crate::platform::Platform;

/// How long a lease holds without being prolonged. The leases of a node that has died end sooner.
const LEASE_MS: i64 = 60_000;

/// Claims up to `limit` subjects.
pub(super) async fn claim(platform: &Platform, kind: &Kind, node: &str, limit: usize) -> store::Result<Vec<JobLease>> {
    let now_ms = platform.core.now_ms();
    if kind.spec.turn != Turn::PatientDue {
        return platform.core.health().claim_jobs(kind.spec.name, node, now_ms, now_ms + LEASE_MS, limit).await;
    }
    let claims = platform.core.health().claim_due(node, now_ms, LEASE_MS, limit).await?;
    let lease = |claim: store::Claim| JobLease {
        kind: kind.spec.name.to_owned(),
        patient: Some(claim.patient.clone()),
        subject: claim.patient,
        token: claim.token,
        failures: claim.failures,
    };
    Ok(claims.into_iter().map(lease).collect())
}

/// Prolongs the leases of a patient's work that takes long.
pub(super) async fn prolong_patient(platform: &Platform, lease: &JobLease) -> store::Result<()> {
    platform.core.health().prolong_claim(claim_of(lease), platform.core.now_ms() + LEASE_MS).await
}

/// Prolongs all other leases of a node; returns what it still holds, as kind, subject and token.
pub(super) async fn prolong(platform: &Platform, node: &str) -> store::Result<Vec<(String, String, i64)>> {
    platform.core.health().prolong_jobs(node, platform.core.now_ms() + LEASE_MS).await
}

/// Ends the lease of work that is done. `again_in_ms` says when a task that runs again and again has its next turn.
pub(super) async fn finish(
    platform: &Platform,
    kind: &Kind,
    lease: &JobLease,
    again_in_ms: Option<i64>,
) -> store::Result<bool> {
    let now_ms = platform.core.now_ms();
    match kind.spec.turn {
        Turn::PatientDue => Ok(true),
        Turn::Every(period) => {
            let wait_ms = again_in_ms.unwrap_or(i64::try_from(period.as_millis()).unwrap_or(NEVER_MS));
            platform.core.health().move_job_on(lease, now_ms.saturating_add(wait_ms)).await
        }
        Turn::Enqueued | Turn::AtStart => match again_in_ms {
            Some(wait_ms) => platform.core.health().move_job_on(lease, now_ms + wait_ms).await,
            None => platform.core.health().finish_job(lease).await,
        },
    }
}

/// Gives work back that was neither done nor failed.
pub(super) async fn give_back(platform: &Platform, kind: &Kind, lease: &JobLease) -> store::Result<()> {
    let now_ms = platform.core.now_ms();
    if kind.spec.turn == Turn::PatientDue {
        return platform.core.health().hold_claim(claim_of(lease), now_ms).await;
    }
    platform.core.health().give_job_back(lease, now_ms).await.map(drop)
}

/// Notes a failure.
pub(super) async fn fail(
    platform: &Platform,
    kind: &Kind,
    lease: &JobLease,
    failure: JobFailure,
) -> store::Result<bool> {
    if kind.spec.turn == Turn::PatientDue {
        return platform.core.health().fail_derivation(&claim_of(lease), failure).await;
    }
    platform.core.health().fail_job(lease, failure).await
}
