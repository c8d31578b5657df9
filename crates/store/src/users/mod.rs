//! The users database: accounts, keys, groups, patients as persons, sessions, the audit log.

mod accounts;
mod api_keys;
mod audit;
mod audit_head;
mod audit_link;
mod audit_reader;
mod audit_seal;
mod audit_verify;
mod bracelets;
mod db;
mod emails;
mod erasure;
mod group_settings;
mod groups;
mod identity;
mod memberships;
mod messages;
mod oauth;
mod patients;
#[cfg(any(test, feature = "planned-failures"))]
mod planned_damage;
mod portal_sessions;
mod recovery_codes;
mod role_changes;
mod security_events;
mod sessions;
mod signing_keys;
mod study_attachments;
mod totp;

pub use accounts::{Account, NewPassword};
pub use api_keys::{ApiKey, KeyHolder};
pub use audit::{Audit, AuditQuery};
pub use audit_head::Seal;
pub use audit_link::AuditEntry;
pub use audit_reader::AuditReader;
pub use audit_seal::{AuditEnd, RetiredAuditKey};
pub use audit_verify::{AuditVerdict, KnownEntry};
pub use bracelets::{Attachment, Bracelet, Completion};
pub(crate) use db::MIGRATIONS;
pub use db::UsersDb;
pub use erasure::{AccountErasure, Counts as ErasureCounts, Erasure, PatientErasure, ToOverwrite};
pub use group_settings::{EffectiveSettings, GroupSetting, SettingsOfGroup};
pub use groups::{Group, GroupDeletion};
pub use identity::StoreIdentity;
pub use memberships::{GroupAccess, Member, MemberRemoval, PatientAccess, PatientDetachment};
pub use messages::{HealthMessage, PendingHealthMessage};
pub use oauth::{Consent, OauthClient};
pub use patients::{Activation, NewPatientPassword, Patient, PersonChange};
pub use portal_sessions::{PortalHolder, PortalSession};
pub use role_changes::RoleChange;
pub use security_events::{NameHashes, SecurityEvent, SecurityPage, SecurityQuery};
pub use sessions::{Session, SessionHolder};
pub use study_attachments::StudyAttachment;
pub use totp::{Totp, TotpConfirmation, UsedFactor};

/// Every statement on this database, for the test that prepares each on both engines.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [
        accounts::TEXTS,
        api_keys::TEXTS,
        audit::TEXTS,
        audit_head::TEXTS,
        audit_reader::TEXTS,
        audit_seal::TEXTS,
        audit_verify::TEXTS,
        bracelets::TEXTS,
        db::TEXTS,
        emails::TEXTS,
        erasure::TEXTS,
        group_settings::TEXTS,
        groups::TEXTS,
        identity::TEXTS,
        memberships::TEXTS,
        messages::TEXTS,
        oauth::TEXTS,
        patients::TEXTS,
        planned_damage::TEXTS,
        portal_sessions::TEXTS,
        recovery_codes::TEXTS,
        role_changes::TEXTS,
        security_events::TEXTS,
        sessions::TEXTS,
        study_attachments::TEXTS,
        totp::TEXTS,
        crate::signing_key::TEXTS,
        &crate::events::all_texts(),
    ]
    .concat()
}
