//! Reading what a batch of derivations asks for.
//!
//! A trait, so that tests can derive from memory and compare any order of syncs with one derivation of everything.

use std::future::Future;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use store::{HealthDb, PatientId};
use vitals::derivation::{Answer, Batch, Need, Rows, VITAL_TYPES};
use vitals::registry::DataType;

use crate::core::access::Readable;

/// Where a batch reads.
pub(crate) trait Reader: Sync {
    /// Reads what a batch needs.
    fn read(&self, need: Need) -> impl Future<Output = store::Result<Answer>> + Send;
}

/// A patient in the health database.
#[derive(Debug)]
pub(crate) struct StoredPatient {
    pub health: HealthDb,
    pub patient: Readable<PatientId>,
}

impl Reader for StoredPatient {
    async fn read(&self, need: Need) -> store::Result<Answer> {
        let (health, patient) = (&self.health, self.patient.uuid());
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
            Need::VitalDaysBefore(look) => {
                Answer::VitalDaysBefore(health.slots_before(patient, look, VITAL_TYPES).await?)
            }
            Need::VitalDaysAfter(look) => Answer::VitalDaysAfter(health.slots_after(patient, look, VITAL_TYPES).await?),
        })
    }
}

/// Reads that are under way at once: more would hold up what else asks the database.
const READS_AT_ONCE: usize = 4;
/// Ranges of rows so far apart at most are read as one, µs, as long as the whole stays within the longest.
const NEAR_US: i64 = 3_600_000_000;
const LONGEST_US: i64 = 86_400_000_000;

/// Reads all that a batch lacks.
pub(super) async fn read_all(reader: &impl Reader, batch: &mut Batch, needs: Vec<Need>) -> store::Result<()> {
    let mut answers = stream::iter(together(needs)).map(|need| reader.read(need)).buffered(READS_AT_ONCE);
    while let Some(answer) = answers.try_next().await? {
        batch.take(answer);
    }
    Ok(())
}

/// Returns the same needs, each once, with ranges of rows that are near each other made one.
fn together(needs: Vec<Need>) -> Vec<Need> {
    // A read of a few rows costs as much as one of an hour: chunks are decoded whole.
    let mut ranges: Vec<(DataType, i64, i64)> = Vec::new();
    let mut others: Vec<Need> = Vec::new();
    for need in needs {
        match need {
            Need::Rows { data_type, from_us, to_us } => ranges.push((data_type, from_us, to_us)),
            other if !others.contains(&other) => others.push(other),
            _ => {}
        }
    }
    ranges.sort_unstable();
    let mut joined: Vec<(DataType, i64, i64)> = Vec::new();
    for (data_type, from_us, to_us) in ranges {
        match joined.last_mut() {
            Some((of, first_us, last_us))
                if *of == data_type
                    && (to_us <= *last_us
                        || (from_us - *last_us - 1 <= NEAR_US && to_us - *first_us <= LONGEST_US)) =>
            {
                *last_us = to_us.max(*last_us);
            }
            _ => joined.push((data_type, from_us, to_us)),
        }
    }
    let rows = joined.into_iter().map(|(data_type, from_us, to_us)| Need::Rows { data_type, from_us, to_us });
    others.into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_once_and_near_rows_together() {
        const HOUR_US: i64 = 3_600_000_000;
        let rows = |hour: i64, hours: i64| Need::Rows {
            data_type: DataType::Activity,
            from_us: hour * HOUR_US,
            to_us: (hour + hours) * HOUR_US - 1,
        };
        let before = Need::DerivedBefore { output: vitals::derivation::Output::News, key: 7 };
        let needs = vec![rows(2, 1), before, rows(0, 1), rows(2, 1), before, rows(100, 50), rows(120, 1)];
        assert_eq!(together(needs), [before, rows(0, 3), rows(100, 50)]);
        // Not more than a day at once.
        let hours = (0..48).map(|hour| rows(hour, 1)).collect();
        assert_eq!(together(hours), [rows(0, 24), rows(24, 24)]);
    }
}
