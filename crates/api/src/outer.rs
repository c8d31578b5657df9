//! What surrounds every request: an id, a span, headers, and errors that all have the same shape.

pub(crate) mod answers;

use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http_body::{Frame, SizeHint};
use platform::PlatformError;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use self::answers::PROBES;
use crate::body::unknown::{IGNORED_FIELDS, IgnoredFields};
use crate::callers::{Caller, ProvenCaller};
use crate::client_address::{ClientAddress, client_address};
use crate::compression;
use crate::cross_origin::allow_pages_of_clients;
use crate::error::{ApiError, ErrorBody};
use crate::load::NoRoom;
use crate::placed_body::PlacedBody;
use crate::places::Place;
use crate::proof::Proof;
use crate::rate_limit::Quota;
use crate::state::ApiState;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// Surrounds every route, also those that are not there. What the layers answer by themselves is listed in [`answers`].
pub(crate) fn wrap(router: Router<ApiState>, state: ApiState) -> Router<ApiState> {
    // The outermost first. All in one layer of the router, which boxes and clones each of its layers for each request.
    let layers = ServiceBuilder::new()
        .layer(compression::layer())
        .layer(where_absent(X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(where_absent(X_FRAME_OPTIONS, "DENY"))
        // Answers hold health data, and addresses hold keys: nothing of either belongs in a cache or in a Referer. What a
        // handler has set stays, such as the style of the docs page.
        .layer(where_absent(REFERRER_POLICY, "no-referrer"))
        .layer(where_absent(CACHE_CONTROL, "no-store"))
        // Around what refuses, so that a page can read why it was refused.
        .layer(from_fn_with_state(state.clone(), allow_pages_of_clients))
        .layer(from_fn_with_state(state, around_routes))
        // A panic is the fault of one request: it answers 500, and the process and all other requests go on.
        .layer(CatchPanicLayer::custom(panicked));
    // The fallback is inside of the layers, so that unknown addresses are counted, limited and answered like all
    // others.
    router.fallback(nowhere).layer(layers)
}

/// Answers where no route is. TRACE is refused there as on every route: it would send back the credentials of a request,
/// and is disabled for the whole server.
async fn nowhere(method: Method) -> Response {
    match method {
        // An empty list: the address takes no method at all (RFC 9110, 10.2.1).
        Method::TRACE => (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "")]).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns a header of every answer that does not say otherwise.
fn where_absent(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value))
}

async fn around_routes(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    let began = runtime::Instant::now();
    // Never the client's: what it sends could be anything, and goes into the log.
    let request_id = format!("{:016x}", u64::from_be_bytes(state.platform.core.random_bytes()));
    // The route and not the path: a path can hold a voucher code, and a query can hold an API key.
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    // Of the level of the gravest lines: at a lower one, `--log warn` would have left failures without their id.
    let span = tracing::error_span!("request", method = %request.method(), route, request_id, status = Empty);
    let method = request.method().clone();
    let ignored = IgnoredFields::default();
    request.extensions_mut().insert(ignored.clone());
    let address = client_address(request.extensions()).0;
    let caller = state.callers.caller(request.uri(), request.headers(), address);
    // Before anything is done for the request: what is over the limit must cost next to nothing.
    let limit = if PROBES.contains(&route) { None } else { state.rate_limit.clone() };
    let now_ms = limit.as_ref().map_or(0, |_| state.platform.core.now_ms());
    let proof = Proof::begin((&state.callers, &state.places), limit, caller, now_ms);
    let response = match proof.quota() {
        Some(Quota { retry_after_s: Some(seconds), .. }) => too_many_requests(seconds),
        _ => admit(&state, caller, Answering { route, span: &span, proof: &proof }, (request, next)).await,
    };
    // Not a word of what a guess has met: it is over the limit of its address.
    let response = match proof.failed_trial_for_s(response.status().is_success()) {
        Some(seconds) => too_many_requests(seconds),
        None => response,
    };
    // Refusals of extractors and of the router come as plain text; clients are promised JSON with a code.
    let mut response = shape_error(response);
    span.record("status", response.status().as_u16());
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), "answered"));
    state.metrics.answered(route, &method, response.status(), began.elapsed());
    if response.status().is_client_error() {
        proof.refused();
    }
    if response.status() == StatusCode::FORBIDDEN
        && let Some(actor) = proof.actor()
    {
        let address = ClientAddress(address).text();
        state.platform.identity.note_denied(actor, address, format!("{method} {route}")).await;
    }
    if let Some(owner) = proof.owner() {
        response.extensions_mut().insert(ProvenCaller { owner });
    }
    let headers = response.headers_mut();
    // Only now: the handler's extractor has said whose request it is.
    if let Some(quota) = proof.quota() {
        headers.insert(RATE_LIMIT, HeaderValue::from(quota.limit));
        headers.insert(RATE_REMAINING, HeaderValue::from(quota.remaining));
    }
    if let Some(value) = ignored.header_value().and_then(|names| HeaderValue::from_str(&names).ok()) {
        headers.insert(IGNORED_FIELDS, value);
    }
    // On every answer, so that a person who reports a fault can name the log lines.
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        headers.insert(REQUEST_ID, value);
    }
    response
}

