//! Settings that enter a formula, each valid from a time on.
//!
//! A setting of several fields is kept as its changes: a row holds the fields that were set at its time, and what is
//! valid at a time follows from all rows up to then. So changes that are made late, after a crash, lose nothing.

use boxed_futures::boxed_futures;
use serde_json::{Map, Value};
use vitals::derivation::{Setting, WEIGHT_SETTING};
use vitals::registry::DataType;
use vitals::zone::SECOND_US;

use super::db::HealthDb;
use super::due;
use crate::checksum::{self, Of};
use crate::engine::{Columns, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::texts::{record, sql};

/// A setting before its checksum is compared.
pub(super) struct StoredSetting {
    pub name: String,
    pub valid_from_ms: i64,
    body: String,
    sum: Option<i64>,
}

record! {
    setting_columns!(""), pub(super) read_stored(columns) -> StoredSetting { name, valid_from_ms, body, sum }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use setting_columns;

sql! {
    FIND = concat!("SELECT ", setting_columns!(), " FROM patient_setting WHERE patient = $1
        ORDER BY name, valid_from_ms");
    PUT = "INSERT INTO patient_setting (patient, name, valid_from_ms, sum, body) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, name, valid_from_ms) DO UPDATE SET sum = excluded.sum, body = excluded.body";
    FIND_EXACT = concat!("SELECT ", setting_columns!(), " FROM patient_setting WHERE patient = $1 AND name = $2 AND valid_from_ms = $3");
    HOLD = "UPDATE patient SET updated_ms = $2 WHERE uuid = $1";
    FIND_VALID = concat!("SELECT ", setting_columns!(), " FROM patient_setting
        WHERE patient = $1 AND name = $2 AND valid_from_ms <= $3 ORDER BY valid_from_ms DESC LIMIT 1");
}

/// A local day that ends after a moment began at most so long before it, wherever in the world it was and is.
const LONGEST_DAY_US: i64 = 52 * 3600 * SECOND_US;

#[boxed_futures]
impl HealthDb {
    /// Returns all values of a patient's settings, by name and time.
    pub async fn patient_settings(&self, patient: &PatientId) -> Result<Vec<Setting>> {
        let patient = patient.clone();
        self.db
            .look_up(async move |tx| {
                tx.query(FIND, &[&patient], |row| read_setting(&patient, &mut Columns::of(row))).await
            })
            .await
    }

    /// Stores a value of a patient's setting.
    pub async fn put_patient_setting(&self, patient: &PatientId, setting: Setting) -> Result<()> {
        let (owner, patient) = (patient, patient.clone());
        self.db.write_of(owner.into(), async move |tx| put(tx, &patient, &setting).await).await
    }
}

async fn put(tx: &Tx<'_>, patient: &PatientId, setting: &Setting) -> Result<()> {
    let sum = setting_sum(patient, setting);
    let Setting { name, valid_from_ms, body } = setting;
    tx.put(PUT, &[patient, name, valid_from_ms, &sum, body]).await
}

impl StoredSetting {
    /// Compares the setting with its checksum.
    pub fn checked(self, patient: &PatientId) -> Result<Setting> {
        let StoredSetting { name, valid_from_ms, body, sum } = self;
        let setting = Setting { name, valid_from_ms, body };
        check_setting(patient, &setting, sum)?;
        Ok(setting)
    }
}

/// Reads [`setting_columns!`].
pub(super) fn read_setting(patient: &PatientId, columns: &mut Columns<'_, '_>) -> Result<Setting> {
    read_stored(columns)?.checked(patient)
}

/// Compares a setting with its checksum.
pub(super) fn check_setting(patient: &PatientId, setting: &Setting, sum: Option<i64>) -> Result<()> {
    if checksum::is_intact(sum, setting_sum(patient, setting)) {
        return Ok(());
    }
    Err(StoreError::Damaged("the checksum of a setting is another one".to_owned()))
}

fn setting_sum(patient: &PatientId, setting: &Setting) -> i64 {
    let Setting { name, valid_from_ms, body } = setting;
    let text = format!("{name} {body}");
    checksum::of_row(Of::Setting, patient, &[*valid_from_ms], checksum::of_bytes(text.as_bytes()))
}

/// Fields of a setting that are set from a time on; those that are not named keep what was valid, null takes away.
pub(super) struct FieldChange<'change> {
    pub name: &'change str,
    pub valid_from_ms: i64,
    pub fields: &'change Map<String, Value>,
}

/// Sets fields of a setting from a time on, and marks due what was measured since. Doing it twice is doing it once.
pub(super) async fn set_fields(tx: &Tx<'_>, patient: &PatientId, change: FieldChange<'_>, at_ms: i64) -> Result<()> {
    let FieldChange { name, valid_from_ms, fields } = change;
    // Syncs of the patient wait, or are done: their rows are either marked here or derived with what is set here.
    tx.execute(HOLD, &[&patient, &at_ms]).await?;
    let unreadable = |error: serde_json::Error| StoreError::Damaged(format!("setting: {error}"));
    let read = |row: &Row<'_>| read_setting(patient, &mut Columns::of(row));
    let known = tx.query_opt(FIND_EXACT, &[&patient, &name, &valid_from_ms], read).await?;
    let mut body: Map<String, Value> = match known {
        Some(known) => serde_json::from_str(&known.body).map_err(unreadable)?,
        None => Map::new(),
    };
    body.extend(fields.clone());
    let body = serde_json::to_string(&body).map_err(unreadable)?;
    put(tx, patient, &Setting { name: name.to_owned(), valid_from_ms, body }).await?;
    // Settings of several fields are those of NEWS, and these are the types whose rows carry its signs.
    for data_type in [DataType::Activity, DataType::Tests] {
        due::mark_since(tx, patient, data_type, valid_from_ms * 1000, at_ms).await?;
    }
    // The change itself makes an entry, from what was measured before.
    due::mark_at(tx, patient, DataType::Activity, valid_from_ms * 1000, at_ms).await
}

/// Keeps a weight from a time on, or that none is known; the one that was known before it holds for all time until then.
pub(super) async fn keep_weight(
    tx: &Tx<'_>,
    patient: &PatientId,
    before_kg: Option<f64>,
    weight_kg: Option<f64>,
    at_ms: i64,
) -> Result<()> {
    const FROM_THE_BEGINNING_MS: i64 = 0;
    // Weights before the first change were never written down; without this, days of before would be computed with the
    // new one.
    let is_kept = tx.query_opt(FIND_VALID, &[&patient, &WEIGHT_SETTING, &at_ms], |_| Ok(())).await?.is_some();
    let weight = |valid_from_ms, kg: Option<f64>| Setting {
        name: WEIGHT_SETTING.to_owned(),
        valid_from_ms,
        body: Value::from(kg).to_string(),
    };
    if let Some(before_kg) = before_kg.filter(|_| !is_kept) {
        put(tx, patient, &weight(FROM_THE_BEGINNING_MS, Some(before_kg))).await?;
    }
    put(tx, patient, &weight(at_ms, weight_kg)).await
}

/// Sets values from a time on, those that differ from what is valid then, and marks due the days that they count for:
/// a day takes what is valid when it ends. Doing it twice is doing it once.
pub(super) async fn set_values(
    tx: &Tx<'_>,
    patient: &PatientId,
    values: &Map<String, Value>,
    at_ms: i64,
) -> Result<()> {
    // Somebody who was erased has no settings; without the row nothing would ever remove them.
    if tx.execute(HOLD, &[&patient, &at_ms]).await? == 0 {
        return Ok(());
    }
    let mut is_changed = false;
    for (name, value) in values {
        let read = |row: &Row<'_>| read_setting(patient, &mut Columns::of(row));
        let valid = tx.query_opt(FIND_VALID, &[&patient, &name, &at_ms], read).await?;
        let body = value.to_string();
        if valid.as_ref().map_or("null", |valid| &valid.body) != body {
            put(tx, patient, &Setting { name: name.clone(), valid_from_ms: at_ms, body }).await?;
            is_changed = true;
        }
    }
    if is_changed {
        // The local day of this moment is not known for each sample; days before it are computed again for nothing.
        let first_us = at_ms * 1000 - LONGEST_DAY_US;
        for data_type in DataType::ALL.into_iter().filter(|data_type| !data_type.is_waveform()) {
            due::mark_since(tx, patient, data_type, first_us, at_ms).await?;
        }
    }
    Ok(())
}
