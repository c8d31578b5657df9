//! What the service does, without a word of HTTP: enrolment, access, login, ingest, derivation, summaries, compliance, seal.
//!
//! Four services over one core ([`Core`]: the two databases, the objects, the clock, randomness, settings) hold the
//! operations: [`Upkeep`] may call [`Data`], [`Data`] may call [`People`], [`People`] may call [`Identity`], and none the
//! other way. [`Platform`] bundles them. Access is checked before a patient's data is read:
//! what reads them demands a [`Readable`], which nothing but a check makes.

mod core;
mod data;
mod identity;
#[cfg(test)]
mod layers;
mod people;
mod platform;
#[cfg(test)]
mod test_service;
#[cfg(test)]
mod tests;
mod upkeep;

pub use crate::core::access::{Entrance, Readable, Researcher, SCOPE_MISSING};
pub use crate::core::audit::Action;
pub use crate::core::audit_keys::audit_key;
pub use crate::core::change::Change;
pub use crate::core::checks::{alternatives, email_faults, integer_of, unknown_names};
pub use crate::core::error::{FieldFaults, PlatformError, Result};
pub use crate::core::ids::hex;
pub use crate::core::person::Person;
pub use crate::core::settings::{ObjectCopies, RETENTION_SETTING, Settings};
pub use crate::core::{Core, Environment};
pub use crate::data::afib::{AfReading, LONGEST_AF_RANGE_MS};
pub use crate::data::compliance::{ComplianceCounts, CountedSpan, LONGEST_RANGE_MS};
pub use crate::data::downloads::{DownloadLink, OpenedDownload};
pub use crate::data::group_event::GroupEvent;
pub use crate::data::group_events::{EventsFrom, EventsPage, EventsQuery, MOST_EVENTS};
pub use crate::data::lake::{LARGEST_LAKE_PAGE, LakeFile, LakePage};
pub use crate::data::latest::NewsReading;
pub use crate::data::live::EventListener;
pub use crate::data::log_page::Log;
pub use crate::data::patient_rows::{PatientColumns, ROWS_AT_ONCE};
pub use crate::data::summaries::{DayParts, PATIENTS_AT_ONCE, PatientDay};
pub use crate::data::{Data, derivations, exports, ingest, samples};
pub use crate::identity::Identity;
pub use crate::identity::accounts::{NewAccount, NewApiKey, SubscriptionStart};
pub use crate::identity::cloud::Cloud;
pub use crate::identity::health_sessions::{HealthCaller, HealthLogin};
pub use crate::identity::login::{Activated, Credentials, LoginName, UsersLogin};
pub use crate::identity::new_password::new_password_faults;
pub use crate::identity::oauth;
pub use crate::identity::owner::{OwnAccount, Owner, PatientOwner};
pub use crate::identity::security::{LARGEST_SECURITY_PAGE, SecurityActor, SecurityLogPage, SecurityLogQuery};
pub use crate::identity::signing::{SigningKeyFate, opens_newest};
pub use crate::identity::tokens::{Issued, UsersCaller};
pub use crate::people::People;
pub use crate::people::alarms::{ALARM_VITALS, alarm_faults};
pub use crate::people::bracelets::{BraceletChange, ListedBracelet, NewBracelet};
pub use crate::people::enrolment::{Enrolled, NewActivation, VoucherCheck, group_faults};
pub use crate::people::erasure::{Place, Receipt, Remains};
pub use crate::people::group_settings::{GroupSettings, GroupSettingsChange};
pub use crate::people::groups::GroupChange;
pub use crate::people::news_settings::NewsSettingsChange;
pub use crate::people::patients::PatientRow;
pub use crate::people::profile::{PatientChange, ProfileChange, Removable};
pub use crate::platform::Platform;
pub use crate::upkeep::audit::checkpoint::Checkpoint;
pub use crate::upkeep::audit::judge::CheckpointFault;
pub use crate::upkeep::audit::newest::NewestCheckpoint;
pub use crate::upkeep::audit::verify::{AuditReport, ComparedCheckpoints, KeptCheckpoint};
pub use crate::upkeep::doctor::{Storage, StorageReport, Verification};
pub use crate::upkeep::essentials::{DamagedEssential, ESSENTIALS, EssentialFault};
pub use crate::upkeep::integrity::Damage;
pub use crate::upkeep::sweep::{LOST_AFTER_MS, Orphans};
pub use crate::upkeep::{Upkeep, jobs, seal};
pub use runtime::{Clock, Random};

/// What the portal's pages need beyond the public API.
pub mod portal {
    pub use crate::data::portal::{
        BoardEvent, BoardListener, BoardRow, Chart, DayCompliance, Gap, GapReason, LONGEST_SERIES_MS, MOST_DAYS,
        MOST_POINTS, MOST_SERIES, NewsHistory, PatientDays, Point, SERIES_RANGE, SPARK_SLOTS, Series, SeriesColumn,
        SeriesRequest, Spark, TypeHours, channel_name,
    };
    pub use crate::identity::portal::{
        ApiKeyView, NewPortalLogin, NewTotp, OpenedPortal, PortalCaller, PortalLogin, Presence,
    };
}
