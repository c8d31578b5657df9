//! What every handler may use, and how much requests may ask for.

use std::ops::Deref;
use std::sync::Arc;

use platform::Platform;

use super::callers::Callers;
use super::load::UploadMemory;
use super::metrics::counted::Metrics;
use super::places::Places;
use super::places::shares::SharedPlaces;
use super::portal::cookie::session_cookie_name;
use super::rate_limit::RateLimit;
use super::shared_check::SharedCheck;

/// State that every handler may use. Clones share it.
///
/// One reference: the router clones it several times for each request, and a count for each part would be as many
/// writes to memory that the cores share.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

/// Content that all clones of the state share.
pub struct Shared {
    /// The service.
    pub platform: Platform,
    /// Limits of a request.
    pub limits: Limits,
    /// Metrics of the service.
    pub metrics: Metrics,
    pub(crate) rate_limit: Option<Arc<RateLimit>>,
    pub(crate) callers: Arc<Callers>,
    /// Name of the cookie that pages bring.
    pub(crate) session_cookie: &'static str,
    pub(crate) places: Places,
    pub(crate) uploads: UploadMemory,
    /// Streams of events, which last: they may not take all places of requests.
    pub(crate) streams: SharedPlaces,
    /// Of readiness.
    pub(crate) last_check: SharedCheck,
}

impl ApiState {
    /// Returns the service with limits to what is asked of it.
    pub fn new(platform: Platform, limits: Limits) -> Self {
        let session_cookie = session_cookie_name(&platform.core.settings().integration_url);
        ApiState(Arc::new(Shared {
            platform,
            metrics: Metrics::default(),
            rate_limit: limits.requests_per_minute.map(|per_minute| Arc::new(RateLimit::new(per_minute))),
            callers: Arc::new(Callers::new(session_cookie)),
            session_cookie,
            places: Places::new(limits.requests_at_once),
            // At most half: boards that stay open all day may not shut out the requests of apps.
            streams: SharedPlaces::new(limits.requests_at_once.div_ceil(2)),
            uploads: UploadMemory::new(limits.upload_memory_bytes, limits.largest_upload_bytes()),
            last_check: SharedCheck::default(),
            limits,
        }))
    }
}

impl Deref for ApiState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// Limits of one request, or of all at once. An operator can set each.
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
    /// Memory that uploads under way may take, bytes: as sent, as expanded, and all that becomes of it until it is stored.
    pub upload_memory_bytes: usize,
}

impl Default for Limits {
    /// Without a rate limit, which the operator sets when the service is opened to others.
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
    /// Returns the upload memory that a single largest sync needs, bytes: as sent and twice as expanded, because rows
    /// are made of the expanded text while it is still there.
    pub fn largest_upload_bytes(&self) -> usize {
        self.sync_bytes + 2 * self.sync_expanded_bytes
    }
}
