//! The layer of the log that traces are made in.

use tracing_subscriber::{Layer, Registry};

/// What turns spans into traces, below the log.
pub type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;
