//! The audit log's side of every operation: which entry it writes.

use std::sync::Arc;

use store::{
    AccountId, ActorRole, Audit, AuditEntryId, BraceletId, Entity, EntityId, GroupId, NewAuditEntry, PatientId, Role,
    User, UserId,
};

use crate::core::Core;
use crate::core::access::{Entrance, Researcher};

/// The identity in entries of what no user did.
const SYSTEM: &str = "system";

/// What an entry is about, in the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A patient was enrolled.
    PatientCreate,
    /// Something about a patient was changed.
    PatientUpdate,
    /// A patient was erased.
    PatientDelete,
    /// A patient joined a group.
    PatientAttachGroup,
    /// A patient left a group.
    PatientDetachGroup,
    /// A patient's person or body was changed.
    PatientProfileUpdate,
    /// The alarms of a patient were changed.
    PatientAlarmChange,
    /// Raw data of a patient were exported from the portal.
    PatientPortalExport,
    /// Raw data of a patient were exported over the API.
    PatientApiExport,
    /// A group was created.
    GroupCreate,
    /// The texts of a group were changed.
    GroupUpdate,
    /// A group was deleted.
    GroupDelete,
    /// The settings of a group were changed.
    GroupSettingsChange,
    /// A patient used their voucher.
    UserRegistered,
    /// Someone logged in with a password.
    UserLogin,
    /// A patient or an account erased itself.
    UserDelete,
    /// An account became a member of a group.
    AddHcp,
    /// An account is no longer a member of a group.
    RemoveHcp,
    /// A bracelet was registered.
    BraceletCreate,
    /// A bracelet was changed.
    BraceletUpdate,
    /// A bracelet was removed.
    BraceletDelete,
    /// A patient was given a bracelet.
    BraceletAttach,
    /// A patient gave a bracelet back.
    BraceletDetach,
}

impl Action {
    /// Makes an export by somebody who came in this way.
    pub(crate) fn export_through(entrance: Entrance) -> Self {
        match entrance {
            Entrance::Key => Action::PatientApiExport,
            Entrance::Portal => Action::PatientPortalExport,
        }
    }

    /// Every action that there is.
    pub const ALL: [Action; 23] = [
        Action::PatientCreate,
        Action::PatientUpdate,
        Action::PatientDelete,
        Action::PatientAttachGroup,
        Action::PatientDetachGroup,
        Action::PatientProfileUpdate,
        Action::PatientAlarmChange,
        Action::PatientPortalExport,
        Action::PatientApiExport,
        Action::GroupCreate,
        Action::GroupUpdate,
        Action::GroupDelete,
        Action::GroupSettingsChange,
        Action::UserRegistered,
        Action::UserLogin,
        Action::UserDelete,
        Action::AddHcp,
        Action::RemoveHcp,
        Action::BraceletCreate,
        Action::BraceletUpdate,
        Action::BraceletDelete,
        Action::BraceletAttach,
        Action::BraceletDetach,
    ];

    /// Returns the action with this code.
    pub fn of_code(code: &str) -> Option<Self> {
        Action::ALL.into_iter().find(|action| action.code() == code)
    }

    /// Returns the action code.
    pub fn code(self) -> &'static str {
        match self {
            Action::PatientCreate => "PATIENT_CREATE",
            Action::PatientUpdate => "PATIENT_UPDATE",
            Action::PatientDelete => "PATIENT_DELETE",
            Action::PatientAttachGroup => "PATIENT_ATTACH_GROUP",
            Action::PatientDetachGroup => "PATIENT_DETACH_GROUP",
            Action::PatientProfileUpdate => "PATIENT_PROFILE_UPDATE",
            Action::PatientAlarmChange => "PATIENT_ALARM_CHANGE",
            Action::PatientPortalExport => "PATIENT_PORTAL_EXPORT",
            Action::PatientApiExport => "PATIENT_API_EXPORT",
            Action::GroupCreate => "GROUP_CREATE",
            Action::GroupUpdate => "GROUP_UPDATE",
            Action::GroupDelete => "GROUP_DELETE",
            Action::GroupSettingsChange => "GROUP_SETTINGS_CHANGE",
            Action::UserRegistered => "USER_REGISTERED",
            Action::UserLogin => "USER_LOGIN",
            Action::UserDelete => "USER_DELETE",
            Action::AddHcp => "ADD_HCP",
            Action::RemoveHcp => "REMOVE_HCP",
            Action::BraceletCreate => "BRACELET_CREATE",
            Action::BraceletUpdate => "BRACELET_UPDATE",
            Action::BraceletDelete => "BRACELET_DELETE",
            Action::BraceletAttach => "BRACELET_ATTACH",
            Action::BraceletDetach => "BRACELET_DETACH",
        }
    }
}

