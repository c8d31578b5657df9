//! The keys that sign tokens of the Health Cloud.

use boxed_futures::boxed_futures;

use super::db::HealthDb;
use crate::error::Result;
use crate::signing_key::{self, SigningKey};

#[boxed_futures]
impl HealthDb {
    /// Returns all keys, oldest first.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        signing_key::list(&self.db).await
    }

    /// Returns all keys in less than a second, whatever else the database is asked.
    pub async fn probe_signing_keys(&self) -> Result<Vec<SigningKey>> {
        signing_key::probe(&self.db).await
    }

    /// Returns whether anything in this database was sealed with the master key.
    pub async fn holds_sealed(&self) -> Result<bool> {
        signing_key::is_any(&self.db).await
    }

    /// Retires the keys that sign so far and adds one that signs from now on.
    pub async fn rotate_signing_key(&self, key: SigningKey) -> Result<()> {
        signing_key::rotate(&self.db, key).await
    }

    /// Removes keys that were retired before a time. Answers how many there were.
    pub async fn purge_signing_keys(&self, retired_before_ms: i64) -> Result<u64> {
        signing_key::purge(&self.db, retired_before_ms).await
    }
}
