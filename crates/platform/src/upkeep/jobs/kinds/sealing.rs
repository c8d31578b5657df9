//! Finished periods become segments.

use std::time::Duration;

use store::segment::{SealedPeriod, UnsealedPeriod};
use store::{JobKind, JobSubject};

use super::unit::{self, Unit};
use crate::core::Core;
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};
use crate::upkeep::seal::Until;

/// Looks for finished periods: the first one of each patient and type.
pub(crate) struct PlanSealing;

impl Job for PlanSealing {
    const SPEC: Spec = Spec::new(JobKind::new("plan_sealing"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(PlanSealing)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let limit = unit::limit(&upkeep.core, Seal::SPEC.kind).await?;
        let periods =
            upkeep.core.health().unsealed_periods(Until::Finished.ended_by_us(upkeep.core.now_ms()), limit).await?;
        let is_cut = periods.len() as i64 == limit;
        let added = enqueue(&upkeep.core, &periods).await?;
        Ok(if is_cut && added > 0 { Ended::AgainIn(Duration::ZERO) } else { Ended::Done })
    }
}

/// Seals one period.
pub(crate) struct Seal(Unit);

impl Job for Seal {
    const SPEC: Spec = Spec { longest: Duration::from_hours(2), ..Spec::new(JobKind::new("seal"), Turn::Enqueued) };

    fn parse(subject: &JobSubject) -> Option<Self> {
        Unit::parse(subject).map(Seal)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let upkeep = &run.upkeep;
        let Unit { patient, data_type, start_us } = self.0;
        let period = SealedPeriod::of(data_type, start_us);
        // Before this one, which may fail: the patient's later periods do not wait for it.
        let ended_by_us = Until::Finished.ended_by_us(upkeep.core.now_ms());
        let next = upkeep.core.health().unsealed_after(&patient, data_type, period.end_us, ended_by_us).await?;
        enqueue(&upkeep.core, next.as_slice()).await?;
        let sealed = upkeep.seal_one(&UnsealedPeriod { patient, data_type, period }).await?;
        if sealed.segments > 0 {
            tracing::debug!(rows = sealed.rows, bytes = sealed.bytes, "sealed a period");
        }
        Ok(Ended::Done)
    }
}

async fn enqueue(core: &Core, periods: &[UnsealedPeriod]) -> Result<u64> {
    let unit = |unsealed: &UnsealedPeriod| {
        let UnsealedPeriod { patient, data_type, period } = unsealed.clone();
        Unit { patient, data_type, start_us: period.start_us }.job()
    };
    unit::enqueue(core, Seal::SPEC.kind, periods.iter().map(unit).collect()).await
}