/// Returns a patient as an entity of an entry.
pub(crate) fn patient_entity(uuid: &PatientId) -> Entity {
    Entity { id: EntityId::from(uuid), kind: "patient.id".to_owned() }
}

/// Returns a group as an entity of an entry.
pub(crate) fn group_entity(group_id: &GroupId) -> Entity {
    Entity { id: EntityId::from(group_id), kind: "group.id".to_owned() }
}

/// Returns a user, patient or account, as an entity of an entry.
pub(crate) fn user_entity(user: &UserId) -> Entity {
    Entity { id: EntityId::from(user), kind: "user.id".to_owned() }
}

/// Returns a member of a group as an entity of an entry.
pub(crate) fn hcp_entity(account: &AccountId) -> Entity {
    Entity { id: EntityId::from(account), kind: "hcp.uuid".to_owned() }
}

/// Returns the account that acts on a member, as an entity of an entry.
pub(crate) fn doctor_entity(account: &AccountId) -> Entity {
    Entity { id: EntityId::from(account), kind: "doctor.uuid".to_owned() }
}

/// Returns the account that acts on a patient, as an entity of an entry.
pub(crate) fn hcp_admin_entity(account: &AccountId) -> Entity {
    Entity { id: EntityId::from(account), kind: "hcp_admin.id".to_owned() }
}

/// Returns a bracelet as an entity of an entry.
pub(crate) fn bracelet_entity(id: &BraceletId) -> Entity {
    Entity { id: EntityId::from(id), kind: "bracelet.id".to_owned() }
}

/// The user who did what an entry is about.
pub(crate) struct Actor {
    id: UserId,
    role: ActorRole,
}

impl Actor {
    /// Makes a user, in the role that they logged in with.
    pub fn user(user: &User) -> Self {
        Actor { id: user.id(), role: ActorRole::User(user.role()) }
    }

    /// Makes an account.
    pub fn account(account: &AccountId, role: Role) -> Self {
        Actor::user(&User::Account(account.clone(), role))
    }

    /// Returns the service by itself.
    pub fn system() -> Self {
        Actor { id: UserId::new(SYSTEM), role: ActorRole::System }
    }

    /// Somebody who runs commands on the machine; the log does not know who.
    pub fn operator() -> Self {
        Actor { id: UserId::new(SYSTEM), role: ActorRole::Operator }
    }
}

impl Core {
    /// Returns an entry of what a caller of the integration API did.
    pub(crate) fn entry(
        &self,
        action: Action,
        researcher: &Researcher,
        primary: Entity,
        secondary: Option<Entity>,
    ) -> NewAuditEntry {
        self.entry_by(action, Actor::account(&researcher.account, researcher.role), primary, secondary)
    }

    /// Returns an entry of what someone did.
    pub(crate) fn entry_by(
        &self,
        action: Action,
        actor: Actor,
        primary: Entity,
        secondary: Option<Entity>,
    ) -> NewAuditEntry {
        NewAuditEntry {
            id: AuditEntryId::new(self.new_record_id()),
            action_type: action.code().to_owned(),
            user_id: actor.id,
            user_role: actor.role,
            primary,
            secondary,
            details: None,
            // Without it, short details could be guessed from their hash after they were erased.
            salt: self.random_bytes(),
        }
    }

    /// Entries for a transaction to write, stamped there.
    pub(crate) fn audit(&self, entries: Vec<NewAuditEntry>) -> Audit {
        let key = self.audit_keys().head.clone();
        Audit { entries, security: Vec::new(), clock: Arc::clone(self.clock()), key }
    }
}
