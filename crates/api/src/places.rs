//! Places among the requests under way, and whose they are.
//!
//! A request holds a place from its head until its answer has been sent. One that shows no credential known to be valid
//! also has a place among those of strangers, of which there are two sorts, so that strangers together have half of all
//! and callers who are known always find the other half:
//!
//! - **Heads** ([`Heads`]): from the head on, until a credential has proven valid, the body is asked for, or the answer is
//!   made. A head is whole when its request is admitted, so nobody holds such a place by being slow, and a credential can
//!   prove itself whatever bodies are under way.
//! - **Bodies** ([`bodies::Bodies`]): from the first look at a body on. Such a place can be taken back.

pub(crate) mod bodies;
pub(crate) mod counts;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use bodies::{Bodies, BodyPlace};
use counts::Counts;

/// The part of all places that heads of strangers have together, which bodies of strangers have as well, and the one that
/// either have of one address.
const PART_OF_STRANGERS: usize = 4;
const PART_OF_ADDRESS: usize = 8;

/// The places. Clones share them.
#[derive(Clone)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    heads: Arc<Heads>,
    bodies: Bodies,
}

/// Places of requests that have proven nothing yet.
struct Heads {
    most: usize,
    most_of_address: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    by_address: Counts<u64>,
}

/// A place of a head, given back when this is dropped.
pub(crate) struct HeadPlace {
    heads: Arc<Heads>,
    address: u64,
}

/// What a request holds.
pub(crate) enum Place {
    /// A place among all, of a caller who is known; none of a probe that is answered without one.
    Known(Option<OwnedSemaphorePermit>),
    /// The same, of a caller who has proven nothing yet.
    Head { permit: OwnedSemaphorePermit, _head: HeadPlace },
    /// A place of a body, with that among all.
    Body(BodyPlace),
}

impl Place {
    /// Returns the place among all. One that was taken back is gone.
    pub(crate) fn into_permit(self) -> Option<OwnedSemaphorePermit> {
        match self {
            Place::Known(permit) => permit,
            Place::Head { permit, .. } => Some(permit),
            Place::Body(place) => place.leave(),
        }
    }
}

impl Places {
    /// So many places.
    pub(crate) fn new(number: usize) -> Self {
        // The semaphore panics above its largest number.
        let number = number.min(Semaphore::MAX_PERMITS);
        let (most, most_of_address) = (number.div_ceil(PART_OF_STRANGERS), number.div_ceil(PART_OF_ADDRESS));
        Places {
            all: Arc::new(Semaphore::new(number)),
            heads: Arc::new(Heads { most, most_of_address, held: Mutex::default() }),
            bodies: Bodies::new(most, most_of_address),
        }
    }

    /// Returns a place among all, if one is free.
    pub(crate) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().ok()
    }

    /// Returns a place of a stranger, if there is one left for the address.
    pub(crate) fn enter_as_stranger(&self, address: u64) -> Option<Place> {
        let head = self.head(address)?;
        self.enter().map(|permit| Place::Head { permit, _head: head })
    }

    fn head(&self, address: u64) -> Option<HeadPlace> {
        let mut held = self.heads.held();
        if held.all >= self.heads.most || held.by_address.of(address) >= self.heads.most_of_address {
            return None;
        }
        held.all += 1;
        held.by_address.add(address);
        Some(HeadPlace { heads: self.heads.clone(), address })
    }

    /// The places of bodies.
    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        self.all.available_permits()
    }
}

impl Heads {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeadPlace {
    fn drop(&mut self) {
        let mut held = self.heads.held();
        held.all -= 1;
        held.by_address.take(self.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_strangers_have_a_share_by_address_and_a_quarter_together() {
        let places = Places::new(32);
        let all_of = |address| std::iter::from_fn(|| places.head(address)).collect::<Vec<HeadPlace>>();
        let of_one = all_of(1);
        assert_eq!(of_one.len(), 4);
        let of_others: Vec<HeadPlace> = (2..100).flat_map(all_of).collect();
        assert_eq!(of_others.len(), 4);
        assert!(places.head(100).is_none());
        drop(of_one);
        assert!(places.head(100).is_some());
        drop(of_others);
        assert!(places.heads.held().by_address.is_empty() && places.heads.held().all == 0);
    }

    #[test]
    fn smallest_service_has_a_place_for_a_stranger() {
        let places = Places::new(1);
        let head = places.head(1);
        assert!(head.is_some() && places.head(2).is_none());
        let place = places.enter();
        assert!(place.is_some() && places.enter().is_none());
        assert_eq!(places.free(), 0);
    }
}
