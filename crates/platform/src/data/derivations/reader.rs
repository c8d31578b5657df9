//! Reading what a batch of derivations asks for.
//!
//! A trait, so that tests can derive from memory and compare any order of syncs with one derivation of everything.

use std::future::Future;

use futures::future::try_join_all;
use store::HealthDb;
use vitals::derivation::{Answer, Batch, Need, Rows, VITAL_TYPES};

/// Where a batch reads.
pub(crate) trait Reader: Sync {
    /// Reads what a batch needs.
    fn read(&self, need: Need) -> impl Future<Output = store::Result<Answer>> + Send;
}

/// A patient in the health database.
#[derive(Clone, Debug)]
pub(crate) struct StoredPatient {
    pub health: HealthDb,
    pub patient: String,
}

impl Reader for StoredPatient {
    async fn read(&self, need: Need) -> store::Result<Answer> {
        let StoredPatient { health, patient } = self;
        Ok(match need {
            Need::Rows { data_type, from_us, to_us } => {
                let blocks = health.rows(patient, data_type, from_us, to_us).await?;
                Answer::Rows(Rows { data_type, from_us, to_us, blocks })
            }
            Need::Derived { output, from, to } => {
                let rows = health.derived(patient, output, (from, to)).await?;
                Answer::Derived { output, keys: (from, to), rows }
            }
            Need::DerivedBefore { output, key } => {
                let row = health.derived_before(patient, output, key).await?;
                Answer::DerivedBefore { output, key, row }
            }
            Need::VitalDaysBefore(day) => {
                Answer::VitalDaysBefore(health.slots_before(patient, day, VITAL_TYPES).await?)
            }
            Need::VitalDaysAfter(day) => Answer::VitalDaysAfter(health.slots_after(patient, day, VITAL_TYPES).await?),
        })
    }
}

/// Reads all that a batch lacks, at once.
pub(super) async fn read_all(reader: &impl Reader, batch: &mut Batch, needs: Vec<Need>) -> store::Result<()> {
    let answers = try_join_all(needs.into_iter().map(|need| reader.read(need))).await?;
    for answer in answers {
        batch.take(answer);
    }
    Ok(())
}
