//! The keys that sign tokens: rotate.

use clap::Args;
use platform::{Cloud, Platform};
use serde_json::{Value, json};

use super::operate::Operate;
use crate::failure::Failure;
use crate::wiring::Expected;

/// Make new keys to sign tokens with, on both clouds; tokens signed with the old ones stay good
#[derive(Args)]
pub struct RotateKeys {
    /// Make a new master key where its file is lost: what the old one has sealed, such as second factors, stays closed
    #[arg(long)]
    new_master_key: bool,
}

impl Operate for RotateKeys {
    fn expected(&self) -> Expected {
        if self.new_master_key { Expected::LostKey } else { Expected::Databases }
    }

    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let users_kid = platform.identity.rotate_signing_key(Cloud::Users).await?;
        if self.new_master_key {
            // The key that guarded the log is lost, so nothing but its chain can be followed.
            if let Some(broken) = platform.upkeep.first_broken_audit_entry().await? {
                eprintln!("the audit log: entry {broken} is missing or not what was written");
            }
            platform.upkeep.seal_audit_log_again().await?;
        }
        let health_kid = platform.identity.rotate_signing_key(Cloud::Health).await?;
        Ok(json!({"users_kid": users_kid, "health_kid": health_kid}))
    }
}
