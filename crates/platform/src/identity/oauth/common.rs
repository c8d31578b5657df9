//! What the parts of the authorization server share.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::core::error::PlatformError;
use crate::identity::Identity;

/// What a client can ask for; the first is what it gets when it names nothing.
pub const SCOPES: [&str; 2] = ["patient.read", "patient.sync"];

/// Returns an error of RFC 6749.
pub(super) fn refused(code: &'static str, message: &'static str) -> PlatformError {
    PlatformError::Oauth { code, message }
}

pub(super) fn invalid_request(message: &'static str) -> PlatformError {
    refused("invalid_request", message)
}

pub(super) fn invalid_grant(message: &'static str) -> PlatformError {
    refused("invalid_grant", message)
}

/// Returns the scopes of a request, each once and in our order; `None` when one is unknown.
pub(super) fn read_scope(asked: Option<&str>) -> Option<String> {
    let asked: Vec<&str> = asked.unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
    if asked.iter().any(|word| !SCOPES.contains(word)) {
        return None;
    }
    if asked.is_empty() {
        return Some(SCOPES[0].to_owned());
    }
    // One order and no repetition, so that scopes can be compared as texts.
    let known: Vec<&str> = SCOPES.into_iter().filter(|scope| asked.contains(scope)).collect();
    Some(known.join(" "))
}

/// Returns what codes, secrets and refresh tokens are looked up by.
pub(super) fn hash_of(secret: &str) -> Vec<u8> {
    digest(&SHA256, secret.as_bytes()).as_ref().to_vec()
}

impl Identity {
    /// 256 random bits behind a prefix that says what they are.
    pub(super) fn new_secret(&self, prefix: &str) -> String {
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
