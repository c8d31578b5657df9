//! Files behind links that end: archives of exports and segments of the lake, where the object store cannot sign links
//! itself. Ranges are answered, so that a broken download goes on and DuckDB reads only the columns that it needs.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use platform::DownloadLink;
use store::ByteRange;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, ErrorBody, Result, broken_off};
use crate::parameters::Parameters;
use crate::state::ApiState;

/// Returns the routes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(download))
}

/// Returns a file, or a range of it.
///
/// The address comes from `downloadUrl` or from the listing of the lake and needs nothing else.
#[utoipa::path(get, path = "/downloads/{name}", tag = "exports",
    params(("name" = String, Path, description = "what the file is saved as"), ("object" = String, Query),
        ("expires" = i64, Query, description = "end of the link, seconds since 1970"), ("signature" = String, Query),
        ("Range" = Option<String>, Header, description = "one range of bytes"),
        ("If-Range" = Option<String>, Header, description = "the entity tag of the file that the range is of")),
    responses((status = 200, content((Vec<u8> = "application/octet-stream"), (Vec<u8> = "application/vnd.apache.parquet"),
            (Vec<u8> = "application/zip"))),
        (status = 206, content((Vec<u8> = "application/octet-stream"), (Vec<u8> = "application/vnd.apache.parquet"),
            (Vec<u8> = "application/zip"))),
        (status = 403, body = ErrorBody, description = "the link is not valid, or has expired"),
        (status = 404, body = ErrorBody), (status = 416, body = ErrorBody)))]
async fn download(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    parameters: Parameters,
    method: Method,
    headers: HeaderMap,
) -> Result<Response> {
    let text = |key: &str| parameters.one(key).unwrap_or_default().to_owned();
    // A link that cannot be read is one that has ended long ago: 403 like a forged one, so that the two
    // cannot be distinguished.
    let expires_s = text("expires").parse().unwrap_or(0);
    let link = DownloadLink { path: text("object"), name, expires_s, signature: text("signature") };
    // The signature is checked before anything is said of the file, its size included.
    let download = state.platform.data.open_download(link).await?;
    let size = download.size();
    let tag = format!("\"{}\"", download.mark().replace('"', "_"));
    // A range of another file would be glued to the wrong beginning (RFC 9110, 13.1.5).
    let is_of_this = headers.get(IF_RANGE).is_none_or(|value| value.as_bytes() == tag.as_bytes());
    // A range is of GET alone (RFC 9110, 14.2): HEAD describes the whole file.
    let range = headers.get(RANGE).filter(|_| is_of_this && method == Method::GET);
    let asked_for = range.and_then(|value| value.to_str().ok()).and_then(byte_range);
    let range = match asked_for {
        None => 0..size,
        Some(range) => match range.within(size) {
            Some(range) => range,
            // With the size, so that a client that has everything already learns it.
            None => return Ok(not_satisfiable(size)),
        },
    };
    let object = download.read(range.clone()).await?;
    let body = Body::from_stream(object.bytes.map(|bytes| bytes.map_err(|error| broken_off(error.into()))));
    let status = if asked_for.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let headers: [(HeaderName, String); 5] = [
        (CONTENT_TYPE, content_type(download.name()).to_owned()),
        (CONTENT_LENGTH, (range.end - range.start).to_string()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", download.name().replace(['"', '\\', '\r', '\n'], "_")),
        ),
        (ACCEPT_RANGES, "bytes".to_owned()),
        (ETAG, tag),
    ];
    let mut response = (status, headers, body).into_response();
    if status == StatusCode::PARTIAL_CONTENT {
        set(&mut response, CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
    }
    Ok(response)
}

fn not_satisfiable(size: u64) -> Response {
    let error = ApiError::Particular {
        status: StatusCode::RANGE_NOT_SATISFIABLE,
        code: "range_not_satisfiable",
        message: "the file has no such bytes".into(),
    };
    let mut response = error.into_response();
    set(&mut response, CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("zip") => "application/zip",
        Some("parquet") => "application/vnd.apache.parquet",
        _ => "application/octet-stream",
    }
}

/// Returns a single range of bytes. What is not understood, several ranges among it, is answered with the whole file,
/// as RFC 9110 allows.
fn byte_range(text: &str) -> Option<ByteRange> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    match (first, last) {
        ("", last) => number(last).map(ByteRange::Last),
        (first, "") => number(first).map(ByteRange::From),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(ByteRange::Between(first, last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_anything_else_is_none() {
        assert_eq!(byte_range("bytes=0-99"), Some(ByteRange::Between(0, 99)));
        assert_eq!(byte_range("bytes=7-"), Some(ByteRange::From(7)));
        assert_eq!(byte_range("bytes=-5"), Some(ByteRange::Last(5)));
        for other in ["", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,4-5", "rows=0-1", "bytes=+1-2"] {
            assert_eq!(byte_range(other), None, "{other}");
        }
    }
}
