//! Lengths of time.

/// Milliseconds of a minute, the period of an activity row.
pub const MINUTE_MS: i64 = 60_000;

/// Milliseconds of an hour.
pub const HOUR_MS: i64 = 3_600_000;