/// Route of a request, the span that it is answered in, and what is known of its caller.
struct Answering<'request> {
    route: &'request str,
    span: &'request Span,
    proof: &'request Proof,
}

/// Answers a request if there is not too much to do already. Probes are always answered: a node that is asked too much is not a node that has to be started again.
async fn admit(
    state: &ApiState,
    caller: Caller,
    Answering { route, span, proof }: Answering<'_>,
    (mut request, next): (Request, Next),
) -> Response {
    let is_probe = PROBES.contains(&route);
    // Refused and not queued: a client that waits for a place holds its connection and its memory meanwhile.
    let refused = || ApiError::Overloaded(NoRoom::JustNow).into_response();
    let place = if is_probe {
        Some(Place::Among(state.places.enter()))
    } else {
        match state.callers.known_owner(caller) {
            Some(owner) => state.places.enter_as_owner(owner).map(|permit| Place::Among(Some(permit))),
            None => state.places.enter_as_stranger(caller.address),
        }
    };
    let Some(place) = place else { return refused() };
    proof.hold(place);
    if !request.body().is_end_stream() {
        // Also of a caller who is known: the route may check none of the credentials.
        request = request.map(|body| Body::new(PlacedBody::new(body, proof)));
    }
    request.extensions_mut().insert(proof.clone());
    let is_nowhere = has_nul(request.uri().path());
    let answering = async { if is_nowhere { StatusCode::NOT_FOUND.into_response() } else { next.run(request).await } };
    let response = answering.instrument(span.clone()).await;
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    // What is streamed is under way until it has been sent.
    response.map(|body| Body::new(Streamed { body, span: span.clone(), _proof: proof.clone() }))
}

/// A body that keeps a place among the requests under way until it is dropped, and works in the request's span.
struct Streamed {
    body: Body,
    span: Span,
    /// With the place.
    _proof: Proof,
}

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let streamed = &mut *self;
        // The body is polled long after the handler has returned; without this its store operations had no request.
        let _entered = streamed.span.enter();
        Pin::new(&mut streamed.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn too_many_requests(retry_after_s: u64) -> Response {
    ApiError::from(PlatformError::TooMany { retry_after_s }).into_response()
}

/// Returns whether a path names something with a NUL character. There is no such thing, and PostgreSQL cannot even look
/// for it.
fn has_nul(path: &str) -> bool {
    path.contains("%00")
}

/// Answers for a handler that panicked. What it said may hold anything, so it is neither sent nor logged here.
fn panicked(_said: Box<dyn Any + Send>) -> Response {
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
    // It is that of the text that is thrown away.
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.extend(body_parts.headers);
    Response::from_parts(parts, Body::new(body))
}
