//! What a client may ask about its own tokens (RFC 7662), and how it gives them back (RFC 7009).

use boxed_futures::boxed_futures;
use store::{ClientId, FamilyId, HealthSession, PatientId, SessionId};

use super::clients::ClientCredentials;
use super::common::{hash_of, invalid_grant, refused};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::cloud::Cloud;

/// A token that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// What it allows, words with blanks between.
    pub scope: String,
    /// The client that it was issued to.
    pub client: ClientId,
    /// Whose data it opens.
    pub patient: PatientId,
    /// Time at which it ends by itself, s since 1970.
    pub expires_s: i64,
    /// Time at which it was issued, s since 1970; of a refresh token it is not known.
    pub issued_s: Option<i64>,
    /// Its identity; of a refresh token it is not reported.
    pub token_id: Option<SessionId>,
    /// Whether it is an access token.
    pub is_access: bool,
}

/// A token of either kind.
enum Found {
    Access(HealthSession),
    Refresh { family: FamilyId, client: Option<ClientId>, inspected: Option<Inspected> },
}

#[boxed_futures]
impl Identity {
    /// Returns what a token of the calling client is worth; `None` for one that is not good, and for any other
    /// client's. Only for clients that have a secret.
    pub async fn introspect(
        &self,
        credentials: &ClientCredentials,
        token: &str,
        address: &str,
    ) -> Result<Option<Inspected>> {
        let client = self.authenticate_client(credentials, address).await?;
        if client.secret_hash.is_none() {
            return Err(refused("invalid_client", "a client without a secret cannot ask"));
        }
        let now_ms = self.core.now_ms();
        let inspected = match self.find_token(token).await? {
            Some(Found::Access(session)) => inspect_access(session, now_ms),
            Some(Found::Refresh { inspected, .. }) => inspected.filter(|found| now_ms / 1000 < found.expires_s),
            None => None,
        };
        // RFC 7662, 4: of tokens of others a client learns nothing, not even that they are good.
        Ok(inspected.filter(|found| found.client == client.id))
    }

    /// Ends the family of a token, whichever of its tokens is given back. What is not a token, or has ended, is ended.
    pub async fn give_back(&self, credentials: &ClientCredentials, token: &str, address: &str) -> Result<()> {
        let client = self.authenticate_client(credentials, address).await?;
        let (family, owner) = match self.find_token(token).await? {
            Some(Found::Access(session)) => (session.family, session.client),
            Some(Found::Refresh { family, client, .. }) => (family, client),
            // RFC 7009, 2.2: what the client wants is so already.
            None => return Ok(()),
        };
        if owner.as_ref() != Some(&client.id) {
            return Err(invalid_grant("the token was issued to another client"));
        }
        self.core.health().end_family(&family, self.core.now_ms()).await?;
        Ok(())
    }

    async fn find_token(&self, token: &str) -> Result<Option<Found>> {
        if let Some(found) = self.core.health().oauth_refresh_token(&hash_of(token)).await? {
            let good = found.ended_ms.is_none() && found.replaced_ms.is_none();
            let client = found.client;
            // One that has ended still leads to its family, so that giving it back ends what is left of that.
            let of_client = client.clone().filter(|_| good);
            let inspected = of_client.map(|client| Inspected {
                scope: found.scope,
                client,
                patient: found.patient,
                expires_s: found.refresh_until_ms.div_euclid(1000),
                issued_s: None,
                token_id: None,
                is_access: false,
            });
            return Ok(Some(Found::Refresh { family: found.family, client, inspected }));
        }
        let claims = match self.read_token(Cloud::Health, token).await {
            Ok(claims) => claims,
            Err(PlatformError::Unauthenticated(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let session = self.core.health().session(&claims.jti).await?;
        Ok(session.filter(|session| claims.user.patient() == Some(&session.patient)).map(Found::Access))
    }
}

fn inspect_access(session: HealthSession, now_ms: i64) -> Option<Inspected> {
    if session.ended_ms.is_some() || session.replaced_ms.is_some() || now_ms >= session.expires_ms {
        return None;
    }
    Some(Inspected {
        scope: session.scope,
        client: session.client?,
        patient: session.patient,
        expires_s: session.expires_ms.div_euclid(1000),
        issued_s: Some(session.issued_ms.div_euclid(1000)),
        token_id: Some(session.id),
        is_access: true,
    })
}
