//! Uploads: minute rows, a day of seconds, waveforms.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Connection, json as json_request, percentile_ms, request};
use crate::server::{Sender, Server};

/// Noon of today, ms.
pub fn today_ms() -> i64 {
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_millis() as i64;
    now / 86_400_000 * 86_400_000
}

/// Sends requests over some connections; answers the time that all took and each one's.
pub fn send_all(server: &Server, requests: &[Vec<u8>], connections: usize) -> (Duration, Vec<Duration>) {
    let queue = Mutex::new(requests.iter());
    let times = Mutex::new(Vec::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let mut connection = Connection::open(server.address);
                loop {
                    let Some(next) = queue.lock().expect("the queue").next() else { return };
                    let answer = connection.send(next);
                    assert_ok(&answer);
                    times.lock().expect("the times").push(answer.whole);
                }
            });
        }
    });
    (started.elapsed(), times.into_inner().expect("the times"))
}

pub fn assert_ok(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

fn sync(sender: &Sender, data: &Value) -> Vec<u8> {
    json_request("POST", "/health/v1/sync", Some(&sender.token), &json!({"time_zone": "UTC", "data": data}))
}

/// 100 patients, 1,440 one-minute rows of seven columns, one POST each.
pub fn rows(server: &Server) {
    let start = today_ms() - 86_400_000;
    let body = |patient: usize| {
        let column = |base: i64, spread: i64| {
            (0..1440).map(|row: i64| base + (row * 7 + patient as i64 * 13) % spread).collect::<Vec<_>>()
        };
        json!({"activity": {
            "timestamp": (0..1440).map(|row| start + row * 60_000).collect::<Vec<i64>>(),
            "bpm": column(55, 60), "bpm_q": column(2, 3), "last_steps": column(0, 90), "respiration_rate": column(11, 9),
            "spo2": column(94, 6), "wearing": column(1, 4), "battery": column(20, 80)}})
    };
    let senders = server.senders(100);
    let requests: Vec<Vec<u8>> =
        senders.iter().enumerate().map(|(number, sender)| sync(sender, &body(number))).collect();
    let (took, mut each) = send_all(server, &requests, 8);
    let values = 100.0 * 1440.0 * 7.0 / took.as_secs_f64();
    println!("  minute rows: {values:.0} values/s durable, p99 {:.0} ms", percentile_ms(&mut each, 99));
}

/// One POST of 86,400 heart-rate rows; then its day is read.
pub fn day(server: &Server) {
    let sender = &server.senders(1)[0];
    let mut answers = Vec::new();
    let mut slots = Vec::new();
    for day in 1..=7 {
        let start = today_ms() - day * 86_400_000;
        let data = json!({"activity": {"timestamp": (0..86_400).map(|second| start + second * 1000).collect::<Vec<i64>>(),
            "bpm": (0..86_400).map(|second| 55 + second * 31 % 50).collect::<Vec<i64>>()}});
        let bytes = sync(sender, &data);
        let mut connection = Connection::open(server.address);
        let sent = Instant::now();
        let answer = connection.send(&bytes);
        assert_ok(&answer);
        answers.push(answer.whole);
        let read = "/health/v2/raw-metrics/activity?from_date=";
        let date = jiff::Timestamp::from_millisecond(start).expect("a time").strftime("%Y-%m-%d").to_string();
        let path = format!("{read}{date}T00:00:00Z&to_date={date}T23:59:59Z");
        let bearer = format!("Bearer {}", sender.token);
        let (raw, bytes) = connection.drain(&request("GET", &path, &[("authorization", &bearer)], b""));
        assert_ok(&raw);
        assert!(bytes > 86_400 * 20, "the day is readable at once");
        let summary = server.integration_request(
            "GET",
            &format!("/v1/patients/{}/summary/{date}?include_slots=1&types=heart_rate", sender.uuid),
            &Value::Null,
        );
        loop {
            let answer = connection.send(&summary);
            let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
            if body["heart_rate"]["slots"].as_array().is_some_and(|slots| slots.len() == 288) {
                slots.push(sent.elapsed());
                break;
            }
            assert!(sent.elapsed() < Duration::from_secs(20), "the slots came");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    println!(
        "  a day of seconds: answered in {:.0} ms (median), all slots {:.0} ms after sending",
        percentile_ms(&mut answers, 50),
        percentile_ms(&mut slots, 50)
    );
}

/// Hours that are sent of each form: enough for CPU time, which is counted in hundredths of a second, to be seen.
const HOURS: i64 = 10;

/// ppg2, three colours at 128 Hz, columnar JSON in blocks of 30 s and of 5 min; then the same as Arrow. A phone that was
/// away sends an hour at once, one that is there five minutes.
pub fn waveforms(server: &Server) {
    let senders = server.senders(5);
    for (sender, (seconds, minutes)) in senders.iter().zip([(30, 60), (300, 60), (300, 5)]) {
        let posts = HOURS * 60 / minutes;
        let requests: Vec<Vec<u8>> =
            (0..posts).map(|post| sync(sender, &blocks_of(seconds, minutes, post * minutes))).collect();
        let name = format!("JSON, blocks of {seconds} s, {minutes} min at once");
        measure(server, &name, &requests, HOURS * 3600 * 128 * 3);
    }
    for (sender, minutes) in senders[3..].iter().zip([60, 15]) {
        let posts = HOURS * 2 * 60 / minutes;
        let requests: Vec<Vec<u8>> = (0..posts).map(|post| arrow(sender, minutes, post * minutes)).collect();
        measure(server, &format!("Arrow, one channel, {minutes} min at once"), &requests, HOURS * 2 * 3600 * 128);
    }
}

/// Some minutes of three colours, from a minute on.
fn blocks_of(seconds: i64, minutes: i64, from_minute: i64) -> Value {
    let start = today_ms() - 3_600_000 * 20 + from_minute * 60_000;
    let mut blocks = Vec::new();
    for block in 0..minutes * 60 / seconds {
        for (metric, base) in [("0x7e", 30_000), ("0x7c", 22_000), ("0x7b", 41_000)] {
            let first = block * seconds * 128;
            let value: Vec<i64> = (first..first + seconds * 128).map(|n| base + from_minute + signal(n)).collect();
            blocks.push(json!({"start": start + block * seconds * 1000, "rate_hz": 128, "metric_id": metric,
                "led_pd_pos": 6, "value": value}));
        }
    }
    json!({ "ppg2": blocks })
}

fn signal(n: i64) -> i64 {
    let beat = (n % 110 - 55).abs() * 40;
    let noise = (n.wrapping_mul(2_862_933_555_777_941_757) >> 40) & 63;
    beat + noise
}

fn measure(server: &Server, name: &str, requests: &[Vec<u8>], samples: i64) {
    let samples = samples as f64;
    let before = server.cpu_s();
    let (took, _) = send_all(server, requests, 1);
    let cpu = server.cpu_s() - before;
    println!(
        "  {name}: {:.1} M samples per CPU second, {:.1} M per second",
        samples / cpu / 1e6,
        samples / took.as_secs_f64() / 1e6
    );
}

/// Some minutes of one colour, from a minute on.
fn arrow(sender: &Sender, minutes: i64, from_minute: i64) -> Vec<u8> {
    use arrow_array::{RecordBatch, StringArray, UInt16Array};
    use std::sync::Arc;
    let start = today_ms() - 3_600_000 * 24 + from_minute * 60_000;
    let rows = minutes * 60 * 128;
    let times: Vec<i64> = (0..rows).map(|n| start * 1000 + (n * 1_000_000 + 64) / 128).collect();
    let times = arrow_array::TimestampMicrosecondArray::from(times);
    let values = UInt16Array::from_iter_values((0..rows).map(|n| (30_000 + signal(n)) as u16));
    let metric = arrow_array::DictionaryArray::<arrow_array::types::Int32Type>::new(
        arrow_array::Int32Array::from(vec![0; rows as usize]),
        Arc::new(StringArray::from(vec!["0x7e"])),
    );
    let batch = RecordBatch::try_from_iter([
        ("timestamp", Arc::new(times) as arrow_array::ArrayRef),
        ("metric_id", Arc::new(metric)),
        ("value", Arc::new(values)),
    ])
    .expect("a batch");
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a stream");
    writer.write(&batch).expect("a stream");
    let body = writer.into_inner().expect("a stream");
    let bearer = format!("Bearer {}", sender.token);
    let headers = [("content-type", "application/vnd.apache.arrow.stream"), ("authorization", bearer.as_str())];
    request("POST", "/health/v1/sync/ppg2?time_zone=UTC", &headers, &body)
}
