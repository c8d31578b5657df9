//! Slow and steady clients, in virtual time: the clock jumps whenever nobody has anything to do.

use std::net::SocketAddr;

use axum::routing::post;
use runtime::{Instant, sleep};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const PATIENCE: Patience = Patience {
    header: Duration::from_secs(10),
    body: Duration::from_secs(30),
    header_bytes: 16 << 10,
    connections: 100,
};

/// A server whose one route answers with the length of the body, and the switch that stops it.
async fn start() -> (SocketAddr, watch::Sender<bool>, runtime::Task<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/length", post(async |body: String| body.len().to_string()));
    let (say_stop, stop) = watch::channel(false);
    let server = Server { listener, router, certificate: None, doorway: Doorway::default(), patience: PATIENCE };
    (address, say_stop, runtime::spawn("server", server.run(stop)))
}

async fn read_to_end(client: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset by the server is an end too.
    let _ = client.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

const HEAD: &[u8] = b"POST /length HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_head_is_cut_off() {
    let (address, _say_stop, _server) = start().await;
    for head in [&b""[..], b"POST /length HTTP/1.1\r\nHo"] {
        let begin = Instant::now();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(head).await.unwrap();
        assert_eq!(read_to_end(&mut client).await, "");
        assert_eq!(begin.elapsed().as_secs(), PATIENCE.header.as_secs());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_byte_of_its_body_is_cut_off() {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(HEAD).await.unwrap();
    client.write_all(b"ab").await.unwrap();
    let answer = read_to_end(&mut client).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert_eq!(begin.elapsed().as_secs(), PATIENCE.body.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_that_goes_on_sending_is_served() {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(HEAD).await.unwrap();
    for byte in b"abcde" {
        sleep(PATIENCE.body * 5 / 6).await;
        client.write_all(&[*byte]).await.unwrap();
    }
    let answer = read_to_end(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n5"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_server_answers_what_is_under_way_and_takes_nothing_new() {
    let (address, say_stop, server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(HEAD).await.unwrap();
    client.write_all(b"ab").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    say_stop.send(true).unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(TcpStream::connect(address).await.is_err());
    client.write_all(b"cde").await.unwrap();
    assert!(read_to_end(&mut client).await.ends_with("\r\n5"));
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn draining_ends_although_a_client_does_not() {
    let (address, say_stop, server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(HEAD).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    say_stop.send(true).unwrap();
    let begin = Instant::now();
    let feeding = runtime::spawn("feed", async move {
        for byte in b"abcd" {
            sleep(PATIENCE.body * 5 / 6).await;
            client.write_all(&[*byte]).await.unwrap();
        }
    });
    server.await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), DRAIN.as_secs());
    feeding.abort();
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_too_large_is_refused() {
    let (address, _say_stop, _server) = start().await;
    let header = format!("GET /length HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "a".repeat(20 << 10));
    let many = format!("GET /length HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-A: b\r\n".repeat(101));
    for head in [header, many] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let _ = client.write_all(head.as_bytes()).await;
        let answer = read_to_end(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_its_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let held = Arc::new(());
    let watched = held.clone();
    let endless = move || {
        let body = axum::body::Body::new(Endless(held.clone()));
        async { body }
    };
    let router = Router::new().route("/endless", axum::routing::get(endless));
    let (_say_stop, stop) = watch::channel(false);
    let server = Server { listener, router, certificate: None, doorway: Doorway::default(), patience: PATIENCE };
    runtime::spawn("server", server.run(stop));
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    // The test and the handler hold one each, and a body that is being sent one more.
    while Arc::strong_count(&watched) < 3 {
        sleep(Duration::from_millis(10)).await;
    }
    while Arc::strong_count(&watched) > 2 {
        assert!(begin.elapsed() < PATIENCE.body * 3, "the body is still held");
        sleep(Duration::from_secs(1)).await;
    }
    assert!(begin.elapsed() >= PATIENCE.body);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_connection_beyond_the_limit_waits_for_a_place() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/length", post(async |body: String| body.len().to_string()));
    let (_say_stop, stop) = watch::channel(false);
    let patience = Patience { connections: 1, ..PATIENCE };
    let server = Server { listener, router, certificate: None, doorway: Doorway::default(), patience };
    runtime::spawn("server", server.run(stop));
    let mut idle = TcpStream::connect(address).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let mut waiting = TcpStream::connect(address).await.unwrap();
    waiting.write_all(HEAD).await.unwrap();
    waiting.write_all(b"abcde").await.unwrap();
    let begin = Instant::now();
    assert!(read_to_end(&mut waiting).await.ends_with("\r\n5"));
    assert!(begin.elapsed() + Duration::from_secs(2) >= PATIENCE.header, "the first connection had its place");
    assert_eq!(read_to_end(&mut idle).await, "");
}

/// A body without end, which holds something for as long as it is there.
struct Endless<T>(T);

impl<T: Unpin> hyper::body::Body for Endless<T> {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(Some(Ok(hyper::body::Frame::data(vec![b'x'; 1 << 16].into()))))
    }
}
