//! What a broken or hostile app sends: each fault has its status, its code and its place, nothing of it is stored,
//! nothing of it is a fault of the service, and the service goes on answering.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use flate2::write::GzEncoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Patient, Researcher, Service};

const NOW_MS: i64 = 1_763_600_000_000;
const JSON: &str = "application/json";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const SYNC: &str = "/health/v1/sync";

struct App {
    http: reqwest::Client,
    url: String,
    patient: Patient,
}

/// A body as it goes over the wire.
#[derive(Clone)]
struct Upload {
    path: &'static str,
    kind: &'static str,
    encoding: &'static str,
    bytes: Vec<u8>,
}

fn plain(text: impl Into<String>) -> Upload {
    Upload { path: SYNC, kind: JSON, encoding: "", bytes: text.into().into_bytes() }
}

fn packed(encoding: &'static str, bytes: Vec<u8>) -> Upload {
    Upload { path: SYNC, kind: JSON, encoding, bytes }
}

fn arrow(path: &'static str, bytes: Vec<u8>) -> Upload {
    Upload { path, kind: ARROW, encoding: "", bytes }
}

impl App {
    async fn send(&self, upload: &Upload) -> (u16, Value) {
        let request = self.http.post(format!("{}{}", self.url, upload.path)).bearer_auth(&self.patient.token);
        let mut request = request.header(CONTENT_TYPE, upload.kind).body(upload.bytes.clone());
        if !upload.encoding.is_empty() {
            request = request.header(CONTENT_ENCODING, upload.encoding);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap())
    }

    /// An upload that is refused as a whole.
    async fn refused(&self, what: &str, upload: &Upload, status: u16, code: &str) -> Value {
        let (found, body) = self.send(upload).await;
        assert_eq!((found, body["code"].as_str()), (status, Some(code)), "{what}: {body}");
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{what}: {body}");
        assert_eq!(body["errors"].is_object(), status == 422, "{what}: {body}");
        body
    }
}

/// Runs a test against a service of its own with small limits, and checks that nothing is stored in the end.
async fn with_app(test: impl AsyncFnOnce(&App)) {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--sync-mib", "1", "--sync-expanded-mib", "2"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let app = App { http: reqwest::Client::new(), url: service.url.clone(), patient: researcher.enrol().await };
    test(&app).await;

    let days = "utc_date_from=2025-11-19T00:00:00.000Z&utc_date_to=2025-11-21T00:00:00.000Z";
    let path = format!("/integration/v1/patients/{}/raw-data-compliance?{days}", app.patient.uuid);
    assert_eq!(researcher.get(&path, None).await, (200, json!({})), "nothing is stored");
    let day = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:59:59.999Z";
    for data_type in ["activity", "temperature", "tests", "rr-interval"] {
        let path = format!("/health/v2/raw-metrics/{data_type}?{day}");
        assert_eq!(researcher.get(&path, Some(&app.patient.token)).await, (200, json!([])), "nothing is stored");
    }
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    let good = plain(json!({"data": {"activity": {"timestamp": [NOW_MS], "bpm": [61]}}}).to_string());
    let (status, receipt) = app.send(&good).await;
    assert_eq!((status, &receipt["types"]["activity"]["stored"]), (200, &json!(1)), "the service goes on");
}

