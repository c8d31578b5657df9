//! Who calls: a researcher with an API key, a patient or someone in his stead with a token of the Health Cloud, or
//! someone with a token of the Users Cloud.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use platform::{HealthCaller, PlatformError, Researcher, UsersCaller};

use crate::ApiState;
use crate::error::{ApiError, platform_status};
use crate::parameters::Parameters;
use crate::portal::researcher_of_cookie;
use crate::rate_limit::prove;

/// A call of the integration API. The key comes as `?token=`, as `Authorization: Bearer` or as `X-Api-Key`; a page of
/// the portal brings its cookie and the header `X-CSRF-Token` instead.
pub struct ResearcherCall(pub Researcher);

/// A call of the Health Cloud, with a token as `Authorization: Bearer`.
pub struct HealthCall(pub HealthCaller);

/// A call of the Users Cloud, with a token as `Authorization: Bearer`.
pub struct UsersCall(pub UsersCaller);

/// A token as `Authorization: Bearer`, not looked at yet: what is refreshed may have expired.
pub struct BearerToken(pub String);

/// Why nobody is taken to be calling.
#[derive(Debug, thiserror::Error)]
pub enum CallRejection {
    /// Nothing says who calls.
    #[error("there is no credential")]
    NoCredential,
    /// The header is there, but of another scheme.
    #[error("the Authorization header is not of the Bearer scheme")]
    NotBearer,
    /// A header is there more than once: whoever passed the request on may have looked at another one.
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
            CallRejection::NoCredential
            | CallRejection::NotBearer
            | CallRejection::Repeated
            | CallRejection::NotText => (StatusCode::UNAUTHORIZED, "unauthenticated".to_owned()),
            CallRejection::Refused(error) => platform_status(error),
        }
    }
}

impl FromRequestParts<ApiState> for ResearcherCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let key = match api_key(parts) {
            // Whoever brings a key means the key, whatever cookie his browser adds.
            Err(CallRejection::NoCredential) => match researcher_of_cookie(parts, state).await? {
                Some(researcher) => return Ok(ResearcherCall(researcher)),
                None => return Err(CallRejection::NoCredential.into()),
            },
            key => key?,
        };
        let researcher = state.platform.identity.researcher(&key).await.map_err(CallRejection::Refused)?;
        prove(parts);
        Ok(ResearcherCall(researcher))
    }
}

impl FromRequestParts<ApiState> for HealthCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let token = bearer(parts)?.ok_or(CallRejection::NoCredential)?;
        let caller = state.platform.identity.health_caller(token).await.map_err(CallRejection::Refused)?;
        prove(parts);
        Ok(HealthCall(caller))
    }
}

impl FromRequestParts<ApiState> for UsersCall {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Self::Rejection> {
        let token = bearer(parts)?.ok_or(CallRejection::NoCredential)?;
        let caller = state.platform.identity.users_caller(token).await.map_err(CallRejection::Refused)?;
        prove(parts);
        Ok(UsersCall(caller))
    }
}

impl<S: Sync> FromRequestParts<S> for BearerToken {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        let token = bearer(parts)?.ok_or(CallRejection::NoCredential)?;
        Ok(BearerToken(token.to_owned()))
    }
}

fn api_key(parts: &Parts) -> Result<String, CallRejection> {
    if let Some(token) = Parameters::of(&parts.uri).one("token") {
        return Ok(token.to_owned());
    }
    let header = match bearer(parts)? {
        Some(token) => Some(token),
        None => header_text(parts, "x-api-key")?,
    };
    header.map(str::to_owned).ok_or(CallRejection::NoCredential)
}

/// The token of `Authorization: Bearer`; none without such a header.
fn bearer(parts: &Parts) -> Result<Option<&str>, CallRejection> {
    let Some(value) = header_text(parts, AUTHORIZATION.as_str())? else { return Ok(None) };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(CallRejection::NotBearer),
    }
}

/// The text of a header; none when it is not there or empty.
pub(crate) fn header_text<'parts>(parts: &'parts Parts, name: &str) -> Result<Option<&'parts str>, CallRejection> {
    let mut values = parts.headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(CallRejection::Repeated);
    }
    let text = value.to_str().map_err(|_| CallRejection::NotText)?.trim();
    Ok((!text.is_empty()).then_some(text))
}
