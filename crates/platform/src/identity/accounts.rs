//! Accounts, their API keys and their subscription: what an operator sets up.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use store::{
    Account, AccountId, ApiKey, ApiKeyId, EntityId, GroupCode, HealthChange, HealthMessage, NewPassword, RecordId,
    Role, RoleChange, SecurityEventType, StoreError,
};

use crate::core::checks::{clean_email, email_faults, named, refuse};
use crate::core::error::{PlatformError, Result};
use crate::core::person::Person;
use crate::identity::Identity;
use crate::identity::api_keys::hash_api_key;
use crate::identity::login::words_of_account;
use crate::identity::new_password::OwnWords;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const FIRST_SUBSCRIPTION_DAYS: i64 = 30;
/// Characters of a key that are kept to distinguish keys.
const VISIBLE_PREFIX: usize = 10;

/// Whether a new account begins with a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionStart {
    /// Thirty days.
    Active,
    /// None.
    None,
}

/// An account to create.
#[derive(Clone)]
pub struct NewAccount {
    /// Address to log in with.
    pub email: String,
    /// What it may do.
    pub role: Role,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Password; one is made up when there is none.
    pub password: Option<String>,
    /// Whether it begins with a subscription.
    pub subscription: SubscriptionStart,
}

/// An API key to create.
#[derive(Clone, Debug, Default)]
pub struct NewApiKey {
    /// What its owner calls it.
    pub name: Option<String>,
    /// Time at which it ends by itself, ms.
    pub expires_ms: Option<i64>,
    /// The groups that it acts on; none for all of its account's.
    pub groups: Vec<GroupCode>,
}

