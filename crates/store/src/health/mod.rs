//! The health database: samples of uuids and what is derived from them.

mod chunks;
mod due;
mod reader;
mod sync;
mod tally;
mod zones;

pub use due::AHEAD_MS;
pub use sync::{Counts, Device, Sync, SyncId, SyncOutcome};

use crate::engine::{Address, Db, Migrations};
use crate::error::Result;
use crate::objects::Objects;

const MIGRATIONS: Migrations = Migrations(&[include_str!("../../migrations/health/0001_spine.sql")]);

/// The health database and the objects that its segments lie in. Clones share it.
#[derive(Clone, Debug)]
pub struct HealthDb {
    pub(crate) db: Db,
    pub(crate) objects: Objects,
}

impl HealthDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address, objects: Objects) -> Result<Self> {
        Ok(HealthDb { db: Db::open(address, MIGRATIONS).await?, objects })
    }
}
