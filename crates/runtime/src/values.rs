//! Clock and randomness that are passed as values.

use std::sync::Arc;

/// Wall clock: returns ms since 1970. The binary passes the machine's clock, tests pass their own.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Source of randomness: fills bytes fit for keys. The binary passes the operating system's.
pub type Random = Arc<dyn Fn(&mut [u8]) + Send + Sync>;
