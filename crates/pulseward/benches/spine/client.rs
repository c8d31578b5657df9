//! A client that costs little: requests are bytes made before the clock starts, so that what is measured is the
//! server and not the client that runs on the same cores.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection that is kept open.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// From the request's first byte to the answer's first.
    pub first_byte: Duration,
    /// From the request's first byte to the answer's last.
    pub whole: Duration,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Connection { stream: BufReader::with_capacity(1 << 16, stream) }
    }

    pub fn send(&mut self, request: &[u8]) -> Answer {
        self.exchange(request, |_| {})
    }

    /// Sends a request; `piece` sees the body as it comes, which is not kept.
    pub fn drain(&mut self, request: &[u8]) -> (Answer, u64) {
        let mut bytes = 0;
        let mut answer = self.exchange(request, |piece| bytes += piece.len() as u64);
        answer.body.clear();
        (answer, bytes)
    }

    /// Sends a request whose answer is taken later.
    pub fn ask(&mut self, request: &[u8]) {
        self.stream.get_mut().write_all(request).expect("the server reads");
    }

    /// Takes the answer to a request that was sent.
    pub fn take(&mut self) -> Answer {
        self.answer(Instant::now(), |_| {})
    }

    fn exchange(&mut self, request: &[u8], piece: impl FnMut(&[u8])) -> Answer {
        let started = Instant::now();
        self.ask(request);
        self.answer(started, piece)
    }

    fn answer(&mut self, started: Instant, mut piece: impl FnMut(&[u8])) -> Answer {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server answers");
        let first_byte = started.elapsed();
        let status = line.get(9..12).and_then(|text| text.parse().ok()).expect("a status");
        let (mut length, mut chunked) = (0_usize, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("a header");
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(text) = header.strip_prefix("content-length:") {
                length = text.trim().parse().expect("a length");
            }
            chunked |= header == "transfer-encoding: chunked";
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                line.clear();
                self.stream.read_line(&mut line).expect("a chunk");
                let size = usize::from_str_radix(line.trim(), 16).expect("a chunk's size");
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk).expect("a chunk");
                if size == 0 {
                    break;
                }
                piece(&chunk[..size]);
                if body.len() < 64 << 20 {
                    body.extend_from_slice(&chunk[..size]);
                }
            }
        } else {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).expect("a body");
            piece(&body);
        }
        Answer { status, body, first_byte, whole: started.elapsed() }
    }
}

/// Returns the bytes of a request.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    for (name, value) in headers.iter().chain(&[("host", "localhost"), ("content-length", &length)]) {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Returns a JSON request with an optional bearer.
pub fn json(method: &str, path: &str, bearer: Option<&str>, body: &serde_json::Value) -> Vec<u8> {
    let authorization = bearer.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("content-type", "application/json")];
    if let Some(authorization) = &authorization {
        headers.push(("authorization", authorization));
    }
    request(method, path, &headers, body.to_string().as_bytes())
}

/// Returns a percentile of some durations, ms.
pub fn percentile_ms(durations: &mut [Duration], percent: usize) -> f64 {
    durations.sort_unstable();
    let at = (durations.len() * percent / 100).min(durations.len().saturating_sub(1));
    durations.get(at).map_or(0.0, |duration| duration.as_secs_f64() * 1000.0)
}
