//! Places among the requests under way, and whose they are.
//!
//! A request holds a place from its head until its answer has been sent. Who has shown no valid credential has a share by
//! address, and all such callers together have half: slow or many requests of strangers leave places to callers who are
//! known, and those of one address leave places to strangers at others. A hospital is one address and is not held to a
//! share, since what it sends shows credentials.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::HashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The part of all places that strangers have together, and the one that strangers at one address have.
const PART_OF_STRANGERS: usize = 2;
const PART_OF_ADDRESS: usize = 8;

/// The places. Clones share them.
#[derive(Clone)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    strangers: Arc<Strangers>,
}

/// Places that are held by callers who are not known.
struct Strangers {
    most: usize,
    most_of_address: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    by_address: HashMap<u64, usize>,
}

/// A stranger's share, given back when this is dropped.
pub(crate) struct Share {
    strangers: Arc<Strangers>,
    address: u64,
}

impl Places {
    /// So many places.
    pub(crate) fn new(number: usize) -> Self {
        // The semaphore panics above its largest number.
        let number = number.min(Semaphore::MAX_PERMITS);
        let strangers = Strangers {
            most: number.div_ceil(PART_OF_STRANGERS),
            most_of_address: number.div_ceil(PART_OF_ADDRESS),
            held: Mutex::default(),
        };
        Places { all: Arc::new(Semaphore::new(number)), strangers: Arc::new(strangers) }
    }

    /// Returns a place, if one is free.
    pub(crate) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().try_acquire_owned().ok()
    }

    /// Returns a share of a stranger at an address, if there is one left.
    pub(crate) fn share(&self, address: u64) -> Option<Share> {
        let mut held = self.strangers.held();
        let of_address = held.by_address.get(&address).copied().unwrap_or(0);
        if held.all >= self.strangers.most || of_address >= self.strangers.most_of_address {
            return None;
        }
        held.all += 1;
        held.by_address.insert(address, of_address + 1);
        Some(Share { strangers: self.strangers.clone(), address })
    }

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        self.all.available_permits()
    }
}

impl Strangers {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.strangers.held();
        held.all -= 1;
        // An address that holds nothing leaves nothing behind: there are more of them than memory.
        match held.by_address.get_mut(&self.address) {
            Some(of_address) if *of_address > 1 => *of_address -= 1,
            _ => drop(held.by_address.remove(&self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_have_a_share_by_address_and_half_together() {
        let places = Places::new(32);
        let all_of = |address| std::iter::from_fn(|| places.share(address)).collect::<Vec<Share>>();
        let of_one = all_of(1);
        assert_eq!(of_one.len(), 4);
        let of_others: Vec<Share> = (2..100).flat_map(all_of).collect();
        assert_eq!(of_others.len(), 12);
        assert!(places.share(100).is_none());
        drop(of_one);
        assert!(places.share(100).is_some());
        drop(of_others);
        assert!(places.strangers.held().by_address.is_empty() && places.strangers.held().all == 0);
    }

    #[test]
    fn the_smallest_service_still_lets_a_stranger_in() {
        let places = Places::new(1);
        let share = places.share(1);
        assert!(share.is_some() && places.share(2).is_none());
        let place = places.enter();
        assert!(place.is_some() && places.enter().is_none());
        assert_eq!(places.free(), 0);
    }
}
