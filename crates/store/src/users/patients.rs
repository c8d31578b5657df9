//! Patients as persons: how they are enrolled and how they log in. What they measure is in the other database.

use std::collections::BTreeSet;

use boxed_futures::boxed_futures;
use runtime::HashMap;

use super::db::UsersDb;
use super::emails;
use super::group_settings::{EffectiveSettings, hold_group};
use super::messages::HealthMessage;
use crate::engine::Param;
use crate::error::{Result, StoreError};
use crate::events::{self, EventType, NewEvent};
use crate::ids::{GroupCode, PatientId, RecordId, VoucherCode};
use crate::names::PatientState;
use crate::readers::pair;
use crate::texts::{in_lists, list_of_64, record, sql};

/// A patient as a person.
#[derive(Clone, PartialEq, Eq)]
pub struct Patient {
    /// Identity, in both databases.
    pub uuid: PatientId,
    /// Record identifier, 24 hex digits.
    pub record_id: RecordId,
    /// State of the enrolment.
    pub state: PatientState,
    /// Eight characters to activate and to log in with.
    pub voucher_code: VoucherCode,
    /// Time until which the voucher can be used, ms.
    pub voucher_expires_ms: i64,
    /// Address to log in with, in lower case.
    pub email: Option<String>,
    /// Argon2id hash in PHC form; absent before activation.
    pub password_hash: Option<String>,
    /// Whether the password was set by staff.
    pub must_change_password: bool,
    /// Names and other personal attributes, as JSON.
    pub person: String,
    /// Creation, ms.
    pub created_ms: i64,
    /// Last change, ms.
    pub updated_ms: i64,
}

impl Patient {
    /// Returns whether the patient is a voucher that nobody has used.
    pub fn is_voucher(&self) -> bool {
        self.state == PatientState::PreCreated
    }
}

impl std::fmt::Debug for Patient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest is personal data and what one logs in with.
        formatter.debug_struct("Patient").field("uuid", &self.uuid).field("state", &self.state).finish_non_exhaustive()
    }
}

/// What makes a pre-created patient a confirmed one.
#[derive(Clone)]
pub struct Activation {
    /// The patient.
    pub uuid: PatientId,
    /// Address to log in with, in lower case.
    pub email: Option<String>,
    /// Argon2id hash in PHC form.
    pub password_hash: String,
    /// Personal attributes as they were read, which the new ones are made of.
    pub known: String,
    /// Personal attributes, as JSON.
    pub person: String,
    /// The time, ms.
    pub now_ms: i64,
}

/// A password that takes the place of a patient's.
#[derive(Clone)]
pub struct NewPatientPassword {
    /// Argon2id hash in PHC form.
    pub hash: String,
    /// Whether staff chose it, so that the patient has to choose another.
    pub must_change: bool,
    /// The time, ms.
    pub now_ms: i64,
}

/// Personal attributes to write.
#[derive(Clone)]
pub struct PersonChange {
    /// The patient.
    pub uuid: PatientId,
    /// Address to log in with, in lower case; absent to leave it as it is.
    pub email: Option<String>,
    /// Whether the address is taken away. The voucher code stays to log in with.
    pub removes_email: bool,
    /// What the attributes were read as, JSON.
    pub known: String,
    /// What they become, JSON.
    pub person: String,
    /// The time, ms.
    pub now_ms: i64,
}

record! {
    patient_columns!(""), read_patient(row) -> Patient {
        uuid, record_id, state, voucher_code, voucher_expires_ms, email, password_hash, must_change_password,
        person, created_ms, updated_ms,
    }
}

