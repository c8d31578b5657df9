//! How long raw data are kept: rows of a type before a time are retired, and what was derived from them stays.
//!
//! First a transaction notes the time and removes chunks, counts and the catalog rows of periods that lie wholly before
//! it; their objects are dead from then on. A period that the time falls into is then sealed again without what lies
//! before. Doing so again finishes what was begun. Days that were retired are never computed again, because nothing is
//! left to compute them from.

use crate::names::SettingName;
use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::registry::DataType;

use super::around_damage::BY_INDEX;
use super::db::HealthDb;
use super::messages;
use super::settings::{read_setting, setting_columns};
use crate::audit_entry::NewAuditEntry;
use crate::engine::{Columns, Param, Row, Tx, Work};
use crate::error::{Result, StoreError};
use crate::ids::PatientId;
use crate::readers::pair;
use crate::segment::catalog::{UnsealedPeriod, segments_between};
use crate::segment::period::SealedPeriod;
use crate::texts::sql;

sql! {
    RULES = concat!("SELECT patient, ", setting_columns!(), " FROM patient_setting AS s WHERE name = $1 AND valid_from_ms <= $2
        AND valid_from_ms = (SELECT MAX(valid_from_ms) FROM patient_setting
            WHERE patient = s.patient AND name = s.name AND valid_from_ms <= $2)
        ORDER BY patient");
    RULE_OF = concat!("SELECT ", setting_columns!(), " FROM patient_setting
        WHERE patient = $1 AND name = $2 AND valid_from_ms <= $3 ORDER BY valid_from_ms DESC LIMIT 1");
    RETIRED_OF = "SELECT data_type, before_us FROM retired WHERE patient = $1";
    COUNT_BEFORE = "SELECT CAST(COALESCE(SUM(samples), 0) AS BIGINT) FROM tally
        WHERE patient = $1 AND data_type = $2 AND quarter_us < $3";
    /// With a new token and the lease of a node ended. A derivation that is under way may read the rows before they go, or
    /// after: its commit is refused, and the next derivation knows which windows are frozen. The wait of one that has
    /// failed, which no node holds, stays.
    HOLD = "UPDATE patient SET fold_token = fold_token + 1, fold_node = NULL,
        fold_lease_until_ms = CASE WHEN fold_node IS NULL THEN fold_lease_until_ms ELSE 0 END WHERE uuid = $1";
    NOTE = "INSERT INTO retired (patient, data_type, before_us) VALUES ($1, $2, $3)
        ON CONFLICT (patient, data_type) DO UPDATE SET before_us =
        CASE WHEN excluded.before_us > retired.before_us THEN excluded.before_us ELSE retired.before_us END";
    DELETE_TALLY = "DELETE FROM tally WHERE patient = $1 AND data_type = $2 AND quarter_us < $3";
    DELETE_CHUNKS = "DELETE FROM chunk WHERE patient = $1 AND data_type = $2 AND last_us < $3";
    DELETE_UNVERIFIED = "DELETE FROM unverified WHERE patient = $1 AND data_type = $2 AND last_us < $3";
    DELETE_DUE = "DELETE FROM due WHERE patient = $1 AND data_type = $2 AND last_us < $3";
    DELETE_HOURS = "DELETE FROM open_hour WHERE patient = $1 AND data_type = $2 AND hour_us < $3";
    DELETE_SEGMENT = "DELETE FROM segment WHERE patient = $1 AND data_type = $2 AND period_start_us = $3";
    ADD_DEAD = "INSERT INTO dead_object (path, dead_since_ms) VALUES ($1, $2) ON CONFLICT (path) DO NOTHING";
}

/// What of a patient and type is retired: everything before a time, which is a midnight of UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retirement {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// The first time that is kept, µs.
    pub before_us: i64,
}

#[boxed_futures]
impl HealthDb {
    /// Returns the value that a setting has for each patient at a time, JSON, by uuid, or why it cannot be read: that of one
    /// patient says nothing of the others.
    pub async fn settings_named(&self, name: SettingName, now_ms: i64) -> Result<Vec<(PatientId, Result<String>)>> {
        let text = name.name();
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            let patient: PatientId = columns.take()?;
            let rule = read_setting(&patient, &mut columns).map(|rule| rule.body);
            Ok((patient, rule))
        };
        match self.db.read(async move |tx| tx.query(RULES, &[&text, &now_ms], read).await).await {
            Err(error) if error.is_damage() => self.settings_around_damage(name, now_ms).await,
            rules => rules,
        }
    }

    /// Returns the same patient by patient, where a page of the table cannot be read.
    async fn settings_around_damage(&self, name: SettingName, now_ms: i64) -> Result<Vec<(PatientId, Result<String>)>> {
        let mut rules = Vec::new();
        for patient in self.all_readable_patients("").await? {
            match self.setting_by_index(&patient, name, now_ms).await {
                Ok(None) => {}
                Ok(Some(rule)) => rules.push((patient, Ok(rule))),
                Err(error) if error.is_damage() => rules.push((patient, Err(error))),
                Err(error) => return Err(error),
            }
        }
        Ok(rules)
    }

    async fn setting_by_index(&self, patient: &PatientId, name: SettingName, now_ms: i64) -> Result<Option<String>> {
        let (patient, name) = (patient.clone(), name.name());
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
            let rule = |row: &Row<'_>| Ok(read_setting(&patient, &mut Columns::of(row))?.body);
            tx.query_opt(RULE_OF, &[&patient, &name, &now_ms], rule).await
        };
        self.db.read(read).await
    }

    /// Returns the value that a setting has for a patient at a time, JSON.
    pub async fn setting_at(&self, patient: &PatientId, name: SettingName, now_ms: i64) -> Result<Option<String>> {
        let (patient, name) = (patient.clone(), name.name());
        let read = async move |tx: &Tx<'_>| {
            let rule = |row: &Row<'_>| Ok(read_setting(&patient, &mut Columns::of(row))?.body);
            tx.query_opt(RULE_OF, &[&patient, &name, &now_ms], rule).await
        };
        self.db.read_single(read).await
    }

    /// Before when the types of a patient are retired, µs.
    pub async fn retired(&self, patient: &PatientId) -> Result<BTreeMap<DataType, i64>> {
        let patient = patient.clone();
        self.db.look_up(async move |tx| retired_of(tx, &patient).await).await
    }

    /// Returns how many rows a retirement would remove; none are left after it.
    pub async fn rows_to_retire(&self, retirement: &Retirement) -> Result<u64> {
        let Retirement { patient, data_type, before_us } = retirement.clone();
        let count = self.db.read(async move |tx| {
            tx.query_opt(COUNT_BEFORE, &[&patient, &data_type.number(), &before_us], |row| row.get::<i64>(0)).await
        });
        Ok(count.await?.unwrap_or(0) as u64)
    }

    /// Retires rows, and enqueues for the users database the entry. `random` makes the name of an object its own.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when a period is sealed at the same time; trying again is safe.
    pub async fn retire(
        &self,
        retirement: &Retirement,
        entry: Option<NewAuditEntry>,
        now_ms: i64,
        random: u64,
    ) -> Result<()> {
        let whole = retirement.clone();
        // Rows and catalog before the object that straddles the time: after a crash between them the next run finds the
        // time noted and seals again, while the other order would count rows that are gone.
        let deletion = async move |tx: &Tx<'_>| retire_whole(tx, &whole, entry.as_ref(), now_ms).await;
        let db = self.db.with_deadlines_of(Work::Deletion);
        db.write_of((&retirement.patient).into(), deletion).await?;
        let Retirement { patient, data_type, before_us } = retirement;
        let (data_type, before_us) = (*data_type, *before_us);
        let period = SealedPeriod::of(data_type, before_us);
        let segment = self.segment_of(patient, data_type, period).await?;
        if segment.is_none_or(|segment| segment.object.first_us >= before_us) {
            return Ok(());
        }
        let whole = UnsealedPeriod { patient: patient.clone(), data_type, period };
        self.reseal_from(&whole, before_us, now_ms, random).await
    }
}

