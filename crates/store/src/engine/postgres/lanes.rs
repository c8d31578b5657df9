//! Which lane an operation runs on: one that has a connection for it.
//!
//! All operations wait in one queue for a connection of any lane, and the pool of a lane never keeps an operation waiting.
//! Writes of rows that somebody may hold wait in a queue of their own before ([`WritePlaces`]): however many rows are held,
//! the others find a connection.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::owners::{Owners, Turn};
use super::pool::{Counters, Pool};
use super::rules::Rules;
use super::write_places::{WritePlace, WritePlaces};
use crate::engine::counts::{PoolCounts, Waiting};
use crate::engine::line::Line;
use crate::error::{Result, StoreError};

/// The lanes of a database.
pub(super) struct Lanes {
    pools: Vec<Pool>,
    /// One permit for each connection that there may be.
    places: Arc<Semaphore>,
    free: Mutex<Free>,
    waiting: AtomicUsize,
    owners: Arc<Owners>,
    writes: WritePlaces,
    rules: Rules,
    counters: Arc<Counters>,
}

/// Places that are free, never fewer than there are permits.
struct Free {
    /// How many each lane has.
    of_lanes: Vec<usize>,
    /// The lane that is preferred to others with as many.
    turn: usize,
}

/// The right to one connection of a lane.
pub(super) struct Place {
    lanes: Arc<Lanes>,
    lane: usize,
    /// How many microseconds it was waited for, until that is counted.
    waited_us: AtomicU64,
    /// Given back after the place is free.
    _permit: OwnedSemaphorePermit,
    _write: Option<WritePlace>,
    /// Of a write of rows that writes take turns at; given back last.
    _turns: Vec<Turn>,
}

impl Lanes {
    /// Lanes of these pools, each with its number of connections.
    pub fn new(pools: Vec<(Pool, usize)>, rules: Rules, counters: Arc<Counters>) -> Self {
        let (pools, of_lanes): (Vec<_>, Vec<_>) = pools.into_iter().unzip();
        let connections = of_lanes.iter().sum();
        Lanes {
            pools,
            places: Arc::new(Semaphore::new(connections)),
            free: Mutex::new(Free { of_lanes, turn: 0 }),
            waiting: AtomicUsize::new(0),
            owners: Arc::new(Owners::new(connections)),
            writes: WritePlaces::new(connections),
            rules,
            counters,
        }
    }

    /// Returns a place on the lane that has most of them, once there is one and it is the turn of the owners whose rows
    /// are to be written, of one after the other.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when none became free in time.
    pub async fn place(self: &Arc<Self>, rows_of: &[Line<'_>]) -> Result<Place> {
        // Before the place: who waits for a turn must not keep a connection from others.
        let mut turns = Vec::with_capacity(rows_of.len());
        for owner in rows_of {
            let _counted = Waiting::begin(&self.waiting);
            turns.push(self.owners.turn(*owner).await?);
        }
        let write = if turns.is_empty() {
            None
        } else {
            let _counted = Waiting::begin(&self.waiting);
            Some(self.writes.place(turns.iter().any(Turn::is_further)).await?)
        };
        let (permit, waited) = match self.places.clone().try_acquire_owned() {
            Ok(permit) => (permit, Duration::ZERO),
            Err(_) => self.waited_for().await?,
        };
        let waited_us = AtomicU64::new(waited.as_micros().try_into().unwrap_or(u64::MAX));
        let lane = self.free().take();
        Ok(Place { lanes: self.clone(), lane, waited_us, _permit: permit, _write: write, _turns: turns })
    }

    async fn waited_for(&self) -> Result<(OwnedSemaphorePermit, Duration)> {
        let begun = Instant::now();
        let counted = Waiting::begin(&self.waiting);
        let permit = runtime::timeout(self.rules.wait, self.places.clone().acquire_owned()).await;
        drop(counted);
        if let Ok(Ok(permit)) = permit {
            return Ok((permit, begun.elapsed()));
        }
        // Waits are otherwise counted where a connection is got, which this one never comes to.
        self.counters.add_wait(begun.elapsed());
        Err(StoreError::Unavailable("no database connection became free in time".to_owned()))
    }

    /// Returns what the lanes hold together, and what waits for them.
    pub fn counts(&self) -> PoolCounts {
        let counts = self.counters.of_lanes(&self.pools);
        PoolCounts { waiting: counts.waiting + self.waiting.load(Ordering::Relaxed), ..counts }
    }

    /// Closes all connections that nobody uses.
    pub fn close_idle(&self) {
        let now = Instant::now().into_std();
        self.pools.iter().for_each(|pool| pool.close_idle_from_before(now));
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Free {
    /// Takes a place of the lane that has most. The caller holds a permit, so there is one.
    fn take(&mut self) -> usize {
        let lanes = self.of_lanes.len();
        let from_turn = (0..lanes).map(|ahead| (self.turn + ahead) % lanes);
        // Of several that are the greatest, the last is taken.
        let lane = from_turn.rev().max_by_key(|lane| self.of_lanes[*lane]).unwrap_or_default();
        self.of_lanes[lane] = self.of_lanes[lane].saturating_sub(1);
        self.turn = (lane + 1) % lanes;
        lane
    }
}

impl Place {
    /// Number of the lane.
    pub fn lane(&self) -> usize {
        self.lane
    }

    /// Returns the connections of the lane.
    pub fn pool(&self) -> &Pool {
        &self.lanes.pools[self.lane]
    }

    /// Returns what holds for everything on the lanes.
    pub fn rules(&self) -> &Rules {
        &self.lanes.rules
    }

    /// Returns how long the place was waited for, to be counted with what a connection takes; zero from the second time
    /// on.
    pub fn take_waited(&self) -> Duration {
        Duration::from_micros(self.waited_us.swap(0, Ordering::Relaxed))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Before the permit is given back with the fields: the next one to hold it has to find a free lane.
        self.lanes.free().of_lanes[self.lane] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_with_most_places_is_taken_and_equals_take_turns() {
        let mut free = Free { of_lanes: vec![3, 1, 2], turn: 0 };
        let taken: Vec<usize> = (0..6).map(|_| free.take()).collect();
        assert_eq!(taken, [0, 2, 0, 1, 2, 0]);
        assert_eq!(free.of_lanes, [0, 0, 0]);
    }
}
