//! Places of strangers' bodies. When there is none left, a body that comes slowly is given up and its place is the
//! newcomer's: however many addresses an attack comes from, it finds no number of slow bodies that shuts others out.
//!
//! Bodies that are behind the least rate by a second are given up first. Among those, and among all where there is none,
//! it is the address that has most of them that loses one, and of that address the body that is furthest behind. A body
//! that has come whole is never given up; what is done with it ends without its sender.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::Fuse;
use runtime::{HashMap, Instant};
use tokio::sync::oneshot;

use super::counts::Counts;
use super::shares::Permit;
use crate::body::rejection::LEAST_RATE;

/// The places. Clones share them.
#[derive(Clone)]
pub struct Bodies {
    most: usize,
    most_of_address: usize,
    good_ones: GoodOnes,
    held: Arc<Mutex<Held>>,
}

/// What becomes of bodies that come at a good rate, where there is no slow one and no place is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoodOnes {
    /// One of them makes room: whatever the newcomer asks for is worth more than a body that may never end.
    MakeRoom,
    /// One makes room only where its address would still have as many as the newcomer's.
    Stay,
}

#[derive(Default)]
struct Held {
    /// Number of the next body.
    next: u64,
    bodies: HashMap<u64, Body>,
    by_address: Counts<u64>,
}

/// A body under way, or what is made of one that has come.
struct Body {
    address: u64,
    began: Instant,
    progress: Arc<Progress>,
    /// Its place among all requests. With a body that is given up it is free at once, not when the request gets to it:
    /// others are admitted before.
    permit: Option<Permit>,
    /// Says that it is given up.
    give_up: oneshot::Sender<()>,
}

/// How far a body has come.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    is_whole: AtomicBool,
}

/// A place, given back when this is dropped.
pub struct BodyPlace {
    bodies: Bodies,
    number: u64,
}

/// The side of a place that reads the body.
pub struct Reading {
    progress: Arc<Progress>,
    given_up: Fuse<oneshot::Receiver<()>>,
}

impl Bodies {
    /// So many places in all and of one address.
    pub fn new(most: usize, most_of_address: usize) -> Self {
        Bodies { most, most_of_address, good_ones: GoodOnes::MakeRoom, held: Arc::default() }
    }

    /// Returns the same places, none of which is taken from a body that comes at a good rate unless its address has more of
    /// them than the newcomer's would have.
    #[must_use]
    pub fn sparing_good_ones(self) -> Self {
        Bodies { good_ones: GoodOnes::Stay, ..self }
    }

    /// Returns a place for a body from an address, of which nothing has come yet; that of a slow one where none is left. It
    /// keeps the request's place among all. `None` when those that hold them have all come whole, or are spared.
    pub fn enter(&self, address: u64, permit: Option<Permit>) -> Option<(BodyPlace, Reading)> {
        let mut held = self.held();
        let least_of_good_ones = self.least_of_good_ones(&held, address);
        if held.by_address.of(address) >= self.most_of_address {
            held.give_one_up(Some(address), least_of_good_ones)?;
        } else if held.bodies.len() >= self.most {
            held.give_one_up(None, least_of_good_ones)?;
        }
        let (give_up, given_up) = oneshot::channel();
        let progress = Arc::new(Progress::default());
        let number = held.next;
        held.next += 1;
        held.bodies
            .insert(number, Body { address, began: Instant::now(), progress: progress.clone(), permit, give_up });
        held.by_address.add(address);
        Some((BodyPlace { bodies: self.clone(), number }, Reading { progress, given_up: given_up.fuse() }))
    }

    /// Takes the place of a slow body back for a newcomer, that of a good one where its address has more of them.
    pub(crate) fn make_room(&self, newcomer: u64) -> bool {
        let mut held = self.held();
        let least_of_good_ones = self.least_of_good_ones(&held, newcomer);
        held.give_one_up(None, least_of_good_ones).is_some()
    }

    /// Takes the place of a body back that is behind the least rate, of one address or of any.
    pub(crate) fn give_up_late(&self, address: Option<u64>) -> bool {
        self.held().give_one_up(address, usize::MAX).is_some()
    }

