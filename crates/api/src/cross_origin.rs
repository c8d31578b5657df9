//! Calls from pages of other origins (CORS): those of applications that were registered, to the Health Cloud alone.
//!
//! A page calls with a token in a header. Cookies are never taken from another origin, so nothing is allowed that the token
//! does not allow. The layer of the library answers every OPTIONS request of every address by itself, also where there is
//! nothing; here only what a browser asks beforehand, and only where a page may call, is answered.

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::state::ApiState;

/// Methods that a page may use; those that a route does not know are refused there.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// Headers that a page may send in addition to those that every page may.
const SENT: HeaderValue = HeaderValue::from_static("authorization, content-type, content-encoding, if-none-match");
/// Headers of an answer that a page may read.
const READ: HeaderValue = HeaderValue::from_static(
    "authorization, etag, retry-after, location, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ignored-fields",
);
/// Seconds that a browser need not ask again. What it then sends is answered by the clients of that moment.
const AGE_S: HeaderValue = HeaderValue::from_static("600");

/// Answers what a browser asks before a page calls, and lets pages of registered applications read answers.
pub(crate) async fn allow_pages_of_clients(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    if !is_open_to_pages(&request) {
        return next.run(request).await;
    }
    let origin = match request.headers().get(ORIGIN) {
        Some(origin) if is_of_client(&state, origin).await => Some(origin.clone()),
        _ => None,
    };
    let asks_beforehand =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if asks_beforehand => allowed(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    // Also where nothing is allowed: a cache must not give one page what another was answered.
    headers.append(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    }
    response
}

/// Returns whether the route is of the Health Cloud or says where its authorization server is (RFC 8414).
fn is_open_to_pages(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    route.starts_with("/health/") || route.starts_with("/.well-known/")
}

async fn is_of_client(state: &ApiState, origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    // While the store cannot be read nothing is allowed; the call itself says why it fails.
    state.platform.identity.is_origin_of_client(origin).await.unwrap_or(false)
}

fn allowed() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (ACCESS_CONTROL_MAX_AGE, AGE_S),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
