//! How many connections are open over which no valid credential has been shown, and which of them is closed for another.
//!
//! So that no address alone can make the others wait, each has a part of all connections; and so that no number of
//! addresses can, one of these connections is closed where there is no room for a new one: of the address that has most
//! of them; of those one without a request under way, where there is any; of those the one that has been open longest. An
//! address that has its part gets a new connection for one of its own that has been open for some time: a flood of them
//! must cost less than it costs to refuse it. Connections do not count any longer once a credential has proven valid over them: a hospital is one
//! address.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Counts, neighbourhood};
use runtime::{HashMap, Instant};
use tokio::sync::oneshot;

/// The part of all connections that strangers at one address have.
const PART_OF_ADDRESS: usize = 8;
/// Time after which a connection may be closed for another of its address.
const OPEN_FOR_LONG: Duration = Duration::from_secs(5);

/// Connections of strangers. Clones share the count.
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
    by_address: Counts<IpAddr>,
}

struct Entry {
    address: IpAddr,
    began: Instant,
    requests: Arc<AtomicUsize>,
    close: oneshot::Sender<()>,
}

/// A connection of a stranger, which counts until this is dropped.
pub struct Stranger {
    crowd: Crowd,
    number: u64,
    requests: Arc<AtomicUsize>,
}

/// A request under way, until this is dropped.
pub struct UnderWay(Arc<AtomicUsize>);

impl Crowd {
    /// Nobody yet. `connections` is how many there may be of all.
    pub fn new(connections: usize) -> Self {
        Crowd { most: connections.div_ceil(PART_OF_ADDRESS), open: Arc::default() }
    }

    /// Counts a connection; `None` when the address has as many as it may have, and none that can be closed for this one. The
    /// receiver says when this one is to be closed for another; that its sender has gone means nothing.
    pub fn enter(&self, peer: IpAddr) -> Option<(Stranger, oneshot::Receiver<()>)> {
        // A host of IPv6 has a whole network of addresses to choose from.
        let address = neighbourhood(peer);
        let (close, closed) = oneshot::channel();
        let requests = Arc::new(AtomicUsize::new(0));
        let mut open = self.open();
        if open.by_address.of(address) >= self.most {
            open.close_one(|entry| entry.address == address && entry.began.elapsed() >= OPEN_FOR_LONG)?;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Entry { address, began: Instant::now(), requests: requests.clone(), close });
        open.by_address.add(address);
        Some((Stranger { crowd: self.clone(), number, requests }, closed))
    }

    /// Closes a connection of the address that has most, if there is any.
    pub fn close_one(&self) {
        self.open().close_one(|_| true);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Closes one of some connections; `None` when there is none such.
    fn close_one(&mut self, may_close: impl Fn(&Entry) -> bool) -> Option<()> {
        let order = |(number, entry): &(&u64, &Entry)| {
            let is_idle = entry.requests.load(Ordering::Relaxed) == 0;
            (self.by_address.of(entry.address), is_idle, Reverse(**number))
        };
        let candidates = self.connections.iter().filter(|(_, entry)| may_close(entry));
        let number = candidates.max_by_key(order).map(|(number, _)| *number)?;
        // Nobody listens any more where it has just ended.
        let _ = self.remove(number)?.close.send(());
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.connections.remove(&number)?;
        self.by_address.take(entry.address);
        Some(entry)
    }
}

impl Stranger {
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

impl Drop for Stranger {
    fn drop(&mut self) {
        self.crowd.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(crowd: &Crowd, address: &str) -> Option<(Stranger, oneshot::Receiver<()>)> {
        crowd.enter(address.parse().unwrap())
    }

    /// Which of some connections are to be closed.
    fn closed(connections: &mut [(Stranger, oneshot::Receiver<()>)]) -> Vec<usize> {
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
}
