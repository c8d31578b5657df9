//! The audit log's side of every operation: which entry it writes.

use std::sync::Arc;

use store::{Audit, AuditEntry, AuditQuery, Entity, NewAuditEntry};

use crate::access::Researcher;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A patient was enrolled.
    PatientCreate,
    /// Something about a patient was changed.
    PatientUpdate,
    /// A patient joined a group.
    PatientAttachGroup,
    /// A patient's raw data were asked for as an archive.
    PatientApiExport,
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
            Action::PatientUpdate => "PATIENT_UPDATE",
            Action::PatientAttachGroup => "PATIENT_ATTACH_GROUP",
            Action::PatientApiExport => "PATIENT_API_EXPORT",
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

/// Every action code there is.
const ACTION_CODES: [&str; 23] = [
    "PATIENT_CREATE",
    "PATIENT_UPDATE",
    "PATIENT_DELETE",
    "PATIENT_ATTACH_GROUP",
    "PATIENT_DETACH_GROUP",
    "PATIENT_PROFILE_UPDATE",
    "PATIENT_ALARM_CHANGE",
    "PATIENT_PORTAL_EXPORT",
    "PATIENT_API_EXPORT",
    "GROUP_CREATE",
    "GROUP_UPDATE",
    "GROUP_DELETE",
    "GROUP_SETTINGS_CHANGE",
    "USER_REGISTERED",
    "USER_LOGIN",
    "USER_DELETE",
    "ADD_HCP",
    "REMOVE_HCP",
    "BRACELET_CREATE",
    "BRACELET_UPDATE",
    "BRACELET_DELETE",
    "BRACELET_ATTACH",
    "BRACELET_DETACH",
];

impl Platform {
    /// The entries in which the caller appears, ascending; of those, only the ones of an action code when one is
    /// named. Both ends, ms, are inclusive. Forbidden without an active subscription.
    pub async fn audit_log(
        &self,
        researcher: &Researcher,
        from_ms: i64,
        to_ms: i64,
        action_code: Option<&str>,
    ) -> Result<Vec<AuditEntry>> {
        let now_ms = self.now_ms();
        researcher.require_subscription(now_ms)?;
        if action_code.is_some_and(|code| !ACTION_CODES.contains(&code)) {
            return Err(PlatformError::invalid("action_type", "is not an action code"));
        }
        let appears = researcher.account.clone();
        let query = AuditQuery { appears, from_ms, to_ms, action_type: action_code.map(str::to_owned) };
        Ok(self.users.audit_entries(query, now_ms).await?)
    }

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
