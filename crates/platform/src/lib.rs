//! What the service does, without a word of HTTP: enrolment, access, login, ingest, fold, summaries, compliance, seal.
//!
//! The operations take a [`Platform`]: the two databases, the objects, the clock and the source of randomness. Access
//! is checked inside each operation, so a caller cannot forget it.

mod environment;
mod error;
pub mod ingest;

pub use environment::{Clock, Platform, Random, Settings};
pub use error::{PlatformError, Result};
