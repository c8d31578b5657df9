//! Uploads at their edges: what rejects a row, what refuses a sync, and when a sync id was used before.

#[path = "uploads/columns.rs"]
mod columns;
mod common;
#[path = "uploads/encodings.rs"]
mod encodings;
#[path = "uploads/raw_ranges.rs"]
mod raw_ranges;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use axum::body::Body;
use axum::http::Request;
use common::{Answer, Enrolled, START_MS, Story};
use platform::seal::Until;
use serde_json::{Value, json};
use store::Role;

const ID: &str = "7f1f1c0a-5f0e-4b8e-9d5d-0a2f6c1e9b11";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const T: i64 = START_MS - 600_000;

struct App {
    story: Story,
    patient: Enrolled,
}

impl App {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        App { story, patient }
    }

    async fn send_as(&self, path: &str, kind: &str, encoding: &str, bytes: Vec<u8>) -> Answer {
        let mut request = Request::post(format!("/health/v1/sync{path}"))
            .header("authorization", format!("Bearer {}", self.patient.health_token));
        for (name, value) in [("content-type", kind), ("content-encoding", encoding)] {
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        self.story.send(request.body(Body::from(bytes)).expect("a request")).await
    }

    async fn send(&self, text: &str) -> Answer {
        self.send_as("", "application/json", "", text.as_bytes().to_vec()).await
    }

    /// Counts of a type as `[stored, duplicate, replaced, rejected]`.
    async fn counts(&self, data_type: &str, text: &str) -> [u64; 4] {
        let answer = self.send(text).await.ok();
        let counts = &answer["types"][data_type];
        ["stored", "duplicate", "replaced", "rejected"].map(|name| counts[name].as_u64().expect("a count"))
    }
}

fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a stream");
    writer.write(&batch).expect("written");
    writer.into_inner().expect("ended")
}

fn times(times_ms: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(times_ms.to_vec()))
}

