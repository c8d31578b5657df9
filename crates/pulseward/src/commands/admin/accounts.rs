//! Accounts: create, list, subscription, password, role, second factor, disable, enable.

use clap::{Args, ValueEnum};
use platform::{NewAccount, Platform, SubscriptionStart};
use serde_json::{Value, json};
use store::{GroupCode, Role, RoleChange};

use super::operate::Operate;
use super::password::PasswordSource;
use crate::failure::Failure;
use crate::values::{Until, iso, parse_until};

/// What an account may do, as the command line has it.
#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    /// Runs studies
    Researcher,
    /// Reads them
    Hcp,
    /// Runs the service
    Admin,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Researcher => Role::Researcher,
            RoleName::Hcp => Role::Hcp,
            RoleName::Admin => Role::Admin,
        }
    }
}

/// Create an account; prints its password, which cannot be read again
#[derive(Args)]
pub struct CreateAccount {
    /// Address to log in with
    #[arg(long, value_name = "E")]
    email: String,
    /// What the account may do
    #[arg(long, value_enum)]
    role: RoleName,
    /// Given name
    #[arg(long, value_name = "F")]
    first_name: Option<String>,
    /// Family name
    #[arg(long, value_name = "L")]
    last_name: Option<String>,
    #[command(flatten)]
    password: PasswordSource,
    /// Begin without the subscription of 30 days
    #[arg(long)]
    no_subscription: bool,
}

impl Operate for CreateAccount {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let new = NewAccount {
            email: self.email,
            role: self.role.into(),
            first_name: self.first_name,
            last_name: self.last_name,
            password: self.password.read()?,
            subscription: if self.no_subscription { SubscriptionStart::None } else { SubscriptionStart::Active },
        };
        let (account, password) = platform.identity.create_account(new).await?;
        Ok(json!({
            "id": account.id,
            "uuid": account.uuid,
            "email": account.email,
            "role": account.role,
            "password": password,
        }))
    }
}

/// List all accounts, oldest first
#[derive(Args)]
pub struct ListAccounts {}

impl Operate for ListAccounts {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let accounts = platform.identity.accounts().await?;
        let accounts = accounts.into_iter().map(|account| {
            json!({
                "id": account.id,
                "uuid": account.uuid,
                "email": account.email,
                "role": account.role,
                "first_name": account.first_name,
                "last_name": account.last_name,
                "subscription_until": account.subscription_until_ms.map(iso),
                "disabled_at": account.disabled_ms.map(iso),
                "created_at": iso(account.created_ms),
            })
        });
        Ok(json!({"accounts": accounts.collect::<Vec<Value>>()}))
    }
}

/// Set until when an account's subscription is active
#[derive(Args)]
pub struct SetSubscription {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
    /// The last day, such as 2027-01-31 (UTC), an instant, or `none`
    #[arg(long, value_name = "DATE", value_parser = parse_until)]
    until: Until,
}

impl Operate for SetSubscription {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        platform.identity.set_subscription(&account.email, self.until.ms()).await?;
        Ok(json!({"email": account.email, "subscription_until": self.until.ms().map(iso)}))
    }
}

/// Give an account another password, which ends its sessions
#[derive(Args)]
pub struct ResetPassword {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
    #[command(flatten)]
    password: PasswordSource,
}

impl Operate for ResetPassword {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        let password = platform.identity.reset_account_password(&account, self.password.read()?).await?;
        Ok(json!({"email": account.email, "password": password}))
    }
}

/// Give an account another role, which ends its sessions, API keys and health tokens
#[derive(Args)]
pub struct ChangeRole {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
    /// What the account may do from then on
    #[arg(long, value_enum)]
    role: RoleName,
}

impl Operate for ChangeRole {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        let role = Role::from(self.role);
        let ended_keys = match platform.identity.change_role(&account, role).await? {
            RoleChange::Changed { ended_keys } => ended_keys,
            RoleChange::Unchanged => 0,
            RoleChange::LastManager(studies) => return Err(last_manager(&account.email, &studies)),
        };
        Ok(json!({"email": account.email, "role": role, "ended_api_keys": ended_keys}))
    }
}

/// Returns why a role stays, and what to do about it.
fn last_manager(email: &str, studies: &[GroupCode]) -> Failure {
    let studies: Vec<&str> = studies.iter().map(GroupCode::as_str).collect();
    Failure::Other(format!(
        "{email} is the only one who manages {}: make another researcher or administrator a member first",
        studies.join(", ")
    ))
}

/// Remove the second factor of an account whose owner has lost it: the password alone signs in until another is set up
#[derive(Args)]
pub struct RemoveSecondFactor {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
}

impl Operate for RemoveSecondFactor {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        platform.identity.remove_second_factor(&account).await?;
        Ok(json!({"email": account.email, "second_factor": null}))
    }
}

/// Disable an account: its logins, sessions, API keys and health tokens end
#[derive(Args)]
pub struct DisableAccount {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
}

impl Operate for DisableAccount {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        let disabled_ms = platform.identity.disable_account(&account).await?;
        Ok(json!({"email": account.email, "disabled_at": iso(disabled_ms)}))
    }
}

/// Enable an account that was disabled; sessions and API keys of before stay ended
#[derive(Args)]
pub struct EnableAccount {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
}

impl Operate for EnableAccount {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        platform.identity.enable_account(&account).await?;
        Ok(json!({"email": account.email, "disabled_at": null}))
    }
}
