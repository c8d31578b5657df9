//! Who belongs to which group, and what follows from it: one look-up per question of access.

use boxed_futures::boxed_futures;

use super::api_keys::key_opens;
use super::audit::Audit;
use super::audit_head;
use super::db::UsersDb;
use super::group_settings::{EffectiveSettings, hold_group};
use super::groups::{Group, group_columns, read_group};
use super::messages::HealthMessage;
use crate::engine::{Columns, Row, Tx};
use crate::error::{Result, StoreError};
use crate::events::{self, EventType, NewEvent};
use crate::ids::{AccountId, ApiKeyId, GroupCode, PatientId};
use crate::names::{PatientState, Role};
use crate::readers::flag;
use crate::texts::{record, sql};

/// A group as one caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAccess {
    /// The group.
    pub group: Group,
    /// Whether the account is a member and the key, if it is scoped, acts on the group.
    pub allowed: bool,
}

/// A patient as one caller sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientAccess {
    /// State of the enrolment.
    pub state: PatientState,
    /// Whether a group that the caller may act on holds the patient.
    pub allowed: bool,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub uuid: AccountId,
    /// Its e-mail.
    pub email: String,
    /// Its role.
    pub role: Role,
}

/// How the end of a membership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRemoval {
    /// The account is no longer a member.
    Removed,
    /// It was none. Nothing was changed.
    NoMember,
    /// Nobody would be left who manages the group. Nothing was changed.
    LastManager,
}

/// How the detachment of a patient from a group ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatientDetachment {
    /// The group no longer holds the patient.
    Detached,
    /// It did not hold the patient. Nothing was changed.
    NotHeld,
    /// It is the only one that holds the patient. Nothing was changed.
    LastGroup,
}

/// Whether an account ($2) with a key ($3) may act on the group.
macro_rules! group_is_open {
    () => {
        concat!(
            "EXISTS (SELECT 1 FROM membership m WHERE m.account = $2 AND m.group_code = study_group.code) AND ",
            key_opens!("$3", "study_group.code")
        )
    };
}

/// Whether an account ($2) with a key ($3) may act on a group that holds the patient.
macro_rules! patient_is_open {
    () => {
        concat!(
            "EXISTS (SELECT 1 FROM group_patient h JOIN membership m ON m.group_code = h.group_code
                WHERE h.patient = p.uuid AND m.account = $2 AND ",
            key_opens!("$3", "h.group_code"),
            ")"
        )
    };
}

record! {
    patient_access_columns!("p."), read_patient_access(row) -> PatientAccess { state, allowed <- patient_is_open!(flag) }
}

record! {
    member_columns!("a."), read_member(row) -> Member { uuid, email, role }
}

