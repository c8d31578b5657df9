//! The health database: samples of uuids and what is derived from them.

mod afib;
mod alarms;
mod changes;
mod chunks;
mod claims;
mod commit;
mod derived;
mod devices;
pub(crate) mod due;
mod erasure;
pub(crate) mod exports;
mod hours;
mod inputs;
mod jobs;
mod latest;
mod messages;
mod news;
mod nodes;
mod oauth;
pub(crate) mod patient_tables;
mod patients;
mod reader;
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
pub use devices::{Device, DeviceReport};
pub use due::AHEAD_MS;
pub use erasure::ErasedPatient;
pub use exports::folder as export_folder;
pub use exports::{ExportJob, ExportState, ExportTurn, NewExport};
pub use inputs::{DerivationInputs, DerivationStart, Dirty, InputRange};
pub use jobs::{DERIVE_KIND, FailingJobs, Failures, JobFailure, JobLease, NEVER_MS, NewJob, PutAside};
pub use messages::PendingEntries;
pub use nodes::NodeView;
pub use oauth::{AuthorizationCode, OauthRefreshToken};
pub use patients::{HealthPatient, Profile};
pub(crate) use reader::merge;
pub use retention::Retirement;
pub use sessions::{HealthSession, IntakeFacts};
pub use slots::SlotRow;
pub use summaries::SummaryRow;
pub use sync::{Counts, Sync, SyncId, SyncOutcome};
pub use tally::{LocalQuarter, TallyRow};

use std::sync::Arc;

use crate::engine::{Address, Db, DbCounts, Limits, Migrations};
use crate::error::Result;
use crate::events::{EventLog, delete_events};
use crate::objects::Objects;
use crate::texts::sql;

const MIGRATIONS: Migrations = Migrations(&[
    include_str!("../../migrations/health/0001_spine.sql"),
    include_str!("../../migrations/health/0002_identity.sql"),
    include_str!("../../migrations/health/0003_operations.sql"),
    include_str!("../../migrations/health/0004_exports.sql"),
    include_str!("../../migrations/health/0005_day.sql"),
    include_str!("../../migrations/health/0006_retention.sql"),
    include_str!("../../migrations/health/0007_portal.sql"),
    include_str!("../../migrations/health/0008_derived.sql"),
    include_str!("../../migrations/health/0009_events.sql"),
    include_str!("../../migrations/health/0010_dirty.sql"),
    include_str!("../../migrations/health/0011_jobs.sql"),
    include_str!("../../migrations/health/0012_derivations.sql"),
]);

sql! {
    /// A sync's event is kept until what it touched is derived.
    DELETE_EVENTS = delete_events!(" AND (type <> 'sync.stored'
        OR sequence <= COALESCE((SELECT derived_through FROM patient WHERE uuid = event.patient), sequence))");
}

/// The health database and the objects that its segments lie in. Clones share it.
#[derive(Clone, Debug)]
pub struct HealthDb {
    pub(crate) db: Db,
    pub(crate) objects: Objects,
    open_hours: Arc<hours::NotedHours>,
}

impl HealthDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address, objects: Objects) -> Result<Self> {
        Self::open_with(address, Limits::default(), objects).await
    }

    /// The same with limits to the connections of a PostgreSQL database.
    pub async fn open_with(address: Address, limits: Limits, objects: Objects) -> Result<Self> {
        let db = Db::open("health", address, limits, MIGRATIONS).await?;
        let health = HealthDb { db, objects, open_hours: Arc::default() };
        health.events().raise_clock().await?;
        Ok(health)
    }

    /// The log of what happens in this database.
    pub fn events(&self) -> EventLog {
        EventLog::new(self.db.clone(), DELETE_EVENTS)
    }

    /// What has been done since the database was opened, for metrics.
    pub fn counts(&self) -> DbCounts {
        self.db.counts()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.db.check_reading().await
    }

    /// Whether the database can be written: a disk that is full shows here.
    pub async fn check_writing(&self) -> Result<()> {
        self.db.check_writing().await
    }

    /// Ends all connections; the database file then holds everything without its write-ahead log.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) when the log is being read by another program; nothing
    /// is lost then.
    pub async fn close(&self) -> Result<()> {
        self.db.close().await
    }
}

/// Every statement on this database, for the test that prepares each on both engines.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [
        TEXTS,
        afib::TEXTS,
        alarms::TEXTS,
        changes::TEXTS,
        chunks::TEXTS,
        claims::TEXTS,
        commit::TEXTS,
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
