//! OAuth clients: what an operator sets up, and how a client shows which it is.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use boxed_futures::boxed_futures;
use store::{ClientId, HealthChange, HealthMessage, OauthClient};

use super::common::{hash_of, refused};
use super::redirect::{check_policy_address, check_redirect_uri};
use crate::core::checks::{is_short_line, note, refuse, trimmed};
use crate::core::error::{FieldFaults, PlatformError, Result};
use crate::identity::Identity;

const LONGEST_NAME: usize = 100;
const MOST_ADDRESSES: usize = 20;

/// A client to create.
#[derive(Clone, Debug)]
pub struct NewOauthClient {
    /// What patients are shown.
    pub name: String,
    /// The addresses at which it may be answered, compared byte by byte.
    pub redirect_uris: Vec<String>,
    /// Where it says what it does with the data.
    pub privacy_policy_url: String,
    /// Whether it cannot keep a secret, such as an app on a phone. It then has to use PKCE.
    pub public: bool,
}

impl NewOauthClient {
    /// Returns everything that is wrong.
    pub fn faults(&self) -> FieldFaults {
        let mut errors = FieldFaults::new();
        if !is_short_line(&self.name, LONGEST_NAME) {
            note(&mut errors, "name", "must have 1 to 100 characters");
        }
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MOST_ADDRESSES {
            note(&mut errors, "redirect_uris", "must be 1 to 20 addresses");
        }
        // Of more than that each would be named, which makes an answer larger than what was asked.
        for address in self.redirect_uris.iter().take(MOST_ADDRESSES) {
            if let Err(message) = check_redirect_uri(address) {
                note(&mut errors, "redirect_uris", message);
            }
        }
        if let Err(message) = check_policy_address(&self.privacy_policy_url) {
            note(&mut errors, "privacy_policy_url", message);
        }
        errors
    }
}

/// A client as an operator sees it.
#[derive(Clone, Debug)]
pub struct OauthClientView {
    /// The client.
    pub client: OauthClient,
    /// The addresses at which it may be answered.
    pub redirect_uris: Vec<String>,
}

/// What a client shows itself with.
#[derive(Clone)]
pub struct ClientCredentials {
    /// Which it says that it is.
    pub id: ClientId,
    /// Its secret; none from a public client.
    pub secret: Option<String>,
}

#[boxed_futures]
impl Identity {
    /// Creates a client; answers it and its secret, which cannot be read again. A public client has none.
    pub async fn create_oauth_client(&self, new: NewOauthClient) -> Result<(OauthClient, Option<String>)> {
        refuse(new.faults())?;
        let secret = (!new.public).then(|| self.new_secret("pws_"));
        let client = OauthClient {
            id: ClientId::new(self.core.new_record_id()),
            secret_hash: secret.as_deref().map(hash_of),
            name: trimmed(&new.name).to_owned(),
            privacy_policy_url: new.privacy_policy_url,
            created_ms: self.core.now_ms(),
            removed_ms: None,
        };
        self.core.users().add_oauth_client(client.clone(), new.redirect_uris).await?;
        Ok((client, secret))
    }

    /// Returns all clients, oldest first, also the removed ones.
    pub async fn oauth_clients(&self) -> Result<Vec<OauthClientView>> {
        let clients = self.core.users().oauth_clients().await?;
        Ok(clients.into_iter().map(|(client, redirect_uris)| OauthClientView { client, redirect_uris }).collect())
    }

    /// Removes a client: what was consented to it and its tokens end at once. Answers when it was removed, also when
    /// that was before.
    pub async fn remove_oauth_client(&self, id: &ClientId) -> Result<i64> {
        let (client, _) = self.core.users().oauth_client(id).await?.ok_or(PlatformError::NotFound("client"))?;
        if let Some(removed_ms) = client.removed_ms {
            return Ok(removed_ms);
        }
        let now_ms = self.core.now_ms();
        let change = HealthChange::EndSessionsOfClient { client: client.id.clone(), at_ms: now_ms };
        let message = HealthMessage { id: self.core.new_message_id(), change, entries: Vec::new(), created_ms: now_ms };
        if self.core.users().remove_oauth_client(&client.id, now_ms, message.clone()).await? {
            self.core.deliver(message).await?;
        }
        Ok(now_ms)
    }

    /// Returns the client that these credentials are of. Guessing is slowed like logins are.
    pub(super) async fn authenticate_client(
        &self,
        credentials: &ClientCredentials,
        address: &str,
    ) -> Result<OauthClient> {
        let name = format!("client {}", credentials.id);
        let found = self.core.users().oauth_client(&credentials.id).await?.map(|(client, _)| client);
        let client = found.as_ref().filter(|client| client.removed_ms.is_none());
        // Where there is no secret there is none to guess.
        if let Some(client) = client.filter(|client| client.secret_hash.is_none() && credentials.secret.is_none()) {
            return Ok(client.clone());
        }
        // Only its own failures count: a secret is too long to be guessed, and many clients can share an address.
        self.check_own_backoff(&name, address)?;
        if let Some(client) = client.filter(|client| fits(client, credentials.secret.as_deref())) {
            self.memory.backoff.succeeded(&name, address);
            return Ok(client.clone());
        }
        self.memory.backoff.failed(&name, address, self.core.now_ms());
        self.note_failed_client(&credentials.id, found.as_ref(), address).await;
        Err(refused("invalid_client", "the client is not known, or its secret is not the right one"))
    }
}

/// Returns whether a client has shown itself as it has to: with its secret, or without one when it has none.
fn fits(client: &OauthClient, secret: Option<&str>) -> bool {
    match (&client.secret_hash, secret) {
        (Some(hash), Some(secret)) => verify_slices_are_equal(hash, &hash_of(secret)).is_ok(),
        (None, None) => true,
        _ => false,
    }
}
