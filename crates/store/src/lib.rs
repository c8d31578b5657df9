//! Where everything is kept: two databases on two engines, chunks and segments.
//!
//! This crate holds the only SQL of the project. It knows nothing of HTTP and has no access rules: a caller that may
//! not do something must not call it.
//!
//! The two databases never meet in a statement: [`UsersDb`] knows who people are, [`HealthDb`] knows samples of
//! uuids.

pub mod columnar;
#[cfg(test)]
mod contract;
pub mod engine;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod objects;
mod payload;
#[cfg(test)]
mod random_blocks;
pub mod segment;
mod signing_key;
mod texts;
mod users;

pub use engine::Address;
pub use error::{Result, StoreError};
pub use health::{
    AHEAD_MS, AfHourRow, Claim, Counts, Device, DeviceReport, DueRange, FactsRow, FoldCommit, FoldOutcome,
    HealthChange, HealthDb, HealthPatient, HealthSession, LatestChange, LocalQuarter, OlderDays, Profile, SettingRow,
    SlotRow, StoredSection, SummaryRow, Sync, SyncId, SyncOutcome,
};
pub use objects::Objects;
pub use signing_key::SigningKey;
pub use users::{
    Account, Activation, ApiKey, Audit, AuditEntry, AuditQuery, Entity, Group, GroupAccess, Intent, KeyHolder, Member,
    NewAuditEntry, Patient, PatientAccess, Session, UsersDb,
};
