//! Whether a store of objects answers at all. A reader that has waited in vain informs the others, so that a store that is
//! silent holds up a few readers for a moment and not every worker for as long as it lasts.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use runtime::Instant;

/// While the store is silent, one operation in so long a time tries whether it answers again; the others fail at once.
const TRY_EVERY: Duration = Duration::from_secs(2);
/// An answer that is not older than this shows that the store is there, though slow.
const RECENT: Duration = Duration::from_secs(10);

/// What is known of a store.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Since nobody was answered: when the next may try.
    next_try: Option<Instant>,
    last_answer: Option<Instant>,
}

impl Silence {
    /// Returns whether an operation may begin; it must not while the store is silent and another one tries.
    pub fn may_ask(&self) -> bool {
        let mut known = self.known();
        let now = Instant::now();
        match known.next_try {
            None => true,
            Some(next_try) if next_try <= now => {
                // Taken by this one: a herd of waiting readers would all wait for the same silence.
                known.next_try = Some(now + TRY_EVERY);
                true
            }
            Some(_) => false,
        }
    }

    /// The store has answered, whatever it said.
    pub fn answered(&self) {
        let mut known = self.known();
        known.next_try = None;
        known.last_answer = Some(Instant::now());
    }

    /// An operation has waited for as long as it may.
    pub fn waited_in_vain(&self) {
        self.known().next_try = Some(Instant::now() + TRY_EVERY);
    }

    /// Returns whether somebody was answered just now and nobody has waited in vain since.
    pub fn has_answered_recently(&self) -> bool {
        let known = self.known();
        known.next_try.is_none() && known.last_answer.is_some_and(|answer| answer.elapsed() < RECENT)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
