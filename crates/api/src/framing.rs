//! Requests whose body cannot be distinguished from what follows it.

use axum::Json;
use axum::http::header::{CACHE_CONTROL, CONNECTION, TRANSFER_ENCODING};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::error::ErrorBody;

/// A request whose body is sent in a transfer coding that is not read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCoding;

impl UnknownCoding {
    /// Looks at the transfer codings of a request.
    ///
    /// # Errors
    /// Any but `chunked` alone: what reads the connection undoes only that one, and would hand on the rest as the body
    /// (RFC 9112, 6.1).
    pub fn check(headers: &HeaderMap) -> Result<(), Self> {
        let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
        match (codings.next(), codings.next()) {
            (None, _) => Ok(()),
            (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(()),
            _ => Err(UnknownCoding),
        }
    }
}

impl IntoResponse for UnknownCoding {
    fn into_response(self) -> Response {
        let body =
            ErrorBody::new("unsupported_transfer_encoding", "the only Transfer-Encoding that is read is chunked");
        // What follows on the connection could be anything.
        let headers = [(CACHE_CONTROL, "no-store"), (CONNECTION, "close")];
        (StatusCode::NOT_IMPLEMENTED, headers, Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_alone_is_read() {
        let check = |values: &[&'static str]| {
            let headers = values.iter().map(|value| (TRANSFER_ENCODING, value.parse().expect("a header")));
            UnknownCoding::check(&headers.collect())
        };
        for read in [&[][..], &["chunked"], &["Chunked "]] {
            assert_eq!(check(read), Ok(()), "{read:?}");
        }
        for unknown in [&["gzip, chunked"][..], &["gzip", "chunked"], &["chunked", "chunked"], &["identity"], &[""]] {
            assert_eq!(check(unknown), Err(UnknownCoding), "{unknown:?}");
        }
    }
}