/// A good row before a fault: it must not be stored either.
fn with_good_row(rest: &str) -> String {
    format!(r#"{{"data": {{"temperature": {{"timestamp": [{NOW_MS}], "temp_sk1": [33.5]}}, {rest}}}}}"#)
}

#[tokio::test]
async fn a_fault_of_syntax_is_400() {
    with_app(async |app| {
        let deep = 10_000;
        let nested = |prefix: &str, suffix: &str| format!("{prefix}{}{}{suffix}", "[".repeat(deep), "]".repeat(deep));
        let objects = format!("{}1{}", r#"{"data":"#.repeat(deep), "}".repeat(deep));
        let texts = [
            ("nothing", String::new()),
            ("a word", "hello".to_owned()),
            ("an open object", "{".to_owned()),
            ("a cut body", with_good_row(r#""activity": {"timestamp": [1"#).replace("}}", "")),
            ("two bodies", r#"{"data": {}} {"data": {}}"#.to_owned()),
            ("a comma too many", r#"{"data": {},}"#.to_owned()),
            ("single quotes", "{'data': {}}".to_owned()),
            ("NaN", with_good_row(r#""activity": {"timestamp": [1], "bpm": [NaN]}"#)),
            ("Infinity", with_good_row(r#""activity": {"timestamp": [Infinity], "bpm": [61]}"#)),
            ("a number that is none", with_good_row(r#""activity": {"timestamp": [1], "bpm": [0x3d]}"#)),
            ("a leading zero", with_good_row(r#""activity": {"timestamp": [1], "bpm": [061]}"#)),
            ("an open text", with_good_row(r#""tests": {"timestamp": [1], "note": ["x]}"#)),
            ("a control character", with_good_row("\"tests\": {\"timestamp\": [1], \"note\": [\"a\nb\"]}")),
            ("half a surrogate", with_good_row(r#""tests": {"timestamp": [1], "note": ["\ud800"]}"#)),
            ("only brackets", nested("", "")),
            ("deep objects", objects),
            ("deep in data", nested(r#"{"data": "#, "}")),
            ("deep under a type", nested(r#"{"data": {"activity": "#, "}}")),
            ("deep in a column", nested(r#"{"data": {"activity": {"timestamp": [1], "bpm": "#, "}}}")),
            ("deep in a time", nested(r#"{"data": {"activity": {"timestamp": "#, "}}}")),
            ("deep in a date", nested(r#"{"data": {"activity": {"timestamp": [1], "date": "#, "}}}")),
            ("deep in a start", nested(r#"{"data": {"activity": {"start": "#, "}}}")),
            ("deep in the device", nested(r#"{"device": "#, r#", "data": {}}"#)),
            ("deep in the zone", nested(r#"{"time_zone": "#, r#", "data": {}}"#)),
            ("deep in what is not known", nested(r#"{"other": "#, r#", "data": {}}"#)),
        ];
        for (what, text) in texts {
            app.refused(what, &plain(text), 400, "malformed_body").await;
        }
        let mut not_text = with_good_row(r#""tests": {"timestamp": [1], "note": ["?"]}"#).into_bytes();
        let question = not_text.iter().position(|byte| *byte == b'?').unwrap();
        not_text[question] = 0xff;
        app.refused("bytes that are no text", &packed("", not_text), 400, "malformed_body").await;
    })
    .await;
}

#[tokio::test]
async fn a_fault_of_structure_is_422_and_names_its_place() {
    with_app(async |app| {
        let cases = [
            (r#""activity": {"timestamp": [1, 2], "bpm": [60]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": [60, 61]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": []}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": ["60"]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": [[60]]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": [{}]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "bpm": true}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "hta": [7]}"#, "data.activity.hta"),
            (r#""activity": {"timestamp": [true], "bpm": [60]}"#, "data.activity.timestamp"),
            (r#""activity": {"timestamp": {"a": 1}, "bpm": [60]}"#, "data.activity.timestamp"),
            (r#""activity": {"bpm": [60]}"#, "data.activity.timestamp"),
            (r#""activity": {"timestamp": [1], "timestamp": [1], "bpm": [60]}"#, "data.activity.timestamp"),
            (r#""activity": {"timestamp": [1], "bpm": [60], "bpm": [61]}"#, "data.activity.bpm"),
            (r#""activity": {"timestamp": [1], "pulse": [60]}"#, "data.activity.pulse"),
            (r#""activity": [{"timestamp": 1, "BPM": 60}]"#, "data.activity.BPM"),
            (r#""heart-rate": {"timestamp": [1], "bpm": [60]}"#, "data.heart-rate"),
            (r#""": {}"#, "data."),
            (r#""temperature": {}"#, "data.temperature"),
            (r#""ppg1": [{"start": 1, "rate_hz": 25, "ppg": 5}]"#, "data.ppg1.start"),
            (r#""ppg1": [{"start": 1, "rate_hz": 0, "ppg": [5]}]"#, "data.ppg1.rate_hz"),
            (r#""ppg1": [{"start": 1, "rate_hz": -25, "ppg": [5]}]"#, "data.ppg1.rate_hz"),
            (r#""ppg1": [{"start": 1, "rate_hz": "25", "ppg": [5]}]"#, "data.ppg1.rate_hz"),
            (r#""tests": [{"timestamp": 1, "test_type": 5, "value": 1}]"#, "data.tests.test_type"),
        ];
        for (rest, place) in cases {
            let body = app.refused(rest, &plain(with_good_row(rest)), 422, "invalid").await;
            let places: Vec<&String> = body["errors"].as_object().unwrap().keys().collect();
            assert_eq!(places, [place], "{rest}");
        }
        let wholes = [
            ("[]", "body"),
            ("7", "body"),
            ("null", "body"),
            ("{}", "data"),
            (r#"{"data": []}"#, "data"),
            (r#"{"data": 7}"#, "data"),
            (r#"{"data": {"activity": 7}}"#, "data.activity"),
            (r#"{"data": {"activity": [7]}}"#, "data.activity"),
            (r#"{"data": {}, "patient": "x"}"#, "patient"),
            (r#"{"data": {}, "time_zone": 7}"#, "time_zone"),
            (r#"{"data": {}, "sync_id": {}}"#, "sync_id"),
            (r#"{"data": {}, "sync_id": ""}"#, "sync_id"),
            (r#"{"data": {}, "device": "x"}"#, "device"),
            (r#"{"data": {}, "device": {"serial_number": "x", "colour": "red"}}"#, "device"),
            (r#"{"data": {}, "device": {"serial_number": ""}}"#, "device.serial_number"),
            (r#"{"data": {}, "device": {"serial_number": "x", "battery_level": 101}}"#, "device.battery_level"),
        ];
        for (text, place) in wholes {
            let body = app.refused(text, &plain(text), 422, "invalid").await;
            let places: Vec<&String> = body["errors"].as_object().unwrap().keys().collect();
            assert_eq!(places, [place], "{text}");
        }
        for zone in
            ["", "Mars/Olympus", "europe", "../../etc/passwd", "+01:00", "Europe/Zurich\u{0}", &"x".repeat(5000)]
        {
            let rows = json!({"timestamp": [NOW_MS], "bpm": [60]});
            let body = json!({"time_zone": zone, "data": {"activity": rows}});
            let body = app.refused(zone, &plain(body.to_string()), 422, "invalid").await;
            assert!(body["errors"]["time_zone"].is_array(), "{zone}: {body}");
        }
    })
    .await;
}

#[tokio::test]
#[allow(clippy::disallowed_methods)] // the service under test goes by the clock of the machine
async fn a_bad_row_is_rejected_and_named() {
    with_app(async |app| {
        let day_ms = 86_400_000;
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let rows = json!([
            {"timestamp": 946_684_799_999_i64, "bpm": 60},
            {"timestamp": 0, "bpm": 60},
            {"timestamp": -1, "bpm": 60},
            {"timestamp": now_ms + day_ms + 60_000, "bpm": 60},
            {"timestamp": 9_999_999_999_999_i64, "bpm": 60},
            {"timestamp": i64::MAX, "bpm": 60},
            {"timestamp": u64::MAX, "bpm": 60},
            {"timestamp": i64::MIN, "bpm": 60},
            {"timestamp": 1e300, "bpm": 60},
            {"timestamp": -1e300, "bpm": 60},
            {"timestamp": null, "bpm": 60},
            {"timestamp": NOW_MS, "bpm": 256},
            {"timestamp": NOW_MS, "bpm": -1},
            {"timestamp": NOW_MS, "bpm": 1e300},
            {"timestamp": NOW_MS, "bpm": u64::MAX},
            {"timestamp": NOW_MS, "spo2": 100.1},
            {"timestamp": NOW_MS, "core_temp": 98.6},
            {"timestamp": NOW_MS, "hta": "x".repeat(33)},
        ]);
        let columns = [["timestamp"; 11].to_vec(), ["bpm"; 4].to_vec(), vec!["spo2", "core_temp", "hta"]].concat();
        rejected(app, "activity", &rows, &columns).await;

        let tests = json!([
            {"timestamp": NOW_MS, "test_type": "temperature", "value": 98.6, "unit": "°F"},
            {"timestamp": NOW_MS, "test_type": "temperature", "value": 98.6},
            {"timestamp": NOW_MS, "test_type": "temperature", "value": null},
            {"timestamp": NOW_MS, "test_type": "mood", "value": 1},
            {"timestamp": NOW_MS, "value": 1},
            {"timestamp": NOW_MS, "test_type": "other", "value": 1, "note": "x".repeat(1001)},
        ]);
        rejected(app, "tests", &tests, &["unit", "value", "value", "test_type", "test_type", "note"]).await;

        // Numbers that no f64 holds.
        let digits = "9".repeat(400);
        for number in [&digits[..], "1e400", "-1e400"] {
            let text = format!(r#"{{"data": {{"activity": {{"timestamp": [{NOW_MS}], "bpm": [{number}]}}}}}}"#);
            let (status, body) = app.send(&plain(text)).await;
            assert_eq!((status, &body["types"]["activity"]["rejected"]), (200, &json!(1)), "{number}: {body}");
        }
    })
    .await;
}

async fn rejected(app: &App, data_type: &str, rows: &Value, columns: &[&str]) {
    let (status, body) = app.send(&plain(json!({"data": {data_type: rows}}).to_string())).await;
    assert_eq!(status, 200, "{body}");
    let counts = &body["types"][data_type];
    assert_eq!((&counts["stored"], &counts["rejected"]), (&json!(0), &json!(columns.len())), "{counts}");
    let named: Vec<(u64, &str)> = counts["errors"].as_array().unwrap().iter().map(row_and_column).collect();
    let expected: Vec<(u64, &str)> = columns.iter().enumerate().map(|(row, column)| (row as u64, *column)).collect();
    assert_eq!(named, expected);
}

fn row_and_column(error: &Value) -> (u64, &str) {
    assert!(error["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{error}");
    (error["index"].as_u64().unwrap(), error["column"].as_str().unwrap())
}

#[tokio::test]
async fn cut_compression_and_bombs_are_distinguished() {
    with_app(async |app| {
        let good = with_good_row(r#""activity": {"timestamp": [1763600000000], "bpm": [61]}"#);
        let (gzip, zstd) = (gzip(good.as_bytes()), zstd::encode_all(good.as_bytes(), 3).unwrap());
        for (encoding, whole) in [("gzip", &gzip), ("zstd", &zstd)] {
            for length in [0, 1, 5, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
                let what = format!("{encoding} cut to {length}");
                app.refused(&what, &packed(encoding, whole[..length].to_vec()), 400, "malformed_body").await;
            }
            let mut damaged = whole.clone();
            let middle = damaged.len() / 2;
            damaged[middle] ^= 0x55;
            app.refused("damaged", &packed(encoding, damaged), 400, "malformed_body").await;
            app.refused("not compressed", &packed(encoding, good.clone().into_bytes()), 400, "malformed_body").await;
            let (status, _) = app.send(&Upload { path: SYNC, ..packed("", whole.clone()) }).await;
            assert_eq!(status, 400, "compressed without saying so");
        }
        // Expanded, these would be a thousand times the limit.
        let zeros = vec![b' '; 64 << 20];
        let bombs = [("gzip", self::gzip(&zeros)), ("zstd", zstd::encode_all(&zeros[..], 3).unwrap())];
        for (encoding, bomb) in bombs {
            assert!(bomb.len() < 1 << 20, "{encoding}: {}", bomb.len());
            app.refused("a bomb", &packed(encoding, bomb), 413, "too_large").await;
        }
        app.refused("a large body", &packed("", vec![b' '; (1 << 20) + 1]), 413, "too_large").await;
        for encoding in ["br", "deflate", "gzip, gzip", "nonsense"] {
            app.refused(encoding, &packed(encoding, gzip.clone()), 415, "unsupported_encoding").await;
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "", ARROW, "application/jsonx"] {
            let upload = Upload { kind, ..plain(good.clone()) };
            app.refused(kind, &upload, 415, "unsupported_media_type").await;
        }
    })
    .await;
}

#[tokio::test]
async fn arrow_streams_are_held_to_the_same() {
    const PATH: &str = "/health/v1/sync/activity";
    with_app(async |app| {
        let stream = |columns: Vec<(&str, ArrayRef)>| stream(columns);
        let times: ArrayRef = Arc::new(Int64Array::from(vec![NOW_MS, NOW_MS + 1]));
        let rates: ArrayRef = Arc::new(Float64Array::from(vec![61.0, 62.0]));
        let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let good = stream(vec![("timestamp", times.clone()), ("bpm", rates.clone())]);

        let mut garbage = vec![("nothing", Vec::new()), ("text", b"timestamp,bpm\n1,2\n".to_vec())];
        garbage.push(("ones", vec![0xff; 4096]));
        garbage.push(("zeros", vec![0; 3]));
        garbage.push(("a cut schema", good[..40].to_vec()));
        garbage.push(("a cut batch", good[..good.len() - 40].to_vec()));
        for (what, bytes) in garbage {
            app.refused(what, &arrow(PATH, bytes), 400, "malformed_body").await;
        }
        let faults = [
            (vec![("bpm", rates.clone())], "data.activity.timestamp"),
            (vec![("timestamp", times.clone()), ("pulse", rates.clone())], "data.activity.pulse"),
            (vec![("timestamp", times.clone()), ("bpm", names.clone())], "data.activity.bpm"),
            (vec![("timestamp", names.clone()), ("bpm", rates.clone())], "data.activity.timestamp"),
        ];
        for (columns, place) in faults {
            let body = app.refused(place, &arrow(PATH, stream(columns)), 422, "invalid").await;
            assert!(body["errors"][place].is_array(), "{place}: {body}");
        }
        let zone = "/health/v1/sync/activity?time_zone=Mars/Olympus";
        let body = app.refused("zone", &arrow(zone, good.clone()), 422, "invalid").await;
        assert!(body["errors"]["time_zone"].is_array(), "{body}");
        app.refused("type", &arrow("/health/v1/sync/heart-rate", good.clone()), 404, "data_type_not_found").await;
        app.refused("kind", &Upload { kind: JSON, ..arrow(PATH, good) }, 415, "unsupported_media_type").await;

        let values: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY, -1.0, 60.0, 60.0]));
        let times: ArrayRef = Arc::new(Int64Array::from(vec![NOW_MS, NOW_MS, NOW_MS, i64::MAX, i64::MIN]));
        let (status, body) = app.send(&arrow(PATH, stream(vec![("timestamp", times), ("bpm", values)]))).await;
        assert_eq!(status, 200, "{body}");
        let counts = &body["types"]["activity"];
        assert_eq!((&counts["stored"], &counts["rejected"]), (&json!(0), &json!(5)), "{counts}");
        let named: Vec<(u64, &str)> = counts["errors"].as_array().unwrap().iter().map(row_and_column).collect();
        assert_eq!(named, [(0, "bpm"), (1, "bpm"), (2, "bpm"), (3, "timestamp"), (4, "timestamp")]);
    })
    .await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}
