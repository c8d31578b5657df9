//! Answers are compressed for clients that ask for it, and are the same answers.

use std::io::Read;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Patient, Researcher, Service};

/// 2025-11-20, when the clock of Zurich is an hour ahead.
const DAY_MS: i64 = 1_763_593_200_000;

/// The rows of that day.
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-19T23:00:00Z&to_date=2025-11-20T22:59:59Z";

struct Answer {
    encoding: Option<String>,
    varies: bool,
    body: Vec<u8>,
}

/// Asks with a key of the integration API, or with a token of the Health Cloud.
async fn get(service: &Service, credential: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = reqwest::Client::new().get(format!("{}{path}", service.url));
    let mut request =
        if path == ROWS { request.bearer_auth(credential) } else { request.header("X-Api-Key", credential) };
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    let header = |name| {
        answer
            .headers()
            .get_all(&name)
            .iter()
            .map(|value| value.to_str().unwrap().to_ascii_lowercase())
            .reduce(|all, value| format!("{all},{value}"))
    };
    let (encoding, varies) =
        (header(CONTENT_ENCODING), header(VARY).is_some_and(|vary| vary.contains("accept-encoding")));
    Answer { encoding, varies, body: answer.bytes().await.unwrap().to_vec() }
}

fn expanded(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.encoding.as_deref() {
        Some("gzip") => flate2::read::MultiGzDecoder::new(&answer.body[..]).read_to_end(&mut plain).map(drop).unwrap(),
        Some("br") => brotli::Decompressor::new(&answer.body[..], 4096).read_to_end(&mut plain).map(drop).unwrap(),
        Some("zstd") => plain = zstd::decode_all(&answer.body[..]).unwrap(),
        other => panic!("{other:?}"),
    }
    plain
}

/// A day of minutes as a bracelet on a wrist measures them: no two alike, and none out of the ordinary.
fn minutes() -> Value {
    let mut state = 7_i64;
    let mut within = |low: i64, high: i64| -> Vec<i64> {
        let mut draw = || {
            // A linear congruential generator: the same day each time.
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            low + (state >> 16) % (high - low + 1)
        };
        (0..1440).map(|_| draw()).collect()
    };
    let times: Vec<i64> = (0..1440).map(|minute| DAY_MS + minute * 60_000).collect();
    json!({"time_zone": "Europe/Zurich", "data": {"activity": {"timestamp": times, "bpm": within(55, 95),
        "respiration_rate": within(11, 19), "spo2": within(94, 99), "last_steps": within(0, 60), "wearing": 4,
        "battery": within(20, 90)}}})
}

async fn patient_with_a_day(researcher: &Researcher) -> Patient {
    let patient = researcher.enrol().await;
    let (status, answer) = researcher.sync(&patient, &minutes()).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    patient
}

async fn wait_for_slots(researcher: &Researcher, path: &str) {
    for _ in 0..200 {
        let (_, day) = researcher.get(path, None).await;
        if day["activity"]["slots"].as_array().is_some_and(|slots| !slots.is_empty()) {
            return;
        }
        runtime::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("no slots came");
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_answers_are_the_same_and_small() {
    let folder = tempdir().unwrap();
    let service = Service::start(folder.path());
    let researcher = Researcher::new(folder.path(), &service.url).await;
    let patient = patient_with_a_day(&researcher).await;
    let day = format!("/integration/v1/patients/{}/summary/2025-11-20?include_slots=1", patient.uuid);
    wait_for_slots(&researcher, &day).await;
    let day_of_group = format!("/integration/v1/groups/{}/summaries?date=2025-11-20&include_slots=1", researcher.group);
    for (path, credential) in [(&day[..], &researcher.key), (&day_of_group, &researcher.key), (ROWS, &patient.token)] {
        let plain = get(&service, credential, path, &[]).await;
        assert!(plain.encoding.is_none() && plain.varies && plain.body.len() > 10_000, "{path}: {}", plain.body.len());
        for encoding in ["gzip", "br", "zstd"] {
            let packed = get(&service, credential, path, &[(ACCEPT_ENCODING.as_str(), encoding)]).await;
            assert_eq!(packed.encoding.as_deref(), Some(encoding), "{path}");
            assert!(packed.varies, "{path}");
            assert!(expanded(&packed) == plain.body, "{path} with {encoding} is another answer");
            let share = packed.body.len() as f64 / plain.body.len() as f64;
            assert!(!path.contains("include_slots") || share <= 0.15, "{path} with {encoding}: {share}");
        }
    }
}

/// Milliseconds from a request to the first byte and to the last byte of the body.
async fn first_and_last_byte(researcher: &Researcher, address: &str, encoding: &str) -> (f64, f64) {
    let client = reqwest::Client::new();
    let begun = runtime::Instant::now();
    let request = client.get(address).header("X-Api-Key", &researcher.key).header(ACCEPT_ENCODING, encoding);
    let mut answer = request.send().await.unwrap();
    assert_eq!(answer.headers().get(CONTENT_ENCODING).is_some(), encoding != "identity");
    assert!(answer.chunk().await.unwrap().is_some_and(|bytes| !bytes.is_empty()));
    let first_ms = begun.elapsed().as_secs_f64() * 1000.0;
    while answer.chunk().await.unwrap().is_some() {}
    (first_ms, begun.elapsed().as_secs_f64() * 1000.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn first_byte_of_a_compressed_day_comes_as_early_as_of_a_plain_one() {
    let folder = tempdir().unwrap();
    let service = Service::start(folder.path());
    let researcher = Researcher::new(folder.path(), &service.url).await;
    for _ in 0..6 {
        let patient = patient_with_a_day(&researcher).await;
        wait_for_slots(
            &researcher,
            &format!("/integration/v1/patients/{}/summary/2025-11-20?include_slots=1", patient.uuid),
        )
        .await;
    }
    let day =
        format!("{}/integration/v1/groups/{}/summaries?date=2025-11-20&include_slots=1", service.url, researcher.group);
    let mut least = [("identity", f64::INFINITY, f64::INFINITY), ("gzip", f64::INFINITY, f64::INFINITY)];
    // Turn by turn, and the best of each: what else the machine does hits both.
    for _ in 0..20 {
        for (encoding, first_ms, last_ms) in &mut least {
            let (first, last) = first_and_last_byte(&researcher, &day, encoding).await;
            (*first_ms, *last_ms) = (first_ms.min(first), last_ms.min(last));
        }
    }
    let [(_, plain_ms, _), (_, packed_ms, packed_last_ms)] = least;
    // Ten times, as a test on a machine with other work can ask for. Compressed as a whole, it would come with the last byte.
    assert!(packed_ms <= plain_ms * 10.0 && packed_ms < packed_last_ms, "{least:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn small_answers_and_streams_of_columns_stay_as_they_are() {
    let folder = tempdir().unwrap();
    let service = Service::start(folder.path());
    let researcher = Researcher::new(folder.path(), &service.url).await;
    let patient = patient_with_a_day(&researcher).await;
    let asks = (ACCEPT_ENCODING.as_str(), "gzip, br, zstd");
    let small = get(&service, &researcher.key, "/integration/v1/groups", &[asks]).await;
    assert_eq!(small.encoding, None, "nothing is gained, and answers with tokens are small");
    let as_columns = [asks, (ACCEPT.as_str(), "application/vnd.apache.arrow.stream")];
    assert_eq!(get(&service, &patient.token, ROWS, &as_columns).await.encoding, None);
    let refused = get(&service, &patient.token, ROWS, &[(ACCEPT_ENCODING.as_str(), "gzip;q=0, identity")]).await;
    assert_eq!(refused.encoding, None);
}
