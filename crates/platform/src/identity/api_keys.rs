//! Looks up the account that holds an API key.

use std::sync::PoisonError;

use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};
use store::{ApiKeyId, EntityId, NewSecurityEvent, SecurityEventType};

use crate::core::access::{Entrance, Researcher};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;

/// Uses of a key within this time are written once.
const NOTE_USE_EVERY_MS: i64 = 60_000;

/// Reason why an API key is refused.
#[derive(Clone, Copy)]
enum Refusal {
    Unknown,
    Revoked,
    Expired,
    AccountDisabled,
}

impl Refusal {
    /// Returns the message for the caller. Only those who have shown a whole key see which reason it is.
    fn message(self) -> &'static str {
        match self {
            Refusal::Unknown => "the API key is not valid",
            Refusal::Revoked => "the API key has been revoked",
            Refusal::Expired => "the API key has expired",
            Refusal::AccountDisabled => "the account is disabled",
        }
    }

    /// Returns its name in the security log.
    fn name(self) -> &'static str {
        match self {
            Refusal::Unknown => "unknown",
            Refusal::Revoked => "revoked",
            Refusal::Expired => "expired",
            Refusal::AccountDisabled => "account_disabled",
        }
    }
}

#[boxed_futures]
impl Identity {
    /// Returns who holds an API key. Unauthenticated when there is none such, or it or its account has ended.
    pub async fn researcher(&self, api_key: &str) -> Result<Researcher> {
        let found = self.holder_of(api_key).await?;
        found.map_err(|(refusal, _)| PlatformError::Unauthenticated(refusal.message()))
    }

    /// Does the same for a call from an address. The security log takes note of a refusal, which may be a guess or the use of
    /// a stolen key.
    pub async fn researcher_from(&self, api_key: &str, address: String) -> Result<Researcher> {
        let (refusal, key_id) = match self.holder_of(api_key).await? {
            Ok(researcher) => return Ok(researcher),
            Err(refused) => refused,
        };
        let event = NewSecurityEvent {
            // Nothing of a key that nobody has: it may be one of another service, or almost one of this.
            subject: key_id.map(|key_id| EntityId::new(key_id.as_str())),
            address: Some(address),
            detail: Some(refusal.name().to_owned()),
            ..NewSecurityEvent::new(SecurityEventType::ApiKeyRefused)
        };
        self.note_in_numbers(event).await;
        Err(PlatformError::Unauthenticated(refusal.message()))
    }

    /// Returns who holds a key, or why nobody does, with the key where it is one.
    async fn holder_of(&self, api_key: &str) -> Result<std::result::Result<Researcher, (Refusal, Option<ApiKeyId>)>> {
        let Some(holder) = self.core.users().key_holder(&hash_api_key(api_key)).await? else {
            return Ok(Err((Refusal::Unknown, None)));
        };
        let now_ms = self.core.now_ms();
        let refusals = [
            (holder.key_revoked_ms.is_some(), Refusal::Revoked),
            (holder.key_expires_ms.is_some_and(|end_ms| now_ms >= end_ms), Refusal::Expired),
            (holder.disabled_ms.is_some(), Refusal::AccountDisabled),
        ];
        if let Some((_, refusal)) = refusals.into_iter().find(|(is_so, _)| *is_so) {
            return Ok(Err((refusal, Some(holder.key_id))));
        }
        self.note_use(&holder.key_id, holder.key_last_used_ms, now_ms);
        Ok(Ok(Researcher {
            account: holder.account,
            role: holder.role,
            entrance: Entrance::Key,
            key_id: Some(holder.key_id),
            key_expires_ms: holder.key_expires_ms,
            key_scoped: holder.key_scoped,
            subscription_until_ms: holder.subscription_until_ms,
            view_only: false,
        }))
    }

    /// Notes the use of a key, in the background and at most once a minute.
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

/// Returns the hash by which an API key is looked up.
pub(crate) fn hash_api_key(api_key: &str) -> Vec<u8> {
    Sha256::digest(api_key).to_vec()
}
