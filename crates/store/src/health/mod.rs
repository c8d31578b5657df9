//! The health database: samples of uuids and what is derived from them.

mod afib;
mod alarms;
pub(crate) mod changes;
mod chunks;
mod claims;
mod commit;
pub(crate) mod db;
mod derived;
mod devices;
pub(crate) mod due;
mod erasure;
pub(crate) mod exports;
mod failures;
mod hours;
mod inputs;
mod jobs;
mod latest;
mod messages;
mod news;
mod nodes;
mod oauth;
mod open_hours;
pub(crate) mod patient_tables;
mod patients;
pub(crate) mod reader;
mod retention;
mod sealed;
mod sessions;
mod settings;
mod signing_keys;
mod slots;
mod summaries;
mod sync;
mod tally;
mod zones;

pub use afib::AfHourRow;
pub use alarms::Alarm;
pub use changes::HealthChange;
pub use claims::{Claim, DueRange};
pub use commit::{CommitOutcome, DerivationCommit, LatestChange};
pub use db::HealthDb;
#[cfg(test)]
pub(crate) use db::MIGRATIONS;
pub use devices::{Device, DeviceReport};
pub use due::AHEAD_MS;
pub use erasure::ErasedPatient;
pub use exports::{ExportJob, ExportState, ExportTurn, NewExport, folder as export_folder};
pub use failures::Failures;
pub use inputs::{DerivationInputs, DerivationStart, Dirty, InputRange};
pub use jobs::{DERIVE_KIND, EXPORT_KIND, FailingJobs, JobFailure, JobLease, NEVER_MS, NewJob, PutAside};
pub use messages::PendingEntries;
pub use nodes::NodeView;
pub use oauth::{AuthorizationCode, OauthRefreshToken};
pub use patients::{HealthPatient, Profile};
pub use retention::Retirement;
pub use sessions::{HealthSession, IntakeFacts};
pub use slots::SlotRow;
pub use summaries::SummaryRow;
pub use sync::{Counts, Sync, SyncId, SyncOutcome};
pub use tally::{LocalQuarter, TallyRow};

/// Every statement on this database, for the test that prepares each on both engines.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [
        afib::TEXTS,
        alarms::TEXTS,
        changes::TEXTS,
        chunks::TEXTS,
        claims::TEXTS,
        commit::TEXTS,
        db::TEXTS,
        derived::TEXTS,
        devices::TEXTS,
        due::TEXTS,
        erasure::TEXTS,
        exports::TEXTS,
        hours::TEXTS,
        inputs::TEXTS,
        jobs::TEXTS,
        latest::TEXTS,
        news::TEXTS,
        nodes::TEXTS,
        oauth::TEXTS,
        open_hours::TEXTS,
        patient_tables::TEXTS,
        patients::TEXTS,
        retention::TEXTS,
        sessions::TEXTS,
        settings::TEXTS,
        slots::TEXTS,
        summaries::TEXTS,
        sync::TEXTS[0],
        sync::TEXTS[1],
        tally::TEXTS,
        zones::TEXTS,
        crate::segment::TEXTS,
        crate::segment::SEAL_TEXTS,
        crate::segment::CHECK_TEXTS,
        crate::segment::LAKE_TEXTS,
        crate::signing_key::TEXTS,
        &crate::events::all_texts(),
    ]
    .concat()
}
