//! Slow and steady clients, in virtual time: the clock jumps whenever nobody has anything to do.

use std::net::SocketAddr;

use axum::routing::post;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

use super::*;

const PATIENCE: Patience = Patience {
    header: Duration::from_secs(10),
    body: Duration::from_secs(30),
    header_bytes: 16 << 10,
    connections: 100,
};

/// A server whose one route answers with the length of the body, and the switch that stops it.
async fn start() -> (SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/length", post(async |body: String| body.len().to_string()));
    let (say_stop, stop) = watch::channel(false);
    let server = Server { listener, router, certificate: None, doorway: Doorway::default(), patience: PATIENCE };
    (address, say_stop, tokio::spawn(server.run(stop)))
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
    let feeding = tokio::spawn(async move {
        for byte in b"abcd" {
            sleep(PATIENCE.body * 5 / 6).await;
            client.write_all(&[*byte]).await.unwrap();
        }
    });
    server.await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), DRAIN.as_secs());
    feeding.abort();
}
