//! The token address: a code or a refresh token is given for new tokens (RFC 6749, 4.1.3 and 6).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxed_futures::boxed_futures;
use store::{AuthorizationCode, FamilyId, HealthSession, OauthClient, Refreshed, StoreError};

use super::clients::ClientCredentials;
use super::common::{hash_of, invalid_grant, invalid_request, read_scope, refused};
use crate::core::error::{PlatformError, Result};
use crate::identity::Identity;
use crate::identity::tokens::MINUTE_MS;

/// What is given for tokens.
#[derive(Clone)]
pub enum Grant {
    /// A code.
    Code {
        /// The code.
        code: String,
        /// The address that it was sent to.
        redirect_uri: String,
        /// What the challenge was made of.
        verifier: Option<String>,
    },
    /// A refresh token.
    Refresh {
        /// The token.
        token: String,
        /// What the new access token is to allow, if less than was consented to.
        scope: Option<String>,
    },
}

/// What a client gets.
#[derive(Clone)]
pub struct OauthTokens {
    /// A token of the Health Cloud.
    pub access_token: String,
    /// Seconds that it lives.
    pub expires_in_s: i64,
    /// What the next tokens are got with, once.
    pub refresh_token: String,
    /// What the access token allows, words with blanks between.
    pub scope: String,
}

#[boxed_futures]
impl Identity {
    /// Gives tokens for a code or a refresh token. `address` is where the call comes from.
    pub async fn oauth_tokens(
        &self,
        credentials: &ClientCredentials,
        grant: Grant,
        address: &str,
    ) -> Result<OauthTokens> {
        let client = self.authenticate_client(credentials, address).await?;
        match grant {
            Grant::Code { code, redirect_uri, verifier } => {
                self.redeem(&client, &code, &redirect_uri, verifier.as_deref(), address).await
            }
            Grant::Refresh { token, scope } => self.use_refresh(&client, &token, scope.as_deref(), address).await,
        }
    }

    async fn redeem(
        &self,
        client: &OauthClient,
        code: &str,
        redirect_uri: &str,
        verifier: Option<&str>,
        address: &str,
    ) -> Result<OauthTokens> {
        let code_hash = hash_of(code);
        let Some(found) = self.core.health().code(&code_hash).await? else {
            return Err(self.grant_refused(&guesser(client), address, "the code is not valid"));
        };
        // Nothing ends here: a client that has got hold of another's code must not be able to end its tokens.
        if found.client != client.id {
            return Err(invalid_grant("the code was issued to another client"));
        }
        // Before the expiry: a code that comes twice was stolen, however late it comes.
        if found.family.is_some() {
            return self.replayed(found).await;
        }
        if self.core.now_ms() >= found.expires_ms {
            return Err(invalid_grant("the code has expired"));
        }
        if found.redirect_uri != redirect_uri {
            return Err(invalid_grant("the code was sent to another redirect_uri"));
        }
        // The last check before the code is used up: a client that errs here can try again.
        check_verifier(found.challenge.as_deref(), verifier)?;
        let now_ms = self.core.now_ms();
        let session = HealthSession {
            client: Some(found.client),
            consent: Some(found.consent),
            refresh_until_ms: now_ms + self.core.settings().token_refresh_minutes * MINUTE_MS,
            ..self.new_health_session(&found.patient, &found.scope, now_ms)
        };
        let refresh_token = self.new_secret("pwr_");
        let redeemed = match self.core.health().redeem_code(&code_hash, session.clone(), hash_of(&refresh_token)).await
        {
            // Gone between the look and this; the next look says whether it was used.
            Err(StoreError::Gone(_)) => false,
            redeemed => redeemed?,
        };
        if !redeemed {
            return match self.core.health().code(&code_hash).await? {
                Some(found) => self.replayed(found).await,
                None => Err(invalid_grant("the code is not valid")),
            };
        }
        self.memory.backoff.succeeded(&guesser(client), address);
        self.hand_out(session, refresh_token).await
    }

    /// A code that comes a second time was stolen, before or now: what was given for it ends.
    async fn replayed(&self, code: AuthorizationCode) -> Result<OauthTokens> {
        if let Some(family) = code.family {
            tracing::warn!(client = %code.client, "a code was used twice, and its tokens have been ended");
            self.core.health().end_family(&family, self.core.now_ms()).await?;
        }
        Err(invalid_grant("the code has been used"))
    }

