//! The end of a person in this database.
//!
//! Erasing a patient removes their row, their sessions, their place in groups and on bracelets, and the details of
//! every audit entry in which they appear. The entries stay, with the patient's uuid, from which nothing
//! leads back to the person any more. A row of `erasure` stays too: it keeps what is still under way from writing the
//! patient's details, and holds the receipt.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use serde_json::json;

use super::db::UsersDb;
use super::group_settings::hold_group;
use super::messages::{self, HealthMessage};
use super::security_events::NameHashes;
use super::{audit, audit_head};
use super::{recovery_codes, security_events};
use crate::engine::{Tx, Work};
use crate::error::{Result, StoreError};
use crate::events::{self, EventType, NewEvent};
use crate::health::changes::HealthChange;
use crate::ids::{AccountId, BraceletId, GroupCode, PatientId};
use crate::names::PatientState;
use crate::readers::json;
use crate::texts::{record, sql};

/// Time after an erasure in which events that were counted before it may be written, ms; twice the minute that nodes count for.
const LATE_EVENTS_MS: i64 = 120_000;

/// What was erased, by kind.
pub type Counts = BTreeMap<String, u64>;

/// An erasure as this database remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Who was erased.
    pub patient: PatientId,
    /// Time, ms.
    pub erased_ms: i64,
    /// What went from this database, by kind.
    pub counts: Counts,
    /// When the database files were rewritten since, ms.
    pub overwritten_ms: Option<i64>,
}

/// Erasures after which the files have not been rewritten yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToOverwrite {
    /// Patients whose erasure is finished in both databases.
    pub patients: Vec<PatientId>,
    /// Accounts.
    pub accounts: Vec<AccountId>,
}

impl ToOverwrite {
    /// How many erasures they are.
    pub fn count(&self) -> usize {
        self.patients.len() + self.accounts.len()
    }
}

/// What is to be known for the erasure of a patient.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatientErasure {
    /// Names that the patient logs in by.
    pub names: NameHashes,
    /// State without which nobody is erased; any where it is absent.
    pub in_state: Option<PatientState>,
}

/// How the erasure of an account ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountErasure {
    /// It is gone; what went, by kind.
    Erased(Counts),
    /// A group would have patients and nobody who manages it. Nothing was changed.
    LastManager,
}

record! {
    erasure_columns!(""), read_erasure(row) -> Erasure { patient, erased_ms, counts by json, overwritten_ms }
}

sql! {
    STATE = "SELECT state FROM patient WHERE uuid = $1";
    ADD = "INSERT INTO erasure (patient, counts, erased_ms) VALUES ($1, '{}', $2)";
    COUNTED = "UPDATE erasure SET counts = $2 WHERE patient = $1";
    FIND = concat!("SELECT ", erasure_columns!(), " FROM erasure WHERE patient = $1");
    BRACELETS = "SELECT DISTINCT bracelet FROM bracelet_attachment WHERE patient = $1";
    DELETE_ATTACHMENTS = "DELETE FROM bracelet_attachment WHERE patient = $1";
    GROUPS = "SELECT group_code FROM group_patient WHERE patient = $1 ORDER BY attached_ms, group_code";
    DELETE_GROUPS = "DELETE FROM group_patient WHERE patient = $1";
    DELETE_PAST_GROUPS = "DELETE FROM past_attachment WHERE patient = $1";
    DELETE_SESSIONS = "DELETE FROM session WHERE owner = $1";
    DELETE_CONSENTS = "DELETE FROM oauth_consent WHERE patient = $1";
    /// Readers of the log count positions, so the rows stay.
    EMPTY_EVENTS = "UPDATE event SET body = '{}' WHERE patient = $1";
    DELETE_PATIENT = "DELETE FROM patient WHERE uuid = $1";
    NOT_OVERWRITTEN = "SELECT e.patient FROM erasure e WHERE e.overwritten_ms IS NULL
        AND NOT EXISTS (SELECT 1 FROM event v WHERE v.patient = e.patient AND v.message IS NOT NULL)";
    OVERWRITTEN = "UPDATE erasure SET overwritten_ms = $2 WHERE patient = $1";
    ADD_ACCOUNT = "INSERT INTO account_erasure (account, erased_ms) VALUES ($1, $2)";
    ACCOUNTS_NOT_OVERWRITTEN = "SELECT account FROM account_erasure ORDER BY account";
    /// What the audit log says of it stays.
    FORGET_ACCOUNT = "DELETE FROM account_erasure WHERE account = $1 AND erased_ms < $2";
    GROUPS_OF_ACCOUNT = "SELECT group_code FROM membership WHERE account = $1 ORDER BY group_code";
    ALONE_WITH_PATIENTS = "SELECT g.patient FROM group_patient g WHERE g.group_code = $2 AND NOT EXISTS (
        SELECT 1 FROM membership m JOIN account a ON a.uuid = m.account
        WHERE m.group_code = $2 AND m.account <> $1 AND a.role <> 'hcp' AND a.disabled_ms IS NULL) LIMIT 1";
    HAND_BRACELETS_ON = "UPDATE bracelet SET registered_by = COALESCE(
        (SELECT MIN(theirs.account) FROM membership mine JOIN membership theirs ON theirs.group_code = mine.group_code
         WHERE mine.account = $1 AND theirs.account <> $1), registered_by) WHERE registered_by = $1";
    DELETE_KEY_GROUPS = "DELETE FROM api_key_group WHERE api_key IN (SELECT id FROM api_key WHERE account = $1)";
    DELETE_KEYS = "DELETE FROM api_key WHERE account = $1";
    DELETE_PORTAL_SESSIONS = "DELETE FROM portal_session WHERE account = $1";
    DELETE_TOTP = "DELETE FROM totp WHERE account = $1";
    DELETE_MEMBERSHIPS = "DELETE FROM membership WHERE account = $1";
    DELETE_ACCOUNT = "DELETE FROM account WHERE uuid = $1";
}

