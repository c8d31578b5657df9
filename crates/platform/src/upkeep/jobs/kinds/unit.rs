//! Subjects that are periods of a patient's samples, and how tasks that find units of work enqueue them.

use store::{JobKind, JobSubject, NewJob, PatientId};
use uuid::Uuid;
use vitals::registry::DataType;

use crate::core::Core;
use crate::core::error::Result;

/// Units that are looked up at once.
const BATCH: i64 = 512;

/// A type of a patient's samples, and where it counts a time of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub patient: PatientId,
    pub data_type: DataType,
    /// Start of a period, µs; 0 where the unit is no period.
    pub start_us: i64,
}

impl Unit {
    pub fn parse(subject: &JobSubject) -> Option<Self> {
        let mut parts = subject.as_str().split('/');
        let patient = parts.next().filter(|text| Uuid::try_parse(text).is_ok()).map(PatientId::new)?;
        let data_type = DataType::from_name(parts.next()?)?;
        let start_us = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Unit { patient, data_type, start_us })
    }

    /// Returns the job that does something with the unit.
    pub fn job(&self) -> NewJob {
        let subject = JobSubject::new(format!("{}/{}/{}", self.patient, self.data_type.name(), self.start_us));
        NewJob { subject, patient: Some(self.patient.clone()) }
    }
}

/// Returns how many units a look should find: some new ones also when all units of the kind that are enqueued, running
/// or failing are found first.
pub(super) async fn limit(core: &Core, kind: JobKind) -> Result<i64> {
    Ok(BATCH + core.health().count_jobs(kind).await? as i64)
}

/// Enqueues units and wakes the engine; returns how many are new.
pub(super) async fn enqueue(core: &Core, kind: JobKind, jobs: Vec<NewJob>) -> Result<u64> {
    let added = core.health().enqueue_jobs(kind, jobs, core.now_ms()).await?;
    if added > 0 {
        core.signals().ring(kind);
    }
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_read_as_it_was_written() {
        let unit = Unit {
            patient: PatientId::new("00000000-0000-0000-0000-000000000007"),
            data_type: DataType::Ppg2,
            start_us: -86_400_000_000,
        };
        assert_eq!(Unit::parse(&unit.job().subject), Some(unit));
        for wrong in ["", "x/ppg2/0", "00000000-0000-0000-0000-000000000007/tea/0", "a/b/c/d"] {
            assert_eq!(Unit::parse(&JobSubject::new(wrong)), None, "{wrong}");
        }
    }
}
