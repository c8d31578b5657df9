//! A proxy whose link can be cut silently: nothing that is sent arrives, no side notices, and connections stay open.
//!
//! That is what a firewall that drops packets looks like, or a cable that is pulled out far away.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Interval at which a cut link looks whether it is mended.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// A running proxy. It takes no further connection once it is dropped.
#[derive(Debug)]
pub struct SilentProxy(Relay);

/// What takes connections and passes on what they send.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    link: Arc<Link>,
}

#[derive(Debug, Default)]
struct Link {
    is_cut: AtomicBool,
    has_ended: AtomicBool,
    /// Connections that were taken so far.
    taken: AtomicUsize,
    /// Bytes after which one connection goes silent; 0 where none is to.
    silent_after: AtomicUsize,
}

impl SilentProxy {
    /// Starts a proxy to the server that listens on a port of this machine.
    ///
    /// # Panics
    /// When no port can be listened on.
    pub fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap_or_else(|error| panic!("listen: {error}"));
        SilentProxy(Relay::begin(listener, server_port))
    }

    /// Port that it listens on.
    pub fn port(&self) -> u16 {
        self.0.address.port()
    }

    /// How many connections it has taken since it was started.
    pub fn connections(&self) -> usize {
        self.0.link.taken.load(Ordering::SeqCst)
    }

    /// Cuts the link, for open connections and for new ones.
    pub fn cut(&self) {
        self.0.link.is_cut.store(true, Ordering::SeqCst);
    }

    /// Lets one connection go silent for good once the server has sent so many bytes over it; others go on. That is what a
    /// firewall does that has forgotten a connection.
    pub fn silence_after(&self, bytes: usize) {
        self.0.link.silent_after.store(bytes, Ordering::SeqCst);
    }

    /// Returns whether the connection that was to go silent has.
    pub fn has_silenced(&self) -> bool {
        self.0.link.silent_after.load(Ordering::SeqCst) == 0
    }

    /// Mends the link. What was sent meanwhile arrives, as what the system sends again does.
    pub fn mend(&self) {
        self.0.link.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Relay {
    /// Takes connections and passes on what they send to the server that listens on a port of this machine.
    pub(super) fn begin(listener: TcpListener, server_port: u16) -> Self {
        let address = listener.local_addr().unwrap_or_else(|error| panic!("listen: {error}"));
        let link = Arc::new(Link::default());
        let accepting = link.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let link = accepting.clone();
                link.taken.fetch_add(1, Ordering::SeqCst);
                // A thread for each: one that is made while the link is cut waits until it is mended.
                std::thread::spawn(move || {
                    let _ = client.and_then(|client| connect(&client, server_port, &link));
                });
            }
        });
        Relay { address, link }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.link.has_ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts, so that it sees that it has to end. Over a link that is cut nobody is waited for long.
        let _ = TcpStream::connect_timeout(&self.address, LONGEST_FAREWELL);
    }
}

impl Link {
    fn wait(&self) {
        while self.is_cut.load(Ordering::SeqCst) && !self.has_ended.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until the proxy ends, where a connection that has brought so many bytes is the one that goes silent.
    fn wait_if_silent(&self, bytes: usize) {
        let limit = self.silent_after.load(Ordering::SeqCst);
        let is_the_one = limit > 0
            && bytes >= limit
            && self.silent_after.compare_exchange(limit, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        while is_the_one && !self.has_ended.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Connects a client with the server, by a thread for each direction.
fn connect(client: &TcpStream, server_port: u16, link: &Arc<Link>) -> std::io::Result<()> {
    link.wait();
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (client_reads, server_writes, other) = (client.try_clone()?, server.try_clone()?, link.clone());
    std::thread::spawn(move || forward(&client_reads, &server_writes, &other, |_| {}));
    forward(&server, client, link, |bytes| link.wait_if_silent(bytes));
    Ok(())
}

/// Passes on what one side sends, also its end, unless the link is cut. Says before each part how many bytes there were.
fn forward(mut from: &TcpStream, mut to: &TcpStream, link: &Link, pass: impl Fn(usize)) {
    let (mut bytes, mut passed) = ([0; 16 * 1024], 0);
    loop {
        let read = from.read(&mut bytes);
        passed += read.as_ref().unwrap_or(&0);
        pass(passed);
        link.wait();
        match read {
            Ok(count) if count > 0 && to.write_all(&bytes[..count]).is_ok() => {}
            _ => break,
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
