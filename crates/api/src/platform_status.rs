//! Which status an error of an operation becomes.

use axum::http::StatusCode;
use platform::PlatformError;
use store::StoreError;

/// Status and code of an operation that was not done.
pub(crate) fn platform_status(error: &PlatformError) -> (StatusCode, String) {
    let (status, code) = match error {
        PlatformError::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, "unauthenticated"),
        // A known object without a right to it is 403 and not 404: uuids cannot be guessed, and members of a study
        // need to see why a call fails.
        PlatformError::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
        PlatformError::PasswordChangeRequired => (StatusCode::FORBIDDEN, "password_change_required"),
        PlatformError::NotFound(what) | PlatformError::Store(StoreError::Gone(what)) => {
            return (StatusCode::NOT_FOUND, format!("{}_not_found", what.to_lowercase().replace(' ', "_")));
        }
        PlatformError::Conflict { code, .. } => (StatusCode::CONFLICT, *code),
        PlatformError::CursorGone { code, .. } => (StatusCode::GONE, *code),
        // The one error of OAuth that is 401 (RFC 6749, 5.2); all others are 400.
        PlatformError::Oauth { code: "invalid_client", .. } => (StatusCode::UNAUTHORIZED, "invalid_client"),
        PlatformError::Malformed { code, .. } | PlatformError::Oauth { code, .. } => (StatusCode::BAD_REQUEST, *code),
        PlatformError::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        PlatformError::TooMany { .. } | PlatformError::ExportTooSoon { .. } => {
            (StatusCode::TOO_MANY_REQUESTS, "too_many_requests")
        }
        PlatformError::Store(StoreError::Unavailable(_)) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        // Refused and not shown as it is: a changed value looks like any other. It passes when the data are restored.
        PlatformError::Store(StoreError::Damaged(_) | StoreError::DamagedRows(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "data_damaged")
        }
        // No code of its own: a client can do nothing about it, and the log has the reason.
        PlatformError::Store(_) | PlatformError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    (status, code.to_owned())
}
