//! A small stand-in for the service: it answers, loses, refuses and cuts off requests as a test asks it to, and remembers them.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::sync::{Arc, Mutex};

use bracelet::DataType;
use bracelet::fleet::{Fleet, FleetConfig, Silent};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub const NOW_MS: i64 = 1_763_640_000_000;
pub const KEY: &str = "pwk_secret";
pub const SYNC: &str = "/health/v1/sync";

/// What the stand-in remembers, and how badly it behaves.
#[derive(Default)]
pub struct Stub {
    pub patients: usize,
    pub activations: Vec<Value>,
    pub logins: usize,
    pub tokens: usize,
    /// Number of times that each token has been used for a sync.
    pub uses: HashMap<String, usize>,
    /// Uses after which a token is refused; 0 never.
    pub token_uses: usize,
    /// Every so many requests one is answered 503, one 429, and one not at all; 0 never.
    pub trouble_every: usize,
    pub requests: usize,
    /// Answers that the next requests of these paths get instead of the usual ones, in order.
    pub planned: VecDeque<(&'static str, Reply)>,
    /// Whether every sync is answered 503.
    pub is_down: bool,
    /// Whether no sync is answered, on connections that stay open.
    pub is_frozen: bool,
    /// What refusals say about when to come again, s.
    pub retry_after_s: u64,
    /// Bodies of all syncs, accepted or not.
    pub attempts: Vec<Value>,
    /// Bodies of accepted syncs by token family (patient), as sent.
    pub syncs: Vec<(String, Value)>,
    pub seen_addresses: Vec<String>,
    pub was_gzip: bool,
}

struct Request {
    address: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// What a request is answered.
#[derive(Clone)]
pub enum Reply {
    /// A status and a body.
    Json(u16, Value),
    /// The connection ends without an answer, and nothing has been done.
    Nothing,
    /// The request is done, but the connection ends within the answer.
    CutOff,
    /// The connection stays open without an answer.
    Silence,
}

impl Stub {
    fn answer(&mut self, request: &Request) -> Reply {
        if request.address == SYNC {
            self.attempts.push(json_of(request));
        }
        let planned = self.planned.front().filter(|(path, _)| *path == request.address);
        match planned.map(|(_, reply)| reply.clone()) {
            Some(Reply::CutOff) => {
                self.planned.pop_front();
                self.usual_answer(request);
                Reply::CutOff
            }
            Some(reply) => {
                self.planned.pop_front();
                reply
            }
            None => self.usual_answer(request),
        }
    }

    fn usual_answer(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        self.seen_addresses.push(request.address.clone());
        if self.trouble_every > 0 && self.requests.is_multiple_of(self.trouble_every) {
            return match self.requests / self.trouble_every % 3 {
                0 => Reply::Json(503, json!({"message": "overload", "code": "overload"})),
                1 => Reply::Json(429, json!({"message": "slower", "code": "rate_limited"})),
                _ => Reply::Nothing,
            };
        }
        let bearer = request.headers.get("authorization").cloned().unwrap_or_default();
        let bearer = bearer.trim_start_matches("Bearer ").to_owned();
        self.was_gzip |= request.headers.contains_key("content-encoding");
        let body = json_of(request);
        let has_key = request.headers.get("x-api-key").is_some_and(|key| key == KEY);
        let (status, json) = match request.address.as_str() {
            address if address.starts_with("/integration/") && !has_key => (401, json!({"message": "no key"})),
            "/integration/v1/groups" => (200, json!({"code": "ABCDE"})),
            "/integration/v1/groups/ABCDE/patients" => {
                self.patients += 1;
                (200, json!({"uuid": format!("u{}", self.patients), "code": format!("V{}", self.patients)}))
            }
            "/users/activate" => {
                let code = body["code"].as_str().unwrap().to_owned();
                if self.activations.iter().any(|known| known["code"] == body["code"]) {
                    return Reply::Json(409, json!({"message": "already used"}));
                }
                self.activations.push(body);
                (200, json!({"token": format!("user-{code}")}))
            }
            "/users/login" => {
                self.logins += 1;
                (200, json!({"token": format!("user-{}", body["code"].as_str().unwrap())}))
            }
            "/health/login" => {
                self.tokens += 1;
                let code = body["user_api_token"].as_str().unwrap().trim_start_matches("user-");
                (200, json!({"token": format!("{code}.{}", self.tokens)}))
            }
            SYNC if self.is_frozen => return Reply::Silence,
            SYNC if self.is_down => (503, json!({"message": "down"})),
            SYNC => {
                let uses = self.uses.entry(bearer.clone()).or_default();
                if self.token_uses > 0 && *uses >= self.token_uses {
                    return Reply::Json(401, json!({"message": "expired"}));
                }
                *uses += 1;
                let patient = bearer.split('.').next().unwrap().to_owned();
                self.syncs.push((patient, body));
                (200, json!({"types": {"activity": {"stored": 1, "duplicate": 0, "rejected": 0}}}))
            }
            _ => (404, json!({"message": "unknown path"})),
        };
        Reply::Json(status, json)
    }
}

fn json_of(request: &Request) -> Value {
    if !request.headers.contains_key("content-encoding") {
        return serde_json::from_slice(&request.body).unwrap();
    }
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(request.body.as_slice()).read_to_end(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let mut lines = head.lines();
    let address = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = bytes[head_end + 4..].to_vec();
    while body.len() < length {
        stream.read_buf(&mut body).await.ok()?;
    }
    Some(Request { address, headers, body })
}

async fn serve(mut stream: TcpStream, stub: Arc<Mutex<Stub>>) {
    while let Some(request) = read_request(&mut stream).await {
        let (reply, retry_after_s) = {
            let mut stub = stub.lock().unwrap();
            (stub.answer(&request), stub.retry_after_s)
        };
        let (text, is_whole) = match reply {
            Reply::Json(status, json) => (answer_text(status, &json.to_string(), retry_after_s), true),
            Reply::CutOff => (answer_text(200, "{\"types\": {}}  ", retry_after_s).trim_end().to_owned(), false),
            Reply::Nothing => return,
            Reply::Silence => std::future::pending().await,
        };
        if stream.write_all(text.as_bytes()).await.is_err() || !is_whole {
            return;
        }
    }
}

fn answer_text(status: u16, body: &str, retry_after_s: u64) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nRetry-After: {retry_after_s}\r\n\r\n{body}")
}

/// Starts a stand-in; its address and its memory.
pub async fn start(stub: Stub) -> (String, Arc<Mutex<Stub>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let stub = Arc::new(Mutex::new(stub));
    let memory = stub.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, stub.clone()));
        }
    });
    (url, memory)
}

pub fn fleet(url: &str, patients: u64, change: impl Fn(&mut FleetConfig)) -> Fleet {
    let mut config = FleetConfig::new(url, KEY, "correct horse battery", patients);
    config.data_types = vec![DataType::Activity];
    config.connections = 4;
    change(&mut config);
    Fleet::new(config, Arc::new(|| NOW_MS), Arc::new(Silent)).unwrap()
}

/// Begin and end of the activity of each sync, in the order of arrival.
pub fn spans(stub: &Stub, patient: &str) -> Vec<(i64, i64)> {
    stub.syncs
        .iter()
        .filter(|(own, _)| own == patient)
        .map(|(_, body)| {
            let times = body["data"]["activity"]["timestamp"].as_array().unwrap();
            (times[0].as_i64().unwrap(), times.last().unwrap().as_i64().unwrap() + 60_000)
        })
        .collect()
}

pub fn unstopped() -> watch::Receiver<bool> {
    watch::channel(false).1
}
