//! How often a job has failed since it last worked.

/// Failures of a piece of work since its last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Runs that have failed.
    pub runs: i64,
    /// How many of them by a panic.
    pub panics: i64,
}
