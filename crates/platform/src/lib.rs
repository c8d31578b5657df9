//! What the service does, without a word of HTTP: enrolment, access, login, ingest, fold, summaries, compliance, seal.
//!
//! The operations take a [`Platform`]: the two databases, the objects, the clock and the source of randomness. Access
//! is checked inside each operation, so a caller cannot forget it.

mod afib;
mod compliance;
mod core;
pub mod derivations;
mod doctor;
mod downloads;
mod events;
pub mod exports;
mod identity;
pub mod ingest;
pub mod jobs;
mod lake;
mod latest;
mod movement;
mod overwriting;
mod patient_rows;
mod people;
mod platform;
pub mod portal;
mod retention;
pub mod samples;
pub mod seal;
mod summaries;
mod sweep;

pub use crate::core::access::{Entrance, Researcher, Role};
pub use crate::core::audit::Action;
pub use crate::core::error::{PlatformError, Result};
pub use crate::core::ids::hex;
pub use crate::core::person::Person;
pub use crate::core::settings::{RETENTION_SETTING, Settings};
pub use crate::core::{Core, Environment};
pub use crate::identity::Identity;
pub use crate::identity::accounts::{NewAccount, NewApiKey, SubscriptionStart};
pub use crate::identity::health_sessions::{HealthCaller, HealthLogin, SCOPE_MISSING};
pub use crate::identity::login::{Credentials, LoginName, Owner, PatientOwner, UsersLogin};
pub use crate::identity::oauth;
pub use crate::identity::tokens::{Cloud, Issued, UsersCaller};
pub use crate::people::People;
pub use crate::people::alarms::ALARM_VITALS;
pub use crate::people::bracelets::{BraceletChange, NewBracelet};
pub use crate::people::enrolment::{Enrolled, NewActivation, VoucherCheck};
pub use crate::people::erasure::Receipt;
pub use crate::people::group_settings::{GroupSettings, GroupSettingsChange};
pub use crate::people::groups::GroupChange;
pub use crate::people::news_settings::NewsSettingsChange;
pub use crate::people::patients::PatientRow;
pub use crate::people::profile::{PatientChange, ProfileChange};
pub use afib::{AfReading, LONGEST_AF_RANGE_MS};
pub use compliance::{ComplianceCounts, CountedSpan, LONGEST_RANGE_MS};
pub use doctor::{Storage, StorageReport, Verification};
pub use downloads::DownloadLink;
pub use lake::{LARGEST_LAKE_PAGE, LakeFile, LakePage};
pub use latest::NewsReading;
pub use patient_rows::{PatientColumns, ROWS_AT_ONCE};
pub use platform::Platform;
pub use runtime::{Clock, Random};
pub use summaries::{DayParts, PATIENTS_AT_ONCE, PatientDay};
pub use sweep::{LOST_AFTER_MS, Orphans};
