//! Bodies of `application/x-www-form-urlencoded`, as OAuth sends them.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use platform::PlatformError;

use crate::body::rejection::BodyRejection;
use crate::body::typed::{Body, FieldValue};
use crate::error::ApiError;

/// The fields of a form, of which a body is read: `Form(body)` is that body.
pub(super) struct Form<T>(pub T);

/// The pairs of a form.
pub(super) struct Pairs(Vec<(String, String)>);

/// The value of a field; what is wrong with it is reported when it is asked for, so that an endpoint reports first what
/// matters first.
pub(super) struct FormText(Result<Option<String>, &'static str>);

impl FieldValue<Pairs> for FormText {
    fn take(Pairs(pairs): &mut Pairs, name: &str) -> Self {
        let mut values = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value);
        FormText(match (values.next(), values.next()) {
            // RFC 6749, 3.2.
            (_, Some(_)) => Err("a parameter is there more than once"),
            // Nothing that is looked up has one, and not every database takes it in a text.
            (Some(value), None) if value.contains('\0') => Err("a parameter has a NUL character"),
            (value, None) => Ok(value.filter(|value| !value.is_empty()).cloned()),
        })
    }
}

impl FormText {
    /// Returns the value; none when it is empty.
    pub(super) fn one(&self) -> Result<Option<&str>, PlatformError> {
        self.0.as_ref().map(Option::as_deref).map_err(|message| invalid_request(message))
    }

    /// Returns the value, which has to be there.
    pub(super) fn required(&self, message: &'static str) -> Result<&str, PlatformError> {
        self.one()?.ok_or_else(|| invalid_request(message))
    }
}

/// Returns the error of RFC 6749 for a request that cannot be read.
pub(super) fn invalid_request(message: &'static str) -> PlatformError {
    PlatformError::Oauth { code: "invalid_request", message }
}

/// Returns the pairs of an encoded text.
pub(super) fn pairs(encoded: &[u8]) -> Vec<(String, String)> {
    url::form_urlencoded::parse(encoded).into_owned().collect()
}

impl<S: Send + Sync, T: Body<Pairs>> FromRequest<S> for Form<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(invalid_request("the Content-Type must be application/x-www-form-urlencoded").into());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(BodyRejection::from)?;
        Ok(Form(T::read(&mut Pairs(pairs(&bytes)))))
    }
}
