//! What the service does, without a word of HTTP: enrolment, access, login, ingest, fold, summaries, compliance, seal.
//!
//! The operations take a [`Platform`]: the two databases, the objects, the clock and the source of randomness. Access
//! is checked inside each operation, so a caller cannot forget it.

mod access;
mod accounts;
mod afib;
mod alarms;
mod audit;
mod backoff;
mod bracelets;
mod compliance;
mod downloads;
mod enrolment;
mod environment;
mod erasure;
mod error;
pub mod exports;
pub mod fold;
mod forgetting;
mod groups;
mod hcps;
mod health_sessions;
pub mod housekeeping;
mod ids;
pub mod ingest;
mod intents;
mod latest;
mod login;
mod memory;
mod movement;
mod news_settings;
pub mod oauth;
mod passwords;
mod patients;
pub mod portal;
mod profile;
pub mod samples;
pub mod seal;
mod settings;
mod signing;
mod summaries;
mod tokens;
mod users_sessions;

pub use access::{Entrance, Researcher};
pub use accounts::{NewAccount, NewApiKey, Role, SubscriptionStart};
pub use afib::{AfReading, LONGEST_AF_RANGE_MS};
pub use alarms::ALARM_VITALS;
pub use audit::Action;
pub use bracelets::{BraceletChange, NewBracelet};
pub use compliance::{ComplianceCounts, CountedSpan, LONGEST_RANGE_MS};
pub use downloads::DownloadLink;
pub use enrolment::{Enrolled, NewActivation, VoucherCheck};
pub use environment::{Clock, Platform, Random, Settings};
pub use erasure::Receipt;
pub use error::{PlatformError, Result};
pub use groups::GroupChange;
pub use health_sessions::{HealthCaller, HealthLogin};
pub use latest::NewsReading;
pub use login::{Credentials, LoginName, Owner, PatientOwner, UsersLogin};
pub use news_settings::NewsSettingsChange;
pub use patients::{PatientColumns, PatientRow, ROWS_AT_ONCE};
pub use profile::{PatientChange, Person, ProfileChange};
pub use settings::{GroupSettings, GroupSettingsChange, RETENTION_SETTING};
pub use summaries::{PATIENTS_AT_ONCE, PatientDay};
pub use tokens::{Cloud, Issued, UsersCaller};
