//! Security events that are to be written.

use crate::ids::{EntityId, UserId};
use crate::names::ActorRole;
use crate::security_event_type::SecurityEventType;

/// Something that bears on security and is to be written down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewSecurityEvent {
    /// Type.
    pub event_type: SecurityEventType,
    /// How many of the same it represents, at least 1.
    pub count: i64,
    /// Patient or account that did it; `None` where nobody was recognised.
    pub actor: Option<UserId>,
    /// Role of that, where it is known.
    pub actor_role: Option<ActorRole>,
    /// Patient, account or thing that it was done to.
    pub subject: Option<EntityId>,
    /// Keyed hash of a name that nobody has.
    pub name_hash: Option<String>,
    /// Address that it came from.
    pub address: Option<String>,
    /// What belongs to the type, such as a route; no personal datum.
    pub detail: Option<String>,
}

impl NewSecurityEvent {
    /// Makes an event without anybody and anything.
    #[must_use]
    pub fn new(event_type: SecurityEventType) -> Self {
        NewSecurityEvent {
            event_type,
            count: 1,
            actor: None,
            actor_role: None,
            subject: None,
            name_hash: None,
            address: None,
            detail: None,
        }
    }
}
