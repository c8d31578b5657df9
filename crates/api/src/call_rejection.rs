//! Why nobody is taken to be calling.

use axum::http::StatusCode;
use axum::http::request::Parts;
use platform::PlatformError;

use crate::platform_status::platform_status;

/// Reason why nobody is taken to be calling.
#[derive(Debug, thiserror::Error)]
pub enum CallRejection {
    /// Nothing says who calls; with where a credential may be shown.
    #[error("there is no credential: {0}")]
    NoCredential(&'static str),
    /// The header is there, but of another scheme.
    #[error("the Authorization header is not of the Bearer scheme: send Authorization: Bearer and the credential")]
    NotBearer,
    /// A header is there more than once: anyone who passed the request on may have looked at another one.
    #[error("the credential is there more than once")]
    Repeated,
    /// A header has bytes that are not text.
    #[error("the credential is not text")]
    NotText,
    /// The credential does not hold, or could not be looked up.
    #[error(transparent)]
    Refused(#[from] PlatformError),
}

impl CallRejection {
    /// Status and code.
    pub(crate) fn status_and_code(&self) -> (StatusCode, String) {
        match self {
            // One status and one code for all: how a credential was wrong helps only those who try some.
            CallRejection::NoCredential(_)
            | CallRejection::NotBearer
            | CallRejection::Repeated
            | CallRejection::NotText => (StatusCode::UNAUTHORIZED, "unauthenticated".to_owned()),
            CallRejection::Refused(error) => platform_status(error),
        }
    }
}

/// Where an API key may be shown.
pub(crate) const KEY_PLACES: &str = "send an API key as Authorization: Bearer, as X-Api-Key or as ?token=";
/// Where a token may be shown.
pub(crate) const TOKEN_PLACES: &str = "send the token as Authorization: Bearer";
/// Where a token of the Health Cloud may be shown that the integration API takes.
pub(crate) const HEALTH_TOKEN_PLACES: &str = "send a token of the Health Cloud as x-health-token";

/// Returns the text of a header; none when it is not there or empty.
pub(crate) fn header_text<'parts>(parts: &'parts Parts, name: &str) -> Result<Option<&'parts str>, CallRejection> {
    let mut values = parts.headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // A proxy that checks the first and a service that obeys the last is a way around the proxy.
    if values.next().is_some() {
        return Err(CallRejection::Repeated);
    }
    let text = value.to_str().map_err(|_| CallRejection::NotText)?.trim();
    // An empty header is what clients send whose variable was not set: they have no credential.
    Ok((!text.is_empty()).then_some(text))
}
