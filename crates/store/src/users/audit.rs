//! The audit log: entries in the order of their completion, chained by hashes.
//!
//! An entry is numbered and stamped inside the transaction of what it is about, behind the one row that all such
//! transactions raise. Timeline of why: A takes the time 10 and waits; someone reads the log up to 11; A commits its
//! entry of 10, and a past that was read has changed. So a reader raises the same row to the present first, which
//! lets A finish before and stamps whatever comes later with a later time.
//!
//! The chain covers every field, but of the details only a salted hash: erasure can drop salt and details, and the
//! chain stays whole. Entries without details have no salt either.

use crate::names::ActionCode;
use std::sync::Arc;

use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};

use super::db::UsersDb;
use super::{audit_head, security_events};
use crate::audit_entry::{Entity, NewAuditEntry};
use crate::engine::row::Columns;
use crate::engine::{Tx, Work};
use crate::error::Result;
use crate::ids::{AccountId, ApiKeyId, AuditEntryId, BraceletId, EntityId, PatientId, UserId};
use crate::security_event::NewSecurityEvent;
use crate::texts::{record, sql};

/// An entry as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Position in the log, from 1.
    pub number: i64,
    /// Time of completion, ms.
    pub time_ms: i64,
    /// Record identifier.
    pub id: AuditEntryId,
    /// Action code.
    pub action_type: String,
    /// Who did it.
    pub user_id: UserId,
    /// The role of who did it, as it is written: the chain is followed over whatever an entry has been changed to.
    pub user_role: String,
    /// What it was done to.
    pub primary: Entity,
    /// What else has a part in it.
    pub secondary: Option<Entity>,
    /// Further particulars, as JSON, unless erased.
    pub details: Option<String>,
}

/// Length of the salt of an entry's details.
const SALT_BYTES: usize = 16;

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
}

/// The second entity of an entry; it has none of the two columns or both.
struct MaybeEntity {
    id: Option<EntityId>,
    kind: Option<String>,
}

fn read_secondary(columns: &mut Columns<'_, '_>) -> Result<Option<Entity>> {
    let MaybeEntity { id, kind } = read_maybe(columns)?;
    // Half an entity is none that was ever written. It is read as one, or `verify_audit` would take it for none at all.
    let is_there = id.is_some() || kind.is_some();
    Ok(is_there.then(|| Entity { id: id.unwrap_or_else(|| EntityId::new("")), kind: kind.unwrap_or_default() }))
}

record! {
    primary_columns!("primary_entity_"), read_primary(columns) -> Entity { id, kind = "primary_entity_type" }
}

record! {
    secondary_columns!("secondary_entity_"), read_maybe(columns) -> MaybeEntity { id, kind = "secondary_entity_type" }
}

