//! The fleet against a small stand-in for the service that loses, delays and refuses requests.
#![allow(clippy::unwrap_used)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a client of the service, outside the runtime seam"
)]

use std::collections::HashMap;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bracelet::fleet::{Fleet, FleetConfig, Live, LoadPlan, Silent};
use bracelet::{BraceletError, Cast, DataType, Scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const NOW_MS: i64 = 1_763_640_000_000;
const KEY: &str = "pwk_secret";

/// What the stand-in remembers, and how badly it behaves.
#[derive(Default)]
struct Stub {
    patients: usize,
    activations: Vec<Value>,
    logins: usize,
    tokens: usize,
    /// How often each token has been used for a sync.
    uses: HashMap<String, usize>,
    /// Uses after which a token is refused; 0 never.
    token_uses: usize,
    /// Every so many requests one is answered 503, one 429, and one not at all; 0 never.
    trouble_every: usize,
    requests: usize,
    /// Bodies of accepted syncs by token family (patient), as sent.
    syncs: Vec<(String, Value)>,
    seen_addresses: Vec<String>,
    was_gzip: bool,
}

struct Request {
    address: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// None closes the connection without an answer.
type Reply = Option<(u16, Value)>;

impl Stub {
    fn answer(&mut self, request: &Request) -> Reply {
        self.requests += 1;
        self.seen_addresses.push(request.address.clone());
        if self.trouble_every > 0 && self.requests.is_multiple_of(self.trouble_every) {
            return match self.requests / self.trouble_every % 3 {
                0 => Some((503, json!({"message": "overload", "code": "overload"}))),
                1 => Some((429, json!({"message": "slower", "code": "rate_limited"}))),
                _ => None,
            };
        }
        let bearer = request.headers.get("authorization").cloned().unwrap_or_default();
        let bearer = bearer.trim_start_matches("Bearer ").to_owned();
        let body: Value = if request.headers.contains_key("content-encoding") {
            self.was_gzip = true;
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(request.body.as_slice()).read_to_end(&mut text).unwrap();
            serde_json::from_slice(&text).unwrap()
        } else {
            serde_json::from_slice(&request.body).unwrap()
        };
        let has_key = request.headers.get("x-api-key").is_some_and(|key| key == KEY);
        Some(match request.address.as_str() {
            address if address.starts_with("/integration/") && !has_key => (401, json!({"message": "no key"})),
            "/integration/v1/groups" => (200, json!({"code": "ABCDE"})),
            "/integration/v1/groups/ABCDE/patients" => {
                self.patients += 1;
                (200, json!({"uuid": format!("u{}", self.patients), "code": format!("V{}", self.patients)}))
            }
            "/users/activate" => {
                let code = body["code"].as_str().unwrap().to_owned();
                if self.activations.iter().any(|known| known["code"] == body["code"]) {
                    return Some((409, json!({"message": "already used"})));
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
            "/health/v1/sync" => {
                let uses = self.uses.entry(bearer.clone()).or_default();
                if self.token_uses > 0 && *uses >= self.token_uses {
                    return Some((401, json!({"message": "expired"})));
                }
                *uses += 1;
                let patient = bearer.split('.').next().unwrap().to_owned();
                self.syncs.push((patient, body));
                (200, json!({"types": {"activity": {"stored": 1, "duplicate": 0, "rejected": 0}}}))
            }
            _ => (404, json!({"message": "unknown path"})),
        })
    }
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
        let reply = stub.lock().unwrap().answer(&request);
        let Some((status, json)) = reply else { return };
        let body = json.to_string();
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nRetry-After: 0\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Starts a stand-in; its address and its memory.
async fn start(stub: Stub) -> (String, Arc<Mutex<Stub>>) {
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

fn fleet(url: &str, patients: u64, change: impl Fn(&mut FleetConfig)) -> Fleet {
    let mut config = FleetConfig::new(url, KEY, "correct horse battery", patients);
    config.data_types = vec![DataType::Activity];
    config.connections = 4;
    change(&mut config);
    Fleet::new(config, Arc::new(|| NOW_MS), Arc::new(Silent)).unwrap()
}

/// Begin and end of the activity of each sync, in the order of arrival.
fn spans(stub: &Stub, patient: &str) -> Vec<(i64, i64)> {
    stub.syncs
        .iter()
        .filter(|(own, _)| own == patient)
        .map(|(_, body)| {
            let times = body["data"]["activity"]["timestamp"].as_array().unwrap();
            (times[0].as_i64().unwrap(), times.last().unwrap().as_i64().unwrap() + 60_000)
        })
        .collect()
}

fn unstopped() -> watch::Receiver<bool> {
    watch::channel(false).1
}

#[tokio::test]
async fn a_fleet_enrols_and_sends_every_day_through_all_trouble() {
    let (url, memory) = start(Stub { trouble_every: 4, token_uses: 2, ..Stub::default() }).await;
    let fleet = fleet(&url, 5, |config| config.days = 4);
    let result = fleet.run(None, unstopped()).await.unwrap();
    assert_eq!((result.patients, result.syncs, result.failed, result.stored), (5, 20, 0, 20));
    assert!(result.retries > 0 && result.values > 20 * 1_000 && result.p99_ms >= result.p50_ms);

    let stub = memory.lock().unwrap();
    assert!(stub.logins > 0, "tokens that ended were renewed");
    assert!(stub.seen_addresses.iter().all(|address| !address.contains(KEY)));
    assert_eq!(stub.activations.len(), 5);
    for activation in &stub.activations {
        assert!(activation["first_name"].as_str().unwrap().starts_with("Patient "));
        for field in ["birthday", "gender", "height", "weight", "time_zone", "password"] {
            assert!(!activation[field].is_null(), "{field}");
        }
    }
    for patient in stub.activations.iter().map(|activation| activation["code"].as_str().unwrap()) {
        let spans = spans(&stub, patient);
        assert_eq!(spans.len(), 4);
        assert_eq!(spans[0].1, NOW_MS, "the newest day first");
        assert!(spans.windows(2).all(|pair| pair[1].1 == pair[0].0), "{spans:?}");
        assert_eq!(spans[3].0 % 86_400_000, 0);
    }
}

#[tokio::test]
async fn the_present_follows_the_past_without_a_gap_and_each_scenario_in_its_manner() {
    for scenario in [Scenario::Healthy, Scenario::LateSync, Scenario::DuplicateSync] {
        let (url, memory) = start(Stub::default()).await;
        let fleet = fleet(&url, 1, |config| {
            config.cast = Cast::All(scenario);
            config.gzip = true;
        });
        let live = Live { tick: Duration::from_millis(2), step_ms: 60_000, lag_ms: 30 * 60_000, ticks: Some(40) };
        let result = fleet.run(Some(live), unstopped()).await.unwrap();
        let stub = memory.lock().unwrap();
        assert!(stub.was_gzip);
        let arrived = spans(&stub, "V1");
        let mut distinct = arrived.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 31, "one day and thirty minutes, though there were forty ticks");
        assert!(distinct.windows(2).all(|pair| pair[0].1 == pair[1].0), "{scenario}");
        assert_eq!(distinct.last().unwrap().1, NOW_MS, "never past the clock");
        let is_in_order = arrived.is_sorted();
        assert_eq!(is_in_order, scenario != Scenario::LateSync);
        let copies = if scenario == Scenario::DuplicateSync { 2 } else { 1 };
        assert_eq!(arrived.len(), 31 * copies);
        assert_eq!(result.syncs as usize, arrived.len());
        let serial = &stub.syncs[0].1["device"]["serial_number"];
        assert_eq!(serial, "SIM-u1", "no two patients of a service share a bracelet");
        for pair in stub.syncs.chunks(copies) {
            assert!(pair.iter().all(|sync| *sync == pair[0]), "a duplicate is equal, identifier and all");
        }
    }
}

#[tokio::test]
async fn a_stopped_fleet_ends_and_sends_what_it_held_back() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 2, |config| {
        config.cast = Cast::All(Scenario::LateSync);
    });
    let (stop, stopped) = watch::channel(false);
    let live = Live { tick: Duration::from_millis(5), step_ms: 60_000, lag_ms: 12 * 3_600_000, ticks: None };
    let running = tokio::spawn({
        let fleet = fleet.clone();
        async move { fleet.run(Some(live), stopped).await }
    });
    // Both histories and the first two releases have arrived.
    while memory.lock().unwrap().syncs.len() < 2 + 2 * 20 + 1 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stop.send(true).unwrap();
    let result = running.await.unwrap().unwrap();
    let stub = memory.lock().unwrap();
    for patient in ["V1", "V2"] {
        let mut spans = spans(&stub, patient);
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "nothing was lost");
    }
    assert_eq!(result.syncs as usize, stub.syncs.len());
}

#[tokio::test]
async fn a_load_has_the_asked_number_of_syncs_and_never_sends_a_minute_twice() {
    let (url, memory) = start(Stub::default()).await;
    let fleet = fleet(&url, 7, |_| {});
    let sessions = fleet.enrol().await.unwrap();
    let plan = LoadPlan::one_minute_syncs(Duration::from_millis(300), Some(200.0));
    let result = fleet.load(&sessions, plan).await.unwrap();
    assert_eq!((result.syncs, result.failed), (60, 0));
    let bounded = LoadPlan { rate: None, begin_before_ms: 5 * 60_000, duration: Duration::from_mins(1), ..plan };
    let again = fleet.load(&sessions, bounded).await.unwrap();
    assert_eq!(again.syncs, 7 * 5, "ends when the data reach the present");
    let stub = memory.lock().unwrap();
    let mut minutes: Vec<String> = stub.syncs[..60]
        .iter()
        .map(|(patient, body)| format!("{patient} {}", body["data"]["activity"]["timestamp"]))
        .collect();
    minutes.sort();
    minutes.dedup();
    assert_eq!(minutes.len(), 60);
}

#[tokio::test]
async fn refusals_name_the_request_and_never_the_key() {
    let (url, _memory) = start(Stub::default()).await;
    let wrong_key = fleet(&url, 1, |config| config.api_key = "pwk_wrong".to_owned());
    let error = wrong_key.run(None, unstopped()).await.unwrap_err();
    assert!(matches!(error, BraceletError::Refused { status: 401, .. }));
    assert_eq!(error.to_string(), "cannot create a group: status 401 no key");
    let nobody = fleet("http://127.0.0.1:9", 1, |config| {
        config.patience = Duration::from_millis(300);
    });
    let error = nobody.run(None, unstopped()).await.unwrap_err();
    assert!(!format!("{error} {error:?} {:?}", FleetConfig::new(&url, KEY, "pass word", 1)).contains(KEY));
    assert!(matches!(error, BraceletError::Http(_)));
}
