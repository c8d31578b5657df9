//! Places of which nobody alone takes what others need: what each owner of credentials holds of them.
//!
//! An owner is a patient or an account, with all tokens and keys: a login costs an attacker nothing, so a share by
//! credential would be as many shares as they have logged in for. Up to an eighth of the places an owner is held to
//! nothing. Beyond it they get one only while known callers together hold less than a quarter, so that the gateway of a
//! hospital, which has one key for many patients, uses what nobody else asks for, and no owner comes to hold more than that
//! quarter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::counts::Counts;

/// The part of all places that an owner has whatever others hold.
pub(crate) const PART_OF_OWNER: usize = 8;
/// The part that known callers hold together when nobody gets more than that.
pub(crate) const PART_IN_COMMON: usize = 4;

/// The places. Clones share them.
#[derive(Clone)]
pub(crate) struct SharedPlaces {
    all: Arc<Semaphore>,
    shares: Arc<Shares>,
}

/// What owners hold.
struct Shares {
    most_of_owner: usize,
    most_in_common: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    by_owner: Counts<u64>,
}

/// A place, given back when this is dropped.
pub struct Permit {
    _place: OwnedSemaphorePermit,
    share: Option<Share>,
}

/// A place that counts for its owner.
pub(crate) struct Share {
    shares: Arc<Shares>,
    owner: u64,
}

impl SharedPlaces {
    /// So many places.
    pub(crate) fn new(number: usize) -> Self {
        // The semaphore panics above its largest number.
        let number = number.min(Semaphore::MAX_PERMITS);
        let (most_of_owner, most_in_common) = (number.div_ceil(PART_OF_OWNER), number.div_ceil(PART_IN_COMMON));
        let shares = Shares { most_of_owner, most_in_common, held: Mutex::default() };
        SharedPlaces { all: Arc::new(Semaphore::new(number)), shares: Arc::new(shares) }
    }

    /// Returns a place that counts for nobody, if one is free.
    pub(crate) fn enter(&self) -> Option<Permit> {
        self.all.clone().try_acquire_owned().ok().map(|place| Permit { _place: place, share: None })
    }

    /// Counts a place for an owner who may have one more, before there is a place.
    pub(crate) fn share(&self, owner: u64) -> Option<Share> {
        let mut held = self.shares.held();
        if held.by_owner.of(owner) >= self.shares.most_of_owner && held.all >= self.shares.most_in_common {
            return None;
        }
        held.all += 1;
        held.by_owner.add(owner);
        Some(Share { shares: self.shares.clone(), owner })
    }

    /// Returns a place that counts for an owner, if one is free and they may have one more.
    pub(crate) fn enter_as(&self, owner: u64) -> Option<Permit> {
        let share = self.share(owner)?;
        Some(self.enter()?.of(share))
    }

    /// Returns a place for a caller, who may be an owner.
    pub(crate) fn enter_for(&self, owner: Option<u64>) -> Option<Permit> {
        owner.map_or_else(|| self.enter(), |owner| self.enter_as(owner))
    }

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        self.all.available_permits()
    }
}

impl Permit {
    /// Returns the place as that of an owner.
    pub(crate) fn of(self, share: Share) -> Self {
        Permit { share: Some(share), ..self }
    }

    /// Returns whether the place counts for an owner.
    pub(crate) fn is_of(&self, owner: u64) -> bool {
        self.share.as_ref().is_some_and(|share| share.owner == owner)
    }
}

impl Shares {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.shares.held();
        held.all -= 1;
        held.by_owner.take(self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(places: &SharedPlaces, owner: u64) -> Vec<Permit> {
        std::iter::from_fn(|| places.enter_as(owner)).collect()
    }

    #[test]
    fn owner_has_a_quarter_while_others_hold_none_and_an_eighth_always() {
        let places = SharedPlaces::new(32);
        let of_one = all_of(&places, 1);
        assert_eq!(of_one.len(), 8);
        let of_others: Vec<Permit> = (2..=7).flat_map(|owner| all_of(&places, owner)).collect();
        assert_eq!((of_others.len(), places.free()), (24, 0), "an eighth for each of six");
        drop(of_one);
        assert!(places.share(2).is_none(), "the others hold more than a quarter");
        assert_eq!(all_of(&places, 8).len(), 4);
        drop(of_others);
        assert_eq!(all_of(&places, 2).len(), 8);
        let held = places.shares.held();
        assert!(held.by_owner.is_empty() && held.all == 0 && places.all.available_permits() == 32);
    }

    #[test]
    fn smallest_service_has_a_place_for_an_owner() {
        let places = SharedPlaces::new(1);
        let held = all_of(&places, 1);
        assert_eq!((held.len(), held[0].is_of(1), held[0].is_of(2)), (1, true, false));
    }
}
