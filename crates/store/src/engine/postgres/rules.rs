//! What holds for all connections of a pool.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::Breaker;
use super::statements::Statements;

/// What holds for everything on the lanes.
#[derive(Clone)]
pub(super) struct Rules {
    /// Time for which an operation waits for a place.
    pub wait: Duration,
    /// Time that a connection that was given up may take to end its statement.
    pub longest_cancel: Duration,
    /// Whether the server answers.
    pub breaker: Arc<Breaker>,
    /// How statements are sent.
    pub statements: Statements,
}
