//! Tokens: signed by the cloud that issues them, and good only while their row in its database is in force.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use jsonwebtoken::{Algorithm, Header, Validation};
use store::{AccountId, ClientId, FamilyId, SessionId, SigningKeyId, StoreError, User};

use crate::core::audit;
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::claims::{Actor, Claims};
use crate::identity::cloud::Cloud;
use crate::identity::verified_tokens::{TokenDigest, VerifiedToken};

pub(crate) const MINUTE_MS: i64 = 60_000;

/// A token as it is handed out.
#[derive(Clone)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// Minutes that it lives.
    pub ttl_minutes: i64,
    /// Minutes from its first issue within which it can be refreshed; 0 when it cannot.
    pub refresh_minutes: i64,
}

/// Who calls the Users Cloud. Only a valid token makes it, so that nobody reads on behalf of another user:
///
/// ```
/// use platform::UsersCaller;
/// use store::User;
///
/// fn named(caller: &UsersCaller) -> &User {
///     caller.user()
/// }
/// ```
///
/// ```compile_fail
/// use platform::UsersCaller;
/// use store::User;
///
/// fn named(caller: &mut UsersCaller, other: User) {
///     caller.user = other;
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersCaller {
    /// The patient, or the account in the role that the token was issued for.
    pub(crate) user: User,
    /// The session behind the token.
    pub(crate) session_id: SessionId,
    /// The login that the token goes back to.
    pub(crate) login: FamilyId,
    /// Whether staff chose the password, so that another has to be chosen first.
    pub(crate) must_change_password: bool,
}

impl UsersCaller {
    /// Returns the patient, or the account in the role that the token was issued for.
    pub fn user(&self) -> &User {
        &self.user
    }

    /// Password change required until the caller has chosen a password of their own.
    pub fn require_own_password(&self) -> Result<()> {
        if self.must_change_password {
            return Err(PlatformError::PasswordChangeRequired);
        }
        Ok(())
    }

    /// Returns the caller as the audit log names them.
    pub(crate) fn actor(&self) -> audit::Actor {
        audit::Actor::user(&self.user)
    }
}

/// A token before it is signed.
pub(crate) struct Unsigned<'a> {
    pub session_id: &'a SessionId,
    pub issued_ms: i64,
    pub expires_ms: i64,
    pub user: &'a User,
    pub scope: Option<&'a str>,
    pub actor: Option<&'a AccountId>,
    pub client: Option<&'a ClientId>,
}

pub(crate) const NOT_VALID: PlatformError = PlatformError::Unauthenticated("the token is not valid");

#[boxed_futures]
impl Identity {
    /// Signs a token.
    pub(crate) async fn sign(&self, cloud: Cloud, unsigned: Unsigned<'_>) -> Result<String> {
        let claims = Claims {
            iss: self.issuer(cloud).to_owned(),
            aud: cloud.name().to_owned(),
            user: unsigned.user.clone(),
            jti: unsigned.session_id.clone(),
            iat: unsigned.issued_ms.div_euclid(1000),
            exp: unsigned.expires_ms.div_euclid(1000),
            scope: unsigned.scope.map(str::to_owned),
            act: unsigned.actor.map(|actor| Actor { sub: actor.clone() }),
            client_id: unsigned.client.cloned(),
        };
        let keys = self.keys(cloud).await?;
        let header = Header { kid: Some(keys.signing_kid.to_string()), ..Header::new(Algorithm::EdDSA) };
        // Said as damage: nothing of the request is wrong, and an operator can bring the key back.
        let signing = keys.signing.as_ref();
        let signing = signing.ok_or_else(|| StoreError::Damaged("the key that signs tokens".to_owned()))?;
        jsonwebtoken::encode(&header, &claims, signing)
            .map_err(|error| PlatformError::Internal(format!("signing a token: {error}")))
    }

    /// Returns when an access token that is issued now ends, ms.
    pub(crate) fn token_end_ms(&self, now_ms: i64) -> i64 {
        now_ms + self.core.settings().token_ttl_minutes * MINUTE_MS
    }

    /// Returns a signed token with the times that a client gets.
    pub(crate) fn issued(&self, token: String, first_issued_ms: i64, refresh_until_ms: i64) -> Issued {
        let refresh_minutes = (refresh_until_ms - first_issued_ms) / MINUTE_MS;
        Issued { token, ttl_minutes: self.core.settings().token_ttl_minutes, refresh_minutes }
    }

    /// Returns what a token of this cloud says, when its signature, issuer and audience hold. Its session and its end
    /// are for the caller to check.
    pub(crate) async fn read_token(&self, cloud: Cloud, token: &str) -> Result<Arc<Claims>> {
        let verified = &self.keyring(cloud).verified;
        let digest = TokenDigest::of(token);
        if let Some(known) = verified.find(&digest)
            && self.keys_with(cloud, &known.kid).await?.verifying.contains_key(&known.kid)
        {
            return Ok(known.claims.clone());
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| NOT_VALID)?;
        let kid = SigningKeyId::new(header.kid.ok_or(NOT_VALID)?);
        let keys = self.keys_with(cloud, &kid).await?;
        let key = keys.verifying(&kid)?.ok_or(NOT_VALID)?;
        // One algorithm, ours: what the header of a token says must not choose how it is checked.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[self.issuer(cloud)]);
        validation.set_audience(&[cloud.name()]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // The session row has the end by this program's own clock.
        validation.validate_exp = false;
        let data = jsonwebtoken::decode::<Claims>(token, key, &validation).map_err(|_| NOT_VALID)?;
        let claims = Arc::new(data.claims);
        verified.add(digest, VerifiedToken { kid, claims: claims.clone() });
        Ok(claims)
    }

    /// Returns who calls the Users Cloud with this token. What the call opens is for
    /// [`UsersCaller::require_own_password`] to say.
    pub async fn users_caller(&self, token: &str) -> Result<UsersCaller> {
        let claims = self.read_token(Cloud::Users, token).await?;
        let holder = self.core.users().session_holder(&claims.jti).await?.ok_or(NOT_VALID)?;
        let session = holder.session;
        if session.owner != claims.user.id() || session.ended_ms.is_some() || session.replaced_ms.is_some() {
            return Err(NOT_VALID);
        }
        if self.core.now_ms() >= session.expires_ms {
            return Err(PlatformError::Unauthenticated("the token has expired"));
        }
        Ok(UsersCaller {
            user: claims.user.clone(),
            session_id: session.id,
            login: session.family,
            must_change_password: holder.must_change_password,
        })
    }

    /// Returns the public keys of a cloud, by name, as base64 without padding. They are those of a second ago at most,
    /// so that a reader that sees a new name in a token finds its key here, whichever node is asked.
    pub async fn public_keys(&self, cloud: Cloud) -> Result<Vec<(SigningKeyId, String)>> {
        let keys = self.fresh_keys(cloud).await?;
        let encoded = keys.verifying.iter().map(|(kid, (_, public))| (kid.clone(), URL_SAFE_NO_PAD.encode(public)));
        let mut encoded: Vec<_> = encoded.collect();
        encoded.sort();
        Ok(encoded)
    }

    pub(crate) fn issuer(&self, cloud: Cloud) -> &str {
        match cloud {
            Cloud::Users => &self.core.settings().users_url,
            Cloud::Health => &self.core.settings().health_url,
        }
    }
}
