//! Clients that are slow, many, or loud on purpose: a client that behaves well is answered as before.
//!
//! Everyone has an address of their own on the loopback network. The limits are an eighth of the usual ones, so that a test has
//! files enough.
//!
//! A program of tests by itself: what is measured is what attackers take from others, and tests next to it would take
//! from them too.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

#[allow(dead_code)] // other tests use the rest
#[path = "../real_socket/harness.rs"]
mod harness;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::tempdir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use harness::{Patient, Researcher, Service};

const REQUESTS_AT_ONCE: usize = 128;
const CONNECTIONS_AT_ONCE: usize = 512;
/// Ten times what the benchmark holds a client to that behaves well.
const LONGEST_P99: Duration = Duration::from_millis(500);
/// Requests that are measured during each attack.
const MEASURED: usize = 200;

/// Held by each test that attacks, so that none is measured during another's attack.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Starts a service with fewer places than usual.
fn start(data: &Path) -> Service {
    start_with(data, "off")
}

/// The same with a limit of requests a minute.
fn start_with(data: &Path, rate_limit: &str) -> Service {
    let (requests, connections) = (REQUESTS_AT_ONCE.to_string(), CONNECTIONS_AT_ONCE.to_string());
    let limits = ["--requests-at-once", &requests, "--connections-at-once", &connections, "--rate-limit", rate_limit];
    Service::start_with(data, &limits)
}

/// A connection from an address of the loopback network.
async fn connect(service: &str, from: &str) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(format!("{from}:0").parse().unwrap())?;
    socket.connect(service.parse().unwrap()).await
}

/// What each connection of an attack does until the attack is over. The last two show a valid token.
#[derive(Clone, Copy, Debug)]
enum Attack {
    SlowBodies,
    SlowHeads,
    SlowReaders,
    Flood,
    LongNames,
    SlowUploads,
    IdleLogins,
}

impl Attack {
    const ALL: [Attack; 5] =
        [Attack::SlowBodies, Attack::SlowHeads, Attack::SlowReaders, Attack::Flood, Attack::LongNames];

    async fn send(self, stream: &mut TcpStream, token: &str, at: usize) -> std::io::Result<()> {
        let login = |length: usize| {
            format!(
                "POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            )
        };
        match self {
            Attack::SlowBodies if at == 0 => stream.write_all(login(60_000).as_bytes()).await,
            Attack::SlowHeads if at == 0 => stream.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: ").await,
            Attack::SlowBodies | Attack::SlowHeads => stream.write_all(b" ").await,
            Attack::SlowReaders => {
                stream.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").await?;
                stream.read_exact(&mut [0; 1]).await.map(drop)
            }
            Attack::Flood => {
                stream.write_all(b"GET /integration/v1/groups?token=junk HTTP/1.1\r\nHost: x\r\n\r\n").await?;
                stream.read(&mut [0; 2048]).await.map(drop)
            }
            // Faster than the least rate, so that no time limit ends it.
            Attack::SlowUploads if at > 0 => stream.write_all(&[b' '; 1200]).await,
            Attack::SlowUploads => {
                let head = "POST /health/v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
                let head = format!("{head}Authorization: Bearer {token}\r\nContent-Length: 31457280\r\n\r\n");
                stream.write_all(head.as_bytes()).await
            }
            Attack::IdleLogins => {
                let head = "GET /health/user-summaries?date_from=2025-11-20&date_to=2025-11-20 HTTP/1.1\r\nHost: x\r\n";
                stream.write_all(format!("{head}Authorization: Bearer {token}\r\n\r\n").as_bytes()).await?;
                stream.read(&mut [0; 2048]).await.map(drop)
            }
            Attack::LongNames => {
                let body = json!({"email": "x".repeat(60_000), "password": "a wrong password"}).to_string();
                let head = login(body.len());
                stream
                    .write_all(format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(100_000)).as_bytes())
                    .await?;
                stream.write_all(format!("{head}{body}").as_bytes()).await?;
                stream.read(&mut [0; 2048]).await.map(drop)
            }
        }
    }

    /// How long a connection rests between two things that it does.
    fn pause(self) -> Duration {
        match self {
            Attack::Flood => Duration::from_millis(50),
            Attack::LongNames => Duration::from_millis(300),
            // Shorter than a connection may be without a request.
            Attack::IdleLogins => Duration::from_secs(8),
            _ => Duration::from_secs(1),
        }
    }
}

