//! A proxy in front of PostgreSQL that counts round trips.
//!
//! A *batch* is what a client sends up to a message that asks the server for an answer (simple query or Sync; the start
//! of a connection is one too). A batch's depth is one more than that of the deepest batch whose answer has begun to
//! arrive at the client, on any of its connections: it may depend on that answer and had to wait for it. Batches that
//! were sent without waiting for each other have the same depth. The round trips of an operation are the depth of its
//! deepest answered batch: how often the operation waited for the database, whatever else ran at the same time.
//!
//! Answers are held for a while, as a database in another place would. Otherwise a batch that was sent without waiting
//! could arrive after a quick answer to the batch before it and would seem to have waited.
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

use std::collections::{BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Time for which an answer is held before the client gets it.
const HELD: Duration = Duration::from_millis(20);
const STARTUP_PROTOCOL: i32 = 196_608;

/// A running proxy. It takes no further connection once it is dropped.
#[derive(Debug)]
pub struct CountingProxy {
    port: u16,
    shared: Arc<Shared>,
}

/// What passed through a proxy within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of times that the client waited for the server, one wait after the other.
    pub round_trips: u32,
    /// Batches that were answered, those that did not wait for each other included.
    pub batches: u32,
    /// Statements that the server completed.
    pub statements: u32,
}

#[derive(Debug)]
struct Shared {
    server_port: u16,
    ended: AtomicBool,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    traffic: Traffic,
    /// Number of the present window; batches of an earlier one do not count.
    window: u32,
    /// Time at which a client has last sent a batch.
    last_batch: Instant,
    /// Client ports that the server sees.
    ports: BTreeSet<u16>,
}

/// A batch that the server has not finished answering.
#[derive(Clone, Copy)]
struct Batch {
    depth: u32,
    window: u32,
}

/// Messages of the server on their way to the client.
struct Held {
    until: Instant,
    bytes: Vec<u8>,
    /// Types of the messages, in their order.
    types: Vec<u8>,
}

impl CountingProxy {
    /// Starts a proxy to the server that listens on a port of this machine.
    ///
    /// # Panics
    /// When no port can be listened on.
    pub fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap_or_else(|error| panic!("listen: {error}"));
        let port = listener.local_addr().unwrap_or_else(|error| panic!("listen: {error}")).port();
        let counts =
            Counts { traffic: Traffic::default(), window: 0, last_batch: Instant::now(), ports: BTreeSet::new() };
        let shared = Arc::new(Shared { server_port, ended: AtomicBool::new(false), counts: Mutex::new(counts) });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.ended.load(Ordering::Relaxed) {
                    return;
                }
                // A client that has gone meanwhile needs nothing.
                let _ = client.and_then(|client| connect(client, &accepting));
            }
        });
        CountingProxy { port, shared }
    }

    /// Port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Begins a window: what is sent from now on counts, from zero.
    pub fn begin_window(&self) {
        let mut counts = self.shared.counts();
        counts.traffic = Traffic::default();
        counts.window += 1;
    }

    /// Returns what has passed within the window.
    pub fn traffic(&self) -> Traffic {
        self.shared.counts().traffic
    }

    /// Returns whether the server sees this client port as one of the proxy's connections.
    pub fn has_port(&self, port: u16) -> bool {
        self.shared.counts().ports.contains(&port)
    }

    /// Returns how long no client has sent anything.
    pub fn quiet_for(&self) -> Duration {
        self.shared.counts().last_batch.elapsed()
    }
}

impl Drop for CountingProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts, so that it sees that it has to end.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Shared {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects a client with the server, by a thread for each direction and one that holds answers.
fn connect(client: TcpStream, shared: &Arc<Shared>) -> std::io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, shared.server_port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    shared.counts().ports.insert(server.local_addr()?.port());
    let batches = Arc::new(Mutex::new(VecDeque::new()));
    let (hold, held) = mpsc::channel();
    let (client_reads, server_writes) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn({
        let (shared, batches) = (shared.clone(), batches.clone());
        move || {
            let _ = forward_requests(&client_reads, &server_writes, &shared, &batches);
            let _ = server_writes.shutdown(Shutdown::Write);
        }
    });
    std::thread::spawn(move || {
        let _ = receive_answers(&server, &hold);
    });
    let shared = shared.clone();
    std::thread::spawn(move || {
        let _ = release_answers(&client, &held, &shared, &batches);
        let _ = client.shutdown(Shutdown::Both);
    });
    Ok(())
}

