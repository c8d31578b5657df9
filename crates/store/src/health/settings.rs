//! Settings that enter a formula, each valid from a time on.
//!
//! A setting of several fields is kept as its changes: a row holds the fields that were set at its time, and what is
//! valid at a time follows from all rows up to then. So changes that are made late, after a crash, lose nothing.

use serde_json::{Map, Value};
use vitals::registry::DataType;
use vitals::zone::QUARTER_US;

use super::HealthDb;
use super::claims::{DueRange, mark};
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::texts::sql;

sql! {
    FIND = "SELECT name, valid_from_ms, body FROM patient_setting WHERE patient = $1 ORDER BY name, valid_from_ms";
    PUT = "INSERT INTO patient_setting (patient, name, valid_from_ms, body) VALUES ($1, $2, $3, $4)
        ON CONFLICT (patient, name, valid_from_ms) DO UPDATE SET body = excluded.body";
    FIND_EXACT = "SELECT body FROM patient_setting WHERE patient = $1 AND name = $2 AND valid_from_ms = $3";
    HOLD = "UPDATE patient SET updated_ms = $2 WHERE uuid = $1";
    LAST_QUARTER = "SELECT quarter_us FROM tally WHERE patient = $1 AND data_type = $2
        ORDER BY quarter_us DESC LIMIT 1";
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// Which setting.
    pub name: String,
    /// From when on it is valid, ms.
    pub valid_from_ms: i64,
    /// Its value, as JSON.
    pub body: String,
}

impl HealthDb {
    /// All values of a patient's settings, by name and time.
    pub async fn patient_settings(&self, patient: &str) -> Result<Vec<SettingRow>> {
        let patient = patient.to_owned();
        self.db
            .read(move |tx| {
                tx.query(FIND, &[&patient], |row| {
                    Ok(SettingRow { name: row.get(0)?, valid_from_ms: row.get(1)?, body: row.get(2)? })
                })
            })
            .await
    }

    /// Stores a value of a patient's setting.
    pub async fn put_patient_setting(&self, patient: &str, setting: SettingRow) -> Result<()> {
        let patient = patient.to_owned();
        self.db
            .write(move |tx| {
                let SettingRow { name, valid_from_ms, body } = &setting;
                tx.execute(PUT, &[&patient, name, valid_from_ms, body])
            })
            .await?;
        Ok(())
    }
}

/// Sets fields of a setting from a time on, and marks due what was measured since. Doing it twice is doing it once.
pub(super) fn set_fields(
    tx: &mut Tx<'_>,
    patient: &str,
    name: &str,
    valid_from_ms: i64,
    fields: &Map<String, Value>,
    at_ms: i64,
) -> Result<()> {
    // Syncs of the patient wait, or are done: their rows are either marked here or folded with what is set here.
    tx.execute(HOLD, &[&patient, &at_ms])?;
    let unreadable = |error: serde_json::Error| StoreError::Damaged(format!("setting: {error}"));
    let known = tx.query_opt(FIND_EXACT, &[&patient, &name, &valid_from_ms], |row| row.get::<String>(0))?;
    let mut body: Map<String, Value> = match known {
        Some(known) => serde_json::from_str(&known).map_err(unreadable)?,
        None => Map::new(),
    };
    body.extend(fields.clone());
    let body = serde_json::to_string(&body).map_err(unreadable)?;
    tx.execute(PUT, &[&patient, &name, &valid_from_ms, &body])?;
    for data_type in [DataType::Activity, DataType::Tests] {
        let params: [&dyn crate::engine::Param; 2] = [&patient, &data_type.number()];
        let last_quarter_us: Option<i64> = tx.query_opt(LAST_QUARTER, &params, |row| row.get(0))?;
        let last_us = last_quarter_us.map(|quarter_us| quarter_us + QUARTER_US - 1);
        let first_us = valid_from_ms * 1000;
        if let Some(last_us) = last_us.filter(|last_us| *last_us >= first_us) {
            const OF_NO_SYNC: i64 = 0;
            let data_type = data_type.number();
            mark(tx, patient, &DueRange { arrival: OF_NO_SYNC, data_type, first_us, last_us, ready_ms: at_ms })?;
        }
    }
    Ok(())
}