#[boxed_futures]
impl UsersDb {
    /// Erases a patient from this database and enqueues the same for the health database; `message` is that change with
    /// the entries to write when it is made. [`StoreError::Gone`] when there is no such patient, [`StoreError::Conflict`] when
    /// they are in another state than is asked for.
    pub async fn erase_patient(
        &self,
        patient: &PatientId,
        erasure: PatientErasure,
        at_ms: i64,
        message: HealthMessage,
    ) -> Result<()> {
        let (owner, patient) = (patient, patient.clone());
        self.db
            .with_deadlines_of(Work::Deletion)
            .write_in_line(&[owner.into(), audit_head::LINE], async move |tx| {
                // Freed pages are overwritten at once. That slows every deletion, so it ends with this one.
                tx.overwrite_deleted(true)?;
                let erased = erase_patient(tx, (&patient, &erasure), at_ms, &message).await;
                tx.overwrite_deleted(false)?;
                erased
            })
            .await
    }

    /// Returns an erasure; `None` when nobody of this uuid was erased.
    pub async fn erasure(&self, patient: &PatientId) -> Result<Option<Erasure>> {
        let patient = patient.clone();
        self.db.read(async move |tx| tx.query_opt(FIND, &[&patient], read_erasure).await).await
    }

    /// Finished erasures after which the files have not been rewritten yet.
    pub async fn erasures_to_overwrite(&self) -> Result<ToOverwrite> {
        self.db
            .read(async |tx| {
                let patients = tx.query(NOT_OVERWRITTEN, &[], |row| row.get(0)).await?;
                let accounts = tx.query(ACCOUNTS_NOT_OVERWRITTEN, &[], |row| row.get(0)).await?;
                Ok(ToOverwrite { patients, accounts })
            })
            .await
    }

    /// Notes that the files have been rewritten since these erasures. An account that was erased a moment ago is listed once
    /// more: events about it can still be written, and find its erasure.
    pub async fn note_overwritten(&self, erased: ToOverwrite, now_ms: i64) -> Result<()> {
        self.db
            .write(async move |tx| {
                for patient in &erased.patients {
                    tx.put(OVERWRITTEN, &[patient, &now_ms]).await?;
                }
                let before_ms = now_ms - LATE_EVENTS_MS;
                for account in &erased.accounts {
                    tx.put(FORGET_ACCOUNT, &[account, &before_ms]).await?;
                }
                Ok(())
            })
            .await
    }

    /// Empties the write-ahead log, in which what was deleted is still; false when somebody reads it.
    pub async fn empty_log(&self) -> Result<bool> {
        self.db.empty_log().await
    }

    /// Returns whether the database is a file of ours.
    pub fn is_file(&self) -> bool {
        self.db.is_file()
    }

    /// Rewrites the database file without what was deleted, pages and write-ahead log, while writers wait; on PostgreSQL removes
    /// dead rows.
    pub async fn overwrite_deleted(&self) -> Result<()> {
        self.db.rewrite().await
    }

    /// Erases an account with its keys, memberships and sessions, hands its bracelets on to somebody of its groups,
    /// and enqueues for the health database the end of the tokens by which it reads. [`StoreError::Gone`] when there is
    /// none such.
    pub async fn erase_account(
        &self,
        account: &AccountId,
        names: NameHashes,
        message: HealthMessage,
    ) -> Result<AccountErasure> {
        let account = account.clone();
        self.db
            .with_deadlines_of(Work::Deletion)
            .write_in_line(&[audit_head::LINE], async move |tx| {
                tx.overwrite_deleted(true)?;
                let erased = erase_account(tx, (&account, &names), &message).await;
                tx.overwrite_deleted(false)?;
                erased
            })
            .await
    }
}