sql! {
    ADD = concat!("INSERT INTO patient (", patient_columns!(), ")
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)");
    ATTACH = "INSERT INTO group_patient (group_code, patient, attached_ms) VALUES ($1, $2, $3)";
    FIND = concat!("SELECT ", patient_columns!(), " FROM patient WHERE uuid = $1");
    FIND_BY_VOUCHER = concat!("SELECT ", patient_columns!(), " FROM patient WHERE voucher_code = $1");
    FIND_BY_EMAIL = concat!("SELECT ", patient_columns!(), " FROM patient WHERE email = $1");
    FIND_ALL = concat!("SELECT ", patient_columns!(), " FROM patient WHERE uuid IN (", list_of_64!(), ")");
    UUIDS_OF_GROUP = "SELECT patient FROM group_patient WHERE group_code = $1 ORDER BY attached_ms, patient";
    GROUPS_HOLDING = concat!("SELECT patient, group_code FROM group_patient WHERE patient IN (", list_of_64!(), ")");
    GROUPS_OF_PATIENTS = "SELECT group_code, patient FROM group_patient ORDER BY group_code, patient";
    FIRST_GROUP = "SELECT group_code FROM group_patient WHERE patient = $1 ORDER BY attached_ms, group_code LIMIT 1";
    ACTIVATE = "UPDATE patient SET state = 'confirmed', email = COALESCE($2, email), password_hash = $3, must_change_password = $4,
        person = $5, updated_ms = $6 WHERE uuid = $1 AND state = 'pre_created' AND person = $7";
    SET_PASSWORD = "UPDATE patient SET password_hash = $2, must_change_password = $3, updated_ms = $4
        WHERE uuid = $1 AND state = 'confirmed'";
    CHANGE_PERSON = "UPDATE patient SET email = COALESCE($2, email), person = $3, updated_ms = $4
        WHERE uuid = $1 AND person = $5";
    REMOVE_EMAIL = "UPDATE patient SET email = NULL WHERE uuid = $1";
    END_SESSIONS = "UPDATE session SET ended_ms = $2 WHERE owner = $1 AND ended_ms IS NULL";
    END_CONSENTS = "UPDATE oauth_consent SET ended_ms = $2 WHERE patient = $1 AND ended_ms IS NULL";
}

#[boxed_futures]
impl UsersDb {
    /// Adds a patient to a group and enqueues for the health database their row, and the settings that hold for them.
    /// [`StoreError::Conflict`] when the voucher code is taken, [`StoreError::Gone`] when the group is not there.
    pub async fn add_patient(
        &self,
        patient: Patient,
        group_code: &GroupCode,
        message: HealthMessage,
        effective: EffectiveSettings,
    ) -> Result<()> {
        let (group, group_code) = (group_code, group_code.clone());
        self.db
            // The row of the group is held until the end.
            .write_in_line(&[group.into()], async move |tx| {
                if !hold_group(tx, &group_code).await? {
                    return Err(StoreError::Gone("group"));
                }
                tx.put(
                    ADD,
                    &[
                        &patient.uuid,
                        &patient.record_id,
                        &patient.state,
                        &patient.voucher_code,
                        &patient.voucher_expires_ms,
                        &patient.email,
                        &patient.password_hash,
                        &patient.must_change_password,
                        &patient.person,
                        &patient.created_ms,
                        &patient.updated_ms,
                    ],
                )
                .await?;
                tx.put(ATTACH, &[&group_code, &patient.uuid, &patient.created_ms]).await?;
                let attached = NewEvent::of_group(EventType::PatientAttached, &group_code, patient.created_ms);
                events::append(tx, &patient.uuid, &[attached]).await?;
                message.enqueue(tx).await?;
                // After the message that makes the patient's row: changes of a patient are delivered in this order.
                effective.enqueue_if_any(tx, &patient.uuid).await
            })
            .await
    }

