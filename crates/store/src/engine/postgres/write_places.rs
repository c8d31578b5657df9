//! Connections that writes of rows which somebody may hold take at the same time.
//!
//! A write of a held row waits on its connection until a deadline. Were all connections open to such writes, the held rows of
//! a few patients would keep every read and every look-up of a token waiting. So a part is left to what waits for no row. And
//! of several writes of the same rows, which wait for each other anyway, only a few have a connection: of a patient whose row is
//! held one write waits in the server, and the others here.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::deadlines::LONGEST_QUEUE;
use crate::error::{Result, StoreError};

/// Of four connections, one is left to what waits for no row.
const LEFT_TO_OTHERS: usize = 4;
/// Of eight connections, one may be taken by a write while another of the same rows is under way.
const FURTHER: usize = 8;

/// The connections.
#[derive(Debug)]
pub(super) struct WritePlaces {
    all: Arc<Semaphore>,
    further: Arc<Semaphore>,
}

/// The right to take one of them, given back when this is dropped.
#[derive(Debug)]
pub(super) struct WritePlace {
    _all: OwnedSemaphorePermit,
    _further: Option<OwnedSemaphorePermit>,
}

impl WritePlaces {
    /// Of so many connections.
    pub fn new(connections: usize) -> Self {
        let all = (connections - connections / LEFT_TO_OTHERS).max(1);
        let further = (connections / FURTHER).max(1);
        WritePlaces { all: Arc::new(Semaphore::new(all)), further: Arc::new(Semaphore::new(further)) }
    }

    /// Waits for a place, of a further write of the same rows or of the first one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when none became free in time.
    pub async fn place(&self, is_further: bool) -> Result<WritePlace> {
        let both = async {
            // This first: one that waits for it must not keep a place from first writes.
            let further = if is_further { Some(self.further.clone().acquire_owned().await.ok()?) } else { None };
            let all = self.all.clone().acquire_owned().await.ok()?;
            Some(WritePlace { _all: all, _further: further })
        };
        let place = runtime::timeout(LONGEST_QUEUE, both).await.ok().flatten();
        place.ok_or_else(|| StoreError::Unavailable("other writes, of rows that are held, do not end".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns a place that is to be had now.
    async fn now(places: &WritePlaces, is_further: bool) -> Option<WritePlace> {
        runtime::timeout(Duration::from_millis(10), places.place(is_further)).await.ok()?.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn further_writes_of_held_rows_leave_places_to_first_ones_and_both_to_reads() {
        let places = WritePlaces::new(16);
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(now(&places, false).await.expect("a first write"));
        }
        for _ in 0..2 {
            held.push(now(&places, true).await.expect("a further write"));
        }
        assert!(now(&places, true).await.is_none());
        let others = [now(&places, false).await, now(&places, false).await];
        assert!(others.iter().all(Option::is_some) && now(&places, false).await.is_none(), "four are left to reads");
        let begun = runtime::Instant::now();
        assert!(matches!(places.place(false).await, Err(StoreError::Unavailable(_))));
        assert_eq!(begun.elapsed(), LONGEST_QUEUE);
        drop(held);
        assert!(now(&places, true).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn single_connection_serves_writes_too() {
        let places = WritePlaces::new(1);
        assert!(now(&places, false).await.is_some() && now(&places, true).await.is_some());
    }
}
