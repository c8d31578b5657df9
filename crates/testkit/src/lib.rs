//! What the tests share: throw-away databases and the folder of recorded data.

mod postgres;
mod recordings;

pub use postgres::{Postgres, PostgresError};
pub use recordings::real_data;

/// Says loudly that a test is skipped, and fails it where nothing may be skipped: when the variable `CI` is set.
///
/// # Panics
/// When `CI` is set.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "nothing may be skipped here: {reason}");
    eprintln!("SKIPPED: {reason}");
}
