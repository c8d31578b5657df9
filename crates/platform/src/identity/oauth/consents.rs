//! What a patient has consented to: to see, and to withdraw.

use boxed_futures::boxed_futures;
use store::{Consent, ConsentId, HealthChange, HealthMessage};

use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::tokens::UsersCaller;

/// A consent in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenConsent {
    /// The consent.
    pub consent: Consent,
    /// The client's name.
    pub client_name: String,
    /// Where it says what it does with the data.
    pub privacy_policy_url: String,
}

#[boxed_futures]
impl Identity {
    /// Returns the consents of the caller that an application can act on, oldest first. One is left out when all that
    /// was issued for it has ended: the application cannot get anything more without asking again.
    pub async fn consents(&self, caller: &UsersCaller) -> Result<Vec<GivenConsent>> {
        let Some(patient) = caller.user.patient() else { return Ok(Vec::new()) };
        let in_use = self.core.health().consents_in_use(patient, self.core.now_ms()).await?;
        let mut given = Vec::new();
        for consent in self.consents_of(caller).await?.into_iter().filter(|consent| in_use.contains(&consent.id)) {
            let Some((client, _)) = self.core.users().oauth_client(&consent.client).await? else { continue };
            let (client_name, privacy_policy_url) = (client.name, client.privacy_policy_url);
            given.push(GivenConsent { consent, client_name, privacy_policy_url });
        }
        Ok(given)
    }

    async fn consents_of(&self, caller: &UsersCaller) -> Result<Vec<Consent>> {
        // An account has no data that a client could be let at.
        let Some(patient) = caller.user.patient() else { return Ok(Vec::new()) };
        Ok(self.core.users().consents_of(patient).await?)
    }

    /// Withdraws a consent of the caller. The tokens that rest on it end.
    pub async fn withdraw_consent(&self, caller: &UsersCaller, id: &ConsentId) -> Result<()> {
        let unknown = PlatformError::NotFound("consent");
        let given = self.consents_of(caller).await?;
        let consent = given.into_iter().find(|consent| consent.id == *id).ok_or(unknown)?;
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndSessionsOfConsent { consent: consent.id.clone(), at_ms: now_ms };
        let message = HealthMessage { id: self.core.new_message_id(), change, entries: Vec::new(), created_ms: now_ms };
        if self.core.users().end_consent(&consent.id, now_ms, message.clone()).await? {
            self.core.deliver(message).await?;
        }
        Ok(())
    }
}
