//! What people do with their own account on the portal: password, API keys, second factor.

use boxed_futures::boxed_futures;
use runtime::HashMap;
use store::{ApiKey, ApiKeyId, EntityId, GroupCode, NewPassword, SecurityEventType, TotpConfirmation};

use super::caller::PortalCaller;
use super::totp::is_code;
use crate::core::checks::{is_short_line, note, refuse, trimmed};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::identity::Identity;
use crate::identity::accounts::NewApiKey;
use crate::identity::login::words_of_account;
use crate::identity::new_password::check_new_password;

const LONGEST_KEY_NAME: usize = 100;

/// An API key as its owner sees it.
#[derive(Clone, Debug)]
pub struct ApiKeyView {
    /// The key, without what would let anyone use it.
    pub key: ApiKey,
    /// The studies that it acts on; none for all of its owner's.
    pub groups: Vec<GroupCode>,
}

/// A second factor that waits for its first code.
pub struct NewTotp {
    /// The secret in base 32, shown once.
    pub secret: String,
    /// The same as an address that apps read from a picture.
    pub otpauth_url: String,
}

#[boxed_futures]
impl Identity {
    /// Chooses another password, which ends all tokens of the account and its other sessions. Invalid when the present
    /// one is not right.
    pub async fn change_portal_password(
        &self,
        caller: &PortalCaller,
        current: &str,
        new: &str,
        address: &str,
    ) -> Result<()> {
        let own = words_of_account(&self.portal_account_row(caller).await?);
        check_new_password("new", new, &own)?;
        self.check_own_password(caller, "current", current, address).await?;
        if current == new {
            return Err(PlatformError::invalid("new", "must differ from the present password"));
        }
        let hash = self.hash_new_password("new", new, &own).await?;
        let password = NewPassword { hash, must_change: false, kept_session: Some(caller.session_id.clone()) };
        self.core.users().set_account_password(&caller.account, password, self.core.now_ms()).await?;
        self.note_by(SecurityEventType::PasswordChanged, &caller.security_actor(), EntityId::from(&caller.account))
            .await;
        Ok(())
    }

    /// Returns the caller's API keys, oldest first, also those that have ended.
    pub async fn portal_keys(&self, caller: &PortalCaller) -> Result<Vec<ApiKeyView>> {
        let keys = self.core.users().api_keys(&caller.account).await?;
        let mut groups: HashMap<ApiKeyId, Vec<GroupCode>> = HashMap::default();
        for (key, group) in self.core.users().groups_of_keys(&caller.account).await? {
            groups.entry(key).or_default().push(group);
        }
        let view = |key: ApiKey| ApiKeyView { groups: groups.remove(&key.id).unwrap_or_default(), key };
        Ok(keys.into_iter().map(view).collect())
    }

    /// Creates an API key of the caller, for studies that they are a member of; answers it and the key itself, which
    /// cannot be read again.
    pub async fn create_portal_key(&self, caller: &PortalCaller, mut new: NewApiKey) -> Result<(ApiKeyView, String)> {
        caller.researcher()?;
        refuse(self.portal_key_faults(&new))?;
        new.name = new.name.as_deref().map(trimmed).map(str::to_owned);
        new.groups.sort();
        new.groups.dedup();
        let account = self.portal_account_row(caller).await?;
        let groups = new.groups.clone();
        let (key, token) = self.make_api_key(&account, new).await?;
        self.note_by(SecurityEventType::ApiKeyCreated, &caller.security_actor(), EntityId::new(key.id.as_str())).await;
        Ok((ApiKeyView { key, groups }, token))
    }

    /// Returns everything that is wrong of a key to create.
    pub fn portal_key_faults(&self, new: &NewApiKey) -> FieldFaults {
        let mut errors = FieldFaults::new();
        // A name, by which its owner finds it in the list: the command line makes keys without one.
        if !is_short_line(new.name.as_deref().unwrap_or_default(), LONGEST_KEY_NAME) {
            note(&mut errors, "name", "must have 1 to 100 characters");
        }
        if new.expires_ms.is_some_and(|end_ms| end_ms <= self.core.now_ms()) {
            note(&mut errors, "expires_at", "must lie ahead");
        }
        errors
    }

    /// Revokes one of the caller's API keys.
    pub async fn revoke_portal_key(&self, caller: &PortalCaller, id: &ApiKeyId) -> Result<()> {
        // The key of another account is unknown here, so that ids cannot be tried out.
        let key = self.core.users().api_key(id).await?.filter(|key| key.account == caller.account);
        let key = key.ok_or(PlatformError::NotFound("API key"))?;
        if self.end_api_key(&key).await? {
            self.note_by(SecurityEventType::ApiKeyRevoked, &caller.security_actor(), EntityId::new(key.id.as_str()))
                .await;
        }
        Ok(())
    }

    /// Makes a secret for a second factor, which counts once [`Self::confirm_totp`] has seen a code of it.
    pub async fn begin_totp(&self, caller: &PortalCaller) -> Result<NewTotp> {
        let account = self.portal_account_row(caller).await?;
        let (secret, sealed) = self.new_totp_secret(&caller.account)?;
        if !self.core.users().put_totp(&caller.account, sealed).await? {
            return Err(PlatformError::Conflict { code: "totp_is_set", message: "there is a second factor already" });
        }
        let mut address =
            url::Url::parse("otpauth://totp/").map_err(|error| PlatformError::Internal(error.to_string()))?;
        address.set_path(&format!("Pulseward:{}", account.email));
        address.query_pairs_mut().append_pair("secret", &secret).append_pair("issuer", "Pulseward");
        Ok(NewTotp { secret, otpauth_url: address.into() })
    }

    /// Confirms a second factor by a code, which is thereby used up; answers its recovery codes, which cannot be read
    /// again. Other sessions of the account, on the Users Cloud as well, end: nobody has given a code for them.
    pub async fn confirm_totp(&self, caller: &PortalCaller, code: &str, address: &str) -> Result<Vec<String>> {
        // Not as a guess: what is no code at all is a slip of the finger.
        if !is_code(code) {
            return Err(PlatformError::invalid("code", "must have six digits"));
        }
        let waiting = self.core.users().totp(&caller.account).await?.filter(|totp| totp.confirmed_ms.is_none());
        let waiting = waiting.ok_or(PlatformError::NotFound("second factor"))?;
        let step = self.check_totp(&caller.account, &waiting, code, address)?;
        let step = step.ok_or_else(|| PlatformError::invalid("code", "is not the present code"))?;
        let new = self.new_recovery_codes(&caller.account);
        let shown = TotpConfirmation { step, recovery_codes: new.hashes, kept_session: caller.session_id.clone() };
        if !self.core.users().confirm_totp(&caller.account, shown, self.core.now_ms()).await? {
            return Err(PlatformError::NotFound("second factor"));
        }
        self.note_by(SecurityEventType::SecondFactorSet, &caller.security_actor(), EntityId::from(&caller.account))
            .await;
        Ok(new.shown)
    }

    /// Removes the second factor, and its recovery codes, of somebody who knows the password.
    pub async fn remove_totp(&self, caller: &PortalCaller, password: &str, address: &str) -> Result<()> {
        self.check_own_password(caller, "password", password, address).await?;
        if !self.core.users().remove_totp(&caller.account).await? {
            return Err(PlatformError::NotFound("second factor"));
        }
        self.note_by(SecurityEventType::SecondFactorRemoved, &caller.security_actor(), EntityId::from(&caller.account))
            .await;
        Ok(())
    }
}
