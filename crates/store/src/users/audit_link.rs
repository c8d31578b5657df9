//! Rows of the audit log, and what binds each to the one before.
//!
//! The chain covers every field, but of the details only a salted hash: erasure can drop salt and details, and the
//! chain stays whole. Entries without details have no salt either.

use sha2::{Digest, Sha256};

use crate::audit_entry::Entity;
use crate::engine::row::Columns;
use crate::error::Result;
use crate::ids::{AuditEntryId, EntityId, UserId};
use crate::texts::record;

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
    link_columns!(""), pub(super) read_link(row) -> Link {
        entry <- entry_columns!(read_entry), salt, details_hash, entry_hash,
    }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(super) use link_columns;

/// An entry with what binds it to the one before.
pub(super) struct Link {
    pub entry: AuditEntry,
    salt: Option<Vec<u8>>,
    details_hash: Vec<u8>,
    pub entry_hash: Vec<u8>,
}

impl Link {
    /// Returns whether the entry is what was written behind the entry of this hash.
    pub fn holds(&self, last_hash: &[u8]) -> bool {
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

/// Returns the hash that stays of details when they are erased.
pub(super) fn hash_details(salt: &[u8], details: Option<&str>) -> Vec<u8> {
    Sha256::new().chain_update(salt).chain_update(details.unwrap_or_default()).finalize().to_vec()
}

/// SHA-256 of the hash before and every field, each with its length so that no two entries read the same.
pub(super) fn hash_entry(last_hash: &[u8], entry: &AuditEntry, details_hash: &[u8]) -> Vec<u8> {
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