async fn retired_of(tx: &Tx<'_>, patient: &PatientId) -> Result<BTreeMap<DataType, i64>> {
    let found: Vec<(i64, i64)> = tx.query(RETIRED_OF, &[&patient], pair).await?;
    Ok(found.into_iter().filter_map(|(number, us)| Some((DataType::from_number(number)?, us))).collect())
}

async fn retire_whole(tx: &Tx<'_>, retirement: &Retirement, entry: Option<&NewAuditEntry>, now_ms: i64) -> Result<()> {
    let Retirement { patient, data_type, before_us } = retirement;
    let number = data_type.number();
    // Syncs of the patient wait: a row that comes later is compared with the time that is noted here. What is being derived
    // is derived again: windows whose rows go here would look empty to it, and what they have led to would be overwritten.
    if tx.execute(HOLD, &[patient]).await? == 0 {
        return Err(StoreError::Gone("patient"));
    }
    if let Some(entry) = entry {
        messages::enqueue(tx, patient, entry, None, now_ms).await?;
    }
    let params: [&dyn Param; 3] = [patient, &number, before_us];
    for text in [NOTE, DELETE_TALLY, DELETE_CHUNKS, DELETE_UNVERIFIED, DELETE_DUE, DELETE_HOURS] {
        tx.put(text, &params).await?;
    }
    for segment in segments_between(tx, patient, *data_type, i64::MIN, before_us - 1).await? {
        if SealedPeriod::of(*data_type, segment.period_start_us).end_us > *before_us {
            continue;
        }
        // Not deleted here: a reader that found the row a moment ago may still be reading the object.
        tx.put(ADD_DEAD, &[&segment.object.path, &now_ms]).await?;
        tx.put(DELETE_SEGMENT, &[patient, &number, &segment.period_start_us]).await?;
    }
    Ok(())
}
