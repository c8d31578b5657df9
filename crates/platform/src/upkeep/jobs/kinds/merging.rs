//! Small chunks of closed hours become one chunk.

use std::time::Duration;

use store::{JobKind, JobSubject};

use super::unit::{self, Unit};
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Looks for closed hours.
pub(crate) struct PlanMerging;

impl Job for PlanMerging {
    const SPEC: Spec = Spec::new(JobKind::new("plan_merging"), Turn::Every(Duration::from_mins(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanMerging)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let limit = unit::limit(&upkeep.core, Merge::SPEC.kind).await?;
        let closed = upkeep.core.health().closed_hours(upkeep.core.now_ms(), limit).await?;
        let is_cut = closed.len() as i64 == limit;
        let unit = |(patient, data_type, start_us)| Unit { patient, data_type, start_us }.job();
        let added = unit::enqueue(&upkeep.core, Merge::SPEC.kind, closed.into_iter().map(unit).collect()).await?;
        Ok(if is_cut && added > 0 { Ended::AgainIn(Duration::ZERO) } else { Ended::Done })
    }
}

/// Merges the chunks of an hour.
pub(crate) struct Merge(Unit);

impl Job for Merge {
    const SPEC: Spec = Spec { at_once: 8, ..Spec::new(JobKind::new("merge"), Turn::Enqueued) };

    fn parse(subject: &JobSubject) -> Option<Self> {
        Unit::parse(subject).map(Merge)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let Unit { patient, data_type, start_us } = self.0;
        run.upkeep.core.health().merge_hour(&patient, data_type, start_us).await?;
        Ok(Ended::Done)
    }
}
