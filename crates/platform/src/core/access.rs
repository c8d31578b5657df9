//! Who may do what: from an account to a group or a patient.
//!
//! What is not known answers "not found"; what is known but not the caller's answers "forbidden".

use store::{AccountId, ApiKeyId, Group, GroupCode, PatientAccess, PatientId, Role};

use crate::core::Core;
use crate::core::error::{PlatformError, Result};

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
    /// The account.
    pub account: AccountId,
    /// What the account may do.
    pub role: Role,
    /// How he came in.
    pub entrance: Entrance,
    /// The key that was used; absent for a page of the portal.
    pub key_id: Option<ApiKeyId>,
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

impl Core {
    /// The group, when the caller may act on it.
    pub async fn group_access(&self, researcher: &Researcher, code: &GroupCode) -> Result<Group> {
        let found = self.users().group_access(code, &researcher.account, researcher.key_id.as_ref()).await?;
        let found = found.ok_or(PlatformError::NotFound("group"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this group"));
        }
        Ok(found.group)
    }

    /// The group, when the caller may act on it and manages it: a practitioner only reads.
    pub async fn managed_group(&self, researcher: &Researcher, code: &GroupCode) -> Result<Group> {
        let group = self.group_access(researcher, code).await?;
        researcher.require_manager()?;
        Ok(group)
    }

    /// The patient, when the caller manages a group that holds him: a practitioner only reads.
    pub async fn managed_patient(&self, researcher: &Researcher, uuid: &PatientId) -> Result<PatientAccess> {
        let patient = self.patient_access(researcher, uuid).await?;
        researcher.require_manager()?;
        Ok(patient)
    }

    /// The patient, when a group that the caller may act on holds him.
    pub async fn patient_access(&self, researcher: &Researcher, uuid: &PatientId) -> Result<PatientAccess> {
        let found = self.users().patient_access(uuid, &researcher.account, researcher.key_id.as_ref()).await?;
        let found = found.ok_or(PlatformError::NotFound("patient"))?;
        if !found.allowed {
            return Err(PlatformError::Forbidden("the caller has no access to this patient"));
        }
        Ok(found)
    }
}
