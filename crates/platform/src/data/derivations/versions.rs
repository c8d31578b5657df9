//! What other versions of the derivations have computed is computed again.

use store::{PatientId, StoreError};
use vitals::derivation::{types_to_derive_again, versions};
use vitals::registry::DataType;

use crate::core::error::Result;
use crate::data::Data;

/// Patients who are looked up at once.
const PATIENTS: i64 = 256;

impl Data {
    /// Marks the rows dirty from which new or changed derivations are computed; returns of how many patients. To be called
    /// at the start: doing it twice is doing it once. Damage of one patient stops no other.
    ///
    /// # Errors
    /// The first reason for which a patient could not be marked, after all others are.
    pub(crate) async fn mark_other_versions(&self) -> Result<usize> {
        let health = self.core.health();
        let current = versions();
        let mut marked = Marked::default();
        let mut after = None;
        loop {
            let patients = match health.patients_of_other_versions(&current, after.as_ref(), PATIENTS).await {
                Err(error) if error.is_damage() => {
                    for (patient, stored) in health.other_versions_around_damage(&current, after.as_ref()).await? {
                        let of_patient = match stored {
                            Ok(stored) => self.mark_other_version(&patient, &stored, &current).await,
                            Err(error) => Err(error),
                        };
                        marked.add(&patient, of_patient)?;
                    }
                    // PostgreSQL does not list who cannot be read, so the list itself is the damage there.
                    marked.damage.get_or_insert(error);
                    break;
                }
                patients => patients?,
            };
            let Some((last, _)) = patients.last() else { break };
            after = Some(last.clone());
            for (patient, stored) in &patients {
                marked.add(patient, self.mark_other_version(patient, stored, &current).await)?;
            }
        }
        if marked.patients > 0 {
            self.core.wake_derivations();
        }
        marked.damage.map_or(Ok(marked.patients), |error| Err(error.into()))
    }

    /// Marks what is to be computed again of a patient; returns whether that is anything.
    async fn mark_other_version(&self, patient: &PatientId, stored: &str, current: &str) -> store::Result<bool> {
        let health = self.core.health();
        let types = types_to_derive_again(stored);
        let mut ranges = health.everything_due(patient, self.core.now_ms()).await?;
        ranges.retain(|range| DataType::from_number(range.data_type).is_some_and(|known| types.contains(&known)));
        let is_any = !ranges.is_empty();
        health.derive_again(patient, current, ranges).await?;
        Ok(is_any)
    }
}

/// How many patients were marked, and the first damage that was met.
#[derive(Default)]
struct Marked {
    patients: usize,
    damage: Option<StoreError>,
}

impl Marked {
    fn add(&mut self, patient: &PatientId, marked: store::Result<bool>) -> Result<()> {
        match marked {
            Ok(is_any) => self.patients += usize::from(is_any),
            Err(error) if error.is_damage() => {
                tracing::error!(%patient, %error, "what is to be computed again of a patient could not be found out");
                self.damage.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
