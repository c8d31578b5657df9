//! From an API key to the account that holds it.

use std::sync::PoisonError;

use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};
use store::ApiKeyId;

use crate::core::access::{Entrance, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;

/// Uses of a key within this time are noted once.
const NOTE_USE_EVERY_MS: i64 = 60_000;

#[boxed_futures]
impl Identity {
    /// Returns who holds an API key. Unauthenticated when there is none such, or it or its account has ended.
    pub async fn researcher(&self, api_key: &str) -> Result<Researcher> {
        let holder = self.core.users().key_holder(&hash_api_key(api_key)).await?;
        let holder = holder.ok_or(PlatformError::Unauthenticated("the API key is not valid"))?;
        let now_ms = self.core.now_ms();
        // The reasons are distinguished only here: anyone who gets this far has shown the whole key.
        if holder.key_revoked_ms.is_some() {
            return Err(PlatformError::Unauthenticated("the API key has been revoked"));
        }
        if holder.key_expires_ms.is_some_and(|end_ms| now_ms >= end_ms) {
            return Err(PlatformError::Unauthenticated("the API key has expired"));
        }
        if holder.disabled_ms.is_some() {
            return Err(PlatformError::Unauthenticated("the account is disabled"));
        }
        self.note_use(&holder.key_id, holder.key_last_used_ms, now_ms);
        Ok(Researcher {
            account: holder.account,
            role: holder.role,
            entrance: Entrance::Key,
            key_id: Some(holder.key_id),
            key_expires_ms: holder.key_expires_ms,
            key_scoped: holder.key_scoped,
            subscription_until_ms: holder.subscription_until_ms,
            view_only: false,
        })
    }

    /// Notes the use of a key, off the way of the request and at most once a minute.
    fn note_use(&self, key_id: &ApiKeyId, last_used_ms: Option<i64>, now_ms: i64) {
        let is_recent = |last_ms: i64| now_ms - last_ms < NOTE_USE_EVERY_MS;
        if last_used_ms.is_some_and(is_recent) {
            return;
        }
        let mut noted = self.memory.key_uses.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.get(key_id).copied().is_some_and(is_recent) {
            return;
        }
        noted.insert(key_id.clone(), now_ms);
        drop(noted);
        let (users, key_id) = (self.core.users().clone(), key_id.clone());
        // A write on each read would make the one writer of SQLite the limit of all reading.
        runtime::spawn("note the use of a key", async move {
            if let Err(error) = users.note_key_used(&key_id, now_ms).await {
                tracing::warn!(%error, "the use of an API key could not be noted");
            }
        });
    }
}

/// Returns what an API key is looked up by.
pub(crate) fn hash_api_key(api_key: &str) -> Vec<u8> {
    Sha256::digest(api_key).to_vec()
}
