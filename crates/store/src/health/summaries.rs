//! Daily summaries: the sections of a day as JSON without slots.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::derivation::{day_of, keys_of_days};
use vitals::summary::Section;
use vitals::zone::LocalDay;

use super::db::HealthDb;
use super::stored_derived::{StoredDerived, derived_columns};
use crate::engine::Row;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{in_lists, list_of_64, sql, with_more};

sql! {
    FIND_DAYS = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 2 AND key >= $2 AND key <= $3 ORDER BY key");
    FIND_OF_PATIENTS = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient IN (", list_of_64!(), ") AND output = 2 AND key >= $65 AND key <= $66 ORDER BY patient, key");
}

/// A section of a patient's day, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// The day.
    pub day: LocalDay,
    /// Which section.
    pub section: Section,
    /// JSON without slots.
    pub body: String,
}

#[boxed_futures]
impl HealthDb {
    /// The sections of a patient's local days, first and last included, by day.
    pub async fn summaries(&self, patient: &PatientId, first: LocalDay, last: LocalDay) -> Result<Vec<SummaryRow>> {
        let patient = patient.clone();
        self.db
            .read(async move |tx| {
                let (from, to) = keys_of_days(first, last);
                let rows = tx.query(FIND_DAYS, &[&patient, &from, &to], read_section).await?;
                Ok(rows.into_iter().filter_map(|(_, stored)| stored).collect())
            })
            .await
    }

    /// The sections of several patients on one local day, by patient; those without any are left out.
    pub async fn summaries_of_patients(
        &self,
        patients: Vec<PatientId>,
        day: LocalDay,
    ) -> Result<HashMap<PatientId, Vec<SummaryRow>>> {
        self.db
            .read(async move |tx| {
                let (from, to) = keys_of_days(day, day);
                let mut found: HashMap<PatientId, Vec<SummaryRow>> = HashMap::default();
                in_lists(&patients, async |list| {
                    let params = with_more(list, &[&from, &to]);
                    for (patient, stored) in tx.query(FIND_OF_PATIENTS, &params, read_section).await? {
                        if let Some(stored) = stored {
                            found.entry(patient).or_default().push(stored);
                        }
                    }
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }
}

/// The patient and the section; no section for one that this version does not know.
fn read_section(row: &Row<'_>) -> Result<(PatientId, Option<SummaryRow>)> {
    let (patient, stored) = StoredDerived::read_with_patient(row)?;
    let (key, body) = stored.value(&patient)?;
    let (day, number) = day_of(key);
    let Some(section) = Section::from_number(number) else { return Ok((patient, None)) };
    Ok((patient, Some(SummaryRow { day, section, body: text(body)? })))
}

fn text(body: Vec<u8>) -> Result<String> {
    String::from_utf8(body).map_err(|error| StoreError::Damaged(error.to_string()))
}