/// An attack that goes on until it is ended.
struct Attackers {
    connections: Vec<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl Attackers {
    /// Begins, with so many connections from each of some addresses.
    fn begin(kind: Attack, service: &str, addresses: &[String], of_each: usize) -> Self {
        Attackers::begin_with("", kind, service, addresses, of_each)
    }

    /// The same with a token.
    fn begin_with(token: &str, kind: Attack, service: &str, addresses: &[String], of_each: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let sources = addresses.iter().flat_map(|address| std::iter::repeat_n(address, of_each));
        let (token, service): (Arc<str>, Arc<str>) = (token.into(), service.into());
        let begin = |from: &String| {
            let attack = attack(kind, (service.clone(), token.clone()), from.clone(), is_over.clone());
            tokio::spawn(attack)
        };
        let connections = sources.map(begin).collect();
        Attackers { connections, is_over }
    }

    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for connection in self.connections {
            connection.await.unwrap();
        }
    }
}

/// One connection after another until the attack is over.
async fn attack(kind: Attack, (service, token): (Arc<str>, Arc<str>), from: String, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let Ok(mut stream) = connect(&service, &from).await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        for at in 0.. {
            let sent = tokio::time::timeout(Duration::from_secs(2), kind.send(&mut stream, &token, at)).await;
            if is_over.load(Ordering::Relaxed) || !matches!(sent, Ok(Ok(()))) {
                break;
            }
            tokio::time::sleep(kind.pause()).await;
        }
    }
}

/// Returns the time within which 99 of 100 syncs of a patient were answered, all of them with 200.
async fn p99(researcher: &Researcher, patient: &Patient, during: &str) -> Duration {
    let mut took = Vec::new();
    for number in 0..MEASURED {
        let begun = Instant::now();
        let time_ms = 1_763_467_200_000_i64 + 60_000 * number as i64;
        let body = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [61]}}});
        let (status, answer) = researcher.sync(patient, &body).await.unwrap();
        assert_eq!(status, 200, "{during}: {answer}");
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    took[MEASURED * 99 / 100 - 1]
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_behave_well_are_answered_as_before_whatever_others_do() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempdir().unwrap();
    let service = start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    println!("p99 {:?} without an attack", p99(&researcher, &patient, "no attack").await);
    let mut slow = Vec::new();
    for kind in Attack::ALL {
        // Each address with as many connections as it may have, and more.
        let of_each = (2 * CONNECTIONS_AT_ONCE / 8 + REQUESTS_AT_ONCE) / 3;
        let attackers = Attackers::begin(kind, service.address(), &addresses(3), of_each);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let p99 = p99(&researcher, &patient, &format!("{kind:?}")).await;
        assert_eq!(researcher.get("/integration/v1/groups", None).await.0, 200, "{kind:?}");
        attackers.end().await;
        println!("p99 {p99:?} during {kind:?}");
        slow.extend((p99 > LONGEST_P99).then_some((kind, p99)));
        service.check_memory(&format!("{kind:?}"));
    }
    // At the end, so that each attack is measured.
    assert!(slow.is_empty(), "{slow:?}");
}

/// Attackers at so many addresses, from 127.0.0.2 on.
fn addresses(number: usize) -> Vec<String> {
    (0..number).map(|at| format!("127.0.0.{}", 2 + at)).collect()
}

