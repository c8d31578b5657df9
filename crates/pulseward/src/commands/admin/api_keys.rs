//! API keys: create, list, revoke.

use clap::Args;
use jiff::SignedDuration;
use platform::{NewApiKey, Platform};
use serde_json::{Value, json};
use store::{ApiKeyId, GroupCode};

use super::operate::Operate;
use crate::failure::Failure;
use crate::values::{iso, parse_span};

/// Create an API key; prints it, which cannot be read again
#[derive(Args)]
pub struct CreateApiKey {
    /// Address of the account that the key acts for
    #[arg(long, value_name = "E")]
    account: String,
    /// What the key is for
    #[arg(long, value_name = "N")]
    name: Option<String>,
    /// After which time the key ends by itself, such as 90d; default: it does not
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    expires: Option<SignedDuration>,
    /// Code of a group that the key acts on, may be repeated; default: all groups of the account
    #[arg(long = "group", value_name = "CODE")]
    groups: Vec<String>,
}

impl Operate for CreateApiKey {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        let expires_ms = self.expires.map(|span| platform.core.now_ms() + span.as_millis() as i64);
        // Codes are checked by the operation: a key for a study that there is not would act on all or none.
        let new =
            NewApiKey { name: self.name, expires_ms, groups: self.groups.into_iter().map(GroupCode::new).collect() };
        let (key, token) = platform.identity.create_api_key(&account, new).await?;
        Ok(json!({"id": key.id, "token": token, "prefix": key.prefix, "expires_at": key.expires_ms.map(iso)}))
    }
}

/// List the API keys of an account, oldest first
#[derive(Args)]
pub struct ListApiKeys {
    /// Address of the account
    #[arg(long, value_name = "E")]
    account: String,
}

impl Operate for ListApiKeys {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let account = platform.identity.account_by_email(&self.account).await?;
        let keys = platform.identity.api_keys(&account).await?.into_iter().map(|key| {
            json!({
                "id": key.id,
                "prefix": key.prefix,
                "name": key.name,
                "created_at": iso(key.created_ms),
                "expires_at": key.expires_ms.map(iso),
                "revoked_at": key.revoked_ms.map(iso),
                "last_used_at": key.last_used_ms.map(iso),
            })
        });
        Ok(json!({"api_keys": keys.collect::<Vec<Value>>()}))
    }
}

/// Revoke an API key and the health tokens that were asked for with it
#[derive(Args)]
pub struct RevokeApiKey {
    /// Record identifier of the key
    #[arg(long, value_name = "ID")]
    id: String,
}

impl Operate for RevokeApiKey {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let id = ApiKeyId::new(self.id);
        let revoked_ms = platform.identity.revoke_api_key(&id).await?;
        Ok(json!({"id": id, "revoked_at": iso(revoked_ms)}))
    }
}
