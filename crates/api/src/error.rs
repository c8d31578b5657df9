//! The one place where what went wrong becomes a status.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::Json;
use axum::http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::{PlatformError, SCOPE_MISSING};
use serde::Serialize;
use store::StoreError;

use crate::body::rejection::BodyRejection;
use crate::call_rejection::CallRejection;
use crate::load::NoRoom;
use crate::platform_status::platform_status;

/// Seconds after which a client may try again when the store was away.
const RETRY_STORE_AFTER_S: u64 = 2;
/// Seconds after which a client may try again when stored data are damaged: somebody has to bring them back.
const RETRY_DAMAGED_AFTER_S: u64 = 300;
/// Seconds after which a client may try again when there was too much to do.
pub(crate) const RETRY_OVERLOAD_AFTER_S: u64 = 2;

/// Reason why a request is not answered with what it asked for.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The operation was not done.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// There is no valid credential.
    #[error(transparent)]
    Call(#[from] CallRejection),
    /// The body cannot be read.
    #[error(transparent)]
    Body(#[from] BodyRejection),
    /// There is too much to do just now, or an upload is too much for good.
    #[error(transparent)]
    Overloaded(#[from] NoRoom),
    /// An OAuth client has to wait.
    #[error("wait {retry_after_s} s and try again")]
    OauthSlowed {
        /// Seconds to wait.
        retry_after_s: u64,
    },
    /// Something that only one endpoint answers.
    #[error("{message}")]
    Particular {
        /// Status.
        status: StatusCode,
        /// Snake-case code for programs.
        code: &'static str,
        /// A sentence for people.
        message: Cow<'static, str>,
    },
}

/// Result of a handler.
pub type Result<T> = std::result::Result<T, ApiError>;

/// The body of every error.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ApiError)]
pub struct ErrorBody {
    /// A sentence for people.
    #[schema(example = "the request is not valid")]
    pub message: String,
    /// Snake-case code for programs.
    #[schema(example = "invalid")]
    pub code: String,
    /// Faults by field; with status 422 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({"date": ["is required"]}))]
    pub errors: Option<BTreeMap<String, Vec<String>>>,
    /// Cursor before the oldest event that is kept; with status 410 of a cursor only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "1.5f0c2a4d.1.0.65b1f0c2.1.0")]
    pub oldest: Option<String>,
    /// The code again, where RFC 6749 names it so: of OAuth only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "invalid_grant")]
    pub error: Option<String>,
    /// The sentence again, where RFC 6749 names it so: of OAuth only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "the code is not valid")]
    pub error_description: Option<String>,
}

impl ErrorBody {
    /// Makes a body without fields.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        ErrorBody {
            message: message.into(),
            code: code.into(),
            errors: None,
            oldest: None,
            error: None,
            error_description: None,
        }
    }
}

impl ApiError {
    /// Returns the error of an OAuth client that calls, which reads `error` whatever went wrong.
    pub(crate) fn of_oauth(error: PlatformError) -> Self {
        match error {
            PlatformError::TooMany { retry_after_s } => ApiError::OauthSlowed { retry_after_s },
            // Everything else has the right form already, as RFC 6749 names its errors.
            error => error.into(),
        }
    }