/// Sends a request from an address; the body in three pieces with a pause before each. Returns what came back within some
/// seconds.
async fn ask_from(service: &str, from: &str, head: &str, body: &str) -> String {
    let asking = async {
        let mut stream = connect(service, from).await?;
        let length = body.len();
        let head = format!("{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}Content-Type: application/json\r\n\r\n").as_bytes()).await?;
        for piece in body.as_bytes().chunks(body.len().div_ceil(3).max(1)) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stream.write_all(piece).await?;
        }
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), asking).await;
    answer.map_or_else(|_| "no answer".to_owned(), |answer| answer.unwrap_or_else(|error| error.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn stranger_is_served_however_many_addresses_send_slow_bodies() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempdir().unwrap();
    let service = start(data.path());
    // Twice as many bodies as there are places, then also more connections than there are of those.
    for (kind, of_each) in [(Attack::SlowBodies, 32), (Attack::SlowBodies, 80), (Attack::SlowHeads, 80)] {
        let attackers = Attackers::begin(kind, service.address(), &addresses(8), of_each);
        tokio::time::sleep(Duration::from_secs(2)).await;
        for number in 0..10 {
            let login = json!({"email": format!("{number}@study.example"), "password": "a wrong password"}).to_string();
            let answer = ask_from(service.address(), "127.0.0.10", "POST /users/login", &login).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{kind:?}, {of_each} of each, login {number}: {answer}");
        }
        attackers.end().await;
        service.check_memory(&format!("{kind:?}, {of_each} of each"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_valid_login_shuts_nobody_out() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempdir().unwrap();
    let service = start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (attacker, patient) = (researcher.enrol().await, researcher.enrol().await);
    // More uploads than there are places, and more connections than there are.
    for (kind, of_each) in [(Attack::SlowUploads, 32), (Attack::SlowUploads, 80), (Attack::IdleLogins, 80)] {
        let attackers = Attackers::begin_with(&attacker.token, kind, service.address(), &addresses(8), of_each);
        tokio::time::sleep(Duration::from_secs(4)).await;
        let during = format!("{kind:?}, {of_each} of each");
        for number in 0..5 {
            let login = json!({"email": format!("{number}@study.example"), "password": "a wrong password"}).to_string();
            let answer = ask_from(service.address(), "127.0.0.10", "POST /users/login", &login).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{during}, login {number}: {answer}");
            let groups = format!("GET /integration/v1/groups?token={}", researcher.key);
            let answer = ask_from(service.address(), "127.0.0.2", &groups, "").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{during}, key {number}: {answer}");
        }
        // Each of them is answered with 200; how soon, on how busy a machine, is measured above.
        println!("p99 {:?} during {during}", p99(&researcher, &patient, &during).await);
        attackers.end().await;
        service.check_memory(&during);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_key_is_answered_by_node_that_starts_during_attack() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempdir().unwrap();
    let service = start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    service.kill();
    // The last two with the usual limit, of which the attackers leave nothing to their addresses.
    for (rate_limit, kind, of_each) in
        [("off", Attack::SlowBodies, 32), ("180", Attack::SlowBodies, 32), ("180", Attack::Flood, 32)]
    {
        let service = start_with(data.path(), rate_limit);
        let attackers = Attackers::begin(kind, service.address(), &addresses(8), of_each);
        tokio::time::sleep(Duration::from_secs(3)).await;
        if matches!(kind, Attack::Flood) {
            // Until nothing is left to the address.
            let guess = "GET /integration/v1/groups?token=pwk_guess";
            while !ask_from(service.address(), "127.0.0.2", guess, "").await.starts_with("HTTP/1.1 429") {}
        }
        let groups = format!("GET /integration/v1/groups?token={}", researcher.key);
        // One of the attackers' addresses, and another.
        for from in ["127.0.0.2", "127.0.0.10"] {
            let answer = ask_from(service.address(), from, &groups, "").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{kind:?} with {rate_limit}: {from}: {answer}");
        }
        attackers.end().await;
        service.check_memory(&format!("{kind:?} at the start"));
        service.kill();
    }
}

/// Failed logins with names of 60 kB, of so many from each of eight addresses: an address has a hundred free failures, and those
/// beyond are refused before anything is done for them.
async fn fail_with_long_names(service: &str, numbers: std::ops::Range<usize>) {
    let from_address = |from: String| {
        let numbers = numbers.clone();
        async move {
            for number in numbers {
                let name = format!("{number}{}@study.example", "x".repeat(60_000));
                let login = json!({"email": name, "password": "a wrong password"}).to_string();
                let answer = ask_from(service, &from, "POST /users/login", &login).await;
                assert!(answer.starts_with("HTTP/1.1 401"), "{from}, login {number}: {answer}");
            }
        }
    };
    futures::future::join_all(addresses(8).into_iter().map(from_address)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_failed_logins_are_not_kept() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    fail_with_long_names(service.address(), 0..20).await;
    let before = service.memory_kib("VmRSS");
    fail_with_long_names(service.address(), 20..95).await;
    let after = service.memory_kib("VmRSS");
    println!("{before} KiB before, {after} KiB after");
    // Half of the 36 MB that the names would take, and twice what a process differs by from minute to minute.
    assert!(after <= before + 18 * 1024, "{before} KiB before, {after} KiB after");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_another_coding_are_refused() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let head = "POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let answer = service.raw(format!("{head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 501") && answer.contains("unsupported_transfer_encoding"), "{answer}");
    let answer = service
        .raw(format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n").as_bytes());
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
}
