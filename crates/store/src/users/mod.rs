//! The users database: accounts, keys, groups, patients as persons, sessions, the audit log.

use crate::engine::{Address, Db, Migrations};
use crate::error::Result;

const MIGRATIONS: Migrations = Migrations(&[include_str!("../../migrations/users/0001_spine.sql")]);

/// The users database. Clones share it.
#[derive(Clone, Debug)]
pub struct UsersDb {
    pub(crate) db: Db,
}

impl UsersDb {
    /// Opens the database and brings its schema up to date.
    pub async fn open(address: Address) -> Result<Self> {
        Ok(UsersDb { db: Db::open(address, MIGRATIONS).await? })
    }
}
