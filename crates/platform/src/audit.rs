//! The audit log's side of every operation: which entry it writes.

use std::sync::Arc;

use store::{Audit, Entity, NewAuditEntry};

use crate::access::Researcher;
use crate::environment::Platform;

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A patient was enrolled.
    PatientCreate,
    /// A patient joined a group.
    PatientAttachGroup,
    /// A group was created.
    GroupCreate,
    /// A patient used his voucher.
    UserRegistered,
    /// Someone logged in with a password.
    UserLogin,
}

impl Action {
    /// The action code.
    pub fn code(self) -> &'static str {
        match self {
            Action::PatientCreate => "PATIENT_CREATE",
            Action::PatientAttachGroup => "PATIENT_ATTACH_GROUP",
            Action::GroupCreate => "GROUP_CREATE",
            Action::UserRegistered => "USER_REGISTERED",
            Action::UserLogin => "USER_LOGIN",
        }
    }
}

/// A patient as an entity of an entry.
pub(crate) fn patient_entity(uuid: &str) -> Entity {
    Entity { id: uuid.to_owned(), kind: "patient.id".to_owned() }
}

/// A group as an entity of an entry.
pub(crate) fn group_entity(group_id: &str) -> Entity {
    Entity { id: group_id.to_owned(), kind: "group.id".to_owned() }
}

/// A user, patient or account, as an entity of an entry.
pub(crate) fn user_entity(uuid: &str) -> Entity {
    Entity { id: uuid.to_owned(), kind: "user.id".to_owned() }
}

impl Platform {
    /// An entry of what a caller of the integration API did.
    pub(crate) fn entry(
        &self,
        action: Action,
        researcher: &Researcher,
        primary: Entity,
        secondary: Option<Entity>,
    ) -> NewAuditEntry {
        self.entry_by(action, &researcher.account, researcher.role.name(), primary, secondary)
    }

    /// An entry of what someone did.
    pub(crate) fn entry_by(
        &self,
        action: Action,
        user_id: &str,
        user_role: &str,
        primary: Entity,
        secondary: Option<Entity>,
    ) -> NewAuditEntry {
        NewAuditEntry {
            id: self.new_record_id(),
            action_type: action.code().to_owned(),
            user_id: user_id.to_owned(),
            user_role: user_role.to_owned(),
            primary,
            secondary,
            details: None,
            salt: self.random_bytes(),
        }
    }

    /// Entries for a transaction to write, stamped there.
    pub(crate) fn audit(&self, entries: Vec<NewAuditEntry>) -> Audit {
        Audit { entries, clock: Arc::clone(&self.clock) }
    }
}
