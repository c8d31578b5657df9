//! Entries of NEWS over time.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use vitals::derivation::DerivedRow;
use vitals::news_timeline::NewsEntry;

use super::db::HealthDb;
use super::stored_derived::{derived_columns, read_with_patient};
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{list_of_64, sql};

sql! {
    FIND_NEWEST = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 5 ORDER BY key DESC LIMIT 1");
    FIND_BEFORE = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 5 AND key < $2 ORDER BY key DESC LIMIT 1");
    FIND_BETWEEN = concat!("SELECT patient, ", derived_columns!(), " FROM derived
        WHERE patient = $1 AND output = 5 AND key >= $2 AND key <= $3 ORDER BY key");
    NEWEST_OF = concat!("SELECT patient, ", derived_columns!(), " FROM derived n WHERE n.patient IN (", list_of_64!(), ") AND n.output = 5
        AND n.key = (SELECT MAX(m.key) FROM derived m WHERE m.patient = n.patient AND m.output = 5)");
}

#[boxed_futures]
impl HealthDb {
    /// A patient's newest entry.
    pub async fn newest_news(&self, patient: &PatientId) -> Result<Option<NewsEntry>> {
        let patient = patient.clone();
        self.db.read_single(async move |tx| tx.query_opt(FIND_NEWEST, &[&patient], read_entry).await).await
    }

    /// The newest entry of several patients, by patient; those without any are left out.
    pub async fn newest_news_of_patients(&self, patients: Vec<PatientId>) -> Result<HashMap<PatientId, NewsEntry>> {
        let read = |row: &Row<'_>| {
            let (patient, found) = read_with_patient(row)?;
            Ok((patient, parse_entry(found)?))
        };
        self.db.read_by_name(patients, NEWEST_OF, read).await
    }

    /// A patient's last entry before a time, ms.
    pub async fn news_before(&self, patient: &PatientId, time_ms: i64) -> Result<Option<NewsEntry>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| tx.query_opt(FIND_BEFORE, &[&patient, &time_ms], read_entry).await;
        self.db.look_up(read).await
    }

    /// A patient's entries from a time to another, ms, both included, in the order of time.
    pub async fn news_between(&self, patient: &PatientId, from_ms: i64, to_ms: i64) -> Result<Vec<NewsEntry>> {
        let patient = patient.clone();
        self.db.read(async move |tx| tx.query(FIND_BETWEEN, &[&patient, &from_ms, &to_ms], read_entry).await).await
    }
}

fn read_entry(row: &Row<'_>) -> Result<NewsEntry> {
    parse_entry(read_with_patient(row)?.1)
}

fn parse_entry(found: Option<DerivedRow>) -> Result<NewsEntry> {
    // The statements ask for an output that every version knows, so there is a row; an empty body is damage.
    let body = found.and_then(|row| row.body).unwrap_or_default();
    serde_json::from_slice(&body).map_err(|error| StoreError::Damaged(error.to_string()))
}
