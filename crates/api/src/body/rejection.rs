//! Why a body cannot be read.

use std::collections::BTreeMap;

use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;

/// The least rate of a body that is not small, bytes per second.
pub const LEAST_RATE: u64 = 1 << 10;

/// A body that comes more slowly than is waited for; the error of a body whose server gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("up to 64 KiB must be sent within {seconds} s, more at {least_rate} bytes a second or faster")]
pub struct SlowBody {
    /// Time for a small body, and in which the rate of a larger one is taken.
    pub seconds: u64,
    /// The least rate of a larger one, bytes a second.
    pub least_rate: u64,
}

/// Reason why a body has no place, or no longer one; the error of such a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoPlace {
    /// Its place went to somebody else, since it came slowly.
    #[error("others were waiting for its place")]
    GivenUp,
    /// There is none left.
    #[error("there is no place for it just now")]
    Left,
}

/// Reason why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyRejection {
    /// The Content-Type is another than the one that is taken.
    #[error("the Content-Type must be {0}")]
    OtherKind(&'static str),
    /// The body is compressed, which only uploads may be.
    #[error("a Content-Encoding is taken for uploads only")]
    Encoded,
    /// The body is larger than is taken here.
    #[error("the body is too large")]
    TooLarge,
    /// The body ended early.
    #[error("the body could not be read to its end")]
    CutOff,
    /// The body came too slowly.
    #[error("the body came too slowly: {0}")]
    TooSlow(SlowBody),
    /// The body came slowly, and others were waiting.
    #[error("the body came too slowly: others were waiting for its place")]
    GivenUp,
    /// There is no place for the body just now.
    #[error("there is no place for the body just now")]
    NoPlace,
    /// The bytes are not JSON; where they cease to be.
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
            BodyRejection::OtherKind(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
            BodyRejection::Encoded => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding"),
            BodyRejection::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            BodyRejection::CutOff => (StatusCode::BAD_REQUEST, "cut_off"),
            BodyRejection::TooSlow(_) | BodyRejection::GivenUp => (StatusCode::REQUEST_TIMEOUT, "timeout"),
            BodyRejection::NoPlace => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            BodyRejection::NotJson(_) => (StatusCode::BAD_REQUEST, "not_json"),
            BodyRejection::NotAnObject => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
        }
    }

    /// Of a body that broke off: by its server, which found it too slow, or by the client.
    pub(crate) fn of_broken(error: &(dyn std::error::Error + 'static)) -> Self {
        // Bodies are within bodies, and each wraps the error of the one inside.
        let causes = std::iter::successors(Some(error), |error| error.source());
        let by_server = causes.into_iter().find_map(|error| {
            let slow = error.downcast_ref::<SlowBody>().map(|slow| BodyRejection::TooSlow(*slow));
            slow.or_else(|| error.downcast_ref::<NoPlace>().map(|reason| (*reason).into()))
        });
        by_server.unwrap_or(BodyRejection::CutOff)
    }

    /// Returns what is wrong by field, for those that are 422.
    pub(crate) fn fields(&self) -> Option<BTreeMap<String, Vec<String>>> {
        let is_other = matches!(self, BodyRejection::NotAnObject);
        is_other.then(|| BTreeMap::from([("body".to_owned(), vec!["must be a JSON object".to_owned()])]))
    }
}

impl From<NoPlace> for BodyRejection {
    fn from(reason: NoPlace) -> Self {
        match reason {
            NoPlace::GivenUp => BodyRejection::GivenUp,
            NoPlace::Left => BodyRejection::NoPlace,
        }
    }
}

impl From<BytesRejection> for BodyRejection {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return BodyRejection::TooLarge;
        }
        BodyRejection::of_broken(&rejection)
    }
}
