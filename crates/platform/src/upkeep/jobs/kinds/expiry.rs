//! Archives of exports and events that have been kept long enough go.

use std::time::Duration;

use store::{ExportId, JobKind, JobSubject, NewJob};

use super::unit;
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::data::exports::KEEP_ARCHIVES_MS;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Events that one transaction looks at.
const EVENTS_AT_ONCE: usize = 5_000;

/// Deletes old events of both databases.
pub(crate) struct ExpireEvents;

impl Job for ExpireEvents {
    const SPEC: Spec = Spec::new(JobKind::new("expire_events"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(ExpireEvents)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let before_ms = run.upkeep.core.now_ms() - run.upkeep.core.settings().event_retention_s * 1000;
        let (mut expired, mut first_error) = (0, None);
        // What is wrong with one log is reported at the end, and keeps the other from expiring no more than itself.
        for log in [run.upkeep.core.users().events(), run.upkeep.core.health().events()] {
            loop {
                // Each page is a transaction of its own, so the work can end between any two.
                run.work.check()?;
                match log.expire(before_ms, EVENTS_AT_ONCE).await {
                    Ok(0) => break,
                    Ok(deleted) => expired += deleted,
                    Err(error) => {
                        first_error.get_or_insert(error);
                        break;
                    }
                }
            }
        }
        if expired > 0 {
            tracing::info!(expired, "deleted old events");
        }
        first_error.map_or(Ok(Ended::Done), |error| Err(error.into()))
    }
}

/// Looks for exports that were finished long ago.
pub(crate) struct PlanExpiry;

impl Job for PlanExpiry {
    const SPEC: Spec = Spec::new(JobKind::new("plan_export_expiry"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanExpiry)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let limit = unit::limit(&upkeep.core, ExpireExport::SPEC.kind).await?;
        let before_ms = upkeep.core.now_ms() - KEEP_ARCHIVES_MS;
        let finished = upkeep.core.health().exports_finished_before(before_ms, limit).await?.into_iter();
        let jobs =
            finished.map(|(export, patient)| NewJob { subject: JobSubject::from(&export), patient: Some(patient) });
        unit::enqueue(&upkeep.core, ExpireExport::SPEC.kind, jobs.collect()).await?;
        Ok(Ended::Done)
    }
}

/// Forgets an export; its archive is deleted an hour later.
pub(crate) struct ExpireExport(ExportId);

impl Job for ExpireExport {
    const SPEC: Spec = Spec { at_once: 4, ..Spec::new(JobKind::new("expire_export"), Turn::Enqueued) };

    fn parse(subject: &JobSubject) -> Option<Self> {
        Some(ExpireExport(subject.to_export()))
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.core.health().forget_export(&self.0, run.upkeep.core.now_ms()).await?;
        Ok(Ended::Done)
    }
}
