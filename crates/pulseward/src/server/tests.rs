//! Slow and steady clients, in virtual time: the clock jumps whenever nobody has anything to do.

use std::net::SocketAddr;

use axum::routing::post;
use runtime::{Instant, sleep};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    header: Duration::from_secs(10),
    body: Duration::from_secs(30),
    header_bytes: 16 << 10,
    connections: 100,
};

/// Returns a server whose one route answers with the length of the body, and the switch that stops it.
async fn start() -> (SocketAddr, watch::Sender<bool>, runtime::Task<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/length", post(async |body: String| body.len().to_string()));
    let (say_stop, stop) = watch::channel(false);
    let host_router = HostRouter::default();
    let server = Server { listener, router, certificate: None, is_https: false, host_router, limits: LIMITS };
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
        assert_eq!(begin.elapsed().as_secs(), LIMITS.header.as_secs());
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
    assert_eq!(begin.elapsed().as_secs(), LIMITS.body.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_small_body_has_one_time_as_a_whole() {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(HEAD).await.unwrap();
    let (mut reading, mut writing) = client.split();
    let feeding = async {
        for byte in b"abcd" {
            sleep(LIMITS.body / 4 + Duration::from_secs(1)).await;
            let _ = writing.write_all(&[*byte]).await;
        }
    };
    let mut answer = Vec::new();
    let _ = tokio::join!(feeding, reading.read_to_end(&mut answer));
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(begin.elapsed() < LIMITS.body * 2, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn body_that_does_not_say_its_length_is_held_to_the_time_of_a_small_one() {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(b"POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    let (mut reading, mut writing) = client.split();
    // Faster than a large one has to be, so that it would be whole after a minute.
    let feeding = async {
        for _ in 0..50 {
            sleep(Duration::from_secs(1)).await;
            let chunk = format!("500\r\n{}\r\n", "x".repeat(0x500));
            if writing.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    let reading = async {
        let mut answer = [0; 100];
        let length = reading.read(&mut answer).await.unwrap_or(0);
        (String::from_utf8_lossy(&answer[..length]).into_owned(), begin.elapsed())
    };
    let ((), (answer, took)) = tokio::join!(feeding, reading);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert_eq!(took.as_secs(), LIMITS.body.as_secs());
}

const LARGE_HEAD: &[u8] = b"POST /length HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 184320\r\n\r\n";

/// Sends a body of 180 KiB in pieces that take `pause` each; answers what came back, and when.
async fn send_large(pause: Duration, pieces: usize) -> (String, Duration) {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(LARGE_HEAD).await.unwrap();
    for piece in vec![b'x'; 180 << 10].chunks((180 << 10) / pieces) {
        sleep(pause).await;
        if client.write_all(piece).await.is_err() {
            break;
        }
    }
    (read_to_end(&mut client).await, begin.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_large_body_that_keeps_the_least_rate_is_served_however_long_it_takes() {
    // 5 KiB every 4 s.
    let (answer, took) = send_large(Duration::from_secs(4), 36).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n184320"), "{answer}");
    assert!(took > LIMITS.body * 4, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_large_body_below_the_least_rate_is_given_up() {
    let (answer, _) = send_large(Duration::from_secs(10), 36).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
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
    client.write_all(LARGE_HEAD).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    say_stop.send(true).unwrap();
    let begin = Instant::now();
    let feeding = runtime::spawn("feed", async move {
        for _ in 0..100 {
            sleep(Duration::from_secs(1)).await;
            let _ = client.write_all(&[b'x'; 1500]).await;
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
    let server = Server {
        listener,
        router,
        certificate: None,
        is_https: false,
        host_router: HostRouter::default(),
        limits: LIMITS,
    };
    runtime::spawn("server", server.run(stop));
    let mut client = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    client.write_all(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    // The test and the handler hold one each, and a body that is being sent one more.
    while Arc::strong_count(&watched) < 3 {
        sleep(Duration::from_millis(10)).await;
    }
    while Arc::strong_count(&watched) > 2 {
        assert!(begin.elapsed() < LIMITS.body * 3, "the body is still held");
        sleep(Duration::from_secs(1)).await;
    }
    assert!(begin.elapsed() >= LIMITS.body);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn connection_beyond_the_limit_takes_the_place_of_a_strangers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/length", post(async |body: String| body.len().to_string()));
    let (_say_stop, stop) = watch::channel(false);
    let limits = ConnectionLimits { connections: 1, ..LIMITS };
    let server =
        Server { listener, router, certificate: None, is_https: false, host_router: HostRouter::default(), limits };
    runtime::spawn("server", server.run(stop));
    let mut idle = TcpStream::connect(address).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let mut waiting = TcpStream::connect(address).await.unwrap();
    waiting.write_all(HEAD).await.unwrap();
    waiting.write_all(b"abcde").await.unwrap();
    let begin = Instant::now();
    assert!(read_to_end(&mut waiting).await.ends_with("\r\n5"));
    assert!(begin.elapsed() < Duration::from_secs(2), "it does not wait for the end of the first");
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

#[tokio::test(start_paused = true)]
async fn a_transfer_coding_that_is_not_read_is_refused_and_the_connection_ends() {
    let (address, _say_stop, _server) = start().await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let head = "POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    client
        .write_all(format!("{head}5\r\nabcde\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let answer = read_to_end(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 501"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "what follows is read as nothing: {answer}");
}

#[tokio::test(start_paused = true)]
async fn an_address_has_a_part_of_the_connections_and_leaves_the_rest_to_others() {
    let (address, _say_stop, _server) = start().await;
    let of_one = LIMITS.connections.div_ceil(8);
    let mut idle = Vec::new();
    for _ in 0..of_one {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    sleep(Duration::from_millis(10)).await;
    let mut beyond = TcpStream::connect(address).await.unwrap();
    let begin = Instant::now();
    assert_eq!(read_to_end(&mut beyond).await, "");
    assert!(begin.elapsed() < LIMITS.header, "closed at once");
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = other.connect(address).await.unwrap();
    other.write_all(HEAD).await.unwrap();
    other.write_all(b"abcde").await.unwrap();
    assert!(read_to_end(&mut other).await.ends_with("\r\n5"));
}

const REFUSED: &[u8] = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n";

/// A client of an address of this machine whose request has been refused before any of its body was sent.
async fn refused_from(own: &str, server: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(format!("{own}:0").parse().unwrap()).unwrap();
    let mut client = socket.connect(server).await.unwrap();
    client.write_all(REFUSED).await.unwrap();
    let mut answer = [0; 1000];
    let length = client.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 404"), "{own}");
    client
}

/// Whether the connection goes on behind the refused body.
async fn goes_on(mut client: TcpStream) -> bool {
    // Either fails when the connection was closed.
    let _ = client.write_all(&vec![b' '; 60000]).await;
    let _ = client.write_all(b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    read_to_end(&mut client).await.starts_with("HTTP/1.1 404")
}

/// In real time: the virtual one jumps over the time that slow bodies have.
#[tokio::test]
async fn senders_of_refused_bodies_that_are_slow_do_not_shut_others_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ConnectionLimits { connections: 2000, ..LIMITS };
    let (_say_stop, stop) = watch::channel(false);
    let (router, host_router) = (Router::new(), HostRouter::default());
    let server = Server { listener, router, certificate: None, is_https: false, host_router, limits };
    let _server = runtime::spawn("server", server.run(stop));
    let mut slow = Vec::new();
    for own in ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"] {
        for _ in 0..20 {
            slow.push(refused_from(own, address).await);
        }
    }
    for newcomer in ["127.0.0.6", "127.0.0.2"] {
        assert!(goes_on(refused_from(newcomer, address).await).await, "{newcomer}");
    }
    drop(slow);
}
