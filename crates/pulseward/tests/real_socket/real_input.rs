//! Recorded signals, in through `import` and out through raw-metrics, value for value: before sealing and after it, on
//! both engines.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;

use crate::forms::Form;
use crate::harness::{Patient, Researcher, Service, pulseward, store_command};
use crate::recordings::{Recording, Row};

const ZONE: &str = "Europe/Zurich";
const MINUTE_MS: i64 = 60_000;

#[tokio::test]
async fn recordings_come_back_value_for_value_from_files() {
    let data = tempdir().unwrap();
    there_and_back(data.path(), &[]).await;
}

#[tokio::test]
async fn recordings_come_back_value_for_value_from_postgresql() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let data = tempdir().unwrap();
    let (key, objects) = (data.path().join("key"), format!("file://{}", data.path().join("objects").display()));
    let databases = ["--users-db", &users.url, "--health-db", &health.url];
    let folders = ["--master-key-file", key.to_str().unwrap(), "--objects", &objects];
    there_and_back(data.path(), &[databases, folders].concat()).await;
}

async fn there_and_back(data: &Path, store: &[&str]) {
    let Some(folder) = testkit::real_data() else { return testkit::skip("the recorded data are not there") };
    let recordings = Recording::all(&folder);
    let service = Service::start_with(data, store);
    let researcher = Researcher::new_with(data, store, &service.url).await;
    let patient = researcher.enrol().await;
    let reader = Reader { http: reqwest::Client::new(), url: &service.url, patient: &patient };

    for (recording, (name, compress)) in recordings.iter().zip(NAMES) {
        let file = data.join(name);
        recording.write(&file);
        let rows = recording.rows.len();
        let sent = import(&service.url, &patient, recording.data_type, compress, &file);
        assert_eq!(sent, json!({"rows": rows, "stored": rows, "duplicate": 0, "rejected": 0}));
    }
    reader.compare(&recordings, [Form::Json, Form::Csv, Form::Arrow]).await;
    compare_counts(&researcher, &patient, &recordings).await;
    reader.give_back(&recordings[1], data).await;

    let sealed = store_command(data, &[&["seal", "--now"], store].concat());
    assert_eq!(sealed["rows"], recordings.iter().map(|recording| recording.rows.len()).sum::<usize>());
    // The walk lies in two days, each other signal in one day or month.
    assert_eq!(sealed["segments"], 5);
    reader.compare(&recordings, [Form::Json, Form::Csv, Form::Parquet]).await;
    compare_counts(&researcher, &patient, &recordings).await;

    // What is sealed is known when it comes again.
    reader.give_back(&recordings[1], data).await;
    let walk = recordings.last().unwrap();
    let again = import(&service.url, &patient, walk.data_type, "zstd", &data.join(NAMES[3].0));
    let rows = walk.rows.len();
    assert_eq!(again, json!({"rows": rows, "stored": 0, "duplicate": rows, "rejected": 0}));
}

/// File and compression of each recording on its way.
const NAMES: [(&str, &str); 4] =
    [("beats.csv.gz", "gzip"), ("ecg.csv", "zstd"), ("ppg.csv.gz", "none"), ("walk.csv", "gzip")];

fn import(url: &str, patient: &Patient, data_type: &str, compress: &str, file: &Path) -> Value {
    let options = ["--type", data_type, "--time-zone", ZONE, "--compress", compress, "--json"];
    let to = ["import", "--url", url, file.to_str().unwrap()];
    let output = pulseward(&[&to[..], &options].concat()).env("PULSEWARD_BEARER", &patient.token).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

struct Reader<'test> {
    http: reqwest::Client,
    url: &'test str,
    patient: &'test Patient,
}

impl Reader<'_> {
    /// Reads everything in each form, over as many windows as it takes, and compares.
    async fn compare(&self, recordings: &[Recording], forms: [Form; 3]) {
        for recording in recordings {
            for form in forms {
                let mut read = Vec::new();
                for (from_ms, to_ms) in windows(recording) {
                    let answer = self.window(recording.data_type, form, from_ms, to_ms).await;
                    if form == Form::Json {
                        check_dates(&answer);
                    }
                    read.extend(form.rows(answer, recording.columns));
                }
                let shown = |row: &Row| Row { time_us: form.shown_us(row.time_us), cells: row.cells.clone() };
                let sent: Vec<Row> = recording.rows.iter().map(shown).collect();
                let place = format!("{} as {form:?}", recording.data_type);
                assert_eq!(read.len(), sent.len(), "{place}");
                let first_other = read.iter().zip(&sent).find(|(read, sent)| read != sent);
                assert_eq!(first_other, None, "{place}");
            }
        }
    }

    /// Imports the CSV of a waveform that raw-metrics answers: its whole milliseconds represent the samples that are
    /// there already, to the microsecond.
    async fn give_back(&self, recording: &Recording, folder: &Path) {
        let (from_ms, to_ms) = windows(recording)[0];
        let answer = self.window(recording.data_type, Form::Csv, from_ms, to_ms).await;
        let rows = Form::Csv.rows(answer.clone(), recording.columns).len();
        let file = folder.join("given-back.csv");
        std::fs::write(&file, &answer).unwrap();
        let counts = import(self.url, self.patient, recording.data_type, "gzip", &file);
        assert_eq!(counts, json!({"rows": rows, "stored": 0, "duplicate": rows, "rejected": 0}));
    }

    async fn window(&self, data_type: &str, form: Form, from_ms: i64, to_ms: i64) -> Bytes {
        let range = format!("from_date={}&to_date={}", iso(from_ms), iso(to_ms));
        let address = format!("{}/health/v2/raw-metrics/{data_type}?{range}", self.url);
        let request = self.http.get(address).bearer_auth(&self.patient.token).header("accept", form.accept());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap()
    }
}

