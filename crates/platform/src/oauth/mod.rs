//! The authorization server of the Health Cloud: OAuth 2.0 (RFC 6749) with PKCE (RFC 7636), read strictly as RFC 9700
//! advises.
//!
//! Clients and consents are in the users database, codes and tokens in the health database. What is written in the one
//! is looked up in the other again afterwards (see `health_sessions`), so that nothing outlives its consent.

mod authorize;
mod clients;
mod consents;
mod inspect;
mod redirect;
mod request;
mod tickets;
mod tokens;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::core::error::PlatformError;
use crate::platform::Platform;

pub use authorize::LoginStep;
pub use clients::{ClientCredentials, NewOauthClient, OauthClientView};
pub use consents::GivenConsent;
pub use inspect::Inspected;
pub use request::{Asked, AuthorizationRequest};
pub use tokens::{Grant, OauthTokens};

/// What a client can ask for; the first is what it gets when it names nothing.
pub const SCOPES: [&str; 2] = ["patient.read", "patient.sync"];

/// An error of RFC 6749.
fn refused(code: &'static str, message: &'static str) -> PlatformError {
    PlatformError::Oauth { code, message }
}

fn invalid_request(message: &'static str) -> PlatformError {
    refused("invalid_request", message)
}

fn invalid_grant(message: &'static str) -> PlatformError {
    refused("invalid_grant", message)
}

/// The scopes of a request, each once and in our order; `None` when one is unknown.
fn read_scope(asked: Option<&str>) -> Option<String> {
    let asked: Vec<&str> = asked.unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
    if asked.iter().any(|word| !SCOPES.contains(word)) {
        return None;
    }
    if asked.is_empty() {
        return Some(SCOPES[0].to_owned());
    }
    let known: Vec<&str> = SCOPES.into_iter().filter(|scope| asked.contains(scope)).collect();
    Some(known.join(" "))
}

/// What codes, secrets and refresh tokens are looked up by.
fn hash_of(secret: &str) -> Vec<u8> {
    digest(&SHA256, secret.as_bytes()).as_ref().to_vec()
}

impl Platform {
    /// 256 random bits behind a prefix that tells what they are.
    fn new_secret(&self, prefix: &str) -> String {
        format!("{prefix}{}", URL_SAFE_NO_PAD.encode(self.core.random_bytes::<32>()))
    }
}

#[cfg(test)]
mod tests {
    use super::read_scope;

    #[test]
    fn a_scope_is_known_or_refused() {
        let cases = [
            (None, Some("patient.read")),
            (Some(""), Some("patient.read")),
            (Some("patient.sync"), Some("patient.sync")),
            (Some("patient.sync patient.read patient.sync"), Some("patient.read patient.sync")),
            (Some("patient.read openid"), None),
            (Some("Patient.read"), None),
            (Some("patient.read,patient.sync"), None),
        ];
        for (asked, expected) in cases {
            assert_eq!(read_scope(asked).as_deref(), expected, "{asked:?}");
        }
    }
}