record! {
    entry_columns!(""), pub(super) read_entry(columns) -> AuditEntry {
        number, time_ms, id, action_type, user_id, user_role, primary <- primary_columns!(read_primary),
        secondary <- secondary_columns!(read_secondary), details,
    }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use entry_columns;
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use primary_columns;
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use secondary_columns;

record! {
    link_columns!(""), read_link(row) -> Link {
        entry <- entry_columns!(read_entry), salt, details_hash, entry_hash,
    }
}

record! {
    head_columns!(""), read_head(row) -> Head { number, time_ms, entry_hash }
}

sql! {
    NEXT = concat!("UPDATE audit_head SET number = number + 1 RETURNING ", head_columns!());
    HEAD = "UPDATE audit_head SET time_ms = $1, entry_hash = $2";
    ADD = "INSERT INTO audit_entry (number, id, time_ms, action_type, user_id, user_role, primary_entity_id,
        primary_entity_type, secondary_entity_id, secondary_entity_type, details, salt, details_hash, entry_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    CHAIN = concat!("SELECT ", link_columns!(), " FROM audit_entry WHERE number > $1 ORDER BY number LIMIT 1000");
    /// Whether an entry is about somebody who was erased.
    ABOUT_ERASED = "SELECT patient FROM erasure WHERE patient IN ($1, $2, $3) LIMIT 1";
    FORGET_DETAILS = "UPDATE audit_entry SET details = NULL, salt = NULL
        WHERE (user_id = $1 OR primary_entity_id = $1 OR secondary_entity_id = $1) AND details IS NOT NULL";
    FORGET_MENTIONS = "UPDATE audit_entry SET details = NULL, salt = NULL
        WHERE primary_entity_id = $1 AND details LIKE $2";
    ACTOR = "SELECT user_id FROM audit_entry WHERE primary_entity_id = $1 AND action_type = $2
        ORDER BY time_ms DESC, number DESC LIMIT 1";
    END_OF_CHAIN = concat!("SELECT ", head_columns!(), " FROM audit_head");
}

impl Audit {
    /// Writes the entries, in the transaction that does what they are about.
    pub(super) async fn append(&self, tx: &Tx<'_>) -> Result<()> {
        for entry in &self.entries {
            append(tx, entry, (self.clock)()).await?;
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
    pub async fn actor_of(&self, action_type: &str, patient: &PatientId) -> Result<Option<UserId>> {
        let (action_type, patient) = (action_type.to_owned(), patient.clone());
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

async fn append(tx: &Tx<'_>, new: &NewAuditEntry, now_ms: i64) -> Result<()> {
    // The head first: from here on entries follow each other, and an erasure that is under way has either committed or
    // waits.
    let head = tx.query_opt(NEXT, &[], read_head).await?;
    let new = &without_erased(tx, new).await?;
    let Head { number, time_ms: last_ms, entry_hash } = head.unwrap_or_default();
    let last_hash = entry_hash.unwrap_or_default();
    let entry = AuditEntry {
        number,
        // Clocks of two nodes differ; the order of the log is that of its times.
        time_ms: now_ms.max(last_ms),
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
    let entry_hash = hash_entry(&last_hash, &entry, &details_hash);
    let secondary_id = entry.secondary.as_ref().map(|entity| &entity.id);
    let secondary_kind = entry.secondary.as_ref().map(|entity| &entity.kind);
    tx.put(HEAD, &[&entry.time_ms, &entry_hash]).await?;
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

#[boxed_futures]
impl UsersDb {
    /// Follows the chain from its start. How many entries hold, and the number of the first that is not what was
    /// written.
    pub async fn verify_audit(&self) -> Result<(i64, Option<i64>)> {
        self.db
            .with_deadlines_of(Work::Scan)
            .read(async |tx| {
                let (mut number, mut last_hash) = (0, Vec::new());
                loop {
                    let links = tx.query(CHAIN, &[&number], read_link).await?;
                    if links.is_empty() {
                        break;
                    }
                    for link in links {
                        if link.entry.number != number + 1 || !link.holds(&last_hash) {
                            return Ok((number, Some(number + 1)));
                        }
                        number = link.entry.number;
                        last_hash = link.entry_hash;
                    }
                }
                // Entries that were cut off at the end leave a chain that holds; the head says where it ended.
                let end = tx.query_opt(END_OF_CHAIN, &[], read_head).await?.unwrap_or_default();
                let broken = end.number != number || end.entry_hash.unwrap_or_default() != last_hash;
                Ok((number, broken.then_some(number + 1)))
            })
            .await
    }
}

/// The end of the log.
#[derive(Default)]
struct Head {
    /// Number of the last entry; 0 before the first one.
    number: i64,
    time_ms: i64,
    /// Its hash; `None` before the first entry.
    entry_hash: Option<Vec<u8>>,
}

/// An entry with what binds it to the one before.
struct Link {
    entry: AuditEntry,
    salt: Option<Vec<u8>>,
    details_hash: Vec<u8>,
    entry_hash: Vec<u8>,
}

impl Link {
    fn holds(&self, last_hash: &[u8]) -> bool {
        // Erased details leave only their hash.
        let details = self.entry.details.as_deref();
        let details_hold = match &self.salt {
            // Nothing is hashed like an empty text or an empty salt, so neither may represent it.
            Some(salt) => {
                salt.len() == SALT_BYTES && details != Some("") && hash_details(salt, details) == self.details_hash
            }
            None => details.is_none(),
        };
        let secondary = self.entry.secondary.as_ref();
        let is_whole = secondary.is_none_or(|entity| !entity.id.as_str().is_empty() && !entity.kind.is_empty());
        details_hold && is_whole && hash_entry(last_hash, &self.entry, &self.details_hash) == self.entry_hash
    }
}

fn hash_details(salt: &[u8], details: Option<&str>) -> Vec<u8> {
    Sha256::new().chain_update(salt).chain_update(details.unwrap_or_default()).finalize().to_vec()
}

/// SHA-256 of the hash before and every field, each with its length so that no two entries read the same.
fn hash_entry(last_hash: &[u8], entry: &AuditEntry, details_hash: &[u8]) -> Vec<u8> {
    // Number and time are hashed too: an entry can be neither moved nor taken out of the middle.
    let (number, time_ms) = (entry.number.to_be_bytes(), entry.time_ms.to_be_bytes());
    let secondary = entry.secondary.as_ref();
    let fields: [&[u8]; 12] = [
        last_hash,
        &number,
        &time_ms,
        entry.id.as_str().as_bytes(),
        entry.action_type.as_bytes(),
        entry.user_id.as_str().as_bytes(),
        entry.user_role.as_bytes(),
        entry.primary.id.as_str().as_bytes(),
        entry.primary.kind.as_bytes(),
        secondary.map_or(&[], |entity| entity.id.as_str().as_bytes()),
        secondary.map_or(&[], |entity| entity.kind.as_bytes()),
        details_hash,
    ];
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().to_vec()
}
