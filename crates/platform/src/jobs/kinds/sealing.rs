//! Finished periods become segments.

use std::time::Duration;

use store::segment::{SealedPeriod, UnsealedPeriod};

use super::unit::{self, Unit};
use crate::core::error::Result;
use crate::core::work::Ended;
use crate::jobs::job::{Job, Run, Spec, Turn};
use crate::platform::Platform;
use crate::seal::{Until, seal_one};

/// Looks for finished periods: the first one of each patient and type.
pub(crate) struct PlanSealing;

impl Job for PlanSealing {
    const SPEC: Spec = Spec::new("plan_sealing", Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &str) -> Option<Self> {
        Some(PlanSealing)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let platform = &run.platform;
        let limit = unit::limit(platform, Seal::SPEC.name).await?;
        let periods = platform.core.health().unsealed_periods(Until::Finished.ended_by_us(platform), limit).await?;
        let is_cut = periods.len() as i64 == limit;
        let added = enqueue(platform, &periods).await?;
        Ok(if is_cut && added > 0 { Ended::AgainIn(Duration::ZERO) } else { Ended::Done })
    }
}

/// Seals one period.
pub(crate) struct Seal(Unit);

impl Job for Seal {
    const SPEC: Spec = Spec { longest: Duration::from_hours(2), ..Spec::new("seal", Turn::Enqueued) };

    fn parse(subject: &str) -> Option<Self> {
        Unit::parse(subject).map(Seal)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let platform = &run.platform;
        let Unit { patient, data_type, start_us } = self.0;
        let period = SealedPeriod::of(data_type, start_us);
        // Before this one, which may fail: the patient's later periods do not wait for it.
        let ended_by_us = Until::Finished.ended_by_us(platform);
        let next = platform.core.health().unsealed_after(patient, data_type, period.end_us, ended_by_us).await?;
        enqueue(platform, next.as_slice()).await?;
        let sealed = seal_one(platform, UnsealedPeriod { patient, data_type, period }).await?;
        if sealed.segments > 0 {
            tracing::debug!(rows = sealed.rows, bytes = sealed.bytes, "sealed a period");
        }
        Ok(Ended::Done)
    }
}

async fn enqueue(platform: &Platform, periods: &[UnsealedPeriod]) -> Result<u64> {
    let unit = |unsealed: &UnsealedPeriod| {
        let UnsealedPeriod { patient, data_type, period } = *unsealed;
        Unit { patient, data_type, start_us: period.start_us }.job()
    };
    unit::enqueue(platform, Seal::SPEC.name, periods.iter().map(unit).collect()).await
}