    /// Returns the patient with this uuid.
    pub async fn patient(&self, uuid: &PatientId) -> Result<Option<Patient>> {
        let uuid = uuid.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&uuid], read_patient).await).await
    }

    /// Returns the patient with this voucher code, used or not.
    pub async fn patient_by_voucher(&self, voucher_code: &VoucherCode) -> Result<Option<Patient>> {
        let voucher_code = voucher_code.clone();
        self.db.read(async move |tx| tx.query_opt(FIND_BY_VOUCHER, &[&voucher_code], read_patient).await).await
    }

    /// Returns the patient with this e-mail, which is to be in lower case.
    pub async fn patient_by_email(&self, email: &str) -> Result<Option<Patient>> {
        let email = email.to_owned();
        self.db.read(async move |tx| tx.query_opt(FIND_BY_EMAIL, &[&email], read_patient).await).await
    }

    /// Returns the patients with these uuids, by uuid; the unknown are left out.
    pub async fn patients(&self, uuids: Vec<PatientId>) -> Result<HashMap<PatientId, Patient>> {
        self.db
            .read(async move |tx| {
                let mut found = HashMap::default();
                in_lists(&uuids, async |list| {
                    let patients = tx.query(FIND_ALL, list, read_patient).await?;
                    found.extend(patients.into_iter().map(|patient| (patient.uuid.clone(), patient)));
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }

    /// Returns every group with every patient of it, by code and uuid.
    pub async fn groups_of_patients(&self) -> Result<Vec<(GroupCode, PatientId)>> {
        self.db.read(async |tx| tx.query(GROUPS_OF_PATIENTS, &[], pair).await).await
    }

    /// Returns the groups that hold some patients: pairs of a patient and a group's code, in their order.
    pub async fn groups_holding(&self, patients: Vec<PatientId>) -> Result<BTreeSet<(PatientId, GroupCode)>> {
        self.db
            .read(async move |tx| {
                let mut found = BTreeSet::new();
                in_lists(&patients, async |list| {
                    found.extend(tx.query(GROUPS_HOLDING, list, pair).await?);
                    Ok(())
                })
                .await?;
                Ok(found)
            })
            .await
    }

    /// Returns the uuids of the patients of a group, in the order in which they joined.
    pub async fn uuids_of(&self, group_code: &GroupCode) -> Result<Vec<PatientId>> {
        let group_code = group_code.clone();
        self.db.read(async move |tx| tx.query(UUIDS_OF_GROUP, &[&group_code], |row| row.get(0)).await).await
    }

    /// Returns the code of the first group that a patient joined.
    pub async fn first_group_of(&self, patient: &PatientId) -> Result<Option<GroupCode>> {
        let patient = patient.clone();
        self.db.read(async move |tx| tx.query_opt(FIRST_GROUP, &[&patient], |row| row.get(0)).await).await
    }

    /// Confirms a pre-created patient and enqueues their profile for the health database. False, and nothing is
    /// changed, when the patient is not `pre_created`, or their attributes differ from what they were read as.
    /// [`StoreError::Conflict`] when the e-mail is taken, by an account or by a patient.
    pub async fn activate_patient(&self, activation: Activation, message: HealthMessage) -> Result<bool> {
        let owner = activation.uuid.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                let wanted = &activation;
                emails::hold_for_patient(tx, wanted.email.as_deref()).await?;
                let Activation { uuid, email, password_hash, known, person, now_ms } = wanted;
                // Only from `pre_created`: of two activations at once, the second changes nothing. And only where nobody
                // has filed the patient otherwise meanwhile, which these attributes do not know.
                let params: [&dyn Param; 7] = [uuid, email, password_hash, &false, person, now_ms, known];
                if tx.execute(ACTIVATE, &params).await? == 0 {
                    return Ok(false);
                }
                let activated = NewEvent::without_data(EventType::PatientActivated, wanted.now_ms);
                events::append(tx, uuid, &[activated]).await?;
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Writes a patient's personal attributes, and their e-mail when one is given or taken away, and enqueues for the health database
    /// what the message says. `known` is what the attributes were read as: false, and nothing is changed, when the
    /// stored ones differ from it, or the patient is gone. [`StoreError::Conflict`] when the e-mail is taken, by an
    /// account or by a patient.
    pub async fn change_person(&self, change: PersonChange, message: HealthMessage) -> Result<bool> {
        let owner = change.uuid.clone();
        self.db
            .write_of((&owner).into(), async move |tx| {
                let PersonChange { uuid, email, removes_email, known, person, now_ms } = &change;
                emails::hold_for_patient(tx, email.as_deref()).await?;
                // Compared with what was read: of two changes at once, the second would undo what the first has set.
                if tx.execute(CHANGE_PERSON, &[uuid, email, person, now_ms, known]).await? == 0 {
                    return Ok(false);
                }
                if *removes_email {
                    tx.execute(REMOVE_EMAIL, &[uuid]).await?;
                }
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Sets the password of a confirmed patient, ends their sessions on the Users Cloud and their consents, and
    /// enqueues for the health database the end of the tokens there. False, and nothing is changed, when the
    /// patient is not `confirmed`.
    pub async fn set_patient_password(
        &self,
        uuid: &PatientId,
        new: NewPatientPassword,
        message: HealthMessage,
    ) -> Result<bool> {
        let (owner, uuid) = (uuid, uuid.clone());
        self.db
            .write_of(owner.into(), async move |tx| {
                let NewPatientPassword { hash, must_change, now_ms } = &new;
                // The patient's row first: a login holds it while it begins a session, which is then ended below.
                if tx.execute(SET_PASSWORD, &[&uuid, hash, must_change, now_ms]).await? == 0 {
                    return Ok(false);
                }
                tx.put(END_SESSIONS, &[&uuid, now_ms]).await?;
                tx.put(END_CONSENTS, &[&uuid, now_ms]).await?;
                message.enqueue(tx).await?;
                Ok(true)
            })
            .await
    }
}
