//! Who may do what: from an API key to an account, and from an account to a group or a patient.
//!
//! What is not known answers "not found"; what is known but not the caller's answers "forbidden".

use std::sync::PoisonError;

use sha2::{Digest, Sha256};
use store::{Group, PatientAccess};

use crate::accounts::Role;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// Uses of a key within this time are noted once.
const NOTE_USE_EVERY_MS: i64 = 60_000;

/// How a caller of the integration API came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// With an API key.
    Key,
    /// From a page of the portal.
    Portal,
}

/// Who calls the integration API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Researcher {
    /// The account's uuid.
    pub account: String,
    /// What the account may do.
    pub role: Role,
    /// How he came in.
    pub entrance: Entrance,
    /// The key that was used; empty for a page of the portal.
    pub key_id: String,
    /// When the key ends by itself, ms.
    pub key_expires_ms: Option<i64>,
    /// Whether the key acts on named groups only.
    pub key_scoped: bool,
    /// Until when the subscription is active, ms.
    pub subscription_until_ms: Option<i64>,
}

impl Researcher {
    /// Forbidden for a healthcare practitioner, who reads but does not manage.
    pub fn require_manager(&self) -> Result<()> {
        match self.role {
            Role::Researcher | Role::Admin => Ok(()),
            Role::Hcp => Err(PlatformError::Forbidden("a healthcare practitioner may not do this")),
        }
    }

    /// Forbidden without an active subscription.
    pub fn require_subscription(&self, now_ms: i64) -> Result<()> {
        match self.subscription_until_ms {
            Some(until_ms) if now_ms < until_ms => Ok(()),
            _ => Err(PlatformError::Forbidden("there is no active subscription")),
        }
    }
}

impl Platform {
    /// Who holds an API key. Unauthenticated when there is none such, or it or its account has ended.
    pub async fn researcher(&self, api_key: &str) -> Result<Researcher> {
        let holder = self.users.key_holder(&hash_api_key(api_key)).await?;
        let holder = holder.ok_or(PlatformError::Unauthenticated("the API key is not valid"))?;
        let now_ms = self.now_ms();
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
            role: Role::of(&holder.role)?,
            entrance: Entrance::Key,
            key_id: holder.key_id,
            key_expires_ms: holder.key_expires_ms,
            key_scoped: holder.key_scoped,
            subscription_until_ms: holder.subscription_until_ms,
        })
    }

    /// The group, when the caller may act on it.
    pub async fn group_access(&self, researcher: &Researcher, code: &str) -> Result<Group> {
        let found = self.users.group_access(code, &researcher.account, &researcher.key_id).await?;
        let found = found.ok_or(PlatformError::NotFound("group"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this group"));
        }
        Ok(found.group)
    }

    /// The group, when the caller may act on it and manages it: a practitioner only reads.
    pub async fn managed_group(&self, researcher: &Researcher, code: &str) -> Result<Group> {
        let group = self.group_access(researcher, code).await?;
        researcher.require_manager()?;
        Ok(group)
    }

    /// The patient, when the caller manages a group that holds him: a practitioner only reads.
    pub async fn managed_patient(&self, researcher: &Researcher, uuid: &str) -> Result<PatientAccess> {
        let patient = self.patient_access(researcher, uuid).await?;
        researcher.require_manager()?;
        Ok(patient)
    }

    /// The patient, when a group that the caller may act on holds him.
    pub async fn patient_access(&self, researcher: &Researcher, uuid: &str) -> Result<PatientAccess> {
        let found = self.users.patient_access(uuid, &researcher.account, &researcher.key_id).await?;
        let found = found.ok_or(PlatformError::NotFound("patient"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this patient"));
        }
        Ok(found)
    }

    /// Notes the use of a key, off the way of the request and at most once a minute.
    fn note_use(&self, key_id: &str, last_used_ms: Option<i64>, now_ms: i64) {
        let is_recent = |last_ms: i64| now_ms - last_ms < NOTE_USE_EVERY_MS;
        if last_used_ms.is_some_and(is_recent) {
            return;
        }
        let mut noted = self.memory.key_uses.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.get(key_id).copied().is_some_and(is_recent) {
            return;
        }
        noted.insert(key_id.to_owned(), now_ms);
        drop(noted);
        let (users, key_id) = (self.users.clone(), key_id.to_owned());
        runtime::spawn("note the use of a key", async move {
            if let Err(error) = users.note_key_used(&key_id, now_ms).await {
                tracing::warn!(%error, "the use of an API key could not be noted");
            }
        });
    }
}

/// What an API key is looked up by.
pub(crate) fn hash_api_key(api_key: &str) -> Vec<u8> {
    Sha256::digest(api_key).to_vec()
}
