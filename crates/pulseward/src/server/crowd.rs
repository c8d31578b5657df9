//! How many connections one address may have open that have shown no valid credential.
//!
//! Connections beyond the limit of all wait to be accepted. So that no address alone can make the others wait, each has a
//! part of them, in which those no longer count over which a credential has proven valid: a hospital is one address.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::neighbourhood;
use runtime::HashMap;

/// The part of all connections that strangers at one address have.
const PART_OF_ADDRESS: usize = 8;

/// Connections of strangers by address. Clones share the count.
#[derive(Clone)]
pub struct Crowd {
    most: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A connection of a stranger, which counts until this is dropped.
pub struct Stranger {
    crowd: Crowd,
    address: IpAddr,
}

impl Crowd {
    /// Nobody yet. `connections` is how many there may be of all.
    pub fn new(connections: usize) -> Self {
        Crowd { most: connections.div_ceil(PART_OF_ADDRESS), open: Arc::default() }
    }

    /// Counts a connection; `None` when the address has as many as it may have.
    pub fn enter(&self, peer: IpAddr) -> Option<Stranger> {
        // A host of IPv6 has a whole network of addresses to choose from.
        let address = neighbourhood(peer);
        let mut open = self.open();
        let of_address = open.entry(address).or_default();
        if *of_address >= self.most {
            return None;
        }
        *of_address += 1;
        Some(Stranger { crowd: self.clone(), address })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut open = self.crowd.open();
        match open.get_mut(&self.address) {
            Some(of_address) if *of_address > 1 => *of_address -= 1,
            // Not kept at nothing: an attacker has more addresses than this has memory.
            _ => drop(open.remove(&self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_part_of_the_connections() {
        let crowd = Crowd::new(32);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let ours: Vec<Stranger> = std::iter::from_fn(|| crowd.enter(address("192.0.2.1"))).collect();
        assert_eq!(ours.len(), 4);
        assert!(crowd.enter(address("::ffff:192.0.2.1")).is_none());
        let network: Vec<Stranger> =
            (1..10).filter_map(|host| crowd.enter(address(&format!("2001:db8::{host}")))).collect();
        assert_eq!(network.len(), 4);
        drop(ours);
        assert!(crowd.enter(address("192.0.2.1")).is_some());
        drop(network);
        assert!(crowd.open().is_empty());
    }
}
