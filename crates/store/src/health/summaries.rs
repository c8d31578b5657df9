//! Daily summaries: the sections of a day as JSON without slots.

use runtime::HashMap;
use vitals::summary::Section;
use vitals::zone::LocalDay;

use super::HealthDb;
use super::derived::{DerivedRow, Output, day_and, day_of, keys_of_days, text_of};
use crate::engine::Row;
use crate::error::Result;
use crate::texts::{in_lists, list_of_64, sql, with_more};

sql! {
    FIND_DAYS = "SELECT patient, key, version, body FROM derived
        WHERE patient = $1 AND output = 2 AND key >= $2 AND key <= $3 ORDER BY key";
    FIND_OF_PATIENTS = concat!("SELECT patient, key, version, body FROM derived
        WHERE patient IN (", list_of_64!(), ") AND output = 2 AND key >= $65 AND key <= $66 ORDER BY patient, key");
    /// What an older program computed.
    FIND_OLDER = "SELECT patient, MIN(key), MAX(key) FROM derived
        WHERE output = 2 AND version < $1 AND patient > $2 GROUP BY patient ORDER BY patient LIMIT $3";
}

/// A section of a patient's day, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// The day.
    pub day: LocalDay,
    /// Which section.
    pub section: Section,
    /// JSON without slots; `None` to remove the row.
    pub body: Option<String>,
}

/// A section as it is stored, with the version of the program that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSection {
    /// The section.
    pub row: SummaryRow,
    /// Version of the definitions that it was made by.
    pub format: i64,
}

/// Days of a patient whose summaries an older version of the program made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderDays {
    /// Whose.
    pub patient: String,
    /// The first of them.
    pub first: LocalDay,
    /// The last of them.
    pub last: LocalDay,
}

impl HealthDb {
    /// The sections of a patient's local days, first and last included, by day.
    pub async fn summaries(&self, patient: &str, first: LocalDay, last: LocalDay) -> Result<Vec<SummaryRow>> {
        let patient = patient.to_owned();
        self.db
            .read(async move |tx| {
                let (from, to) = keys_of_days(first, last);
                let rows = tx.query(FIND_DAYS, &[&patient, &from, &to], read_section).await?;
                Ok(rows.into_iter().filter_map(|(_, stored)| Some(stored?.row)).collect())
            })
            .await
    }

    /// The sections of a patient's local days as they are stored, first and last included, by day.
    pub async fn stored_sections(&self, patient: &str, first: LocalDay, last: LocalDay) -> Result<Vec<StoredSection>> {
        let patient = patient.to_owned();
        self.db
            .look_up(async move |tx| {
                let (from, to) = keys_of_days(first, last);
                let rows = tx.query(FIND_DAYS, &[&patient, &from, &to], read_section).await?;
                Ok(rows.into_iter().filter_map(|(_, stored)| stored).collect())
            })
            .await
    }

    /// The sections of several patients on one local day, by patient; those without any are left out.
    pub async fn summaries_of_patients(
        &self,
        patients: Vec<String>,
        day: LocalDay,
    ) -> Result<HashMap<String, Vec<SummaryRow>>> {
        self.db
            .read(async move |tx| {
                let (from, to) = keys_of_days(day, day);
                let mut found: HashMap<String, Vec<SummaryRow>> = HashMap::default();
                in_lists(&patients, async |list| {
                    let params = with_more(list, &[&from, &to]);
                    for (patient, stored) in tx.query(FIND_OF_PATIENTS, &params, read_section).await? {
                        if let Some(stored) = stored {
                            found.entry(patient).or_default().push(stored.row);
                        }
                    }
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }

    /// Up to `limit` patients, those after another in the order of uuids, with days that a program of an older
    /// format summed up.
    pub async fn days_of_older_format(&self, format: i64, after: &str, limit: i64) -> Result<Vec<OlderDays>> {
        let after = after.to_owned();
        self.db
            .read(async move |tx| {
                tx.query(FIND_OLDER, &[&format, &after, &limit], |row| {
                    Ok(OlderDays { patient: row.get(0)?, first: day_of(row.get(1)?).0, last: day_of(row.get(2)?).0 })
                })
                .await
            })
            .await
    }
}

impl From<&SummaryRow> for DerivedRow {
    fn from(row: &SummaryRow) -> Self {
        let body = row.body.as_ref().map(|body| body.clone().into_bytes());
        let key = day_and(row.day, row.section.number());
        DerivedRow { output: Output::Section, key, version: vitals::summary::FORMAT, body }
    }
}

/// The patient and the section; no section for one that this version does not know.
fn read_section(row: &Row<'_>) -> Result<(String, Option<StoredSection>)> {
    let patient = row.get(0)?;
    let (day, number) = day_of(row.get(1)?);
    let Some(section) = Section::from_number(number) else { return Ok((patient, None)) };
    let body = Some(text_of(row, 3)?);
    Ok((patient, Some(StoredSection { row: SummaryRow { day, section, body }, format: row.get(2)? })))
}