    async fn use_refresh(
        &self,
        client: &OauthClient,
        token: &str,
        scope: Option<&str>,
        address: &str,
    ) -> Result<OauthTokens> {
        let token_hash = hash_of(token);
        let Some(found) = self.core.health().oauth_refresh_token(&token_hash).await? else {
            return Err(self.grant_refused(&guesser(client), address, "the refresh token is not valid"));
        };
        if found.client.as_ref() != Some(&client.id) {
            return Err(invalid_grant("the refresh token was issued to another client"));
        }
        let scope = narrowed(&found.scope, scope)?;
        let new_token = self.new_secret("pwr_");
        let successor = self.successor();
        let used =
            self.core.health().use_oauth_refresh_token(&token_hash, hash_of(&new_token), &scope, successor).await;
        let used = match used {
            Err(StoreError::Gone(_)) => Refreshed::Ended,
            used => used?,
        };
        match used {
            Refreshed::Done(session) => {
                self.memory.backoff.succeeded(&guesser(client), address);
                self.hand_out(session, new_token).await
            }
            ended => {
                if ended == Refreshed::Reused {
                    tracing::warn!(client = %client.id, "a refresh token was used twice, and its family has been ended");
                }
                Err(self.grant_refused(&refresher(&found.family), address, "the refresh token is not valid any more"))
            }
        }
    }

    /// Counts a code or refresh token that does not hold; answers the error to give. Only what fails is held up: anybody
    /// can send nonsense in the name of a client without a secret, and must not stop those who bring what is good.
    fn grant_refused(&self, name: &str, address: &str, message: &'static str) -> PlatformError {
        if let Err(wait) = self.check_own_backoff(name, address) {
            return wait;
        }
        self.memory.backoff.failed_again(name, address, self.core.now_ms());
        invalid_grant(message)
    }

    /// Signs what has just been written, unless its consent has been withdrawn meanwhile.
    async fn hand_out(&self, session: HealthSession, refresh_token: String) -> Result<OauthTokens> {
        let is_in_force = match &session.consent {
            Some(consent) => self.core.users().consent_is_in_force(consent).await?,
            None => false,
        };
        if !is_in_force {
            self.core.health().end_family(&session.family, self.core.now_ms()).await?;
            return Err(invalid_grant("the consent has been withdrawn"));
        }
        Ok(OauthTokens {
            access_token: self.sign_health_token(&session).await?,
            expires_in_s: (session.expires_ms - session.issued_ms) / 1000,
            refresh_token,
            scope: session.scope,
        })
    }
}

/// Returns the name that a client's codes and refresh tokens which are not ours are counted under.
fn guesser(client: &OauthClient) -> String {
    format!("grant of {}", client.id)
}

/// Returns the name that failures of a family's refreshes are counted under.
fn refresher(family: &FamilyId) -> String {
    format!("grant {family}")
}

/// Whether a verifier is what the challenge was made of. One without the other is refused: anyone who stripped the
/// challenge from the request, or the verifier from this, would have taken the protection away.
fn check_verifier(challenge: Option<&str>, verifier: Option<&str>) -> Result<()> {
    match (challenge, verifier) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(invalid_grant("code_verifier is required")),
        (None, Some(_)) => Err(invalid_grant("there was no code_challenge to this code_verifier")),
        (Some(challenge), Some(verifier)) => {
            let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            // RFC 7636, 4.1: a shorter one could be guessed.
            if !(43..=128).contains(&verifier.len()) || !verifier.bytes().all(is_unreserved) {
                return Err(invalid_request("code_verifier must have 43 to 128 letters, digits, or -._~"));
            }
            if URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes())) != challenge {
                return Err(invalid_grant("code_verifier is not what code_challenge was made of"));
            }
            Ok(())
        }
    }
}

/// Returns the scope of a new access token: what was asked for, which may not be more than was consented to.
fn narrowed(consented: &str, asked: Option<&str>) -> Result<String> {
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else { return Ok(consented.to_owned()) };
    let unknown = || refused("invalid_scope", "scope is not part of what was consented to");
    let asked = read_scope(Some(asked)).ok_or_else(unknown)?;
    let has = |word: &str| consented.split(' ').any(|consented| consented == word);
    if asked.split(' ').all(has) { Ok(asked) } else { Err(unknown()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn a_verifier_goes_with_its_challenge_and_neither_without_the_other() {
        assert!(check_verifier(Some(CHALLENGE), Some(VERIFIER)).is_ok());
        assert!(check_verifier(None, None).is_ok());
        let longer = format!("{VERIFIER}x");
        for (challenge, verifier) in [
            (Some(CHALLENGE), None),
            (None, Some(VERIFIER)),
            (Some(CHALLENGE), Some(longer.as_str())),
            (Some(CHALLENGE), Some("short")),
            // What "plain" would take.
            (Some(CHALLENGE), Some(CHALLENGE)),
        ] {
            assert!(check_verifier(challenge, verifier).is_err(), "{challenge:?} {verifier:?}");
        }
    }

    #[test]
    fn a_scope_only_gets_narrower() {
        let both = "patient.read patient.sync";
        assert_eq!(narrowed(both, None).expect("a scope"), both);
        assert_eq!(narrowed(both, Some("patient.sync")).expect("a scope"), "patient.sync");
        assert_eq!(narrowed("patient.sync", Some(" ")).expect("a scope"), "patient.sync");
        assert!(narrowed("patient.read", Some(both)).is_err());
        assert!(narrowed(both, Some("openid")).is_err());
    }
}
