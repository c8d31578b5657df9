//! Places among the requests under way, and whose they are.
//!
//! A request holds a place from its head until its answer has been sent. One with a credential known to be valid counts for
//! its owner, and none of these can take what others need ([`shares`]). One that shows no such credential
//! also has a place among those of strangers, of which there are two sorts, so that strangers together have half of all
//! and callers who are known always find the other half:
//!
//! - **Heads** ([`Heads`]): from the head on, until a credential has proven valid, the body is asked for, or the answer is
//!   made. A head is whole when its request is admitted, so nobody holds such a place by being slow, and a credential can
//!   prove itself whatever bodies are under way.
//! - **Bodies** ([`bodies::Bodies`]): from the first look at a body on. Such a place can be taken back.
//!
//! Bodies of owners have a table of their own, in which nothing is scarce but the places of all requests: one that comes too
//! slowly makes room where there is none left.

pub(crate) mod bodies;
pub(crate) mod counts;
pub(crate) mod shares;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bodies::{Bodies, BodyPlace, Reading};
use counts::Counts;
use shares::{Permit, SharedPlaces};

/// The part of all places that heads of strangers have together, which bodies of strangers have as well, and the one that
/// either have of one address.
const PART_OF_STRANGERS: usize = 4;
const PART_OF_ADDRESS: usize = 8;

/// The places. Clones share them.
#[derive(Clone)]
pub(crate) struct Places {
    all: SharedPlaces,
    heads: Arc<Heads>,
    bodies: Bodies,
    bodies_of_owners: Bodies,
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
    /// A place among all, of an owner or of a probe; none of a probe that is answered without one.
    Among(Option<Permit>),
    /// The same, of a caller who has proven nothing yet.
    Head { permit: Permit, _head: HeadPlace },
    /// A place of a body, with that among all.
    Body(BodyPlace),
}

impl Place {
    /// Returns the place among all. One that was taken back is gone.
    pub(crate) fn into_permit(self) -> Option<Permit> {
        match self {
            Place::Among(permit) => permit,
            Place::Head { permit, .. } => Some(permit),
            Place::Body(place) => place.leave(),
        }
    }
}

impl Places {
    /// So many places.
    pub(crate) fn new(number: usize) -> Self {
        let (most, most_of_address) = (number.div_ceil(PART_OF_STRANGERS), number.div_ceil(PART_OF_ADDRESS));
        Places {
            all: SharedPlaces::new(number),
            heads: Arc::new(Heads { most, most_of_address, held: Mutex::default() }),
            bodies: Bodies::new(most, most_of_address),
            // Each has one of all places already, with its share of them.
            bodies_of_owners: Bodies::new(usize::MAX, usize::MAX).sparing_good_ones(),
        }
    }

    /// Returns a place among all that counts for nobody, if one is free.
    pub(crate) fn enter(&self) -> Option<Permit> {
        self.all.enter()
    }

    /// Returns a place of a stranger, if there is one left for the address.
    pub(crate) fn enter_as_stranger(&self, address: u64) -> Option<Place> {
        let head = self.head(address)?;
        // Known callers lose only what is too slow for anybody: a stranger may be nobody at all.
        let after_late = || self.bodies_of_owners.give_up_late(None).then(|| self.enter()).flatten();
        self.enter().or_else(after_late).map(|permit| Place::Head { permit, _head: head })
    }

    /// Returns a place that counts for an owner, if there is one left for them.
    pub(crate) fn enter_as_owner(&self, owner: u64) -> Option<Permit> {
        self.own(owner, || {
            let makes_room = || self.bodies_of_owners.make_room(owner).then(|| self.enter()).flatten();
            self.enter().or_else(makes_room)
        })
    }

    /// Makes a place that of an owner, if there is one left for them.
    pub(crate) fn give_to_owner(&self, place: Place, owner: u64) -> Option<Place> {
        let permit = match place.into_permit() {
            Some(permit) if permit.is_of(owner) => permit,
            Some(permit) => self.own(owner, || Some(permit))?,
            // Nothing was held, or it was given up for somebody else.
            None => return Some(Place::Among(None)),
        };
        Some(Place::Among(Some(permit)))
    }

    fn own(&self, owner: u64, enter: impl FnOnce() -> Option<Permit>) -> Option<Permit> {
        // An upload whose client has gone without a word must not keep its own next one out.
        let after_late = || self.bodies_of_owners.give_up_late(Some(owner)).then(|| self.all.share(owner)).flatten();
        let share = self.all.share(owner).or_else(after_late)?;
        Some(enter()?.of(share))
    }

    /// Goes on to the body of a request, of an owner or else of a stranger at an address; `None` where there is no place for
    /// it.
    pub(crate) fn begin_body(
        &self,
        owner: Option<u64>,
        address: u64,
        permit: Option<Permit>,
    ) -> Option<(Place, Reading)> {
        let entered = match owner {
            Some(owner) => self.bodies_of_owners.enter(owner, permit),
            None => self.bodies.enter(address, permit),
        };
        entered.map(|(place, reading)| (Place::Body(place), reading))
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

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        self.all.free()
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
