//! A link between two hosts that can be cut: the other host is a network namespace of this machine.
//!
//! A proxy that stops passing on still has a system behind it that acknowledges every packet. Over a link that is cut, no
//! packet comes back, so that the system's own repetitions and time-outs are met as well.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::cluster::{PostgresError, check, failed};
use super::silent::Relay;

static LINKS: AtomicU32 = AtomicU32::new(0);

/// A server on another host, at the end of a link. Host and link go with the value.
#[derive(Debug)]
pub struct RealLink {
    namespace: String,
    /// Name of the link's end on the other host.
    far_end: String,
    address: SocketAddr,
    relay: Option<Relay>,
}

impl RealLink {
    /// Makes the other host, on which the server that listens on a port of this machine is reached. `None`, after saying so
    /// loudly, where this program may not make namespaces.
    ///
    /// # Panics
    /// When the variable `CI` is set and no namespace can be made, or when one is made and does not work.
    pub fn start(server_port: u16) -> Option<Self> {
        // Several programs of tests run at the same time, so the names are of this one.
        let name = format!("pw{}x{}", std::process::id(), LINKS.fetch_add(1, Ordering::Relaxed));
        if let Err(error) = ip(&["netns", "add", &name]) {
            crate::skip::skip(&format!("no network namespace can be made, which root may with iproute2: {error}"));
            return None;
        }
        let (near_end, far_end) = (near_end(&name), format!("{name}b"));
        let (near, far) = addresses();
        let made = link(&name, (&near_end, near), (&far_end, far)).and_then(|()| listener(&name, far));
        let listener = made.unwrap_or_else(|error| {
            remove(&name);
            panic!("{error}");
        });
        let address = listener.local_addr().unwrap_or_else(|error| panic!("listen: {error}"));
        Some(RealLink { namespace: name, far_end, address, relay: Some(Relay::begin(listener, server_port)) })
    }

    /// Address at which the server is reached over the link.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the link, as one who pulls the cable out of the other host.
    ///
    /// # Panics
    /// When the system refuses that.
    pub fn cut(&self) {
        self.set("down");
    }

    /// Mends the link. What was sent meanwhile is sent again by the systems on both sides.
    ///
    /// # Panics
    /// When the system refuses that.
    pub fn mend(&self) {
        self.set("up");
    }

    fn set(&self, state: &str) {
        let set = ip(&["-n", &self.namespace, "link", "set", &self.far_end, state]);
        set.unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Drop for RealLink {
    fn drop(&mut self) {
        // The system keeps a host for as long as one of its sockets is open, and the relay ends over the link.
        let _ = ip(&["-n", &self.namespace, "link", "set", &self.far_end, "up"]);
        self.relay.take();
        remove(&self.namespace);
    }
}

/// Removes a host and the link to it.
fn remove(namespace: &str) {
    let _ = ip(&["link", "del", &near_end(namespace)]);
    let _ = ip(&["netns", "del", namespace]);
}

fn near_end(namespace: &str) -> String {
    format!("{namespace}a")
}

/// Returns the addresses of both ends: a network of four addresses in the range for tests of networks (RFC 2544), which no
/// real network has.
fn addresses() -> (Ipv4Addr, Ipv4Addr) {
    let number = (std::process::id() + 7919 * LINKS.load(Ordering::Relaxed)) % (1 << 14);
    let network = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + 4 * number;
    (Ipv4Addr::from(network + 1), Ipv4Addr::from(network + 2))
}

/// Links this host with another one.
fn link(namespace: &str, near: (&str, Ipv4Addr), far: (&str, Ipv4Addr)) -> Result<(), PostgresError> {
    ip(&["link", "add", near.0, "type", "veth", "peer", "name", far.0, "netns", namespace])?;
    ip(&["address", "add", &format!("{}/30", near.1), "dev", near.0])?;
    ip(&["-n", namespace, "address", "add", &format!("{}/30", far.1), "dev", far.0])?;
    ip(&["link", "set", near.0, "up"])?;
    ip(&["-n", namespace, "link", "set", far.0, "up"])
}

/// Returns a listener of the other host.
fn listener(namespace: &str, address: Ipv4Addr) -> Result<TcpListener, PostgresError> {
    let host = File::open(format!("/run/netns/{namespace}")).map_err(|error| failed("ip", error))?;
    // A socket belongs for good to the host of the thread that has made it; this thread ends with that.
    let listening = std::thread::spawn(move || {
        move_into_link_name_space(host.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpListener::bind(SocketAddrV4::new(address, 0))
    });
    let listened = listening.join().map_err(|_| failed("setns", "the thread has panicked"))?;
    listened.map_err(|error| failed("setns", error))
}

fn ip(arguments: &[&str]) -> Result<(), PostgresError> {
    check("ip", Command::new("ip").args(arguments).output())
}
