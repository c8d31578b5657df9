//! The health database: samples of uuids and what is derived from them.

use crate::engine::{Address, Db, Migrations};
use crate::error::Result;

const MIGRATIONS: Migrations = Migrations(&[include_str!("../../migrations/health/0001_spine.sql")]);

/// The health database. Clones share it.
#[derive(Clone, Debug)]
pub struct HealthDb {
    pub(crate) db: Db,
}

impl HealthDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address) -> Result<Self> {
        Ok(HealthDb { db: Db::open(address, MIGRATIONS).await? })
    }
}
