//! Tokens: signed by the cloud that issues them, and good only while their row in its database stands.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Header, Validation};
use serde::{Deserialize, Serialize};
use store::{NewAuditEntry, Session};

use crate::environment::Platform;
use crate::error::{PlatformError, Result};

const MINUTE_MS: i64 = 60_000;

/// Which cloud a token belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Where people log in.
    Users,
    /// Where data are sent and read.
    Health,
}

impl Cloud {
    /// A word for the cloud, the audience of its tokens.
    pub fn name(self) -> &'static str {
        match self {
            Cloud::Users => "users",
            Cloud::Health => "health",
        }
    }
}

/// A token as it is handed out.
#[derive(Clone)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// Minutes that it lives.
    pub ttl_minutes: i64,
    /// Minutes from its first issue within which it can be refreshed.
    pub refresh_minutes: i64,
}

/// Who calls the Users Cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsersCaller {
    /// The uuid of a patient or of an account.
    pub owner: String,
    /// `patient`, or the role of the account.
    pub role: String,
    /// The session behind the token.
    pub session_id: String,
}

/// What a token says. The names are those of RFC 7519 and RFC 8693.
#[derive(Serialize, Deserialize)]
pub(crate) struct Claims {
    pub iss: String,
    pub aud: String,
    pub sub: String,
    pub jti: String,
    pub iat: i64,
    pub exp: i64,
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<Actor>,
}

/// Who acts in the stead of a token's subject.
#[derive(Serialize, Deserialize)]
pub(crate) struct Actor {
    pub sub: String,
}

/// Whom a token is for, before it has an identity and a time.
pub(crate) struct Subject<'a> {
    pub uuid: &'a str,
    pub role: &'a str,
    pub scope: Option<&'a str>,
    pub actor: Option<&'a str>,
}

const NOT_VALID: PlatformError = PlatformError::Unauthenticated("the token is not valid");

impl Platform {
    /// Signs a token for a session identity.
    pub(crate) async fn sign(
        &self,
        cloud: Cloud,
        session_id: &str,
        issued_ms: i64,
        subject: Subject<'_>,
    ) -> Result<Issued> {
        let ttl_minutes = self.settings.token_ttl_minutes;
        let claims = Claims {
            iss: self.issuer(cloud).to_owned(),
            aud: cloud.name().to_owned(),
            sub: subject.uuid.to_owned(),
            jti: session_id.to_owned(),
            iat: issued_ms.div_euclid(1000),
            exp: (issued_ms + ttl_minutes * MINUTE_MS).div_euclid(1000),
            role: subject.role.to_owned(),
            scope: subject.scope.map(str::to_owned),
            act: subject.actor.map(|actor| Actor { sub: actor.to_owned() }),
        };
        let keys = self.keys(cloud).await?;
        let header = Header { kid: Some(keys.signing_kid.clone()), ..Header::new(Algorithm::EdDSA) };
        let token = jsonwebtoken::encode(&header, &claims, &keys.signing)
            .map_err(|error| PlatformError::Internal(format!("signing a token: {error}")))?;
        Ok(Issued { token, ttl_minutes, refresh_minutes: self.settings.token_refresh_minutes })
    }

    /// What a token of this cloud says, when its signature, issuer and audience hold. Its session and its end are
    /// for the caller to check.
    pub(crate) async fn read_token(&self, cloud: Cloud, token: &str) -> Result<Claims> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| NOT_VALID)?;
        let kid = header.kid.ok_or(NOT_VALID)?;
        let keys = self.keys_with(cloud, &kid).await?;
        let (key, _) = keys.verifying.get(&kid).ok_or(NOT_VALID)?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[self.issuer(cloud)]);
        validation.set_audience(&[cloud.name()]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // The session row tells the end by this program's own clock.
        validation.validate_exp = false;
        let data = jsonwebtoken::decode::<Claims>(token, key, &validation).map_err(|_| NOT_VALID)?;
        Ok(data.claims)
    }

    /// Starts a session on the Users Cloud, with the entry of the login that it comes from.
    pub(crate) async fn start_users_session(&self, owner: &str, role: &str, entry: NewAuditEntry) -> Result<Issued> {
        let now_ms = self.now_ms();
        let session = Session {
            id: self.new_record_id(),
            owner: owner.to_owned(),
            first_issued_ms: now_ms,
            issued_ms: now_ms,
            expires_ms: now_ms + self.settings.token_ttl_minutes * MINUTE_MS,
            replaced_ms: None,
            ended_ms: None,
        };
        let subject = Subject { uuid: owner, role, scope: None, actor: None };
        let issued = self.sign(Cloud::Users, &session.id, now_ms, subject).await?;
        self.users.add_session(session, self.audit(vec![entry])).await?;
        Ok(issued)
    }

    /// Who calls the Users Cloud with this token.
    pub async fn users_caller(&self, token: &str) -> Result<UsersCaller> {
        let claims = self.read_token(Cloud::Users, token).await?;
        let session = self.users.session(&claims.jti).await?.ok_or(NOT_VALID)?;
        if session.owner != claims.sub || session.ended_ms.is_some() || session.replaced_ms.is_some() {
            return Err(NOT_VALID);
        }
        if self.now_ms() >= session.expires_ms {
            return Err(PlatformError::Unauthenticated("the token has expired"));
        }
        Ok(UsersCaller { owner: session.owner, role: claims.role, session_id: session.id })
    }

    /// Ends the token of a caller.
    pub async fn users_logout(&self, caller: &UsersCaller) -> Result<()> {
        self.users.end_session(&caller.session_id, self.now_ms()).await?;
        Ok(())
    }

    /// The public keys of a cloud, by name, as base64 without padding.
    pub async fn public_keys(&self, cloud: Cloud) -> Result<Vec<(String, String)>> {
        let keys = self.keys(cloud).await?;
        let encoded = keys.verifying.iter().map(|(kid, (_, public))| (kid.clone(), URL_SAFE_NO_PAD.encode(public)));
        let mut encoded: Vec<_> = encoded.collect();
        encoded.sort();
        Ok(encoded)
    }

    fn issuer(&self, cloud: Cloud) -> &str {
        match cloud {
            Cloud::Users => &self.settings.users_url,
            Cloud::Health => &self.settings.health_url,
        }
    }
}
