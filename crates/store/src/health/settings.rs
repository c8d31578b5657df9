//! Settings that enter a formula, each valid from a time on.

use super::HealthDb;
use crate::error::Result;
use crate::texts::sql;

sql! {
    FIND = "SELECT name, valid_from_ms, body FROM patient_setting WHERE patient = $1 ORDER BY name, valid_from_ms";
    PUT = "INSERT INTO patient_setting (patient, name, valid_from_ms, body) VALUES ($1, $2, $3, $4)
        ON CONFLICT (patient, name, valid_from_ms) DO UPDATE SET body = excluded.body";
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