sql! {
    GROUP = concat!("SELECT ", group_columns!(), ", ", group_is_open!(), " FROM study_group WHERE code = $1");
    PATIENT = concat!("SELECT ", patient_access_columns!(), " FROM patient p WHERE p.uuid = $1");
    MEMBERS = concat!("SELECT ", member_columns!(), " FROM membership m JOIN account a ON a.uuid = m.account
        WHERE m.group_code = $1 ORDER BY m.created_ms, a.uuid");
    ADD = "INSERT INTO membership (account, group_code, created_ms) VALUES ($1, $2, $3)
        ON CONFLICT (account, group_code) DO NOTHING";
    IS_MEMBER = "SELECT account FROM membership WHERE account = $1 AND group_code = $2";
    OTHER_MANAGER = "SELECT m.account FROM membership m JOIN account a ON a.uuid = m.account
        WHERE m.group_code = $2 AND m.account <> $1 AND a.role <> 'hcp' AND a.disabled_ms IS NULL LIMIT 1";
    REMOVE = "DELETE FROM membership WHERE account = $1 AND group_code = $2";
    IS_HELD = "SELECT patient FROM group_patient WHERE group_code = $1 AND patient = $2";
    HOLD_PATIENT = "UPDATE patient SET updated_ms = updated_ms WHERE uuid = $1";
    ATTACH = "INSERT INTO group_patient (group_code, patient, attached_ms) VALUES ($1, $2, $3)";
    HELD_ELSEWHERE = "SELECT group_code FROM group_patient WHERE patient = $2 AND group_code <> $1 LIMIT 1";
    /// Twice within a millisecond is one time: a patient cannot have been in the study twice at once.
    REMEMBER = "INSERT INTO past_attachment (patient, group_code, attached_ms, detached_ms)
        SELECT patient, group_code, attached_ms, CAST($3 AS BIGINT) FROM group_patient WHERE group_code = $1 AND patient = $2
        ON CONFLICT (patient, group_code, attached_ms) DO UPDATE SET detached_ms = excluded.detached_ms";
    DETACH = "DELETE FROM group_patient WHERE group_code = $1 AND patient = $2";
}

/// Reads the columns of a group, and whether it is open.
fn read_group_access(row: &Row<'_>) -> Result<GroupAccess> {
    let mut columns = Columns::of(row);
    Ok(GroupAccess { group: read_group(&mut columns)?, allowed: columns.take()? })
}

#[boxed_futures]
impl UsersDb {
    /// Returns a group, and whether an account may act on it with a key.
    pub async fn group_access(
        &self,
        code: &GroupCode,
        account: &AccountId,
        key_id: Option<&ApiKeyId>,
    ) -> Result<Option<GroupAccess>> {
        let (code, account, key_id) = (code.clone(), account.clone(), key_id.cloned());
        self.db.read(async move |tx| tx.query_opt(GROUP, &[&code, &account, &key_id], read_group_access).await).await
    }

    /// Returns a patient's state, and whether an account may act on them with a key.
    pub async fn patient_access(
        &self,
        uuid: &PatientId,
        account: &AccountId,
        key_id: Option<&ApiKeyId>,
    ) -> Result<Option<PatientAccess>> {
        let (uuid, account, key_id) = (uuid.clone(), account.clone(), key_id.cloned());
        self.db
            .read(async move |tx| tx.query_opt(PATIENT, &[&uuid, &account, &key_id], read_patient_access).await)
            .await
    }

    /// Returns the members of a group, longest first.
    pub async fn members(&self, group_code: &GroupCode) -> Result<Vec<Member>> {
        let group_code = group_code.clone();
        self.db.read(async move |tx| tx.query(MEMBERS, &[&group_code], read_member).await).await
    }

    /// Makes an account a member of a group. False when it was one.
    pub async fn add_member(&self, account: &AccountId, group_code: &GroupCode, now_ms: i64) -> Result<bool> {
        let (account, group_code) = (account.clone(), group_code.clone());
        self.db.write(async move |tx| Ok(tx.execute(ADD, &[&account, &group_code, &now_ms]).await? > 0)).await
    }

    /// Makes an account a member of a group and writes the entries. False, and nothing is written, when it was one.
    pub async fn admit_member(
        &self,
        account: &AccountId,
        group_code: &GroupCode,
        now_ms: i64,
        audit: Audit,
    ) -> Result<bool> {
        let (group, account, group_code) = (group_code, account.clone(), group_code.clone());
        self.db
            .write_in_line(&[group.into(), audit_head::LINE], async move |tx| {
                if !hold_group(tx, &group_code).await? {
                    return Err(StoreError::Gone("group"));
                }
                // A member already: what changes nothing has no entry in the log.
                if tx.execute(ADD, &[&account, &group_code, &now_ms]).await? == 0 {
                    return Ok(false);
                }
                audit.append(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Ends a membership and enqueues for the health database the end of the tokens by which the account reads.
    pub async fn remove_member(
        &self,
        account: &AccountId,
        group_code: &GroupCode,
        message: HealthMessage,
    ) -> Result<MemberRemoval> {
        let (group, account, group_code) = (group_code, account.clone(), group_code.clone());
        self.db
            .write_in_line(&[group.into()], async move |tx| {
                if !hold_group(tx, &group_code).await? {
                    return Err(StoreError::Gone("group"));
                }
                if tx.query_opt(IS_MEMBER, &[&account, &group_code], |_| Ok(())).await?.is_none() {
                    return Ok(MemberRemoval::NoMember);
                }
                // After the group is held: of two managers who remove each other at once, the second stays.
                if !has_other_manager(tx, &account, &group_code).await? {
                    return Ok(MemberRemoval::LastManager);
                }
                tx.put(REMOVE, &[&account, &group_code]).await?;
                message.enqueue(tx).await?;
                Ok(MemberRemoval::Removed)
            })
            .await
    }

    /// Adds a patient to one more group, writes the entries, and enqueues for the health database the settings that
    /// then hold for them. False, and nothing is written, when the group held them.
    pub async fn attach_patient(
        &self,
        group_code: &GroupCode,
        patient: &PatientId,
        effective: EffectiveSettings,
        audit: Audit,
    ) -> Result<bool> {
        let (group, owner) = (group_code, patient);
        let (group_code, patient) = (group.clone(), owner.clone());
        self.db
            .write_in_line(&[group.into(), owner.into(), audit_head::LINE], async move |tx| {
                if !hold_group(tx, &group_code).await? {
                    return Err(StoreError::Gone("group"));
                }
                if tx.query_opt(IS_HELD, &[&group_code, &patient], |_| Ok(())).await?.is_some() {
                    return Ok(false);
                }
                if tx.execute(HOLD_PATIENT, &[&patient]).await? == 0 {
                    return Err(StoreError::Gone("patient"));
                }
                // Before the settings are reckoned, which follow from all groups that the patient is in by then.
                tx.put(ATTACH, &[&group_code, &patient, &effective.at_ms]).await?;
                // In the same transaction: readers of the event log must not find a patient without the event.
                let attached = NewEvent::of_group(EventType::PatientAttached, &group_code, effective.at_ms);
                events::append(tx, &patient, &[attached]).await?;
                effective.enqueue(tx, &patient).await?;
                audit.append(tx).await?;
                Ok(true)
            })
            .await
    }

    /// Takes a patient out of a group, and enqueues for the health database the settings that then hold for them and
    /// the change of the message.
    pub async fn detach_patient(
        &self,
        group_code: &GroupCode,
        patient: &PatientId,
        effective: EffectiveSettings,
        message: HealthMessage,
    ) -> Result<PatientDetachment> {
        let (group, owner) = (group_code, patient);
        let (group_code, patient) = (group.clone(), owner.clone());
        self.db
            .write_in_line(&[group.into(), owner.into()], async move |tx| {
                if !hold_group(tx, &group_code).await? {
                    return Err(StoreError::Gone("group"));
                }
                if tx.query_opt(IS_HELD, &[&group_code, &patient], |_| Ok(())).await?.is_none() {
                    return Ok(PatientDetachment::NotHeld);
                }
                // So that they cannot leave two groups at once.
                tx.execute(HOLD_PATIENT, &[&patient]).await?;
                if tx.query_opt(HELD_ELSEWHERE, &[&group_code, &patient], |_| Ok(())).await?.is_none() {
                    return Ok(PatientDetachment::LastGroup);
                }
                tx.put(REMEMBER, &[&group_code, &patient, &effective.at_ms]).await?;
                // Before the settings are reckoned: those of the group that was left count no more.
                tx.put(DETACH, &[&group_code, &patient]).await?;
                let detached = NewEvent::of_group(EventType::PatientDetached, &group_code, effective.at_ms);
                events::append(tx, &patient, &[detached]).await?;
                message.enqueue(tx).await?;
                effective.enqueue(tx, &patient).await?;
                Ok(PatientDetachment::Detached)
            })
            .await
    }
}

/// Returns whether a group has a member in force who manages it, other than an account.
pub(super) async fn has_other_manager(tx: &Tx<'_>, account: &AccountId, group: &GroupCode) -> Result<bool> {
    Ok(tx.query_opt(OTHER_MANAGER, &[&account, &group], |_| Ok(())).await?.is_some())
}
