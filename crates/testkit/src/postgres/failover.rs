//! A proxy that lets connections die without a word, as a server behind a changed address does, or with the answer to a
//! commit.
//!
//! When a host is replaced, nobody closes the connections to it: they look open until the client sends something, and
//! only then the new host says that it does not know them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A running proxy. It takes no further connection once it is dropped.
#[derive(Debug)]
pub struct FailoverProxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    ended: AtomicBool,
    /// Number of times that the server was replaced.
    replaced: AtomicUsize,
    /// Connections that a client found dead.
    found_dead: AtomicUsize,
    /// Text of a statement; the answer to the commit of a transaction with it is lost.
    lost_commit: Mutex<Option<&'static str>>,
}

impl FailoverProxy {
    /// Starts a proxy to the server that listens on a port of this machine.
    ///
    /// # Panics
    /// When no port can be listened on.
    pub fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap_or_else(|error| panic!("listen: {error}"));
        let port = listener.local_addr().unwrap_or_else(|error| panic!("listen: {error}")).port();
        let shared = Arc::new(Shared::default());
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.ended.load(Ordering::SeqCst) {
                    return;
                }
                // A client that has gone meanwhile needs nothing.
                let _ = client.and_then(|client| connect(client, server_port, &accepting));
            }
        });
        FailoverProxy { port, shared }
    }

    /// Port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets every connection that is open now be dead from the client's next byte on. New ones lead to the server.
    pub fn fail_over(&self) {
        self.shared.replaced.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets one connection die when it commits a transaction that has prepared a statement with this text: the server gets
    /// the commit, and the client no answer.
    pub fn lose_commit_after(&self, text: &'static str) {
        *self.shared.lost_commit.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Returns whether a commit that was to be lost has been.
    pub fn has_lost_commit(&self) -> bool {
        self.shared.lost_commit.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns how many connections a client has found dead.
    pub fn found_dead(&self) -> usize {
        self.shared.found_dead.load(Ordering::SeqCst)
    }
}

impl Drop for FailoverProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts, so that it sees that it has to end.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// Connects a client with the server, by a thread for each direction.
fn connect(client: TcpStream, server_port: u16, shared: &Arc<Shared>) -> std::io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let began = shared.replaced.load(Ordering::SeqCst);
    let (client_reads, server_writes) = (client.try_clone()?, server.try_clone()?);
    let shared = shared.clone();
    std::thread::spawn(move || {
        let _ = forward(&client_reads, &server_writes, began, &shared);
        let _ = client_reads.shutdown(Shutdown::Both);
        let _ = server_writes.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut &server, &mut &client);
        let _ = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Passes on what the client sends until it sends to a server that is no longer there.
fn forward(mut client: &TcpStream, mut server: &TcpStream, began: usize, shared: &Shared) -> std::io::Result<()> {
    let mut bytes = [0; 16 * 1024];
    let mut has_text = false;
    loop {
        let count = client.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        if shared.replaced.load(Ordering::SeqCst) != began {
            shared.found_dead.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        let mut lost_commit = shared.lost_commit.lock().unwrap_or_else(PoisonError::into_inner);
        has_text |= lost_commit.is_some_and(|text| contains(&bytes[..count], text));
        if has_text && contains(&bytes[..count], "COMMIT") {
            *lost_commit = None;
            client.shutdown(Shutdown::Both)?;
            return server.write_all(&bytes[..count]);
        }
        drop(lost_commit);
        server.write_all(&bytes[..count])?;
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}
