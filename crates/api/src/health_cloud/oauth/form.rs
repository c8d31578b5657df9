//! Bodies of `application/x-www-form-urlencoded`, as OAuth sends them.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use platform::PlatformError;

use crate::body::rejection::BodyRejection;
use crate::error::ApiError;

/// The fields of a form.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// The value of a field; none when it is empty. Refused when it is there twice (RFC 6749, 3.2).
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, PlatformError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(invalid_request("a parameter is there more than once")),
            // Nothing that is looked up has one, and not every database takes it in a text.
            (Some(value), None) if value.contains('\0') => Err(invalid_request("a parameter has a NUL character")),
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
        }
    }

    /// The value of a field that has to be there.
    pub(super) fn required(&self, name: &str, message: &'static str) -> Result<&str, PlatformError> {
        self.one(name)?.ok_or_else(|| invalid_request(message))
    }
}

/// The error of RFC 6749 for a request that cannot be read.
pub(super) fn invalid_request(message: &'static str) -> PlatformError {
    PlatformError::Oauth { code: "invalid_request", message }
}

/// The pairs of an encoded text.
pub(super) fn pairs(encoded: &[u8]) -> Vec<(String, String)> {
    url::form_urlencoded::parse(encoded).into_owned().collect()
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(invalid_request("the Content-Type must be application/x-www-form-urlencoded").into());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(BodyRejection::from)?;
        Ok(Form(pairs(&bytes)))
    }
}
