//! What streams of a study have in common: how they are kept open, and for how long they may.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName};
use platform::{Platform, PlatformError};
use store::GroupCode;

use crate::portal::caller::Credential;

/// Silence after which a comment is sent, so that proxies keep the connection.
pub(crate) const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Interval at which a stream asks whether its session and its right to the study still hold.
pub(crate) const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Header by which a well-known proxy does not collect events before it passes them on.
pub(crate) const NO_BUFFERING: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// A stream of a study and what it rests on.
pub(crate) struct StudyStream {
    pub platform: Platform,
    pub credential: Credential,
    pub code: GroupCode,
}

impl StudyStream {
    /// Returns whether the credential is still valid and opens the study. A store that is away ends nothing.
    pub async fn is_open(&self) -> bool {
        let researcher = match self.credential.researcher(&self.platform.identity).await {
            Ok(Some(researcher)) => researcher,
            Ok(None) | Err(PlatformError::Forbidden(_)) => return false,
            // A store that is away for a moment must not sign everybody out.
            Err(_) => return true,
        };
        !matches!(
            self.platform.core.group_access(&researcher, &self.code).await,
            Err(PlatformError::Forbidden(_) | PlatformError::NotFound(_))
        )
    }
}

/// The last event that a client has seen. Some browsers send it empty the first time.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty())
}