fn rows(rows: &str) -> String {
    format!(r#"{{"data": {{"activity": [{rows}]}}}}"#)
}

#[tokio::test]
async fn a_time_that_is_none_rejects_its_row() {
    let app = App::begin().await;
    let good = |time: i64| format!(r#"{{"timestamp": {time}, "bpm": 60}}"#);
    let error = json!({"index": 1, "column": "timestamp", "reason": "must be milliseconds since 1970 or ISO 8601 with an offset"});
    for noon in [r#""noon""#, r#""2025-11-20T12:00:00""#, "true"] {
        let row = format!(r#"{{"timestamp": {noon}, "bpm": 61}}"#);
        let answer = app.send(&rows(&[good(T), row, good(T + 1000)].join(","))).await.ok();
        let counts = &answer["types"]["activity"];
        assert_eq!((&counts["rejected"], &counts["errors"]), (&json!(1), &json!([error])), "{answer}");
    }
    let column = json!({"data": {"activity": {"timestamp": [T, "noon"], "bpm": [60, 61]}}});
    let answer = app.send(&column.to_string()).await.ok();
    assert_eq!(answer["types"]["activity"]["errors"], json!([error]));
    let column = json!({"data": {"activity": {"timestamp": [T, true], "bpm": [60, 61]}}});
    assert_eq!(app.send(&column.to_string()).await.error(), (422, "invalid"), "a column of flags");
    let single = json!({"data": {"activity": {"timestamp": "noon", "bpm": 60}}});
    let answer = app.send(&single.to_string()).await;
    assert_eq!(answer.body["errors"]["data.activity.timestamp"], json!([error["reason"]]));
}

#[tokio::test]
async fn times_in_iso_8601_are_the_same_as_in_milliseconds() {
    let app = App::begin().await;
    let times = json!(["2025-11-20T00:43:20Z", "2025-11-20T01:43:20.001+01:00", T + 2]);
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": [60, 61, 62]}}});
    assert_eq!(app.counts("activity", &body.to_string()).await, [3, 0, 0, 0]);
    let body = json!({"data": {"activity": {"timestamp": [T, T + 1, T + 2], "bpm": [60, 61, 62]}}});
    assert_eq!(app.counts("activity", &body.to_string()).await, [0, 3, 0, 0]);
    let blocks = |start: Value| json!({"data": {"ppg1": [{"start": start, "rate_hz": 25, "ppg": [1, 2]}]}}).to_string();
    assert_eq!(app.counts("ppg1", &blocks(json!("2025-11-20T00:43:20.0005Z"))).await, [2, 0, 0, 0]);
    assert_eq!(app.counts("ppg1", &blocks(json!(T as f64 + 0.5))).await, [0, 2, 0, 0]);
}

#[tokio::test]
async fn a_rate_as_a_program_writes_it_is_taken() {
    let app = App::begin().await;
    for (rate, second) in [("33.333333333333336", 30), ("142.85714285714286", 7), ("1e-300", 0)] {
        let values = if second > 0 { "1, 2" } else { "1" };
        let text = format!(r#"{{"data": {{"ppg1": [{{"start": {T}, "rate_hz": {rate}, "ppg": [{values}]}}]}}}}"#);
        let counts = app.counts("ppg1", &text).await;
        assert_eq!(counts[3], 0, "{rate}: {counts:?}");
        assert!(counts[0] + counts[1] + counts[2] == if second > 0 { 2 } else { 1 }, "{rate}: {counts:?}");
    }
    let text = format!(r#"{{"data": {{"ppg1": [{{"start": {T}, "rate_hz": 100000.1, "ppg": [1]}}]}}}}"#);
    assert_eq!(app.send(&text).await.error(), (422, "invalid"));
}

#[tokio::test]
async fn a_number_that_no_f64_holds_rejects_its_row() {
    let app = App::begin().await;
    let digits = "9".repeat(400);
    let later = T + 1000;
    for number in ["1e400", "-1e400", &digits] {
        let good = format!(r#"{{"timestamp": {T}, "bpm": 60}}"#);
        let value = rows(&format!(r#"{good}, {{"timestamp": {later}, "bpm": {number}}}"#));
        let time = rows(&format!(r#"{good}, {{"timestamp": {number}, "bpm": 60}}"#));
        for (text, column) in [(value, "bpm"), (time, "timestamp")] {
            let answer = app.send(&text).await.ok();
            let counts = &answer["types"]["activity"];
            assert_eq!(counts["rejected"], 1, "{number}: {counts}");
            assert_eq!((&counts["errors"][0]["index"], &counts["errors"][0]["column"]), (&json!(1), &json!(column)));
        }
        let columns =
            format!(r#"{{"data": {{"temperature": {{"timestamp": [{T}, {later}], "temp_sk1": [33.1, {number}]}}}}}}"#);
        assert_eq!(app.counts("temperature", &columns).await[3], 1, "{number}");
    }
    // Where the syntax is wrong as well, the whole body still is.
    assert_eq!(app.send(&rows(r#"{"timestamp": 1e400, "bpm": NaN}"#)).await.error(), (400, "malformed_body"));
}

#[tokio::test]
async fn a_row_without_a_time_is_rejected_and_the_others_are_stored() {
    let app = App::begin().await;
    let text = rows(&format!(r#"{{"bpm": 60}}, {{"timestamp": {T}, "bpm": 61}}, {{"timestamp": null, "bpm": 62}}"#));
    let answer = app.send(&text).await.ok();
    let no_time = |index: u64| json!({"index": index, "column": "timestamp", "reason": "there is no time"});
    let counts = json!({"stored": 1, "duplicate": 0, "replaced": 0, "columns_removed": 0, "rejected": 2, "errors": [no_time(0), no_time(2)]});
    assert_eq!(answer["types"]["activity"], counts);
}

#[tokio::test]
async fn sync_that_is_validated_is_answered_like_one_and_changes_nothing() {
    let app = App::begin().await;
    let json = |bpm: i64, spo2: Value| {
        let columns = json!({"timestamp": [T, T + 1000], "bpm": [bpm, 999], "spo2": spo2});
        json!({"sync_id": ID, "device": {"serial_number": "PB-7", "battery_level": 50}, "data": {"activity": columns}})
            .to_string()
            .into_bytes()
    };
    let arrow = stream(vec![("timestamp", times(&[T])), ("bpm", Arc::new(Int64Array::from(vec![62])))]);
    let path = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    let state = async || {
        let rows = app.story.get_as(path, &app.patient.health_token).await.ok();
        let (health, patient) = (app.story.platform.core.health(), store::PatientId::new(app.patient.uuid.as_str()));
        let events = health.events().after(&patient, 0, 99).await.expect("events");
        (rows, health.devices(&patient).await.expect("devices"), events)
    };
    let nothing = state().await;
    let validated = app.send_as("?validate=1", "application/json", "", json(60, json!(97))).await.ok();
    assert_eq!(state().await, nothing);
    assert_eq!((&validated["sync_id"], &validated["validated"]), (&json!(ID), &json!(true)));
    let stored = app.send_as("?validate=0", "application/json", "", json(60, json!(97))).await.ok();
    assert_eq!((&stored["types"], stored.get("validated")), (&validated["types"], None));
    assert_eq!(stored["types"]["activity"]["rejected"], 1);

    let once = state().await;
    let other = app.send_as("?validate=true", "application/json", "", json(61, json!(97))).await;
    assert_eq!(other.error(), (409, "sync_id_reused"));
    let validated = app.send_as("/activity?validate=1", ARROW, "", arrow.clone()).await.ok();
    assert_eq!(state().await, once);
    let counts = &validated["types"]["activity"];
    assert_eq!((&counts["replaced"], &counts["columns_removed"]), (&json!(1), &json!(1)), "{counts}");
    let stored = app.send_as("/activity", ARROW, "", arrow).await.ok();
    assert_eq!(&stored["types"]["activity"], counts);
    let unclear = app.send_as("?validate=yes", "application/json", "", json(60, json!(97))).await;
    assert_eq!(unclear.error(), (400, "malformed_parameter"));
}

#[tokio::test]
async fn a_nul_character_is_reported_with_its_place() {
    let app = App::begin().await;
    let data = json!({"activity": {"timestamp": [T], "bpm": [60]}});
    for (field, body) in [
        ("sync_id", json!({"sync_id": "a\0b", "data": data})),
        ("time_zone", json!({"time_zone": "UTC\0", "data": data})),
        ("device.serial_number", json!({"device": {"serial_number": "\0"}, "data": data})),
        ("device.device_type", json!({"device": {"serial_number": "x", "device_type": "\0"}, "data": data})),
        ("device.firmware_version", json!({"device": {"serial_number": "x", "firmware_version": "\0"}, "data": data})),
    ] {
        let answer = app.send(&body.to_string()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{field}");
        assert!(answer.body["errors"][field].is_array(), "{field}: {}", answer.body);
    }
    let reason = json!([{"index": 0, "column": "note", "reason": "text with a NUL character"}]);
    let spot = |note: &str| json!({"timestamp": T, "test_type": "other", "value": 1, "note": note});
    let answer = app.send(&json!({"data": {"tests": [spot("a\0b"), spot("sound")]}}).to_string()).await.ok();
    assert_eq!((&answer["types"]["tests"]["stored"], &answer["types"]["tests"]["errors"]), (&json!(1), &reason));

    let notes: ArrayRef = Arc::new(StringArray::from(vec!["a\0b", "sound"]));
    let kinds: ArrayRef = Arc::new(StringArray::from(vec!["other", "other"]));
    let columns = vec![("timestamp", times(&[T, T])), ("test_type", kinds), ("value", times(&[1, 1])), ("note", notes)];
    let answer = app.send_as("/tests", ARROW, "", stream(columns)).await.ok();
    assert_eq!((&answer["types"]["tests"]["duplicate"], &answer["types"]["tests"]["errors"]), (&json!(1), &reason));
    let sound = stream(vec![("timestamp", times(&[T])), ("bpm", times(&[60]))]);
    let answer = app.send_as("/activity?serial_number=%00", ARROW, "", sound).await;
    assert_eq!(answer.error(), (422, "invalid"));
    assert!(answer.body["errors"]["device.serial_number"].is_array(), "{}", answer.body);
}

#[tokio::test]
async fn a_sync_id_comes_again_with_the_same_content_however_it_is_written() {
    let app = App::begin().await;
    let (t0, t1) = (T, T + 60_000);
    let with = |rest: &str| format!(r#"{{"sync_id": "{ID}", "data": {{{rest}}}}}"#);
    let columns = format!(r#""temperature": {{"timestamp": [{t0}, {t1}], "temp_sk1": [33.1, 33.2], "temp_sk2": 34}}"#);
    let first = app.send(&with(&columns)).await.ok();
    assert_eq!((&first["sync_id"], &first["types"]["temperature"]["stored"]), (&json!(ID), &json!(2)));

    let spaced = with(&columns).replace(", ", " ,\n\t").replace("33.1 ", "33.10 ").replace("34}", "34.000}");
    let turned = format!(
        r#"{{"data": {{"temperature": {{"temp_sk2": 34, "temp_sk1": [33.1, 33.2], "timestamp": [{t0}, {t1}]}}}}, "sync_id": "{}"}}"#,
        ID.to_uppercase()
    );
    let as_rows = with(&format!(
        r#""temperature": [{{"timestamp": {t0}, "temp_sk1": 33.1, "temp_sk2": 34, "temp_amb": null}}, {{"temp_sk2": 34.0, "timestamp": {t1}, "temp_sk1": 33.204}}]"#
    ));
    let as_block = with(&format!(
        r#""temperature": [{{"start": {t0}, "rate_hz": 0.016666666667, "temp_sk1": [33.1], "temp_sk2": 34}}, {{"timestamp": {t1}, "temp_sk1": 33.2, "temp_sk2": 34}}]"#
    ));
    let with_device =
        with(&format!(r#"{columns}}}, "device": {{"serial_number": "A1", "battery_level": 12}}, "time_zone": null"#))
            .replace("null}}", "null}");
    for text in [&spaced, &turned, &as_rows, &as_block, &with_device] {
        let answer = app.send(text).await.ok();
        assert_eq!(answer["types"]["temperature"]["duplicate"], 2, "{text}: {answer}");
    }
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, with(&columns).as_bytes()).expect("written");
        encoder.finish().expect("ended")
    };
    assert_eq!(app.send_as("", "application/json", "gzip", gzip).await.status, 200);
    let sk1: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![33.2, 33.1]));
    let arrow = stream(vec![("timestamp", times(&[t1, t0])), ("temp_sk1", sk1), ("temp_sk2", times(&[34, 34]))]);
    let answer = app.send_as(&format!("/temperature?sync_id={ID}"), ARROW, "", arrow).await.ok();
    assert_eq!(answer["types"]["temperature"]["duplicate"], 2, "{answer}");

    for other in [
        columns.replace("33.2", "33.3"),
        columns.replace("34", "35"),
        columns.replace(&t1.to_string(), &(t1 + 1).to_string()),
        columns.replace("temp_sk2", "temp_amb"),
        format!(r#""temperature": {{"timestamp": [{t0}], "temp_sk1": [33.1], "temp_sk2": 34}}"#),
        format!(r#"{columns}, "sleep": {{"timestamp": [{t0}], "sleep_state": [1]}}"#),
    ] {
        assert_eq!(app.send(&with(&other)).await.error(), (409, "sync_id_reused"), "{other}");
    }
    let elsewhere = with(&columns).replacen('{', r#"{"time_zone": "Asia/Tokyo", "#, 1);
    assert_eq!(app.send(&elsewhere).await.error(), (409, "sync_id_reused"));
    // A row that is rejected now and would not be later is the same content.
    let ahead = START_MS + 86_400_000 + 1000;
    let id = "00000000-0000-4000-8000-00000000000A";
    let text = format!(r#"{{"sync_id": "{id}", "data": {{"activity": [{{"timestamp": {ahead}, "bpm": 60}}]}}}}"#);
    let answer = app.send(&text).await.ok();
    assert_eq!((&answer["sync_id"], &answer["types"]["activity"]["rejected"]), (&json!(id), &json!(1)));
    app.story.pass_ms(2000);
    assert_eq!(app.counts("activity", &text).await, [1, 0, 0, 0]);
}

#[tokio::test]
async fn a_sync_id_is_a_uuid() {
    let app = App::begin().await;
    let data = json!({"activity": {"timestamp": [T], "bpm": [60]}});
    let plain = ID.replace('-', "");
    let braced = format!("{{{ID}}}");
    for id in
        [json!("morning"), json!(""), json!(&plain), json!(braced), json!(format!("{ID} ")), json!(5), json!([ID])]
    {
        let answer = app.send(&json!({"sync_id": id, "data": data}).to_string()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{id}");
        assert!(answer.body["errors"]["sync_id"].is_array(), "{id}: {}", answer.body);
    }
    let sound = stream(vec![("timestamp", times(&[T])), ("bpm", times(&[60]))]);
    for id in ["morning", &plain] {
        let answer = app.send_as(&format!("/activity?sync_id={id}"), ARROW, "", sound.clone()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{id}");
        assert!(answer.body["errors"]["sync_id"].is_array(), "{id}: {}", answer.body);
    }
    app.send(&json!({"sync_id": null, "data": data}).to_string()).await.ok();
}

#[tokio::test]
async fn copies_in_one_sync_count_as_if_they_came_one_by_one() {
    let app = App::begin().await;
    let text = |values: &[i32]| {
        let copies: Vec<String> =
            values.iter().map(|value| format!(r#"{{"timestamp": {T}, "bpm": {value}}}"#)).collect();
        rows(&copies.join(","))
    };
    assert_eq!(app.counts("activity", &text(&[70, 71, 70])).await, [1, 0, 2, 0]);
    assert_eq!(app.counts("activity", &text(&[71, 70])).await, [0, 0, 2, 0]);
    assert_eq!(app.counts("activity", &text(&[70, 71])).await, [0, 1, 1, 0]);
}

#[tokio::test]
async fn an_arrow_stream_is_spoken_of_as_one() {
    let app = App::begin().await;
    let answer = app.send_as("/activity", ARROW, "", b"{}".to_vec()).await;
    assert_eq!(answer.error(), (400, "malformed_body"));
    let message = answer.body["message"].as_str().expect("a message");
    assert!(message.starts_with("the body is not an Arrow stream: ") && !message.contains("JSON"), "{message}");
    let answer = app.send_as("/activity", "application/json", "", b"{}".to_vec()).await;
    assert_eq!(answer.error(), (415, "unsupported_media_type"));
    assert_eq!(answer.body["message"], format!("the Content-Type must be {ARROW}"));
    let answer = app.send_as("", ARROW, "", b"{}".to_vec()).await;
    assert_eq!(answer.body["message"], "the Content-Type must be application/json");
}

#[tokio::test]
async fn every_422_names_what_is_wrong_in_words_of_our_own() {
    let app = App::begin().await;
    for (text, place, message) in [
        ("[]", "body", "must be a JSON object"),
        ("7", "body", "must be a JSON object"),
        (r#"{"data": 7}"#, "data", "must be an object of data types"),
        (r#"{"data": {"activity": [7]}}"#, "data.activity", "must be an object under data.activity"),
        (r#"{"data": {}, "time_zone": 7}"#, "time_zone", "must be a text"),
        (r#"{"data": {}, "device": 7}"#, "device", "must be an object"),
        (r#"{"data": {}, "device": {}}"#, "device.serial_number", "is required"),
        (
            r#"{"data": {}, "device": {"serial_number": "x", "battery_level": 1.5}}"#,
            "device.battery_level",
            "must be an integer",
        ),
    ] {
        let answer = app.send(text).await;
        assert_eq!(answer.error(), (422, "invalid"), "{text}");
        assert_eq!(answer.body["errors"], json!({place: [message]}), "{text}");
    }
    let answer = app.send("{\"data\": nil}").await;
    assert_eq!(answer.error(), (400, "malformed_body"));
    assert_eq!(answer.body["message"], "the body is not JSON: line 1, column 11");
}

#[tokio::test]
async fn kinds_of_activity_that_there_are_not_reject_their_rows() {
    let app = App::begin().await;
    let kinds = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let times_ms: Vec<i64> = kinds.iter().map(|kind| T + kind).collect();
    let rejected = json!([
        {"index": 3, "column": "activity_type", "reason": "unknown code: must be 0 to 7 without 3 and 5"},
        {"index": 5, "column": "activity_type", "reason": "unknown code: must be 0 to 7 without 3 and 5"},
        {"index": 8, "column": "activity_type", "reason": "out of range: must be 0 to 7"},
    ]);
    let body = json!({"data": {"activity": {"timestamp": times_ms, "activity_type": kinds}}});
    assert_eq!(app.send(&body.to_string()).await.ok()["types"]["activity"]["errors"], rejected);
    let columns = vec![("timestamp", times(&times_ms)), ("activity_type", times(&kinds))];
    let answer = app.send_as("/activity", ARROW, "", stream(columns)).await.ok();
    assert_eq!(answer["types"]["activity"]["errors"], rejected);
}

#[tokio::test]
async fn what_is_read_can_be_turned_into_columns_and_sent_back() {
    let app = App::begin().await;
    let body = json!({"data": {"activity": {"timestamp": [T, T + 60_000], "bpm": [60, 61]}}});
    app.send(&body.to_string()).await.ok();
    let range = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    let path = format!("/health/v2/raw-metrics/activity?{range}");
    let read = app.story.get_as(&path, &app.patient.health_token).await.ok();
    let read = read.as_array().expect("rows");
    let mut columns = json!({});
    for name in read[0].as_object().expect("a row").keys() {
        columns[name] = read.iter().map(|row| row[name].clone()).collect::<Vec<Value>>().into();
    }
    assert!(columns["date"].is_array(), "{columns}");
    let answer = app.send(&json!({"data": {"activity": columns}}).to_string()).await.ok();
    assert_eq!(answer["types"]["activity"]["duplicate"], 2, "{answer}");
}

#[tokio::test]
async fn a_lost_object_keeps_nobody_else_from_being_sealed() {
    let App { story, patient } = App::begin().await;
    let key = story.key_of("b@example.org", Role::Researcher).await;
    let other = story.patient(&key, &story.group(&key).await, Value::Null).await;
    let row = |time_ms: i64| json!({"activity": {"timestamp": [time_ms], "bpm": [61]}});
    // A month earlier, so that the period that fails comes first.
    let lost_ms = T - 30 * 86_400_000;
    story.sync(&patient, row(lost_ms)).await;
    story.platform.upkeep.seal(Until::Now, |_| {}).await.expect("sealed");
    for object in story.platform.core.objects().listed("v1").await.expect("a list") {
        story.platform.core.objects().delete(&object.path).await.expect("deleted");
    }
    story.sync(&patient, row(lost_ms + 60_000)).await;
    story.sync(&other, row(T)).await;
    let mut segments = 0;
    let outcome = story.platform.upkeep.seal(Until::Now, |sealed| segments += sealed.segments).await;
    assert!(outcome.is_err(), "nobody heard of the lost object");
    assert_eq!(segments, 1);
}
