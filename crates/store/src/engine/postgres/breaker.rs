//! The breaker: whether the database answers at all.
//!
//! A server that is frozen, or whose link is cut without a word, looks like a slow one: bytes that are sent are never
//! answered, and no time-out of the server can help. So an operation that has waited for a second while no other one was
//! answered either has the server asked on a connection of its own. If that gets no answer, the breaker opens: what
//! waits ends at once as unavailable, and so does what comes, instead of filling the pool with work that nobody will
//! see the end of. One task goes on asking, and its first answer closes the breaker: no crowd finds out that the
//! server is back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use runtime::Instant;
use tokio::sync::watch;

use crate::error::StoreError;

/// Whether a database answers, as far as this node knows.
#[derive(Debug)]
pub(super) struct Breaker {
    is_open: watch::Sender<bool>,
    made: Instant,
    /// Time at which the server last answered, ms since this was made.
    answered_ms: AtomicU64,
    is_asking: AtomicBool,
    openings: AtomicU64,
}

impl Breaker {
    pub fn new() -> Self {
        Breaker {
            is_open: watch::Sender::new(false),
            made: Instant::now(),
            answered_ms: AtomicU64::new(0),
            is_asking: AtomicBool::new(false),
            openings: AtomicU64::new(0),
        }
    }

    /// Follows whether it is open.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.is_open.subscribe()
    }

    /// Waits until it is open.
    pub async fn opened(&self) {
        // It fails when the sender is gone, which this borrows.
        let _ = self.subscribe().wait_for(|is_open| *is_open).await;
    }

    /// Notes that the server has answered something.
    pub fn note_answer(&self) {
        self.answered_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Returns whether the server has answered anything within this time.
    pub fn has_answered_within(&self, time: Duration) -> bool {
        let since_ms = self.now_ms().saturating_sub(self.answered_ms.load(Ordering::Relaxed));
        u128::from(since_ms) < time.as_millis()
    }

    /// Takes over the asking; false when somebody else asks already.
    pub fn begin_asking(&self) -> bool {
        !self.is_asking.swap(true, Ordering::AcqRel)
    }

    /// Lets others ask again.
    pub fn end_asking(&self) {
        self.is_asking.store(false, Ordering::Release);
    }

    /// The server does not answer.
    pub fn open(&self) {
        self.openings.fetch_add(1, Ordering::Relaxed);
        self.is_open.send_replace(true);
    }

    /// The server answers again.
    pub fn close(&self) {
        self.note_answer();
        self.is_open.send_replace(false);
    }

    /// Returns how often it has opened, and whether it is open.
    pub fn counts(&self) -> (u64, bool) {
        (self.openings.load(Ordering::Relaxed), *self.is_open.borrow())
    }

    fn now_ms(&self) -> u64 {
        self.made.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

/// Returns the error of an operation that was not begun, or was ended, because the database does not answer.
pub(super) fn away() -> StoreError {
    StoreError::Unavailable("the database does not answer".to_owned())
}
