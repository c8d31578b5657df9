//! Log lines on standard error, as text or JSON.
//!
//! Secrets stay out: requests are named by method and matched route (the routers see to that), and the libraries below
//! them, which would log addresses and headers, are kept to what is worth reporting anyway.

mod fields;

use std::io::IsTerminal as _;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use self::fields::PlainFields;
use crate::config::{LogFormat, LogOptions};
use crate::failure::Failure;
use crate::traces::TraceLayer;

/// Modules that would log addresses or headers when asked for everything.
const NEVER_BELOW_INFO: &str = "hyper=info,hyper_util=info,h2=info,reqwest=info,rustls=info,tokio_postgres=info";

/// Starts the log.
pub fn start(options: &LogOptions) -> Result<(), Failure> {
    start_with(options, None)
}

/// Starts the log, and traces in addition to it: what is logged and what is traced is filtered separately.
pub fn start_with(options: &LogOptions, traces: Option<TraceLayer>) -> Result<(), Failure> {
    let filter = format!("{},{NEVER_BELOW_INFO}", options.log);
    let filter = EnvFilter::builder().parse(&filter);
    let filter = filter.map_err(|error| Failure::Usage(format!("--log {}: {error}", options.log)))?;
    // Colours are for eyes: in a file they are noise.
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
    let lines = match options.log_format {
        LogFormat::Text if colours => lines.with_target(false).with_filter(filter).boxed(),
        LogFormat::Text => lines.with_target(false).fmt_fields(PlainFields).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).with_filter(filter).boxed(),
    };
    let layers: Vec<TraceLayer> = traces.into_iter().chain([lines]).collect();
    let started = tracing_subscriber::registry().with(layers).try_init();
    started.map_err(|error| Failure::Other(format!("the log cannot start: {error}")))
}
