//! What surrounds every request: an id, a span, headers, and errors that all have the same shape.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, body::Body};
use futures::FutureExt as _;
use tracing::Instrument as _;

use crate::ApiState;
use crate::error::ErrorBody;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Where a request comes from. What accepts connections sets it; without it all requests come from one place.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub Option<IpAddr>);

impl ClientAddress {
    /// The address as text, for counting.
    pub fn text(self) -> String {
        self.0.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
    }
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        if let Some(address) = parts.extensions.get::<ClientAddress>() {
            return Ok(*address);
        }
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(ClientAddress(peer.map(|ConnectInfo(peer)| peer.ip())))
    }
}

/// Surrounds every route, also those that are not there.
pub(crate) fn wrap(router: Router<ApiState>, state: ApiState) -> Router<ApiState> {
    router.fallback(async || StatusCode::NOT_FOUND).layer(from_fn_with_state(state, surround))
}

async fn surround(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let request_id = format!("{:016x}", u64::from_be_bytes(state.platform.random_bytes()));
    // The route and not the path: a path can hold a voucher code, and a query can hold an API key.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::info_span!("request", method = %request.method(), route, request_id);
    let nowhere = has_nul(request.uri().path());
    let answering = async { if nowhere { StatusCode::NOT_FOUND.into_response() } else { next.run(request).await } };
    let answering = AssertUnwindSafe(answering).catch_unwind();
    let response = match answering.instrument(span.clone()).await {
        Ok(response) => response,
        Err(_) => span.in_scope(panicked),
    };
    let mut response = shape_error(response);
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "answered"));
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    response
}

/// Whether a path names something with a NUL character. There is no such thing, and PostgreSQL cannot even look for it.
fn has_nul(path: &str) -> bool {
    path.contains("%00")
}

fn panicked() -> Response {
    tracing::error!("a handler panicked");
    let body = ErrorBody::new("internal", "something went wrong on our side");
    (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
}

/// Gives an error that the framework made our body, and keeps its headers, `Allow` among them.
fn shape_error(response: Response) -> Response {
    let status = response.status();
    // JSON, or a page for a person.
    let is_ours = |kind: &HeaderValue| kind.as_bytes().ends_with(b"json") || kind.as_bytes().starts_with(b"text/html");
    let is_ours = response.headers().get(CONTENT_TYPE).is_some_and(is_ours);
    if !(status.is_client_error() || status.is_server_error()) || is_ours {
        return response;
    }
    let (code, message) = match status {
        StatusCode::NOT_FOUND => ("not_found", "there is nothing at this address"),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", "this address does not know this method"),
        StatusCode::NOT_ACCEPTABLE => ("not_acceptable", "the answer cannot be given in the form asked for"),
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            ("unsupported_media_type", "the body is of another kind than is taken here")
        }
        StatusCode::REQUEST_TIMEOUT => ("timeout", "the request took too long"),
        StatusCode::SERVICE_UNAVAILABLE => ("unavailable", "the service is not available just now"),
        _ if status.is_server_error() => ("internal", "something went wrong on our side"),
        _ => ("bad_request", "the request cannot be read"),
    };
    let (mut parts, _) = response.into_parts();
    let (body_parts, body) = Json(ErrorBody::new(code, message)).into_response().into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.extend(body_parts.headers);
    Response::from_parts(parts, Body::new(body))
}
