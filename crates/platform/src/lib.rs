//! What the service does, without a word of HTTP: enrolment, access, login, ingest, fold, summaries, compliance, seal.
//!
//! The operations take a [`Platform`]: the two databases, the objects, the clock and the source of randomness. Access
//! is checked inside each operation, so a caller cannot forget it.

mod access;
mod accounts;
mod audit;
mod backoff;
mod compliance;
mod enrolment;
mod environment;
mod error;
pub mod fold;
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
mod profile;
mod revocation;
pub mod samples;
pub mod seal;
mod signing;
mod summaries;
mod tokens;
mod users_sessions;

pub use access::Researcher;
pub use accounts::{NewAccount, NewApiKey, Role, SubscriptionStart};
pub use audit::Action;
pub use compliance::{ComplianceCounts, CountedSpan, LONGEST_RANGE_MS};
pub use enrolment::{Enrolled, NewActivation, VoucherCheck};
pub use environment::{Clock, Platform, Random, Settings};
pub use error::{PlatformError, Result};
pub use health_sessions::{HealthCaller, HealthLogin};
pub use latest::NewsReading;
pub use login::{Credentials, LoginName, Owner, PatientOwner, UsersLogin};
pub use news_settings::NewsSettingsChange;
pub use patients::{PatientColumns, PatientRow};
pub use profile::Person;
pub use summaries::{PATIENTS_AT_ONCE, PatientDay};
pub use tokens::{Cloud, Issued, UsersCaller};
