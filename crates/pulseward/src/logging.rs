//! Log lines on standard error, as text or JSON.
//!
//! A request is logged as its method and the route that matched. The address itself is never logged: it can carry an
//! API key in its query and identities in its path.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use axum::Router;
use tower_http::classify::ServerErrorsFailureClass;
use tower_http::trace::TraceLayer;
use tracing::{Span, info_span};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogOptions};
use crate::failure::Failure;

/// Modules that would log addresses or headers when asked for everything.
const NEVER_BELOW_INFO: &str = "hyper=info,hyper_util=info,h2=info,reqwest=info,rustls=info,tokio_postgres=info";

/// Starts the log.
pub fn start(options: &LogOptions) -> Result<(), Failure> {
    let filter = format!("{},{NEVER_BELOW_INFO}", options.log);
    let filter = EnvFilter::builder().parse(&filter);
    let filter = filter.map_err(|error| Failure::Usage(format!("--log {}: {error}", options.log)))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match options.log_format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
    };
    started.map_err(|error| Failure::Other(format!("the log cannot start: {error}")))
}

/// Logs each request once, when it has been answered.
pub fn log_requests(router: Router) -> Router {
    let layer = TraceLayer::new_for_http()
        .make_span_with(|request: &Request| {
            let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
            info_span!("request", method = %request.method(), route)
        })
        .on_request(())
        .on_response(|response: &Response, latency: Duration, _: &Span| {
            let (status, latency_ms) = (response.status().as_u16(), latency.as_millis());
            tracing::debug!(status, latency_ms, "answered");
        })
        .on_failure(|class: ServerErrorsFailureClass, latency: Duration, _: &Span| {
            tracing::error!(%class, latency_ms = latency.as_millis(), "failed");
        });
    router.layer(layer)
}
