//! How many connections are open, whose they are as far as a valid credential has shown it, and which is closed for another.
//!
//! So that no address alone can make the others wait, each has a part of all connections; and so that no number of
//! addresses can, one of these connections is closed where there is no room for a new one: of the address that has most
//! of them; of those one without a request under way, where there is any; of those the one that has been open longest. An
//! address that has its part gets a new connection for one of its own that has been open for some time: a flood of them
//! must cost less than it costs to refuse it. Connections do not count for their address any longer once a credential has proven
//! valid over them: a hospital is one address.
//!
//! From then on they count for the owner of that credential, or one valid login could hold all connections for good. Owners
//! have no part of their own, since the gateway of a hospital is one owner, but lose connections without a request under
//! way: first who has more than an eighth of all, and where there is no stranger left, who has most.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Counts, neighbourhood};
use runtime::{HashMap, Instant};
use tokio::sync::oneshot;

/// The part of all connections that strangers at one address have, and beyond which owners lose theirs first.
const PART_OF_ONE: usize = 8;
/// Time after which a connection may be closed for another of its address.
const OPEN_FOR_LONG: Duration = Duration::from_secs(5);

/// Connections. Clones share the count.
#[derive(Clone)]
pub struct Crowd {
    most: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    /// Number of the next connection.
    next: u64,
    connections: HashMap<u64, Entry>,
    /// Those without an owner.
    by_address: Counts<IpAddr>,
    by_owner: Counts<u64>,
}

struct Entry {
    address: IpAddr,
    /// Whose credential has proven valid over it.
    owner: Option<u64>,
    began: Instant,
    requests: Arc<AtomicUsize>,
    close: oneshot::Sender<()>,
}

/// A connection, which counts until this is dropped.
pub struct Member {
    crowd: Crowd,
    number: u64,
    requests: Arc<AtomicUsize>,
    /// The owner that was noted last, so that the next request with the same credential takes no lock; 0 for none.
    owner: AtomicU64,
}

/// A request under way, until this is dropped.
pub struct UnderWay(Arc<AtomicUsize>);

impl Crowd {
    /// Nobody yet. `connections` is how many there may be of all.
    pub fn new(connections: usize) -> Self {
        Crowd { most: connections.div_ceil(PART_OF_ONE), open: Arc::default() }
    }

    /// Counts a connection; `None` when the address has as many as it may have, and none that can be closed for this one. The
    /// receiver says when this one is to be closed for another; that its sender has gone means nothing.
    pub fn enter(&self, peer: IpAddr) -> Option<(Member, oneshot::Receiver<()>)> {
        // A host of IPv6 has a whole network of addresses to choose from.
        let address = neighbourhood(peer);
        let (close, closed) = oneshot::channel();
        let requests = Arc::new(AtomicUsize::new(0));
        let mut open = self.open();
        if open.by_address.of(address) >= self.most {
            open.close_stranger(|entry| entry.address == address && entry.began.elapsed() >= OPEN_FOR_LONG)?;
        }
        let number = open.next;
        open.next += 1;
        let entry = Entry { address, owner: None, began: Instant::now(), requests: requests.clone(), close };
        open.connections.insert(number, entry);
        open.by_address.add(address);
        Some((Member { crowd: self.clone(), number, requests, owner: AtomicU64::new(0) }, closed))
    }