/// Windows that cover a recording, to the millisecond and without overlap: both ends of a range count.
fn windows(recording: &Recording) -> Vec<(i64, i64)> {
    let width_ms = if recording.data_type == "rr-interval" { 5 * 60 * MINUTE_MS } else { 3 * MINUTE_MS };
    let ms = |row: Option<&Row>| row.unwrap().time_us.div_euclid(1000);
    let (first_ms, last_ms) = (ms(recording.rows.first()), ms(recording.rows.last()));
    let begins = (first_ms..=last_ms).step_by(width_ms as usize);
    begins.map(|begin_ms| (begin_ms, begin_ms + width_ms - 1)).collect()
}

/// The local date of the first and the last row of an answer.
fn check_dates(answer: &[u8]) {
    let rows: Vec<Value> = serde_json::from_slice(answer).unwrap();
    for row in [rows.first().unwrap(), rows.last().unwrap()] {
        let at = Timestamp::from_millisecond(row["timestamp"].as_i64().unwrap()).unwrap();
        let local = at.to_zoned(TimeZone::get(ZONE).unwrap());
        assert_eq!(row["date"], local.strftime("%Y-%m-%dT%H:%M:%S.%3f%:z").to_string());
    }
}

/// Compares raw-data-compliance with the rows sent: by local day, by UTC day, and over ranges to the millisecond.
async fn compare_counts(researcher: &Researcher, patient: &Patient, recordings: &[Recording]) {
    let path = format!("/integration/v1/patients/{}/raw-data-compliance", patient.uuid);
    for zone in [ZONE, "UTC"] {
        let zone_of_days = TimeZone::get(zone).unwrap();
        let utc = if zone == "UTC" { "?utc=yes" } else { "" };
        let day_of = |ms: i64| Timestamp::from_millisecond(ms).unwrap().to_zoned(zone_of_days.clone()).date();
        let first = day_of(recordings[0].rows[0].time_us / 1000);
        for day in [0, 1, 2].map(|days| first + days.days()) {
            let (status, counts) = researcher.get(&format!("{path}/{day}{utc}"), None).await;
            assert_eq!(status, 200, "{counts}");
            assert_eq!(raw_counts(&counts), expected_counts(recordings, |ms| day_of(ms) == day), "{day} in {zone}");
        }
    }
    // From a beat to a sample of the ECG: both ends count.
    let from_ms = recordings[0].rows[10].time_us.div_euclid(1000);
    let to_ms = recordings[1].rows[100_000].time_us.div_euclid(1000);
    for (from_ms, to_ms) in [(from_ms, to_ms), (from_ms + 1, to_ms - 1)] {
        let range = format!("utc_date_from={}&utc_date_to={}", iso(from_ms), iso(to_ms));
        let (status, counts) = researcher.get(&format!("{path}?{range}"), None).await;
        assert_eq!(status, 200, "{counts}");
        assert_eq!(raw_counts(&counts), expected_counts(recordings, |ms| (from_ms..=to_ms).contains(&ms)), "{range}");
    }
}

fn raw_counts(counts: &Value) -> BTreeMap<String, u64> {
    let raw = counts.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("raw_data_"));
    raw.map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

fn expected_counts(recordings: &[Recording], is_inside: impl Fn(i64) -> bool) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for recording in recordings {
        let inside = recording.rows.iter().filter(|row| is_inside(row.time_us.div_euclid(1000))).count();
        if inside > 0 {
            counts.insert(format!("raw_data_{}", recording.data_type.replace('-', "_")), inside as u64);
        }
    }
    counts
}

fn iso(ms: i64) -> String {
    format!("{:.3}", Timestamp::from_millisecond(ms).unwrap())
}
