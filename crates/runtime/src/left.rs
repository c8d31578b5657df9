//! What work leaves behind for the one that waits for its end.

use std::sync::{Arc, Mutex, PoisonError};

/// The side that takes a result once the work has ended.
#[derive(Debug)]
pub struct Left<T>(Arc<Mutex<Option<T>>>);

/// The side of the work.
#[derive(Debug)]
pub struct Leave<T>(Arc<Mutex<Option<T>>>);

impl<T> Left<T> {
    /// Both sides, with nothing left yet.
    pub fn new() -> (Self, Leave<T>) {
        let place = Arc::new(Mutex::new(None));
        (Left(place.clone()), Leave(place))
    }

    /// Returns what was left; none before, after it has been taken, and when the work did not come to its end.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Leave<T> {
    /// Leaves the result. If nobody waits any more, it is dropped here.
    pub fn put(self, result: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}