    /// Returns how many bodies an address has to have for one that comes at a good rate to make room for a newcomer.
    fn least_of_good_ones(&self, held: &Held, newcomer: u64) -> usize {
        match self.good_ones {
            GoodOnes::MakeRoom => 0,
            // With one less it has still as many as the newcomer's address with one more.
            GoodOnes::Stay => held.by_address.of(newcomer) + 2,
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Takes the place of a slow body back, of one address or of any.
    fn give_one_up(&mut self, address: Option<u64>, least_of_good_ones: usize) -> Option<()> {
        let number = self.slowest(address, least_of_good_ones)?;
        let body = self.remove(number)?;
        // Nobody listens any more where its request has just ended.
        let _ = body.give_up.send(());
        Some(())
    }

    fn slowest(&self, address: Option<u64>, least_of_good_ones: usize) -> Option<u64> {
        let coming = self.bodies.iter().filter(|(_, body)| !body.progress.is_whole.load(Ordering::Relaxed));
        let coming = coming.filter(|(_, body)| address.is_none_or(|address| address == body.address));
        let mut candidates: Vec<(u64, u64, i64)> =
            coming.map(|(number, body)| (*number, body.address, body.bytes_behind())).collect();
        let is_late = |bytes_behind: i64| bytes_behind >= LEAST_RATE.cast_signed();
        let are_late = candidates.iter().any(|(.., behind)| is_late(*behind));
        if are_late {
            candidates.retain(|(.., behind)| is_late(*behind));
        }
        let mut of_address = Counts::default();
        for (_, address, _) in &candidates {
            of_address.add(*address);
        }
        // The number last, so that the choice is the same in each run.
        let slowest =
            candidates.iter().max_by_key(|(number, address, behind)| (of_address.of(*address), *behind, !number));
        let (number, address, _) = slowest?;
        (are_late || of_address.of(*address) >= least_of_good_ones).then_some(*number)
    }

    fn remove(&mut self, number: u64) -> Option<Body> {
        let body = self.bodies.remove(&number)?;
        self.by_address.take(body.address);
        Some(body)
    }
}

impl Body {
    /// Returns by how many bytes it is behind the least rate; negative when it is ahead.
    fn bytes_behind(&self) -> i64 {
        let expected = self.began.elapsed().as_millis() * u128::from(LEAST_RATE) / 1000;
        let came = self.progress.bytes.load(Ordering::Relaxed);
        i64::try_from(expected).unwrap_or(i64::MAX).saturating_sub(came.cast_signed())
    }
}

impl Reading {
    /// Takes note of bytes that have come.
    pub fn came(&self, bytes: usize) {
        self.progress.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Takes note of the end of the body, after which it is not given up any more.
    pub fn ended(&self) {
        self.progress.is_whole.store(true, Ordering::Relaxed);
    }

    /// Returns once the body is given up. Its place is somebody else's then.
    pub fn poll_given_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.given_up.poll_unpin(context) {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            // An end of the place without a word is no reason to give the body up.
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl BodyPlace {
    /// Gives the place back; returns that among all requests.
    pub(super) fn leave(self) -> Option<Permit> {
        self.bodies.held().remove(self.number)?.permit
    }
}

impl Drop for BodyPlace {
    fn drop(&mut self) {
        self.bodies.held().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::shares::SharedPlaces;
    use super::*;

    const LATE: Duration = Duration::from_secs(2);

    async fn is_given_up(reading: &mut Reading) -> bool {
        futures::poll!(std::future::poll_fn(|context| reading.poll_given_up(context))).is_ready()
    }

    #[tokio::test(start_paused = true)]
    async fn address_with_most_slow_bodies_loses_the_slowest() {
        let bodies = Bodies::new(8, 6);
        let (_alone, mut alone) = bodies.enter(1, None).expect("a place");
        let mut held = Vec::new();
        for address in [2, 2, 3, 3, 3] {
            runtime::sleep(LATE).await;
            held.push(bodies.enter(address, None).expect("a place"));
        }
        // It is the oldest of its address, and has come at a good rate.
        held[2].1.came(1 << 20);
        runtime::sleep(LATE).await;
        // The table is full with two that nothing can be said against.
        held.extend([bodies.enter(4, None).expect("a place"), bodies.enter(4, None).expect("a place")]);
        let mut given_up = Vec::new();
        for newcomer in 10..12 {
            held.push(bodies.enter(newcomer, None).expect("the place of a slow one"));
            for (at, (_, reading)) in held.iter_mut().enumerate() {
                if is_given_up(reading).await {
                    given_up.push(at);
                }
            }
        }
        assert_eq!(given_up, [0, 3]);
        assert!(!is_given_up(&mut alone).await);
        held.push(bodies.enter(12, None).expect("the place of a slow one"));
        assert!(is_given_up(&mut alone).await, "no address has more slow ones, and it is the slowest");
        assert_eq!(bodies.held().bodies.len(), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn good_body_that_is_spared_makes_room_for_fairness_alone() {
        let bodies = Bodies::new(4, 3).sparing_good_ones();
        let mut held: Vec<_> = [1, 2, 3, 4].map(|address| bodies.enter(address, None).expect("a place")).into();
        for (_, reading) in &held {
            reading.came(1 << 20);
        }
        runtime::sleep(LATE).await;
        assert!(bodies.enter(5, None).is_none(), "each is the only one of its address");
        for (_, reading) in &mut held {
            assert!(!is_given_up(reading).await);
        }
        // One that is slow makes room.
        drop(held.pop());
        held.push(bodies.enter(1, None).expect("a place"));
        runtime::sleep(LATE).await;
        held.push(bodies.enter(2, None).expect("the place of the slow one"));
        assert!(is_given_up(&mut held[3].1).await);
        // Two of one address, and a newcomer that would be the first of its own.
        held[4].1.came(1 << 20);
        let _newcomer = bodies.enter(5, None).expect("the place of one of two");
        let mut given_up = Vec::new();
        for at in [0, 1, 2, 4] {
            if is_given_up(&mut held[at].1).await {
                given_up.push(at);
            }
        }
        assert!(given_up == [1] || given_up == [4], "{given_up:?}");
        assert!(bodies.enter(2, None).is_none(), "its address would have as many as now");
    }

    #[tokio::test(start_paused = true)]
    async fn address_at_its_share_keeps_good_bodies_that_are_spared() {
        let bodies = Bodies::new(16, 2).sparing_good_ones();
        let mut held = [1, 1].map(|address| bodies.enter(address, None).expect("a place"));
        for (_, reading) in &held {
            reading.came(1 << 20);
        }
        runtime::sleep(LATE).await;
        assert!(bodies.enter(1, None).is_none());
        for (_, reading) in &mut held {
            assert!(!is_given_up(reading).await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_has_come_whole_is_not_given_up() {
        let bodies = Bodies::new(2, 2);
        let mut held: Vec<_> = (0..2).map(|address| bodies.enter(address, None).expect("a place")).collect();
        runtime::sleep(LATE).await;
        held[0].1.ended();
        let (_newcomer, newcomer) = bodies.enter(5, None).expect("the place of the other");
        newcomer.ended();
        assert!(!is_given_up(&mut held[0].1).await && is_given_up(&mut held[1].1).await);
        assert!(bodies.enter(6, None).is_none(), "two are whole, and work");
        drop(held);
        assert!(bodies.enter(6, None).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn place_among_all_is_free_as_soon_as_a_body_is_given_up() {
        let all = SharedPlaces::new(2);
        let permit = || all.enter();
        let bodies = Bodies::new(1, 1);
        let first = bodies.enter(1, permit()).expect("a place");
        assert_eq!(all.free(), 1);
        let second = bodies.enter(2, permit()).expect("the place of the first");
        assert_eq!(all.free(), 1);
        assert!(first.0.leave().is_none());
        let kept = second.0.leave();
        assert_eq!((kept.is_some(), all.free()), (true, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_made_of_late_bodies_and_of_good_ones_for_fairness_alone() {
        let bodies = Bodies::new(usize::MAX, usize::MAX).sparing_good_ones();
        let mut held = [1, 1, 2].map(|owner| bodies.enter(owner, None).expect("a place"));
        for (_, reading) in &held {
            reading.came(1 << 20);
        }
        runtime::sleep(LATE).await;
        assert!(!bodies.give_up_late(None) && !bodies.make_room(2), "each would have one or two");
        assert!(bodies.make_room(3) && is_given_up(&mut held[0].1).await);
        let mut late = bodies.enter(4, None).expect("a place");
        runtime::sleep(LATE).await;
        assert!(!bodies.give_up_late(Some(1)));
        assert!(bodies.give_up_late(Some(4)) && is_given_up(&mut late.1).await);
        assert!(!is_given_up(&mut held[1].1).await && !is_given_up(&mut held[2].1).await);
    }

    #[tokio::test(start_paused = true)]
    async fn address_at_its_share_loses_its_own() {
        let bodies = Bodies::new(16, 2);
        let mut other = bodies.enter(2, None).expect("a place");
        let mut first = bodies.enter(1, None).expect("a place");
        let mut second = bodies.enter(1, None).expect("a place");
        runtime::sleep(LATE).await;
        let third = bodies.enter(1, None).expect("the place of the first");
        assert!(is_given_up(&mut first.1).await);
        assert!(!is_given_up(&mut second.1).await && !is_given_up(&mut other.1).await);
        drop((first, second, third, other));
        assert!(bodies.held().bodies.is_empty() && bodies.held().by_address.is_empty());
    }
}
