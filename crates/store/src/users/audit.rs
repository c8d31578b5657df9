//! The audit log: entries in the order of their completion, chained by hashes.
//!
//! An entry is numbered and stamped inside the transaction of what it is about, behind the one row that all such
//! transactions raise. Timeline of why: A takes the time 10 and waits; someone reads the log up to 11; A commits its
//! entry of 10, and a past that was read has changed. So a reader raises the same row to the present first, which
//! lets A finish before and stamps whatever comes later with a later time.

use crate::names::ActionCode;
use std::sync::Arc;

use boxed_futures::boxed_futures;

use super::audit_link::{AuditEntry, hash_details, hash_entry};
use super::db::UsersDb;
use super::{audit_head, security_events};
use crate::audit_entry::NewAuditEntry;
use crate::audit_key::AuditKey;
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::{AccountId, ApiKeyId, BraceletId, PatientId, UserId};
use crate::security_event::NewSecurityEvent;
use crate::texts::sql;

/// What is asked of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Who must appear as acting user, primary or secondary entity.
    pub appears: AccountId,
    /// First time, ms, inclusive.
    pub from_ms: i64,
    /// Last time, ms, inclusive.
    pub to_ms: i64,
    /// Only this action code.
    pub action_type: Option<ActionCode>,
    /// Only entries about the groups of this API key, their patients, or the bracelets that these wear.
    pub scoped_key: Option<ApiKeyId>,
}

/// Entries for a transaction to write, and the clock that stamps them there.
#[derive(Clone)]
pub struct Audit {
    /// The entries.
    pub entries: Vec<NewAuditEntry>,
    /// Security events of the same operation.
    pub security: Vec<NewSecurityEvent>,
    /// The time, ms.
    pub clock: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// What seals the end of the log.
    pub key: AuditKey,
}

sql! {
    ADD = "INSERT INTO audit_entry (number, id, time_ms, action_type, user_id, user_role, primary_entity_id,
        primary_entity_type, secondary_entity_id, secondary_entity_type, details, salt, details_hash, entry_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    /// Whether an entry is about somebody who was erased.
    ABOUT_ERASED = "SELECT patient FROM erasure WHERE patient IN ($1, $2, $3) LIMIT 1";
    FORGET_DETAILS = "UPDATE audit_entry SET details = NULL, salt = NULL
        WHERE (user_id = $1 OR primary_entity_id = $1 OR secondary_entity_id = $1) AND details IS NOT NULL";
    FORGET_MENTIONS = "UPDATE audit_entry SET details = NULL, salt = NULL
        WHERE primary_entity_id = $1 AND details LIKE $2";
    ACTOR = "SELECT user_id FROM audit_entry WHERE primary_entity_id = $1 AND action_type = $2
        ORDER BY time_ms DESC, number DESC LIMIT 1";
}

impl Audit {
    /// Writes the entries, in the transaction that does what they are about.
    pub(super) async fn append(&self, tx: &Tx<'_>) -> Result<()> {
        for entry in &self.entries {
            append(tx, entry, self).await?;
        }
        // Behind the entries, which hold the head: the numbers of events are given under it.
        if self.entries.is_empty() && !self.security.is_empty() {
            audit_head::hold(tx).await?;
        }
        for event in &self.security {
            security_events::write(tx, event, (self.clock)()).await?;
        }
        Ok(())
    }
}

#[boxed_futures]
impl UsersDb {
    /// Writes entries of something that needs no other change in this database.
    pub async fn record(&self, audit: Audit) -> Result<()> {
        self.write_logged(async move |tx| audit.append(tx).await).await
    }

    /// Returns who last did something to a patient, by the code of the action; `None` when nobody did.
    pub async fn actor_of(&self, action_type: ActionCode, patient: &PatientId) -> Result<Option<UserId>> {
        let (action_type, patient) = (action_type.name(), patient.clone());
        self.db.read(async move |tx| tx.query_opt(ACTOR, &[&patient, &action_type], |row| row.get(0)).await).await
    }
}

/// Drops the details of all entries in which somebody appears, and of those of `mentioned_by` (bracelets) that mention
/// them; entries that are under way lose theirs when they are written. Answers how many lost theirs. The erasure's own
/// row has to be there before.
pub(super) async fn forget_details(tx: &Tx<'_>, uuid: &PatientId, mentioned_by: &[BraceletId]) -> Result<u64> {
    // Entries under way are either written by now and lose their details here, or find the erasure and drop them.
    audit_head::hold(tx).await?;
    let mut forgotten = tx.execute(FORGET_DETAILS, &[&uuid]).await?;
    // A uuid has no sign that LIKE reads as another.
    let mention = format!("%{uuid}%");
    for entity in mentioned_by {
        forgotten += tx.execute(FORGET_MENTIONS, &[entity, &mention]).await?;
    }
    Ok(forgotten)
}

/// Without details that would identify somebody who was erased.
async fn without_erased(tx: &Tx<'_>, new: &NewAuditEntry) -> Result<NewAuditEntry> {
    let mut entry = new.clone();
    if entry.details.is_some() {
        let secondary = entry.secondary.as_ref().map(|entity| &entity.id);
        if tx.query_opt(ABOUT_ERASED, &[&entry.user_id, &entry.primary.id, &secondary], |_| Ok(())).await?.is_some() {
            entry.details = None;
        }
    }
    Ok(entry)
}

async fn append(tx: &Tx<'_>, new: &NewAuditEntry, audit: &Audit) -> Result<()> {
    let now_ms = (audit.clock)();
    // The head first: from here on entries follow each other, and an erasure that is under way has either committed or
    // waits.
    let head = audit_head::take_next(tx).await?;
    let new = &without_erased(tx, new).await?;
    let entry = AuditEntry {
        number: head.number + 1,
        // Clocks of two nodes differ; the order of the log is that of its times.
        time_ms: now_ms.max(head.time_ms),
        id: new.id.clone(),
        action_type: new.action_type.clone(),
        user_id: new.user_id.clone(),
        user_role: new.user_role.name().to_owned(),
        primary: new.primary.clone(),
        secondary: new.secondary.clone(),
        details: new.details.clone(),
    };
    // Without details there is no salt: one that could be taken away unnoticed would look like an erasure.
    let salt = new.details.as_ref().map(|_| new.salt.to_vec());
    let details_hash = hash_details(salt.as_deref().unwrap_or_default(), new.details.as_deref());
    let entry_hash = hash_entry(head.entry_hash.as_deref().unwrap_or_default(), &entry, &details_hash);
    let secondary_id = entry.secondary.as_ref().map(|entity| &entity.id);
    let secondary_kind = entry.secondary.as_ref().map(|entity| &entity.kind);
    head.put_last(tx, &audit.key, (entry.time_ms, entry_hash.clone())).await?;
    tx.execute(
        ADD,
        &[
            &entry.number,
            &entry.id,
            &entry.time_ms,
            &entry.action_type,
            &entry.user_id,
            &entry.user_role,
            &entry.primary.id,
            &entry.primary.kind,
            &secondary_id,
            &secondary_kind,
            &entry.details,
            &salt,
            &details_hash,
            &entry_hash,
        ],
    )
    .await
    .map(drop)
}
