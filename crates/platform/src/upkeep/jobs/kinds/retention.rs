//! Raw data that are no longer kept go.

use std::time::Duration;

use store::{JobKind, JobSubject};

use super::unit::{self, Unit};
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Looks for samples that have outlived the rules of their patients' studies.
pub(crate) struct PlanRetention;

impl Job for PlanRetention {
    const SPEC: Spec = Spec::new(JobKind::new("plan_retention"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanRetention)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let (expired, error) = upkeep.expired().await?;
        let expired = expired.into_iter();
        let jobs = expired.map(|(patient, data_type)| Unit { patient, data_type, start_us: 0 }.job());
        unit::enqueue(&upkeep.core, EnforceRetention::SPEC.kind, jobs.collect()).await?;
        // After the others: the job fails, so that what is damaged is seen, and they are done with.
        error.map_or(Ok(Ended::Done), |error| Err(error.into()))
    }
}

/// Removes what a patient's rules no longer keep of a type.
pub(crate) struct EnforceRetention(Unit);

impl Job for EnforceRetention {
    const SPEC: Spec =
        Spec { longest: Duration::from_hours(2), ..Spec::new(JobKind::new("enforce_retention"), Turn::Enqueued) };

    fn parse(subject: &JobSubject) -> Option<Self> {
        Unit::parse(subject).map(EnforceRetention)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let rows = run.upkeep.enforce_retention(&self.0.patient, self.0.data_type).await?;
        if rows > 0 {
            tracing::info!(rows, "removed rows that are no longer kept");
        }
        Ok(Ended::Done)
    }
}
