//! What the board of a study asks: which patients have changed, and their newest NEWS.

use runtime::HashMap;
use vitals::news_timeline::NewsEntry;

use super::HealthDb;
use super::news::parse_entry;
use crate::engine::Row;
use crate::error::Result;
use crate::texts::{list_of_64, sql};

/// How far the data of a patient are: differs from an earlier one once a sync has been stored or a fold has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of his last sync.
    pub arrivals: i64,
    /// Counts the folds that were begun.
    pub folds: i64,
    /// Whether one is under way.
    pub is_folding: bool,
    /// When his last sync was stored, ms.
    pub last_sync_ms: Option<i64>,
}

sql! {
    PROGRESS = concat!("SELECT uuid, arrivals, fold_token, fold_lease_until_ms, last_sync_ms FROM patient
        WHERE uuid IN (", list_of_64!(), ")");
    NEWEST_NEWS = concat!("SELECT n.patient, n.body FROM derived n WHERE n.patient IN (", list_of_64!(), ") AND n.output = 5
        AND n.key = (SELECT MAX(m.key) FROM derived m WHERE m.patient = n.patient AND m.output = 5)");
}

impl HealthDb {
    /// How far the data of several patients are, by patient.
    pub async fn progress_of_patients(&self, patients: Vec<String>) -> Result<HashMap<String, Progress>> {
        let read = |row: &Row<'_>| {
            let progress = Progress {
                arrivals: row.get(1)?,
                folds: row.get(2)?,
                is_folding: row.get::<i64>(3)? != 0,
                last_sync_ms: row.get(4)?,
            };
            Ok((row.get(0)?, progress))
        };
        self.db.read_by_name(patients, PROGRESS, read).await
    }

    /// The newest NEWS entry of several patients, by patient; those without any are left out.
    pub async fn newest_news_of_patients(&self, patients: Vec<String>) -> Result<HashMap<String, NewsEntry>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, parse_entry(&row.get::<Vec<u8>>(1)?)?));
        self.db.read_by_name(patients, NEWEST_NEWS, read).await
    }
}
