//! The newest valid values of a patient, kept in the transaction that stores the samples.
//!
//! A newer arrival updates them in place. When the row that a value came from is replaced, the fold computes them
//! again from the rows.

use runtime::HashMap;
use vitals::latest::{LatestValues, newest_of};

use super::chunks::Prepared;
use super::{AHEAD_MS, HealthDb};
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::texts::{list_of_64, sql};

sql! {
    FIND = "SELECT latest FROM patient WHERE uuid = $1 AND latest IS NOT NULL";
    FIND_OF_PATIENTS = concat!("SELECT uuid, latest FROM patient
        WHERE uuid IN (", list_of_64!(), ") AND latest IS NOT NULL");
    WRITE = "UPDATE patient SET latest = $2 WHERE uuid = $1";
}

impl HealthDb {
    /// The latest values of several patients, by patient; those without any are left out.
    pub async fn latest_of_patients(&self, patients: Vec<String>) -> Result<HashMap<String, LatestValues>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, parse(&row.get::<String>(1)?)?));
        self.db.read_by_name(patients, FIND_OF_PATIENTS, read).await
    }
}

fn parse(body: &str) -> Result<LatestValues> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// What is known of a patient; nothing when there is no row.
pub(crate) async fn find(tx: &Tx<'_>, patient: &str) -> Result<LatestValues> {
    let body = tx.query_opt(FIND, &[&patient], |row| row.get::<String>(0)).await?;
    let Some(body) = body else {
        return Ok(LatestValues::default());
    };
    parse(&body)
}

/// Writes what is known of a patient.
pub(crate) async fn write(tx: &Tx<'_>, patient: &str, values: &LatestValues) -> Result<()> {
    let body = serde_json::to_string(values).map_err(|error| StoreError::Damaged(error.to_string()))?;
    tx.put(WRITE, &[&patient, &body]).await?;
    Ok(())
}

/// Takes over what newly stored chunks bring. Rows ahead of the clock wait until their time has come.
pub(crate) async fn take_over<'chunks>(
    tx: &Tx<'_>,
    patient: &str,
    chunks: impl Iterator<Item = &'chunks Prepared>,
    now_ms: i64,
) -> Result<()> {
    let not_after_us = (now_ms + AHEAD_MS) * 1000 + 999;
    let mut newest = LatestValues::default();
    for chunk in chunks {
        newest.merge_newer(&newest_of(&chunk.block, not_after_us));
    }
    if newest.is_empty() {
        return Ok(());
    }
    let mut known = find(tx, patient).await?;
    if known.merge_newer(&newest) {
        write(tx, patient, &known).await?;
    }
    Ok(())
}