async fn erase_patient(
    tx: &Tx<'_>,
    (patient, PatientErasure { names, in_state }): (&PatientId, &PatientErasure),
    at_ms: i64,
    message: &HealthMessage,
) -> Result<()> {
    // First, because it says whether the patient is there and holds them.
    message.enqueue(tx).await?;
    // While the patient is held: one who has begun since the caller looked would be erased with all that was measured.
    if let Some(wanted) = in_state {
        let state: Option<PatientState> = tx.query_opt(STATE, &[&patient], |row| row.get(0)).await?;
        if state != Some(*wanted) {
            return Err(StoreError::Conflict("the patient is in another state".to_owned()));
        }
    }
    // Before the details are dropped: an entry that is written from now on finds that the patient is erased.
    tx.put(ADD, &[&patient, &at_ms]).await?;
    let bracelets: Vec<BraceletId> = tx.query(BRACELETS, &[&patient], |row| row.get(0)).await?;
    let audit_details = audit::forget_details(tx, patient, &bracelets).await?;
    strip_messages(tx, patient, at_ms).await?;
    // Before the event of the erasure itself, which has to keep its groups.
    tx.put(EMPTY_EVENTS, &[&patient]).await?;
    // Read before they are removed: members of these groups are informed, and could not be found afterwards.
    let groups: Vec<GroupCode> = tx.query(GROUPS, &[&patient], |row| row.get(0)).await?;
    let body = json!({ "groups": groups });
    events::append(tx, patient, &[NewEvent { event_type: EventType::PatientErased, time_ms: at_ms, body }]).await?;
    let past_groups = tx.execute(DELETE_PAST_GROUPS, &[&patient]).await?;
    let counts = Counts::from([
        ("audit_details".to_owned(), audit_details),
        ("security_events".to_owned(), security_events::forget_patient(tx, patient, names).await?),
        ("bracelet_attachments".to_owned(), tx.execute(DELETE_ATTACHMENTS, &[&patient]).await?),
        ("groups".to_owned(), past_groups + tx.execute(DELETE_GROUPS, &[&patient]).await?),
        ("users_sessions".to_owned(), tx.execute(DELETE_SESSIONS, &[&patient]).await?),
        ("consents".to_owned(), tx.execute(DELETE_CONSENTS, &[&patient]).await?),
        ("persons".to_owned(), tx.execute(DELETE_PATIENT, &[&patient]).await?),
    ]);
    let counts = serde_json::to_string(&counts).map_err(|error| StoreError::Damaged(error.to_string()))?;
    tx.execute(COUNTED, &[&patient, &counts]).await.map(drop)
}

/// What earlier operations have enqueued becomes the erasure too, and keeps its entries without their details.
async fn strip_messages(tx: &Tx<'_>, patient: &PatientId, at_ms: i64) -> Result<()> {
    for mut pending in messages::of_patient(tx, patient).await? {
        // A change that was delivered after the erasure would otherwise carry personal data until then.
        pending.change = HealthChange::ErasePatient { uuid: patient.clone(), at_ms };
        for entry in &mut pending.entries {
            entry.details = None;
        }
        messages::replace(tx, pending).await?;
    }
    Ok(())
}

async fn erase_account(
    tx: &Tx<'_>,
    (account, names): (&AccountId, &NameHashes),
    message: &HealthMessage,
) -> Result<AccountErasure> {
    let groups: Vec<GroupCode> = tx.query(GROUPS_OF_ACCOUNT, &[&account], |row| row.get(0)).await?;
    for group in &groups {
        // Two managers of one study that are erased at once would each find the other one still there. Held in the
        // order of the codes, so that they do not wait for each other.
        hold_group(tx, group).await?;
        if tx.query_opt(ALONE_WITH_PATIENTS, &[&account, group], |_| Ok(())).await?.is_some() {
            return Ok(AccountErasure::LastManager);
        }
    }
    // While the memberships still say who shares the bracelets.
    tx.put(HAND_BRACELETS_ON, &[&account]).await?;
    // From the rows that refer to those that are referred to, as foreign keys ask.
    tx.put(DELETE_KEY_GROUPS, &[&account]).await?;
    let counts = Counts::from([
        ("api_keys".to_owned(), tx.execute(DELETE_KEYS, &[&account]).await?),
        ("memberships".to_owned(), tx.execute(DELETE_MEMBERSHIPS, &[&account]).await?),
        ("users_sessions".to_owned(), tx.execute(DELETE_SESSIONS, &[&account]).await?),
        ("portal_sessions".to_owned(), tx.execute(DELETE_PORTAL_SESSIONS, &[&account]).await?),
        ("security_events".to_owned(), security_events::forget_account(tx, account, names).await?),
    ]);
    recovery_codes::remove(tx, account).await?;
    tx.put(DELETE_TOTP, &[&account]).await?;
    if tx.execute(DELETE_ACCOUNT, &[&account]).await? == 0 {
        return Err(StoreError::Gone("account"));
    }
    tx.put(ADD_ACCOUNT, &[&account, &message.created_ms]).await?;
    message.enqueue(tx).await?;
    Ok(AccountErasure::Erased(counts))
}
