//! Audit entries that are to be written when their operation completes.

use serde::{Deserialize, Serialize};

use crate::ids::{AuditEntryId, EntityId, UserId};
use crate::names::ActorRole;

/// Something that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Its identity.
    pub id: EntityId,
    /// Its kind, such as `patient.id`.
    pub kind: String,
}

/// An entry that is to be written when its operation completes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewAuditEntry {
    /// Record identifier.
    pub id: AuditEntryId,
    /// Action code.
    pub action_type: String,
    /// Who did it.
    pub user_id: UserId,
    /// The role of who did it.
    pub user_role: ActorRole,
    /// What it was done to.
    pub primary: Entity,
    /// What else has a part in it.
    pub secondary: Option<Entity>,
    /// Further particulars, as JSON; erasure drops them.
    pub details: Option<String>,
    /// Random bytes that keep the details from being guessed out of their hash.
    pub salt: [u8; 16],
}
