//! JSON bodies: 415 for another kind, 413 for a large one, 400 for what is not JSON, and 422 with every field that
//! is wrong at once.
//!
//! A body is read as a JSON object first and its fields one by one after that, because deserialising into a type
//! stops at the first field that does not fit and does not name it.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use platform::PlatformError;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// The fields of a JSON object, taken out one by one.
pub struct Fields {
    values: Map<String, Value>,
    errors: BTreeMap<String, Vec<String>>,
}

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyRejection {
    /// The Content-Type is not JSON's.
    #[error("the Content-Type must be application/json")]
    OtherKind,
    /// The body is larger than is taken here.
    #[error("the body is too large")]
    TooLarge,
    /// The body ended early.
    #[error("the body could not be read to its end")]
    CutOff,
    /// The bytes are not JSON.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// The JSON is something else than an object.
    #[error("the body must be a JSON object")]
    NotAnObject,
}

impl BodyRejection {
    /// Status and code.
    pub(crate) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            BodyRejection::OtherKind => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
            BodyRejection::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            BodyRejection::CutOff => (StatusCode::BAD_REQUEST, "cut_off"),
            BodyRejection::NotJson(_) => (StatusCode::BAD_REQUEST, "not_json"),
            BodyRejection::NotAnObject => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        }
    }
}

impl From<BytesRejection> for BodyRejection {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return BodyRejection::TooLarge;
        }
        BodyRejection::CutOff
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        if !is_json(&request) {
            return Err(BodyRejection::OtherKind.into());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(BodyRejection::from)?;
        Ok(Fields::read(&bytes)?)
    }
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

impl Fields {
    fn read(bytes: &[u8]) -> Result<Self, BodyRejection> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(values)) => Ok(Fields { values, errors: BTreeMap::new() }),
            Ok(_) => Err(BodyRejection::NotAnObject),
            Err(error) => Err(BodyRejection::NotJson(error.to_string())),
        }
    }

    /// A text that has to be there; empty when it is not, which [`Fields::finish`] then tells.
    pub fn required_text(&mut self, field: &str) -> String {
        let text = self.text(field);
        if text.is_none() && !self.errors.contains_key(field) {
            self.note(field, "is required");
        }
        text.unwrap_or_default()
    }

    /// A text that may be absent or null.
    pub fn text(&mut self, field: &str) -> Option<String> {
        match self.values.remove(field)? {
            Value::Null => None,
            Value::String(text) => Some(text),
            _ => self.wrong(field, "must be a text"),
        }
    }

    /// A number that may be absent or null.
    pub fn number(&mut self, field: &str) -> Option<f64> {
        match self.values.remove(field)? {
            Value::Null => None,
            Value::Number(number) => number.as_f64(),
            _ => self.wrong(field, "must be a number"),
        }
    }

    /// A whole number that may be absent or null.
    pub fn integer(&mut self, field: &str) -> Option<i64> {
        match self.values.remove(field)? {
            Value::Null => None,
            Value::Number(number) if number.is_i64() => number.as_i64(),
            _ => self.wrong(field, "must be a whole number"),
        }
    }

    /// A whole number that has to be there; `None` when it is not, which [`Fields::finish`] then tells.
    pub fn required_integer(&mut self, field: &str) -> Option<i64> {
        let number = self.integer(field);
        if number.is_none() && !self.errors.contains_key(field) {
            self.note(field, "is required");
        }
        number
    }

    /// True or false, which may be absent or null.
    pub fn flag(&mut self, field: &str) -> Option<bool> {
        match self.values.remove(field)? {
            Value::Null => None,
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(field, "must be true or false"),
        }
    }

    /// Notes that a field is not valid.
    pub fn note(&mut self, field: &str, message: &str) {
        self.errors.entry(field.to_owned()).or_default().push(message.to_owned());
    }

    /// Invalid when any field was; fields that nobody asked for are no error.
    pub fn finish(self) -> Result<(), PlatformError> {
        if self.errors.is_empty() { Ok(()) } else { Err(PlatformError::Invalid(self.errors)) }
    }

    fn wrong<T>(&mut self, field: &str, message: &str) -> Option<T> {
        self.note(field, message);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(body: &str) -> Fields {
        Fields::read(body.as_bytes()).expect("an object")
    }

    #[test]
    fn every_wrong_field_is_named() {
        let mut fields = fields(r#"{"name": 7, "height": "tall", "agreed": 1, "skin_color": 2.5}"#);
        assert_eq!(fields.required_text("name"), "");
        assert_eq!(fields.required_text("password"), "");
        assert_eq!(fields.number("height"), None);
        assert_eq!(fields.flag("agreed"), None);
        assert_eq!(fields.integer("skin_color"), None);
        let Err(PlatformError::Invalid(errors)) = fields.finish() else { panic!("nothing was found wrong") };
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["agreed", "height", "name", "password", "skin_color"]);
        assert_eq!(errors["password"], ["is required"]);
        assert_eq!(errors["name"], ["must be a text"]);
    }

    #[test]
    fn null_is_absent() {
        let mut fields = fields(r#"{"email": null}"#);
        assert_eq!(fields.text("email"), None);
        assert!(fields.finish().is_ok());
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        assert!(matches!(Fields::read(b"{"), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b"{\"a\": NaN}"), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b""), Err(BodyRejection::NotJson(_))));
        assert!(matches!(Fields::read(b"[]"), Err(BodyRejection::NotAnObject)));
    }
}
