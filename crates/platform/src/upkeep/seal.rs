//! Sealing: finished periods become segments. The service seals each in a job of its own (`jobs/kinds/sealing.rs`); the
//! command seals them one after the other.

use boxed_futures::boxed_futures;
use runtime::HashSet;
use store::segment::{Sealed, UnsealedPeriod};
use store::{PatientId, StoreError};

use crate::core::error::Result;
use crate::upkeep::Upkeep;

/// Which periods are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Those that ended some hours ago, so that most late data have come.
    Finished,
    /// Everything that is there, also of periods that still run: for backups and tests.
    Now,
}

impl Until {
    /// Returns the time by which a period must have ended, µs.
    pub(crate) fn ended_by_us(self, now_ms: i64) -> i64 {
        match self {
            Until::Finished => (now_ms - SETTLING_MS) * 1000,
            // Two days beyond the furthest sample that is accepted.
            Until::Now => (now_ms + 32 * 86_400_000) * 1000,
        }
    }
}

/// How long after its end a period is left to late data.
const SETTLING_MS: i64 = 6 * 3_600_000;
/// Periods that are looked up at once.
const BATCH: i64 = 64;
/// Number of times that a period is tried that another worker was at.
const TRIES: usize = 3;
/// Time for which an object is kept after no catalog row refers to it: longer than any reading takes.
pub(crate) const DEAD_FOR_MS: i64 = 3_600_000;

/// Patients whose periods may fail one after the other before the pass is given up: then it is the store, not the periods.
const FAILURES_IN_A_ROW: usize = 8;

/// Returns whether a failure of a patient is of one more than may fail in a row. Those of one patient count once.
fn is_one_too_many(failed: &HashSet<PatientId>, patient: &PatientId) -> bool {
    failed.len() == FAILURES_IN_A_ROW && !failed.contains(patient)
}

#[boxed_futures]
impl Upkeep {
    /// Seals; answers what was written. `progress` hears of each segment. A period that fails does not keep the others from
    /// being sealed; the last error is reported at the end.
    pub async fn seal(&self, until: Until, mut progress: impl FnMut(&Sealed)) -> Result<Sealed> {
        let ended_by_us = until.ended_by_us(self.core.now_ms());
        let mut total = Sealed::default();
        let mut given_up: HashSet<(PatientId, i64, i64)> = HashSet::default();
        let mut failed = None;
        // By patient: all periods of one can be damaged, and those of the others are behind them.
        let mut failed_in_a_row: HashSet<PatientId> = HashSet::default();
        loop {
            let limit = BATCH + given_up.len() as i64;
            let mut periods = self.core.health().unsealed_periods(ended_by_us, limit).await?;
            periods.retain(|period| !given_up.contains(&key(period)));
            if periods.is_empty() {
                return failed.map_or(Ok(total), Err);
            }
            for period in periods {
                let sealed = match self.seal_one(&period).await {
                    Ok(sealed) => sealed,
                    Err(error) if is_one_too_many(&failed_in_a_row, &period.patient) => return Err(error),
                    Err(error) => {
                        tracing::error!(patient = %period.patient, data_type = period.data_type.name(), %error, "a period was not sealed");
                        given_up.insert(key(&period));
                        failed = Some(error);
                        failed_in_a_row.insert(period.patient);
                        continue;
                    }
                };
                failed_in_a_row.clear();
                // Otherwise the next look would find it again, and so on without end.
                if sealed.segments == 0 {
                    given_up.insert(key(&period));
                }
                total.segments += sealed.segments;
                total.rows += sealed.rows;
                total.bytes += sealed.bytes;
                progress(&sealed);
            }
        }
    }

    /// Seals one period. Nothing is sealed, and that is no failure, where other nodes are at the same period all the time.
    pub(crate) async fn seal_one(&self, period: &UnsealedPeriod) -> Result<Sealed> {
        for _ in 0..TRIES {
            let random = u64::from_be_bytes(self.core.random_bytes());
            match self.core.health().seal_period(period, self.core.now_ms(), random).await {
                // Another worker has changed the period meanwhile, and it may need sealing still.
                Err(StoreError::LeaseLost) => {}
                sealed => return Ok(sealed?),
            }
        }
        Ok(Sealed::default())
    }

    /// Deletes objects that nobody can be reading any more; answers how many.
    pub async fn sweep_dead_objects(&self) -> Result<usize> {
        // A backup links or copies what its rows name, one after the other.
        if self.core.health().objects_held_until(self.core.now_ms()).await?.is_some() {
            return Ok(0);
        }
        let before_ms = self.core.now_ms() - DEAD_FOR_MS;
        let dead = self.core.health().dead_objects(before_ms, 1000).await?;
        for path in &dead {
            self.core.health().delete_dead_object(path).await?;
        }
        Ok(dead.len())
    }
}

fn key(period: &UnsealedPeriod) -> (PatientId, i64, i64) {
    (period.patient.clone(), period.data_type.number(), period.period.start_us)
}
