//! The health database: opening, checking, closing.

use boxed_futures::boxed_futures;

use std::sync::Arc;

use super::open_hours::NotedHours;
#[cfg(feature = "planned-failures")]
use crate::engine::FailureMoment;
use crate::engine::{Address, DatabaseFiles, Db, DbCounts, EngineCheck, Limits, Migrations, PagesPart};
use crate::error::Result;
use crate::events::{EventLog, delete_events};
use crate::objects::Objects;
use crate::segment::verify::Verified;
use crate::texts::sql;
#[cfg(feature = "planned-failures")]
use futures::future::BoxFuture;

pub(crate) const MIGRATIONS: Migrations = Migrations(&[
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
    include_str!("../../migrations/health/0013_checksums.sql"),
    include_str!("../../migrations/health/0014_integrity.sql"),
    include_str!("../../migrations/health/0015_clustered.sql"),
    include_str!("../../migrations/health/0016_bracelets.sql"),
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
    pub(super) open_hours: Arc<NotedHours>,
    /// Sealed files of before there were checksums that were read whole.
    pub(super) whole_files: Verified,
}

#[boxed_futures]
impl HealthDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address, objects: Objects) -> Result<Self> {
        Self::open_with(address, Limits::default(), objects).await
    }

    /// Does the same with limits to the connections of a PostgreSQL database.
    pub async fn open_with(address: Address, limits: Limits, objects: Objects) -> Result<Self> {
        let db = Db::open("health", address, limits, MIGRATIONS).await?;
        let health = HealthDb { db, objects, open_hours: Arc::default(), whole_files: Verified::default() };
        health.events().raise_clock().await?;
        Ok(health)
    }

    /// Returns the log of what happens in this database.
    pub fn events(&self) -> EventLog {
        EventLog::new(self.db.clone(), DELETE_EVENTS)
    }

    /// Returns what has been done since the database was opened, for metrics.
    pub fn counts(&self) -> DbCounts {
        self.db.counts()
    }

    /// Lets the next operation of a name fail, for tests; the names are those of [`DbCounts`].
    #[cfg(feature = "planned-failures")]
    pub fn plan_failure(&self, operation: &str, moment: FailureMoment) {
        self.db.plan_failure(operation, moment);
    }

    /// Lets something happen before the next operation of a name begins, for tests.
    #[cfg(feature = "planned-failures")]
    pub fn plan_meanwhile(&self, operation: &str, meanwhile: BoxFuture<'static, ()>) {
        self.db.plan_meanwhile(operation, meanwhile);
    }

    /// Returns the operations whose planned failure has not come yet.
    #[cfg(feature = "planned-failures")]
    pub fn failures_to_come(&self) -> Vec<String> {
        self.db.failures_to_come()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.db.check_reading().await
    }

    /// Reads the next pages of the database behind a place, which is empty at the beginning, and compares them with their
    /// checksums.
    pub async fn check_pages(&self, behind: &str) -> Result<PagesPart> {
        self.db.check_pages(behind).await
    }

    /// Lets the engine check what it has stored.
    pub async fn engine_check(&self) -> Result<EngineCheck> {
        self.db.engine_check().await
    }

    /// Returns what protects the files of the database, and what damage to their logs is known.
    pub async fn files(&self) -> Result<DatabaseFiles> {
        self.db.files().await
    }

    /// Returns how many damaged write-ahead logs were kept, without reading them.
    pub fn damaged_log_count(&self) -> Result<u64> {
        self.db.damaged_log_count()
    }

    /// Rewrites a database file whose pages have no checksums, so that they have them; writers wait meanwhile.
    pub async fn give_page_checksums(&self) -> Result<()> {
        self.db.give_page_checksums().await
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