#[boxed_futures]
impl Identity {
    /// Creates an account; answers it and its password, which cannot be read again.
    pub async fn create_account(&self, new: NewAccount) -> Result<(Account, String)> {
        let names = Person {
            first_name: new.first_name.and_then(named),
            last_name: new.last_name.and_then(named),
            ..Person::default()
        };
        let mut errors = email_faults(&new.email);
        names.check(&mut errors);
        refuse(errors)?;
        let (email, Person { first_name, last_name, .. }) = (clean_email(&new.email)?, names);
        let password = new.password.unwrap_or_else(|| self.core.new_password());
        let own = OwnWords::of([Some(email.as_str()), first_name.as_deref(), last_name.as_deref()]);
        let password_hash = self.hash_new_password("password", &password, &own).await?;
        let now_ms = self.core.now_ms();
        let account = Account {
            uuid: AccountId::new(self.core.new_uuid()),
            id: RecordId::new(self.core.new_record_id()),
            email,
            role: new.role,
            first_name,
            last_name,
            password_hash,
            must_change_password: false,
            subscription_until_ms: match new.subscription {
                SubscriptionStart::Active => Some(now_ms + FIRST_SUBSCRIPTION_DAYS * DAY_MS),
                SubscriptionStart::None => None,
            },
            disabled_ms: None,
            created_ms: now_ms,
            updated_ms: now_ms,
        };
        match self.core.users().add_account(account.clone()).await {
            Ok(()) => {
                let role = Some(account.role.name());
                self.note_by_operator(SecurityEventType::AccountCreated, EntityId::from(&account.uuid), role).await;
                Ok((account, password))
            }
            Err(StoreError::Conflict(_)) => Err(email_taken()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns all accounts, oldest first.
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        Ok(self.core.users().accounts().await?)
    }

    /// Returns the account with this e-mail.
    pub async fn account_by_email(&self, email: &str) -> Result<Account> {
        let account = self.core.users().account_by_email(&clean_email(email)?).await?;
        account.ok_or(PlatformError::NotFound("account"))
    }

    /// Sets until when an account's subscription is active.
    pub async fn set_subscription(&self, email: &str, until_ms: Option<i64>) -> Result<()> {
        let account = self.account_by_email(email).await?;
        self.core.users().set_subscription(&account.uuid, until_ms, self.core.now_ms()).await?;
        Ok(())
    }

    /// Creates an API key for an operator; answers it and the key itself, which cannot be read again.
    pub async fn create_api_key(&self, account: &Account, new: NewApiKey) -> Result<(ApiKey, String)> {
        let (key, token) = self.make_api_key(account, new).await?;
        self.note_by_operator(SecurityEventType::ApiKeyCreated, EntityId::new(key.id.as_str()), None).await;
        Ok((key, token))
    }

    /// Creates an API key; answers it and the key itself.
    pub(crate) async fn make_api_key(&self, account: &Account, new: NewApiKey) -> Result<(ApiKey, String)> {
        // A key never reaches further than its account, so that losing access to a study is lost for the key as well.
        for code in &new.groups {
            let access = self.core.users().group_access(code, &account.uuid, None).await?;
            if !access.ok_or(PlatformError::NotFound("group"))?.allowed {
                return Err(PlatformError::Forbidden("the account has no access to this group"));
            }
        }
        let token = format!("pwk_{}", URL_SAFE_NO_PAD.encode(self.core.random_bytes::<32>()));
        let key = ApiKey {
            id: ApiKeyId::new(self.core.new_record_id()),
            // Nothing else is kept: a copy of the database opens nothing.
            key_hash: hash_api_key(&token),
            prefix: token[..VISIBLE_PREFIX].to_owned(),
            account: account.uuid.clone(),
            is_scoped: !new.groups.is_empty(),
            name: new.name,
            created_ms: self.core.now_ms(),
            expires_ms: new.expires_ms,
            revoked_ms: None,
            last_used_ms: None,
        };
        self.core.users().add_api_key(key.clone(), new.groups).await?;
        Ok((key, token))
    }

    /// Returns the API keys of an account, oldest first.
    pub async fn api_keys(&self, account: &Account) -> Result<Vec<ApiKey>> {
        Ok(self.core.users().api_keys(&account.uuid).await?)
    }

    /// Revokes an API key for an operator and ends the health-tokens that were asked for with it. Answers when it was
    /// revoked, also when that was before.
    pub async fn revoke_api_key(&self, key_id: &ApiKeyId) -> Result<i64> {
        let key = self.core.users().api_key(key_id).await?.ok_or(PlatformError::NotFound("API key"))?;
        if let Some(revoked_ms) = key.revoked_ms {
            return Ok(revoked_ms);
        }
        let now_ms = self.core.now_ms();
        if self.end_api_key(&key).await? {
            self.note_by_operator(SecurityEventType::ApiKeyRevoked, EntityId::new(key.id.as_str()), None).await;
        }
        Ok(now_ms)
    }

    /// Revokes an API key and ends the health-tokens that were asked for with it. Returns whether it was in force.
    pub(crate) async fn end_api_key(&self, key: &ApiKey) -> Result<bool> {
        let now_ms = self.core.now_ms();
        let message = HealthMessage {
            id: self.core.new_message_id(),
            change: HealthChange::EndSessionsOfKey { key_id: key.id.clone(), at_ms: now_ms },
            entries: Vec::new(),
            created_ms: now_ms,
        };
        // False where another call was first: that one delivers its own message.
        let ended = self.core.users().revoke_api_key(&key.id, now_ms, message.clone()).await?;
        if ended {
            self.core.deliver(message).await?;
        }
        Ok(ended)
    }

    /// Gives an account another password, made up when there is none, and ends its sessions. Its owner has to
    /// choose another one before anything else. Answers the password.
    pub async fn reset_account_password(&self, account: &Account, password: Option<String>) -> Result<String> {
        let password = password.unwrap_or_else(|| self.core.new_password());
        let hash = self.hash_new_password("password", &password, &words_of_account(account)).await?;
        let new = NewPassword { hash, must_change: true, kept_session: None };
        self.core.users().set_account_password(&account.uuid, new, self.core.now_ms()).await?;
        self.note_by_operator(SecurityEventType::PasswordReset, EntityId::from(&account.uuid), None).await;
        Ok(password)
    }

    /// Removes the second factor of an account whose owner cannot show a code any more, and its recovery codes. Not found when there is none.
    pub async fn remove_second_factor(&self, account: &Account) -> Result<()> {
        if !self.core.users().remove_totp(&account.uuid).await? {
            return Err(PlatformError::NotFound("second factor"));
        }
        self.note_by_operator(SecurityEventType::SecondFactorRemoved, EntityId::from(&account.uuid), None).await;
        Ok(())
    }

    /// Gives an account another role. Its sessions, its API keys and the health tokens that it asked for end, so that nothing
    /// gains or loses rights that its holder does not know of. Nothing is changed where a study would be left without
    /// anybody who manages it.
    pub async fn change_role(&self, account: &Account, role: Role) -> Result<RoleChange> {
        let now_ms = self.core.now_ms();
        let message = self.end_of_actor(&account.uuid, now_ms);
        let change = self.core.users().change_role(&account.uuid, role, now_ms, message.clone()).await?;
        if let RoleChange::Changed { .. } = change {
            self.core.deliver(message).await?;
            let role = Some(role.name());
            self.note_by_operator(SecurityEventType::RoleChanged, EntityId::from(&account.uuid), role).await;
        }
        Ok(change)
    }

    /// Disables an account: it cannot log in, and its sessions, its API keys and the health-tokens that it asked for
    /// end. Answers when it was disabled, also when that was before.
    pub async fn disable_account(&self, account: &Account) -> Result<i64> {
        if let Some(disabled_ms) = account.disabled_ms {
            return Ok(disabled_ms);
        }
        let now_ms = self.core.now_ms();
        let message = self.end_of_actor(&account.uuid, now_ms);
        if self.core.users().disable_account(&account.uuid, now_ms, message.clone()).await? {
            self.core.deliver(message).await?;
            self.note_by_operator(SecurityEventType::AccountDisabled, EntityId::from(&account.uuid), None).await;
        }
        Ok(now_ms)
    }

    /// Enables an account that was disabled: its password, and its second factor where it has one, log in again. Sessions
    /// and API keys of before stay ended. Enabling one that is not disabled changes nothing.
    pub async fn enable_account(&self, account: &Account) -> Result<()> {
        if self.core.users().enable_account(&account.uuid, self.core.now_ms()).await? {
            self.note_by_operator(SecurityEventType::AccountEnabled, EntityId::from(&account.uuid), None).await;
        }
        Ok(())
    }

    /// Returns the end of the tokens by which an account reads.
    fn end_of_actor(&self, account: &AccountId, now_ms: i64) -> HealthMessage {
        let change = HealthChange::EndSessionsOfActor { account: account.clone(), at_ms: now_ms };
        HealthMessage { id: self.core.new_message_id(), change, entries: Vec::new(), created_ms: now_ms }
    }
}

/// Someone else logs in with this address.
pub(crate) fn email_taken() -> PlatformError {
    PlatformError::Conflict { code: "duplicate_email", message: "this e-mail is in use" }
}
