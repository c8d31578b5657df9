//! Daily summaries: the sections of a day as JSON without slots.

use runtime::HashMap;
use vitals::summary::Section;
use vitals::zone::LocalDay;

use super::HealthDb;
use super::slots::with_last;
use crate::engine::{Row, Tx};
use crate::error::Result;
use crate::texts::{in_lists, list_of_64, sql};

sql! {
    FIND_DAYS = "SELECT patient, local_day, section, body FROM daily_summary
        WHERE patient = $1 AND local_day >= $2 AND local_day <= $3 ORDER BY local_day, section";
    FIND_WITH_FORMAT = "SELECT local_day, section, format, body FROM daily_summary
        WHERE patient = $1 AND local_day >= $2 AND local_day <= $3 ORDER BY local_day, section";
    FIND_OF_PATIENTS = concat!("SELECT patient, local_day, section, body FROM daily_summary
        WHERE patient IN (", list_of_64!(), ") AND local_day = $65 ORDER BY patient, section");
    PUT = "INSERT INTO daily_summary (patient, local_day, section, format, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, local_day, section) DO UPDATE SET format = excluded.format, body = excluded.body";
    DELETE = "DELETE FROM daily_summary WHERE patient = $1 AND local_day = $2 AND section = $3";
    /// What an older program computed.
    FIND_OLDER = "SELECT patient, MIN(local_day), MAX(local_day) FROM daily_summary
        WHERE format < $1 AND patient > $2 GROUP BY patient ORDER BY patient LIMIT $3";
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
                let days = (i64::from(first.0), i64::from(last.0));
                let rows = tx.query(FIND_DAYS, &[&patient, &days.0, &days.1], read_row).await?;
                Ok(rows.into_iter().filter_map(|(_, row)| row).collect())
            })
            .await
    }

    /// The sections of a patient's local days as they are stored, first and last included, by day.
    pub async fn stored_sections(&self, patient: &str, first: LocalDay, last: LocalDay) -> Result<Vec<StoredSection>> {
        let patient = patient.to_owned();
        self.db
            .look_up(async move |tx| {
                let found = tx
                    .query(FIND_WITH_FORMAT, &[&patient, &i64::from(first.0), &i64::from(last.0)], |row| {
                        let day = LocalDay(row.get::<i64>(0)? as i32);
                        let Some(section) = Section::from_name(&row.get::<String>(1)?) else { return Ok(None) };
                        let format = row.get(2)?;
                        Ok(Some(StoredSection { row: SummaryRow { day, section, body: Some(row.get(3)?) }, format }))
                    })
                    .await;
                Ok(found?.into_iter().flatten().collect())
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
                let day = i64::from(day.0);
                let mut found: HashMap<String, Vec<SummaryRow>> = HashMap::default();
                in_lists(&patients, async |list| {
                    for (patient, row) in tx.query(FIND_OF_PATIENTS, &with_last(list, &day), read_row).await? {
                        if let Some(row) = row {
                            found.entry(patient).or_default().push(row);
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
                    Ok(OlderDays {
                        patient: row.get(0)?,
                        first: LocalDay(row.get::<i64>(1)? as i32),
                        last: LocalDay(row.get::<i64>(2)? as i32),
                    })
                })
                .await
            })
            .await
    }
}

/// Writes a section, or removes it when it has no body.
pub(super) async fn put(tx: &Tx<'_>, patient: &str, row: &SummaryRow) -> Result<()> {
    let (day, section) = (i64::from(row.day.0), row.section.name());
    match &row.body {
        Some(body) => tx.execute(PUT, &[&patient, &day, &section, &vitals::summary::FORMAT, body]).await?,
        None => tx.execute(DELETE, &[&patient, &day, &section]).await?,
    };
    Ok(())
}

/// The patient and the row; no row for a section that this version does not know.
fn read_row(row: &Row<'_>) -> Result<(String, Option<SummaryRow>)> {
    let patient = row.get(0)?;
    let day = LocalDay(row.get::<i64>(1)? as i32);
    let Some(section) = Section::from_name(&row.get::<String>(2)?) else {
        return Ok((patient, None));
    };
    let body = Some(row.get(3)?);
    Ok((patient, Some(SummaryRow { day, section, body })))
}