    /// Closes a connection that may be closed for another, if there is any.
    pub fn close_one(&self) {
        let mut open = self.open();
        let closed = open.close_idle_of_owner(self.most + 1).or_else(|| open.close_stranger(|_| true));
        if closed.is_none() {
            open.close_idle_of_owner(1);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Closes the oldest connection without a request under way of the owner that has most, if it has so many; `None` when
    /// there is none such.
    fn close_idle_of_owner(&mut self, least: usize) -> Option<()> {
        let idle = self.connections.iter().filter(|(_, entry)| entry.requests.load(Ordering::Relaxed) == 0);
        let of_owners = idle.filter_map(|(number, entry)| Some((self.by_owner.of(entry.owner?), Reverse(*number))));
        let (_, Reverse(number)) = of_owners.filter(|(of_owner, _)| *of_owner >= least).max()?;
        self.close(number)
    }

    /// Closes one of some connections of strangers; `None` when there is none such.
    fn close_stranger(&mut self, may_close: impl Fn(&Entry) -> bool) -> Option<()> {
        let order = |(number, entry): &(&u64, &Entry)| {
            let is_idle = entry.requests.load(Ordering::Relaxed) == 0;
            (self.by_address.of(entry.address), is_idle, Reverse(**number))
        };
        let candidates = self.connections.iter().filter(|(_, entry)| entry.owner.is_none() && may_close(entry));
        let number = candidates.max_by_key(order).map(|(number, _)| *number)?;
        self.close(number)
    }

    fn close(&mut self, number: u64) -> Option<()> {
        // Nobody listens any more where it has just ended.
        let _ = self.remove(number)?.close.send(());
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.connections.remove(&number)?;
        match entry.owner {
            Some(owner) => self.by_owner.take(owner),
            None => self.by_address.take(entry.address),
        }
        Some(entry)
    }
}

impl Member {
    /// Takes note of a valid credential of an owner.
    pub fn note_owner(&self, owner: u64) {
        if self.owner.swap(owner, Ordering::Relaxed) == owner {
            return;
        }
        let open = &mut *self.crowd.open();
        // It is closed already where it is not there any more.
        let Some(entry) = open.connections.get_mut(&self.number) else { return };
        match entry.owner.replace(owner) {
            Some(earlier) => open.by_owner.take(earlier),
            None => open.by_address.take(entry.address),
        }
        open.by_owner.add(owner);
    }

    /// Takes note of a request.
    pub fn begin_request(&self) -> UnderWay {
        self.requests.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.requests.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.crowd.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(crowd: &Crowd, address: &str) -> Option<(Member, oneshot::Receiver<()>)> {
        crowd.enter(address.parse().unwrap())
    }

    /// Which of some connections are to be closed.
    fn closed(connections: &mut [(Member, oneshot::Receiver<()>)]) -> Vec<usize> {
        let closed =
            connections.iter_mut().enumerate().filter_map(|(at, (_, closed))| closed.try_recv().ok().map(|()| at));
        closed.collect()
    }

    #[tokio::test(start_paused = true)]
    async fn connection_beyond_the_part_of_an_address_takes_the_place_of_an_old_one() {
        let crowd = Crowd::new(32);
        let mut ours: Vec<_> = std::iter::from_fn(|| enter(&crowd, "192.0.2.1")).collect();
        let _under_way = ours[0].0.begin_request();
        let mut network: Vec<_> = (1..=9).filter_map(|host| enter(&crowd, &format!("2001:db8::{host}"))).collect();
        assert_eq!((ours.len(), network.len()), (4, 4));
        assert!(enter(&crowd, "::ffff:192.0.2.1").is_none());
        runtime::sleep(OPEN_FOR_LONG).await;
        ours.push(enter(&crowd, "::ffff:192.0.2.1").unwrap());
        network.push(enter(&crowd, "2001:db8::ffff").unwrap());
        assert_eq!((closed(&mut ours), closed(&mut network)), (vec![1], vec![0]), "what works is spared");
        drop((ours, network));
        assert!(crowd.open().connections.is_empty() && crowd.open().by_address.is_empty());
    }

    #[test]
    fn address_with_most_connections_loses_one() {
        let crowd = Crowd::new(32);
        let from = ["192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.3", "192.0.2.2", "192.0.2.3"];
        let mut connections: Vec<_> = from.iter().map(|address| enter(&crowd, address).unwrap()).collect();
        let mut order = Vec::new();
        for _ in 0..3 {
            crowd.close_one();
            order.extend(closed(&mut connections));
        }
        assert_eq!(order, [1, 2, 3]);
        drop(connections);
        crowd.close_one();
    }

    #[test]
    fn owner_with_most_idle_connections_loses_them_and_what_works_is_spared() {
        let crowd = Crowd::new(32);
        let mut connections: Vec<_> = (0..10).map(|at| enter(&crowd, &format!("192.0.2.{at}")).unwrap()).collect();
        for (at, owner) in [1, 1, 1, 1, 1, 1, 2, 2].into_iter().enumerate() {
            connections[at].0.note_owner(owner);
            connections[at].0.note_owner(owner);
        }
        let _under_way = [connections[0].0.begin_request(), connections[7].0.begin_request()];
        let mut order = Vec::new();
        for _ in 0..9 {
            crowd.close_one();
            order.extend(closed(&mut connections));
        }
        // The owner with more than an eighth of 32, then the strangers, then owners, and never one with a request.
        assert_eq!(order, [1, 2, 8, 9, 3, 4, 5, 6]);
        drop(connections);
        let open = crowd.open();
        assert!(open.connections.is_empty() && open.by_address.is_empty() && open.by_owner.is_empty());
    }

    #[test]
    fn connection_counts_for_the_owner_who_was_seen_last() {
        let crowd = Crowd::new(8);
        let mut connections: Vec<_> = (0..3).map(|at| enter(&crowd, &format!("192.0.2.{at}")).unwrap()).collect();
        for (at, owner) in [(0, 1), (1, 2), (2, 2), (2, 1)] {
            connections[at].0.note_owner(owner);
        }
        crowd.close_one();
        assert_eq!(closed(&mut connections), [0], "the first owner has two");
    }
}