/// Passes on what the client sends and notes each batch before the server can see its end.
fn forward_requests(
    mut client: &TcpStream,
    mut server: &TcpStream,
    shared: &Shared,
    batches: &Mutex<VecDeque<Batch>>,
) -> std::io::Result<()> {
    let startup = read_startup(&mut client)?;
    note_batch(shared, batches);
    server.write_all(&startup)?;
    let mut messages = Messages::default();
    while let Some((bytes, types)) = messages.read(&mut client)? {
        for _ in types.iter().filter(|kind| matches!(kind, b'Q' | b'S' | b'F')) {
            note_batch(shared, batches);
        }
        server.write_all(&bytes)?;
    }
    Ok(())
}

fn note_batch(shared: &Shared, batches: &Mutex<VecDeque<Batch>>) {
    let mut counts = shared.counts();
    counts.last_batch = Instant::now();
    let batch = Batch { depth: counts.traffic.round_trips + 1, window: counts.window };
    batches.lock().unwrap_or_else(PoisonError::into_inner).push_back(batch);
}

fn receive_answers(mut server: &TcpStream, hold: &mpsc::Sender<Held>) -> std::io::Result<()> {
    let mut messages = Messages::default();
    while let Some((bytes, types)) = messages.read(&mut server)? {
        if hold.send(Held { until: Instant::now() + HELD, bytes, types }).is_err() {
            break;
        }
    }
    Ok(())
}

/// Gives the client what has been held long enough, and counts it before the client can act on it.
fn release_answers(
    mut client: &TcpStream,
    held: &mpsc::Receiver<Held>,
    shared: &Shared,
    batches: &Mutex<VecDeque<Batch>>,
) -> std::io::Result<()> {
    for answer in held {
        std::thread::sleep(answer.until.saturating_duration_since(Instant::now()));
        count_answer(&answer.types, &mut shared.counts(), batches);
        client.write_all(&answer.bytes)?;
    }
    Ok(())
}

fn count_answer(types: &[u8], counts: &mut Counts, batches: &Mutex<VecDeque<Batch>>) {
    let mut batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
    for kind in types {
        // Notices, settings and notifications come by themselves and answer nothing.
        if matches!(kind, b'N' | b'S' | b'A') {
            continue;
        }
        let Some(batch) = batches.front().copied().filter(|batch| batch.window == counts.window) else {
            if *kind == b'Z' {
                batches.pop_front();
            }
            continue;
        };
        counts.traffic.round_trips = counts.traffic.round_trips.max(batch.depth);
        match kind {
            b'C' | b'I' | b's' => counts.traffic.statements += 1,
            b'Z' => {
                counts.traffic.batches += 1;
                batches.pop_front();
            }
            _ => {}
        }
    }
}

/// Returns the first message of a client, which alone has no type.
fn read_startup(client: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 8];
    client.read_exact(&mut head)?;
    let [length, protocol] =
        [&head[..4], &head[4..]].map(|part| i32::from_be_bytes(part.try_into().unwrap_or_default()));
    if protocol != STARTUP_PROTOCOL || length < 8 {
        return Err(std::io::Error::other("only plain connections are counted: use sslmode=disable"));
    }
    let mut startup = head.to_vec();
    startup.resize(length as usize, 0);
    client.read_exact(&mut startup[8..])?;
    Ok(startup)
}

/// Cuts a stream into messages of the protocol: type, length (which counts itself but not the type), content.
#[derive(Default)]
struct Messages {
    incomplete: Vec<u8>,
}

impl Messages {
    /// Returns the next messages that are complete, and their types; `None` at the end.
    fn read(&mut self, stream: &mut impl Read) -> std::io::Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut chunk = [0; 16 * 1024];
        loop {
            let count = stream.read(&mut chunk)?;
            if count == 0 {
                return Ok(None);
            }
            self.incomplete.extend_from_slice(&chunk[..count]);
            let (end, types) = complete(&self.incomplete);
            if end > 0 {
                let rest = self.incomplete.split_off(end);
                return Ok(Some((std::mem::replace(&mut self.incomplete, rest), types)));
            }
        }
    }
}

/// Returns where the last complete message ends, and the types of the complete ones.
fn complete(bytes: &[u8]) -> (usize, Vec<u8>) {
    let (mut end, mut types) = (0, Vec::new());
    while let Some(head) = bytes.get(end..end + 5) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if bytes.len() < end + 1 + length {
            break;
        }
        types.push(head[0]);
        end += 1 + length;
    }
    (end, types)
}

#[cfg(test)]
mod tests;
