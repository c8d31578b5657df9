//! Turns of writes that touch rows of one owner.
//!
//! A row that somebody holds keeps every write that needs it waiting. Without turns, twenty syncs of one patient would
//! wait on twenty connections, and all others would find none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::deadlines::{LONGEST_QUEUE, OF_ONE_OWNER};
use crate::engine::line::Line;
use crate::error::{Result, StoreError};

/// The owners whose rows are being written.
#[derive(Debug)]
pub(super) struct Owners {
    queues: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    at_once: usize,
}

/// The right to write rows of one owner, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    owners: Arc<Owners>,
    owner: Arc<str>,
    permit: Option<OwnedSemaphorePermit>,
    is_further: bool,
}

impl Owners {
    /// Turns over so many connections; of a single one, an owner may take it.
    pub fn new(connections: usize) -> Self {
        let at_once = OF_ONE_OWNER.min(connections.saturating_sub(1)).max(1);
        Owners { queues: Mutex::default(), at_once }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when those before it have not ended in time.
    pub async fn turn(self: &Arc<Self>, rows_of: Line<'_>) -> Result<Turn> {
        let owner: Arc<str> = rows_of.name().into();
        // Made before the wait, so that a wait that fails leaves no queue behind.
        let mut turn = Turn { owners: self.clone(), owner: owner.clone(), permit: None, is_further: false };
        let queue = self.queues().entry(owner).or_insert_with(|| Arc::new(Semaphore::new(self.at_once))).clone();
        match runtime::timeout(LONGEST_QUEUE, queue.acquire_owned()).await {
            Ok(Ok(permit)) => {
                turn.is_further = permit.semaphore().available_permits() + 1 < self.at_once;
                turn.permit = Some(permit);
            }
            _ => return Err(StoreError::Unavailable("other writes of the same rows do not end".to_owned())),
        }
        Ok(turn)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Semaphore>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Returns whether another write of the same rows was under way when this turn began.
    pub fn is_further(&self) -> bool {
        self.is_further
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Before the look: it holds the queue too.
        self.permit = None;
        let mut queues = self.owners.queues();
        // Who waits has taken the queue under the same lock, so it is not forgotten while somebody waits.
        if queues.get(&self.owner).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            queues.remove(&self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns whether a turn is not to be had now.
    async fn waits(owners: &Arc<Owners>, owner: &str) -> bool {
        runtime::timeout(Duration::from_millis(50), owners.turn(Line::named(owner))).await.is_err()
    }

    #[tokio::test]
    async fn writes_of_one_owner_beyond_two_wait_and_those_of_others_do_not() {
        let owners = Arc::new(Owners::new(16));
        let first = owners.turn(Line::named("ada")).await.unwrap();
        let second = owners.turn(Line::named("ada")).await.unwrap();
        assert_eq!([first.is_further(), second.is_further()], [false, true]);
        assert!(waits(&owners, "ada").await);
        let _other = owners.turn(Line::named("grace")).await.unwrap();
        drop(first);
        assert!(!waits(&owners, "ada").await);
    }

    #[tokio::test]
    async fn no_queue_is_kept_for_owners_without_writes() {
        let owners = Arc::new(Owners::new(2));
        let turn = owners.turn(Line::named("ada")).await.unwrap();
        assert!(waits(&owners, "ada").await, "of two connections one is for others");
        assert_eq!(owners.queues().len(), 1);
        drop(turn);
        assert!(owners.queues().is_empty());
    }
}
