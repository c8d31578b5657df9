//! OAuth clients: create, list, remove.

use clap::Args;
use platform::oauth::NewOauthClient;
use platform::{Platform, PlatformError};
use serde_json::{Value, json};
use store::ClientId;

use super::operate::Operate;
use crate::failure::Failure;
use crate::values::iso;

/// Create an OAuth client; prints its id and its secret, which cannot be read again
#[derive(Args)]
pub struct CreateOauthClient {
    /// Name of the application, as patients are shown it
    #[arg(long, value_name = "N")]
    name: String,
    /// Address that the application is answered at, compared to the letter; may be repeated
    #[arg(long = "redirect-uri", value_name = "U", required = true)]
    redirect_uris: Vec<String>,
    /// Address where the application says what it does with the data
    #[arg(long, value_name = "U")]
    privacy_policy_url: String,
    /// The application cannot keep a secret, like one on a phone or in a page: it gets none and has to use PKCE
    #[arg(long)]
    public: bool,
}

impl Operate for CreateOauthClient {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let new = NewOauthClient {
            name: self.name,
            redirect_uris: self.redirect_uris,
            privacy_policy_url: self.privacy_policy_url,
            public: self.public,
        };
        let created = platform.identity.create_oauth_client(new).await;
        let (client, secret) = created.map_err(with_options)?;
        Ok(match secret {
            Some(secret) => json!({"client_id": client.id, "client_secret": secret}),
            // Without the field and not null: scripts that put it into a file would write the word null.
            None => json!({"client_id": client.id}),
        })
    }
}

/// Returns an error with options in the place of fields, which have other names.
fn with_options(error: PlatformError) -> PlatformError {
    let PlatformError::Invalid(faults) = error else { return error };
    let option = |field: String| match field.as_str() {
        // Given once for each address.
        "redirect_uris" => "--redirect-uri".to_owned(),
        _ => format!("--{}", field.replace('_', "-")),
    };
    PlatformError::Invalid(faults.into_iter().map(|(field, found)| (option(field), found)).collect())
}

/// List all OAuth clients, oldest first
#[derive(Args)]
pub struct ListOauthClients {}

impl Operate for ListOauthClients {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let clients = platform.identity.oauth_clients().await?.into_iter().map(|view| {
            json!({
                "client_id": view.client.id,
                "name": view.client.name,
                "redirect_uris": view.redirect_uris,
                "privacy_policy_url": view.client.privacy_policy_url,
                "public": view.client.secret_hash.is_none(),
                "created_at": iso(view.client.created_ms),
                "removed_at": view.client.removed_ms.map(iso),
            })
        });
        Ok(json!({"oauth_clients": clients.collect::<Vec<Value>>()}))
    }
}

/// Remove an OAuth client: what patients have allowed it and all its tokens end
#[derive(Args)]
pub struct RemoveOauthClient {
    /// The client's id
    #[arg(long, value_name = "ID")]
    id: String,
}

impl Operate for RemoveOauthClient {
    async fn operate(self, platform: &Platform) -> Result<Value, Failure> {
        let id = ClientId::new(self.id);
        let removed_ms = platform.identity.remove_oauth_client(&id).await?;
        Ok(json!({"client_id": id, "removed_at": iso(removed_ms)}))
    }
}
