//! The three clouds over HTTP: routers, extractors, wire types, errors, OpenAPI.
//!
//! This crate holds the only status codes and the only JSON names of the project. It has no SQL and no rules: each
//! handler reads a request, calls one operation of [`platform`] and writes the answer.

mod body;
mod call_rejection;
mod callers;
mod choices;
mod client_address;
mod compression;
mod credentials;
mod cross_origin;
mod days;
mod document;
mod document_page;
mod downloads;
mod error;
mod extract;
mod framing;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod health_cloud;
mod hosts;
mod integration;
mod key_holder;
mod load;
mod metrics;
mod operations;
mod outer;
mod parameters;
mod part;
mod path_type;
mod path_uuid;
mod person;
mod placed_body;
mod places;
mod platform_status;
mod portal;
mod proof;
mod range_end;
mod rate_limit;
mod raw_rows;
mod refreshed;
mod shared_check;
mod state;
mod stream_of_study;
mod streamed;
mod times;
mod users_cloud;
mod well_known;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use vitals::registry::{DataType, Declaration};

pub use body::rejection::{LEAST_RATE, SlowBody};
pub use callers::{ProvenCaller, neighbourhood};
pub use client_address::ClientAddress;
pub use error::ApiError;
pub use framing::UnknownCoding;
pub use hosts::{Hosts, UnclearHost};
pub use metrics::{Metrics, append_gauges, metrics_text};
pub use part::Part;
pub use places::bodies::{Bodies, BodyPlace, Reading};
pub use places::counts::Counts;
pub use state::{ApiState, Limits};

/// The largest body of a request that is not an upload, bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// The document that the routes add themselves to.
#[derive(OpenApi)]
#[openapi(info(
    title = "Pulseward",
    description = "Remote patient monitoring: the integration API for researchers' programs, the Users Cloud that knows \
        persons, and the Health Cloud that knows samples of uuids. What is below /portal \
        is for the pages of the portal, whose cookie the integration API takes as well.\n\nErrors are JSON with `message`, `code` and, with \
        422, `errors` by field. Every answer has `X-Request-Id`, unless the request is refused before it is routed. Unknown query parameters are ignored, empty ones count \
        as absent. Any address can also answer 405 (with `Allow`), 414 and 431. Times are milliseconds since 1970 UTC \
        unless said otherwise; both ends of ranges are included."
))]
struct Document;

/// Everything that there is: the three clouds, the probes and the OpenAPI document.
pub fn router(state: ApiState) -> Router {
    router_of(state, &Part::ALL)
}

/// Returns the parts that a node serves, with the probes and the OpenAPI document of the whole.
pub fn router_of(state: ApiState, parts: &[Part]) -> Router {
    let (mut router, _) = open_api_router(parts).split_for_parts();
    // Below `/.well-known` of the host and not of the cloud, where RFC 8414 makes clients look.
    if parts.contains(&Part::Health) {
        router = router.merge(health_cloud::oauth::at_the_root());
    }
    // The routes of uploads take a bare body, which has no such limit, and count it themselves.
    let router = router
        .merge(operations::document_routes())
        .merge(document_page::routes())
        .layer(DefaultBodyLimit::max(LARGEST_BODY));
    // Last, so that it surrounds the documents as well.
    outer::wrap(router, state.clone()).with_state(state)
}

/// Returns the OpenAPI document.
pub fn document() -> serde_json::Value {
    document_of(&DataType::declarations())
}

/// Returns the document of a service that knows these data types.
fn document_of(types: &[&Declaration]) -> serde_json::Value {
    document::complete(&open_api_router(&Part::ALL).into_openapi(), types)
}

/// Returns the OpenAPI document as it is written to files; `docs/openapi.json`, which is served, is the same (a test).
pub fn document_text() -> String {
    format!("{:#}\n", document())
}

fn open_api_router(parts: &[Part]) -> OpenApiRouter<ApiState> {
    // Each cloud is nested and not merged: the same paths, such as `/login`, mean different things on each.
    let clouds = parts.iter().fold(OpenApiRouter::with_openapi(Document::openapi()), |router, part| {
        router.nest(part.prefix(), routes_of(*part))
    });
    clouds.merge(operations::routes())
}

fn routes_of(part: Part) -> OpenApiRouter<ApiState> {
    match part {
        Part::Integration => integration::routes(),
        Part::Users => users_cloud::routes(),
        Part::Health => health_cloud::routes(),
        Part::Portal => portal::routes(),
    }
}
