//! The newest valid values of a patient, kept in the transaction that stores the samples.
//!
//! A newer arrival updates them in place. When the row that a value came from is replaced, the fold computes them
//! again from the rows.

use runtime::HashMap;
use vitals::latest::LatestValues;

use super::db::HealthDb;
use crate::engine::Row;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{list_of_64, sql};

sql! {
    FIND_OF_PATIENTS = concat!("SELECT uuid, latest FROM patient
        WHERE uuid IN (", list_of_64!(), ") AND latest IS NOT NULL");
}

impl HealthDb {
    /// The latest values of several patients, by patient; those without any are left out.
    pub async fn latest_of_patients(&self, patients: Vec<PatientId>) -> Result<HashMap<PatientId, LatestValues>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, parse(row.get::<Option<String>>(1)?.as_deref())?));
        self.db.read_by_name(patients, FIND_OF_PATIENTS, read).await
    }
}

/// The latest values of a patient's row; none where it has no text.
pub(super) fn parse(text: Option<&str>) -> Result<LatestValues> {
    let Some(text) = text else { return Ok(LatestValues::default()) };
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// The text that a patient's row keeps; `None` for no values.
pub(super) fn to_text(values: &LatestValues) -> Result<Option<String>> {
    if values.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(values).map(Some).map_err(|error| StoreError::Damaged(error.to_string()))
}
