//! Uploads that are refused before they are read: a client that sends them whole sees why, each time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tempfile::tempdir;

use crate::harness::{Researcher, Service};

const BODY_BYTES: usize = 5_000_000;
const TRIES: usize = 20;

/// Sends a request whole and only then looks for the answer, as simple clients do. `Err` where they would give up.
fn status_of(service: &Service, target: &str, headers: &str, bytes: usize) -> std::io::Result<u16> {
    let mut client = TcpStream::connect(service.address())?;
    client.set_read_timeout(Some(Duration::from_secs(20)))?;
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n{headers}\r\n",
        service.address()
    );
    client.write_all(head.as_bytes())?;
    for piece in vec![b' '; bytes].chunks(64 << 10) {
        client.write_all(piece)?;
    }
    let mut answer = [0; 12];
    client.read_exact(&mut answer)?;
    let status = std::str::from_utf8(&answer[9..]).ok().and_then(|digits| digits.parse().ok());
    status.ok_or_else(|| std::io::Error::other("no status"))
}

/// An upload of which a part has come: it holds a place among the requests under way until the connection is dropped.
fn begun_upload(service: &Service, token: &str) -> TcpStream {
    let head = format!(
        "POST /health/v1/sync HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\
         Authorization: Bearer {token}\r\n\r\n{{",
        service.address()
    );
    // The request that shows it takes the place itself for a moment, and an upload that comes then is refused.
    for _ in 0..20 {
        let mut client = TcpStream::connect(service.address()).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(50));
            if status_of(service, "/users/login", "", BODY_BYTES).ok() == Some(503) {
                return client;
            }
        }
    }
    panic!("the place is not taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_a_large_body_that_is_refused_early_sees_the_status() {
    let folder = tempdir().unwrap();
    let service = Service::start_with(folder.path(), &["--sync-mib", "1"]);
    let researcher = Researcher::new(folder.path(), &service.url).await;
    let token = format!("Authorization: Bearer {}\r\n", researcher.enrol().await.token);
    let busy_folder = tempdir().unwrap();
    let busy = Service::start_with(busy_folder.path(), &["--requests-at-once", "1", "--body-seconds", "600"]);
    let researcher = Researcher::new(busy_folder.path(), &busy.url).await;
    let _under_way = begun_upload(&busy, &researcher.enrol().await.token);
    let refusals = [
        ("without a token", &service, "/health/v1/sync", "", 401),
        ("where nothing is", &service, "/nowhere", "", 404),
        ("with a method that is not known there", &service, "/livez", "", 405),
        ("a body for a login", &service, "/users/login", "", 413),
        ("over the limit of uploads", &service, "/health/v1/sync", token.as_str(), 413),
        ("while as much is under way as is allowed", &busy, "/health/v1/sync", "", 503),
    ];
    for (what, service, target, headers, status) in refusals {
        for attempt in 1..=TRIES {
            let seen = status_of(service, target, headers, BODY_BYTES);
            assert_eq!(seen.ok(), Some(status), "{what}, try {attempt}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_the_largest_upload_or_one_that_is_too_large_sees_the_status() {
    let folder = tempdir().unwrap();
    let service = Service::start(folder.path());
    let researcher = Researcher::new(folder.path(), &service.url).await;
    let token = format!("Authorization: Bearer {}\r\n", researcher.enrol().await.token);
    for (headers, bytes, status) in [("", 32 << 20, 401), (token.as_str(), 40 << 20, 413)] {
        for attempt in 1..=3 {
            let seen = status_of(&service, "/health/v1/sync", headers, bytes);
            assert_eq!(seen.ok(), Some(status), "{bytes} bytes, try {attempt}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_goes_on_after_a_refused_body_and_who_waits_for_leave_sends_nothing() {
    let folder = tempdir().unwrap();
    let service = Service::start(folder.path());
    let mut client = TcpStream::connect(service.address()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!("POST /health/v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    client.write_all(&vec![b' '; BODY_BYTES]).unwrap();
    client.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answers = String::new();
    client.read_to_string(&mut answers).unwrap();
    assert_eq!((answers.matches("HTTP/1.1 401").count(), answers.matches("HTTP/1.1 200").count()), (1, 1), "{answers}");

    let asks = format!(
        "POST /health/v1/sync HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
    );
    let answer = service.raw(asks.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 401"), "no leave is given: {answer}");
}
