//! What a machine without PostgreSQL or recordings does not run.

/// Says loudly that a test is skipped, and fails it where nothing may be skipped: when the variable `CI` is set.
///
/// # Panics
/// When `CI` is set.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "nothing may be skipped here: {reason}");
    eprintln!("SKIPPED: {reason}");
}
