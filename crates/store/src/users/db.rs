//! The users database: opening, checking, closing.

use boxed_futures::boxed_futures;

#[cfg(feature = "planned-failures")]
use crate::engine::FailureMoment;
use crate::engine::{Address, DatabaseFiles, Db, DbCounts, EngineCheck, Limits, Migrations, PagesPart};
use crate::error::Result;
use crate::events::{EventLog, delete_events};
use crate::texts::sql;

pub(crate) const MIGRATIONS: Migrations = Migrations(&[
    include_str!("../../migrations/users/0001_spine.sql"),
    include_str!("../../migrations/users/0002_identity.sql"),
    include_str!("../../migrations/users/0003_operations.sql"),
    include_str!("../../migrations/users/0004_portal.sql"),
    include_str!("../../migrations/users/0005_events.sql"),
    include_str!("../../migrations/users/0006_audit_pages.sql"),
    include_str!("../../migrations/users/0007_key_scope.sql"),
    include_str!("../../migrations/users/0008_store_identity.sql"),
    include_str!("../../migrations/users/0009_recovery_codes.sql"),
    include_str!("../../migrations/users/0010_account_erasure.sql"),
    include_str!("../../migrations/users/0011_security_events.sql"),
    include_str!("../../migrations/users/0012_audit_seal.sql"),
    include_str!("../../migrations/users/0013_past_attachments.sql"),
]);

sql! {
    DELETE_EVENTS = delete_events!("");
}

/// The users database. Clones share it.
#[derive(Clone, Debug)]
pub struct UsersDb {
    pub(crate) db: Db,
}

#[boxed_futures]
impl UsersDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address) -> Result<Self> {
        Self::open_with(address, Limits::default()).await
    }

    /// Does the same with limits to the connections of a PostgreSQL database.
    pub async fn open_with(address: Address, limits: Limits) -> Result<Self> {
        let users = UsersDb { db: Db::open("users", address, limits, MIGRATIONS).await? };
        users.events().raise_clock().await?;
        Ok(users)
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
