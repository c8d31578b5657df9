//! The keys that sign tokens: rotate.

use clap::Args;
use platform::{Cloud, Platform};
use serde_json::{Value, json};

use super::operate::Operate;
use crate::failure::Failure;

/// Make new keys to sign tokens with, on both clouds; tokens signed with the old ones stay good
#[derive(Args)]
pub struct RotateKeys {}

impl Operate for RotateKeys {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let users_kid = platform.identity.rotate_signing_key(Cloud::Users).await?;
        let health_kid = platform.identity.rotate_signing_key(Cloud::Health).await?;
        Ok(json!({"users_kid": users_kid, "health_kid": health_kid}))
    }
}
