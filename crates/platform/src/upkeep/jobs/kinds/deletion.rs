//! Objects that nobody needs go, and what is left of erased patients.

use std::time::Duration;

use store::{JobKind, JobSubject, NewJob, PatientId};

use super::unit;
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::people::erasure::REWRITTEN_WITHIN_MS;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};
use crate::upkeep::seal::DEAD_FOR_MS;
use crate::upkeep::sweep::LOST_AFTER_MS;

/// Time for which a deletion waits at most before it looks whether objects are still held.
const LOOK_AGAIN: Duration = Duration::from_hours(1);

/// Time for which a sealing can go on that began before an erasure.
const LONGEST_SEALING_MS: i64 = 3_600_000;

/// Time between two looks for erasures, ms. It counts from the end of a run, and receipts promise twice as much.
const LOOK_FOR_ERASURES_MS: u64 = REWRITTEN_WITHIN_MS.unsigned_abs() / 2;

/// Looks for objects that no row has referred to for some time.
pub(crate) struct PlanDeletion;

impl Job for PlanDeletion {
    const SPEC: Spec = Spec::new(JobKind::new("plan_deletion"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanDeletion)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        // Somebody copies objects: deletions that are enqueued now would only wait.
        if upkeep.core.health().objects_held_until(upkeep.core.now_ms()).await?.is_some() {
            return Ok(Ended::Done);
        }
        let limit = unit::limit(&upkeep.core, DeleteObject::SPEC.kind).await?;
        let dead = upkeep.core.health().dead_objects(upkeep.core.now_ms() - DEAD_FOR_MS, limit).await?;
        let is_cut = dead.len() as i64 == limit;
        let added =
            unit::enqueue(&upkeep.core, DeleteObject::SPEC.kind, dead.into_iter().map(job_of).collect()).await?;
        Ok(if is_cut && added > 0 { Ended::AgainIn(Duration::ZERO) } else { Ended::Done })
    }
}

/// Looks for objects that no row has ever referred to: left by a process that was killed between writing an object and
/// noting it.
pub(crate) struct FindLostObjects;

impl Job for FindLostObjects {
    const SPEC: Spec = Spec {
        longest: Duration::from_hours(6),
        ..Spec::new(JobKind::new("find_lost_objects"), Turn::Every(Duration::from_hours(24)))
    };

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(FindLostObjects)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let before_ms = upkeep.core.now_ms() - LOST_AFTER_MS;
        let lost = upkeep.orphans(before_ms).await?.paths;
        if !lost.is_empty() {
            tracing::warn!(objects = lost.len(), "objects that no row knows are deleted");
        }
        unit::enqueue(&upkeep.core, DeleteObject::SPEC.kind, lost.into_iter().map(job_of).collect()).await?;
        upkeep.core.objects().sweep_unfinished(before_ms).await?;
        Ok(Ended::Done)
    }
}

/// Deletes one object.
pub(crate) struct DeleteObject(String);

impl Job for DeleteObject {
    const SPEC: Spec = Spec { at_once: 4, ..Spec::new(JobKind::new("delete_object"), Turn::Enqueued) };

    fn parse(subject: &JobSubject) -> Option<Self> {
        Some(DeleteObject(subject.as_str().to_owned()))
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let now_ms = upkeep.core.now_ms();
        // A backup that copies what it has listed may have begun since the object was found.
        if let Some(until_ms) = upkeep.core.health().objects_held_until(now_ms).await? {
            // Not only at its end: a hold can be ended before.
            return Ok(Ended::AgainIn(Duration::from_millis((until_ms - now_ms).unsigned_abs()).min(LOOK_AGAIN)));
        }
        upkeep.core.health().delete_dead_object(&self.0).await?;
        Ok(Ended::Done)
    }
}

fn job_of(path: String) -> NewJob {
    let patient = path.split('/').find_map(|part| part.strip_prefix("patient=")).map(PatientId::new);
    NewJob { subject: JobSubject::new(path), patient }
}

/// Looks for patients who were erased long enough ago that no sealing of before can still be writing.
pub(crate) struct PlanErasureChecks;

impl Job for PlanErasureChecks {
    const SPEC: Spec = Spec::new(JobKind::new("plan_erasure_checks"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanErasureChecks)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let limit = unit::limit(&upkeep.core, CheckErasure::SPEC.kind).await?;
        let erased =
            upkeep.core.health().erased_before(upkeep.core.now_ms() - LONGEST_SEALING_MS, limit).await?.into_iter();
        let jobs = erased.map(|patient| NewJob { subject: JobSubject::from(&patient), patient: None });
        unit::enqueue(&upkeep.core, CheckErasure::SPEC.kind, jobs.collect()).await?;
        Ok(Ended::Done)
    }
}

/// Looks once more for objects of an erased patient.
pub(crate) struct CheckErasure(PatientId);

impl Job for CheckErasure {
    const SPEC: Spec = Spec::new(JobKind::new("check_erasure"), Turn::Enqueued);

    fn parse(subject: &JobSubject) -> Option<Self> {
        Some(CheckErasure(subject.to_patient()))
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let found = run.upkeep.core.health().check_erasure(&self.0).await?;
        if found > 0 {
            tracing::warn!(found, "objects of an erased patient had come after the erasure and are deleted now");
        }
        Ok(Ended::Done)
    }
}

/// Rewrites database files after erasures.
pub(crate) struct OverwriteErased;

impl Job for OverwriteErased {
    const SPEC: Spec = Spec {
        longest: Duration::from_hours(6),
        ..Spec::new(JobKind::new("overwrite_erased"), Turn::Every(Duration::from_millis(LOOK_FOR_ERASURES_MS)))
    };

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(OverwriteErased)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let overwritten = run.upkeep.overwrite_erased().await?;
        if overwritten > 0 {
            tracing::info!(overwritten, "the database files were rewritten after erasures");
        }
        Ok(Ended::Done)
    }
}
