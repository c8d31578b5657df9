//! The three clouds over HTTP: routers, extractors, wire types, errors, OpenAPI.
//!
//! This crate holds the only status codes and the only JSON names of the project. It has no SQL and no rules: each
//! handler reads a request, calls one operation of [`platform`] and writes the answer.

mod body;
mod days;
mod document;
mod downloads;
mod error;
mod extract;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod health_cloud;
mod hosts;
mod integration;
mod load;
mod metrics;
mod operations;
mod outer;
mod parameters;
mod path_uuid;
mod person;
mod portal;
mod rate_limit;
mod raw_rows;
mod refreshed;
mod streamed;
mod times;
mod users_cloud;
mod well_known;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use platform::Platform;
use tokio::sync::Semaphore;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use vitals::registry::{DataType, Declaration};

use load::UploadMemory;
use rate_limit::RateLimit;

pub use error::ApiError;
pub use hosts::{Hosts, UnclearHost};
pub use metrics::{Metrics, gauge, metrics_text};
pub use outer::ClientAddress;

/// The largest body of a request that is not an upload, bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// What every handler may use.
#[derive(Clone)]
pub struct ApiState {
    /// The service.
    pub platform: Platform,
    /// What a request may ask for at most.
    pub limits: Limits,
    /// What is counted.
    pub metrics: Metrics,
    pub(crate) rate_limit: Option<Arc<RateLimit>>,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) uploads: UploadMemory,
    /// Streams of events, which last: they may not take all places of requests.
    pub(crate) streams: Arc<Semaphore>,
}

impl ApiState {
    /// The service with limits to what is asked of it.
    pub fn new(platform: Platform, limits: Limits) -> Self {
        ApiState {
            platform,
            metrics: Metrics::default(),
            rate_limit: limits.requests_per_minute.map(|per_minute| Arc::new(RateLimit::new(per_minute))),
            requests: Arc::new(Semaphore::new(limits.requests_at_once.min(Semaphore::MAX_PERMITS))),
            streams: Arc::new(Semaphore::new(limits.requests_at_once.min(Semaphore::MAX_PERMITS).div_ceil(2))),
            uploads: UploadMemory::new(limits.upload_memory_bytes),
            limits,
        }
    }
}

/// What a request, or all at once, may ask for at most. An operator can set each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest sync as it is sent, bytes.
    pub sync_bytes: usize,
    /// The largest sync when it is expanded, bytes.
    pub sync_expanded_bytes: usize,
    /// Requests a minute of a credential, or of an address without one; `None` for no limit.
    pub requests_per_minute: Option<u32>,
    /// Requests that are answered at the same time.
    pub requests_at_once: usize,
    /// Memory that uploads under way are counted with, bytes: as sent and twice as expanded, because rows are made of
    /// the expanded text while it is still there.
    pub upload_memory_bytes: usize,
}

impl Default for Limits {
    /// Without a rate limit, which is for whoever opens the service to others to set.
    fn default() -> Self {
        Limits {
            sync_bytes: 32 << 20,
            sync_expanded_bytes: 256 << 20,
            requests_per_minute: None,
            requests_at_once: 1024,
            upload_memory_bytes: 1 << 30,
        }
    }
}

impl Limits {
    /// The upload memory that a single largest sync needs, bytes.
    pub fn largest_upload_bytes(&self) -> usize {
        self.sync_bytes + 2 * self.sync_expanded_bytes
    }
}

/// A part of the interface that a node serves or leaves to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The integration API.
    Integration,
    /// The Users Cloud.
    Users,
    /// The Health Cloud.
    Health,
    /// What the pages of the portal ask beyond the integration API.
    Portal,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 4] = [Part::Integration, Part::Users, Part::Health, Part::Portal];

    /// The path below which it is on the shared address.
    pub fn prefix(self) -> &'static str {
        match self {
            Part::Integration => "/integration",
            Part::Users => "/users",
            Part::Health => "/health",
            Part::Portal => "/portal",
        }
    }

    fn routes(self) -> OpenApiRouter<ApiState> {
        match self {
            Part::Integration => integration::routes(),
            Part::Users => users_cloud::routes(),
            Part::Health => health_cloud::routes(),
            Part::Portal => portal::routes(),
        }
    }
}

/// The document that the routes add themselves to.
#[derive(OpenApi)]
#[openapi(info(
    title = "Pulseward",
    description = "Remote patient monitoring: the integration API for researchers' programs, the Users Cloud that knows \
        persons, and the Health Cloud that knows samples of uuids. What stands below /portal \
        is for the pages of the portal, whose cookie the integration API takes as well.\n\nErrors are JSON with `message`, `code` and, with \
        422, `errors` by field. Every answer has `X-Request-Id`. Unknown query parameters are ignored, empty ones count \
        as absent. Any address can also answer 405 (with `Allow`), 414 and 431. Times are milliseconds since 1970 UTC \
        unless said otherwise; both ends of ranges are included."
))]
struct Document;

/// Everything that there is: the three clouds, the probes and the OpenAPI document.
pub fn router(state: ApiState) -> Router {
    router_of(state, &Part::ALL)
}

/// The parts that a node serves, with the probes and the OpenAPI document of the whole.
pub fn router_of(state: ApiState, parts: &[Part]) -> Router {
    let (mut router, _) = open_api_router(parts).split_for_parts();
    if parts.contains(&Part::Health) {
        router = router.merge(health_cloud::oauth::at_the_root());
    }
    let router = router.merge(operations::document_routes()).layer(DefaultBodyLimit::max(LARGEST_BODY));
    outer::wrap(router, state.clone()).with_state(state)
}

/// The OpenAPI document.
pub fn document() -> serde_json::Value {
    document_of(&DataType::declarations())
}

/// The document of a service that knows these data types.
fn document_of(types: &[&Declaration]) -> serde_json::Value {
    document::complete(&open_api_router(&Part::ALL).into_openapi(), types)
}

/// The OpenAPI document as it is written to files and served.
pub fn document_text() -> String {
    format!("{:#}\n", document())
}

fn open_api_router(parts: &[Part]) -> OpenApiRouter<ApiState> {
    let clouds = parts.iter().fold(OpenApiRouter::with_openapi(Document::openapi()), |router, part| {
        router.nest(part.prefix(), part.routes())
    });
    clouds.merge(operations::routes())
}
