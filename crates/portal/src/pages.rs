//! Answers requests for the pages and passes all others on.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;

use crate::files::File;
use crate::negotiation::{Coding, wants_page};

/// The pages load their own files and talk to their own service, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A page of another site that opens ours has no hold on its window, and the other way round.
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// Error as the API has them, for the addresses that the API does not know.
const WRONG_METHOD: &str = r#"{"message":"this address does not know this method","code":"method_not_allowed"}"#;

/// What the API has below the root: a browser that looks there is not looking for a page of ours.
const OF_THE_API: [&str; 8] =
    ["integration", "users", "health", "livez", "readyz", "openapi.json", "docs", ".well-known"];

/// Returns the API with the pages around it.
pub fn around(api: Router) -> Router {
    api.layer(from_fn(answer))
}

async fn answer(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return if named(path).is_some() { wrong_method() } else { next.run(request).await };
    }
    match named(path).or_else(|| page(path, request.headers())) {
        Some(file) => send(file, request.headers()),
        None => next.run(request).await,
    }
}

/// Returns the file that an address names; `None` when it names none.
fn named(path: &str) -> Option<&'static File> {
    match path.strip_prefix('/')? {
        "" => File::named("index.html"),
        // Browsers ask for it by themselves.
        "favicon.ico" => File::named("favicon.ico"),
        path => File::named(path.strip_prefix("portal/")?),
    }
}

/// Returns the page where a browser looks for one; `None` where it looks for something of the API.
fn page(path: &str, headers: &HeaderMap) -> Option<&'static File> {
    let path = path.strip_prefix('/')?;
    if let Some(name) = path.strip_prefix("portal/") {
        // An asset of before an update is gone, and a page in its place would be no script.
        if name == "session" || name.starts_with("api/") || name.starts_with("assets/") {
            return None;
        }
    }
    let first = path.split('/').next().unwrap_or_default();
    if OF_THE_API.contains(&first) || !wants_page(headers) {
        return None;
    }
    File::named("index.html")
}

fn send(file: &'static File, headers: &HeaderMap) -> Response {
    // `index.html` names the assets of its own build: kept without asking, it would look for those of the one before.
    let cached = if file.is_hashed() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let is_known = headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).is_some_and(|tags| {
        let opaque = |tag: &'static str| tag.trim_start_matches("W/");
        tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == opaque(file.etag))
    });
    let coding = Coding::for_client(headers);
    let bytes = match coding {
        Coding::Brotli => file.brotli,
        Coding::Gzip => file.gzip,
        Coding::Plain => file.plain,
    };
    let body = if is_known { Body::empty() } else { Body::from(Bytes::from_static(bytes)) };
    let mut response = Response::new(body);
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        set(&mut response, CONTENT_TYPE, file.media_type());
        if let Some(name) = coding.name() {
            set(&mut response, CONTENT_ENCODING, name);
        }
    }
    for (name, value) in [
        (CACHE_CONTROL, cached),
        (ETAG, file.etag),
        (VARY, "Accept-Encoding"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // For browsers that do not know `frame-ancestors`.
        (X_FRAME_OPTIONS, "DENY"),
        (OPENER_POLICY, "same-origin"),
    ] {
        set(&mut response, name, value);
    }
    response
}

/// Refuses what is neither GET nor HEAD.
fn wrong_method() -> Response {
    let mut response = Response::new(Body::from(WRONG_METHOD));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    for (name, value) in [(ALLOW, "GET, HEAD"), (CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")] {
        set(&mut response, name, value);
    }
    response
}

fn set(response: &mut Response, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