    /// Status and code.
    fn status_and_code(&self) -> (StatusCode, String) {
        let (status, code) = match self {
            ApiError::Particular { status, code, .. } => (*status, *code),
            ApiError::Call(rejection) => return rejection.status_and_code(),
            ApiError::Body(rejection) => rejection.status_and_code(),
            // 503 and not 429: the client did nothing wrong, and any other client would get the same.
            ApiError::Overloaded(NoRoom::JustNow) => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            ApiError::Overloaded(NoRoom::AtAll) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            ApiError::OauthSlowed { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_requests"),
            ApiError::Platform(error) => return platform_status(error),
        };
        (status, code.to_owned())
    }

    fn retry_after_s(&self) -> Option<u64> {
        if self.is_overload() {
            return Some(RETRY_OVERLOAD_AFTER_S);
        }
        if let ApiError::OauthSlowed { retry_after_s } = self {
            return Some(*retry_after_s);
        }
        match self.platform() {
            Some(PlatformError::TooMany { retry_after_s } | PlatformError::ExportTooSoon { retry_after_s, .. }) => {
                Some(*retry_after_s)
            }
            Some(PlatformError::Store(StoreError::Unavailable(_))) => Some(RETRY_STORE_AFTER_S),
            Some(PlatformError::Store(error)) if error.is_damage() => Some(RETRY_DAMAGED_AFTER_S),
            _ => None,
        }
    }

    fn is_overload(&self) -> bool {
        matches!(self, ApiError::Overloaded(NoRoom::JustNow) | ApiError::Body(BodyRejection::NoPlace))
    }

    fn platform(&self) -> Option<&PlatformError> {
        match self {
            ApiError::Platform(error) | ApiError::Call(CallRejection::Refused(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns what a client may know of damaged data: which they are, and nothing of how they are stored.
    fn damage(&self) -> Option<String> {
        match self.platform()? {
            PlatformError::Store(StoreError::DamagedRows(rows)) => Some(rows.sentence()),
            PlatformError::Store(error) if error.is_damage() => {
                Some("stored data that this answer needs are damaged and are not shown".to_owned())
            }
            _ => None,
        }
    }

    /// Returns what a client is asked to show instead (RFC 6750, 3): `error` only where it has shown a token.
    fn challenge(&self, status: StatusCode) -> Option<&'static str> {
        let of_scope = || matches!(self.platform(), Some(PlatformError::Forbidden(what)) if *what == SCOPE_MISSING);
        match status {
            StatusCode::UNAUTHORIZED => Some(match self {
                // Only OAuth clients show themselves with a name and a secret.
                ApiError::Platform(PlatformError::Oauth { .. }) => "Basic realm=\"pulseward\"",
                ApiError::Call(CallRejection::Refused(_)) => "Bearer realm=\"pulseward\", error=\"invalid_token\"",
                _ => "Bearer realm=\"pulseward\"",
            }),
            StatusCode::FORBIDDEN if of_scope() => Some("Bearer realm=\"pulseward\", error=\"insufficient_scope\""),
            _ => None,
        }
    }

    /// Returns the cursor that can be followed in place of one that cannot.
    fn oldest(&self) -> Option<String> {
        match self {
            ApiError::Platform(PlatformError::CursorGone { oldest, .. }) => Some(oldest.clone()),
            _ => None,
        }
    }

    /// Returns what is wrong by field.
    fn fields(&self) -> Option<BTreeMap<String, Vec<String>>> {
        match self {
            ApiError::Platform(PlatformError::Invalid(fields)) => Some(fields.clone()),
            ApiError::Body(rejection) => rejection.fields(),
            _ => None,
        }
    }
}

/// Ends a streamed answer in its middle, when its status has long been sent: the connection is broken off.
pub(crate) fn broken_off(error: PlatformError) -> std::io::Error {
    tracing::error!(%error, "an answer was broken off");
    std::io::Error::other(error)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.status_and_code();
        let mut body =
            ErrorBody { errors: self.fields(), oldest: self.oldest(), ..ErrorBody::new(code, self.to_string()) };
        // Internals go to the log only: an error of the database names tables, and sometimes values.
        if status.is_server_error() {
            // The span around the request carries its id. Overload is reported by the metrics: a line for each would
            // add to it.
            if !self.is_overload() {
                tracing::error!(error = %self, status = status.as_u16(), "the request failed");
            }
            body.message = self.damage().unwrap_or_else(|| match status {
                StatusCode::SERVICE_UNAVAILABLE => "the service is not available just now; nothing was lost".to_owned(),
                _ => "something went wrong on our side".to_owned(),
            });
        }
        // Libraries of OAuth read `error` (RFC 6749, 5.2), other clients read `code`: one body serves both.
        if let Some(PlatformError::Oauth { code, message }) = self.platform() {
            body.error = Some((*code).to_owned());
            body.error_description = Some((*message).to_owned());
        }
        if let ApiError::OauthSlowed { .. } = self {
            body.error = Some(body.code.clone());
            body.error_description = Some(body.message.clone());
        }
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s() {
            // Without it clients try again at once and together, which keeps an overload alive.
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::REQUEST_TIMEOUT {
            // Of the rest of a body that comes slowly nobody makes another request (RFC 9110, 15.5.9).
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(challenge) = self.challenge(status) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}
