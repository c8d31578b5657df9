//! Where a request shows an API key or a token.

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use crate::call_rejection::{CallRejection, KEY_PLACES, header_text};
use crate::parameters::Parameters;

/// Returns the API key of a request, from the first of the three places that has one.
pub(crate) fn api_key(parts: &Parts) -> Result<String, CallRejection> {
    // First, because the specification names this place; what a proxy adds as a header must not take over.
    if let Some(token) = Parameters::of(&parts.uri).one("token") {
        return Ok(token.to_owned());
    }
    // An Authorization header of another scheme is refused here, also together with a good `X-Api-Key`: guessing which
    // one was meant would hide the mistake.
    let header = match bearer(parts)? {
        Some(token) => Some(token),
        None => header_text(parts, "x-api-key")?,
    };
    header.map(str::to_owned).ok_or(CallRejection::NoCredential(KEY_PLACES))
}

/// Returns the token of `Authorization: Bearer`; none without such a header.
pub(crate) fn bearer(parts: &Parts) -> Result<Option<&str>, CallRejection> {
    let Some(value) = header_text(parts, AUTHORIZATION.as_str())? else { return Ok(None) };
    match value.split_once(' ') {
        // The name of a scheme has no case (RFC 9110, 11.1).
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(CallRejection::NotBearer),
    }
}
