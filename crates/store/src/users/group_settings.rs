//! Settings of groups, and what follows from them for each patient.
//!
//! A patient can be in several groups; what holds for them follows from all of them by a rule that the caller brings,
//! because it is a rule of the service. Whatever changes a group's settings or a patient's groups notes, in the same
//! transaction, what their row in the health database is to become, valid from that moment on.

use boxed_futures::boxed_futures;
use serde_json::{Map, Value};

use super::audit::Audit;
use super::audit_head;
use super::db::UsersDb;
use super::messages::HealthMessage;
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::health::changes::HealthChange;
use crate::ids::{GroupCode, MessageId, PatientId};
use crate::readers::json;
use crate::texts::{record, sql};

/// A setting of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSetting {
    /// Which.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Time since which it holds, ms.
    pub valid_from_ms: i64,
}

/// The settings of one of a patient's groups.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsOfGroup {
    /// The group.
    pub group_code: GroupCode,
    /// Its settings, by name.
    pub settings: Map<String, Value>,
}

/// How settings of groups become settings of a patient.
#[derive(Clone, Debug)]
pub struct EffectiveSettings {
    /// The rule: from the groups of a patient, in the order in which the patient joined them, to all settings of the
    /// patient; null where none holds.
    pub rule: fn(&[SettingsOfGroup]) -> Map<String, Value>,
    /// From when on they hold, ms.
    pub at_ms: i64,
}

/// A row of a patient's groups: one for each setting, or one without any.
struct HeldSetting {
    group_code: GroupCode,
    name: Option<String>,
    body: Option<String>,
}

record! {
    setting_columns!(""), read_setting(row) -> GroupSetting { name, value = "body" by json, valid_from_ms }
}

record! {
    held_columns!("s."), read_held(row) -> HeldSetting { group_code = "h.group_code", name, body }
}

sql! {
    /// Makes what changes a group, its members or its patients follow each other.
    HOLD_GROUP = "UPDATE study_group SET code = code WHERE code = $1";
    OF_GROUP = concat!("SELECT ", setting_columns!(), " FROM group_setting WHERE group_code = $1 ORDER BY name");
    PUT = "INSERT INTO group_setting (group_code, name, body, valid_from_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (group_code, name) DO UPDATE SET body = excluded.body, valid_from_ms = excluded.valid_from_ms";
    OF_GROUPS_OF_PATIENT = concat!("SELECT ", held_columns!(), " FROM group_patient h
        LEFT JOIN group_setting s ON s.group_code = h.group_code
        WHERE h.patient = $1 ORDER BY h.attached_ms, h.group_code, s.name");
    PATIENTS = "SELECT patient FROM group_patient WHERE group_code = $1 ORDER BY patient";
    FORGET = "DELETE FROM group_setting WHERE group_code = $1";
}

/// Holds a group until the transaction ends. Whether there is such a group.
pub(super) async fn hold_group(tx: &Tx<'_>, code: &GroupCode) -> Result<bool> {
    Ok(tx.execute(HOLD_GROUP, &[&code]).await? == 1)
}

/// Removes the settings of a group that is going.
pub(super) async fn forget(tx: &Tx<'_>, code: &GroupCode) -> Result<()> {
    tx.execute(FORGET, &[&code]).await.map(drop)
}

impl EffectiveSettings {
    /// Returns what holds for a patient as their groups are in this transaction.
    async fn of(&self, tx: &Tx<'_>, patient: &PatientId) -> Result<Map<String, Value>> {
        let mut groups: Vec<SettingsOfGroup> = Vec::new();
        for HeldSetting { group_code, name, body } in tx.query(OF_GROUPS_OF_PATIENT, &[&patient], read_held).await? {
            if groups.last().is_none_or(|last| last.group_code != group_code) {
                groups.push(SettingsOfGroup { group_code, settings: Map::new() });
            }
            if let (Some(name), Some(body), Some(group)) = (name, body, groups.last_mut()) {
                group.settings.insert(name, parse(&body)?);
            }
        }
        Ok((self.rule)(&groups))
    }

    /// Enqueues for the health database what holds for a patient from now on.
    pub(super) async fn enqueue(&self, tx: &Tx<'_>, patient: &PatientId) -> Result<()> {
        let values = self.of(tx, patient).await?;
        self.enqueue_values(tx, patient, values).await
    }

    /// The same for one who has just been enrolled, when anything holds at all.
    pub(super) async fn enqueue_if_any(&self, tx: &Tx<'_>, patient: &PatientId) -> Result<()> {
        let values = self.of(tx, patient).await?;
        // A new patient has no settings that would have to end.
        if values.values().all(Value::is_null) {
            return Ok(());
        }
        self.enqueue_values(tx, patient, values).await
    }

    async fn enqueue_values(&self, tx: &Tx<'_>, patient: &PatientId, values: Map<String, Value>) -> Result<()> {
        let change = HealthChange::SetSettings { uuid: patient.to_owned(), values, at_ms: self.at_ms };
        // A message about a patient needs no identifier.
        let message = HealthMessage { id: MessageId::new(""), change, entries: Vec::new(), created_ms: self.at_ms };
        message.enqueue(tx).await
    }
}

#[boxed_futures]
impl UsersDb {
    /// Returns the settings of a group that were ever set, by name.
    pub async fn group_settings(&self, code: &GroupCode) -> Result<Vec<GroupSetting>> {
        let code = code.clone();
        self.db.read(async move |tx| tx.query(OF_GROUP, &[&code], read_setting).await).await
    }

    /// Sets settings of a group, writes the entries, and enqueues for the health database what then holds for its
    /// patients. Answers their uuids. [`StoreError::Gone`] when there is no such group.
    pub async fn set_group_settings(
        &self,
        code: &GroupCode,
        values: Map<String, Value>,
        effective: EffectiveSettings,
        audit: Audit,
    ) -> Result<Vec<PatientId>> {
        let (group, code) = (code, code.clone());
        self.db
            .write_in_line(&[group.into(), audit_head::LINE], async move |tx| {
                if !hold_group(tx, &code).await? {
                    return Err(StoreError::Gone("group"));
                }
                for (name, value) in &values {
                    tx.put(PUT, &[&code, name, &value.to_string(), &effective.at_ms]).await?;
                }
                // After the group is held: a patient who joins meanwhile waits, and gets what is set here.
                let patients: Vec<PatientId> = tx.query(PATIENTS, &[&code], |row| row.get(0)).await?;
                for patient in &patients {
                    effective.enqueue(tx, patient).await?;
                }
                audit.append(tx).await?;
                Ok(patients)
            })
            .await
    }
}

fn parse(body: &str) -> Result<Value> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged(format!("a group's setting: {error}")))
}
