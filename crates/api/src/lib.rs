//! The three clouds over HTTP: routers, extractors, wire types, errors, OpenAPI.
//!
//! This crate holds the only status codes and the only JSON names of the project. It has no SQL and no rules: each
//! handler reads a request, calls one operation of [`platform`] and writes the answer.

mod body;
mod days;
mod error;
mod extract;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod health_cloud;
mod integration;
mod operations;
mod outer;
mod parameters;
mod person;
mod raw_rows;
mod refreshed;
mod streamed;
mod times;
mod users_cloud;
mod well_known;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use platform::Platform;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use error::ApiError;
pub use outer::ClientAddress;

/// The largest body of a request that is not an upload, bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// What every handler may use.
#[derive(Clone, Debug)]
pub struct ApiState {
    /// The service.
    pub platform: Platform,
    /// What a request may ask for at most.
    pub limits: Limits,
}

/// What a request may ask for at most. An operator can set each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest sync as it is sent, bytes.
    pub sync_bytes: usize,
    /// The largest sync when it is expanded, bytes.
    pub sync_expanded_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { sync_bytes: 32 << 20, sync_expanded_bytes: 256 << 20 }
    }
}

/// The document that the routes add themselves to.
#[derive(OpenApi)]
#[openapi(info(
    title = "Pulseward",
    description = "Remote patient monitoring: the integration API, the Users Cloud and the Health Cloud."
))]
struct Document;

/// Everything that is served: the three clouds, the probes and the OpenAPI document.
pub fn router(state: ApiState) -> Router {
    let (router, document) = open_api_router().split_for_parts();
    let router = router
        .merge(operations::document_route(&document))
        .merge(health_cloud::oauth::at_the_root())
        .layer(DefaultBodyLimit::max(LARGEST_BODY));
    outer::wrap(router, state.clone()).with_state(state)
}

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    open_api_router().into_openapi()
}

fn open_api_router() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .nest("/integration", integration::routes())
        .nest("/users", users_cloud::routes())
        .nest("/health", health_cloud::routes())
        .merge(operations::routes())
}
