//! The keys that sign tokens of the Users Cloud.

use boxed_futures::boxed_futures;

use super::UsersDb;
use crate::error::Result;
use crate::signing_key::{self, SigningKey};

#[boxed_futures]
impl UsersDb {
    /// Returns all keys, oldest first.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        signing_key::list(&self.db).await
    }

    /// Returns all keys in less than a second, whatever else the database is asked.
    pub async fn probe_signing_keys(&self) -> Result<Vec<SigningKey>> {
        signing_key::probe(&self.db).await
    }

    /// Returns whether anything in this database was sealed with the master key: a key that signs, a second factor, or
    /// entries of the audit log.
    pub async fn holds_sealed(&self) -> Result<bool> {
        Ok(signing_key::is_any(&self.db).await? || self.has_totp().await? || self.has_sealed_audit().await?)
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
