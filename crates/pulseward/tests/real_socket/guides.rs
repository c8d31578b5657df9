//! The examples of the guides, run as they are written against a service that was started for them.
//!
//! Blocks of a page run in their order in one shell, each Python block as a program of its own. `guides/accounted.rs` lists
//! the blocks that something else runs or compares.

mod accounted;
pub mod blocks;
mod on_demonstration;
mod pages;
mod quoted;
mod readme;
mod runner;
mod shown;
mod structure;
mod unrun;

use serde_json::json;
use tempfile::tempdir;

use self::runner::{answers, can_run, run_guide};
use crate::harness::{Patient, Researcher, Service};

const DAY_MS: i64 = 86_400_000;

/// Begin of yesterday in UTC, ms: the day of which the guides speak.
#[expect(clippy::disallowed_methods, reason = "the guides go by the clock of the machine")]
fn yesterday_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond().div_euclid(DAY_MS) * DAY_MS - DAY_MS
}

/// The same as a date.
pub fn yesterday() -> String {
    jiff::Timestamp::from_millisecond(yesterday_ms()).unwrap().strftime("%F").to_string()
}

/// A patient with an hour of heart rate and beats on the day of which the guides speak.
pub async fn patient_with_data(researcher: &Researcher) -> Patient {
    let patient = researcher.enrol().await;
    let begin_ms = yesterday_ms() + 3_200_000;
    let minutes: Vec<i64> = (0..61).map(|minute| begin_ms + minute * 60_000).collect();
    // The last minute has no value: 0 is none.
    let rates: Vec<i64> = (0..61).map(|minute| if minute < 60 { 61 } else { 0 }).collect();
    let beats: Vec<i64> = (0..101).map(|beat| begin_ms + beat * 850).collect();
    let intervals: Vec<i64> = (0..101).map(|beat| 800 + beat % 2 * 100).collect();
    let data = json!({"activity": {"timestamp": minutes, "bpm": rates, "last_steps": 2, "wearing": 4},
        "rr-interval": {"timestamp": beats, "rr": intervals}});
    let (status, receipt) = researcher.sync(&patient, &json!({ "data": data })).await.unwrap();
    assert_eq!(status, 200, "{receipt}");
    let path = format!("/integration/v1/patients/{}/summary/{}", patient.uuid, yesterday());
    // Only for as long as the worker takes to compute the day; the test runner ends a wait without end.
    while researcher.get(&path, None).await.1["heart_rate"]["avg_daily_heart_rate"].is_null() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    patient
}

#[tokio::test]
async fn the_guide_for_researchers() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = patient_with_data(&researcher).await;
    let yours = [
        ("PULSEWARD_URL", service.url.as_str()),
        ("PULSEWARD_TOKEN", &researcher.key),
        ("GROUP", &researcher.group),
        ("UUID", &patient.uuid),
    ];
    let reported = run_guide("docs/getting-started-researcher.md", &yours);
    assert!(reported.contains(&format!("  {}: 122 steps, 61.0 beats a minute", patient.uuid)), "{reported}");
    assert!(reported.contains("Night shifts"), "{reported}");
    assert!(reported.contains(r#""raw_data_rr_interval":101"#), "{reported}");
    assert!(reported.contains(r#""latest_values":{"heart_rate":61.0"#), "{reported}");
    assert!(reported.contains(r#""compliance":4.5"#), "an hour that touches 13 of 288 slots: {reported}");
}

#[tokio::test]
async fn the_guide_for_data_scientists() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = patient_with_data(&researcher).await;
    let yours =
        [("PULSEWARD_URL", service.url.as_str()), ("PULSEWARD_TOKEN", &researcher.key), ("UUID", &patient.uuid)];
    let reported = run_guide("docs/getting-started-data-scientist.md", &yours);
    assert!(reported.contains("101 beats, RMSSD 100 ms"), "{reported}");
    assert!(reported.contains("61 minutes, heart rate 61.0"), "a 0 is no heart rate: {reported}");
}

#[tokio::test]
async fn the_guide_for_app_developers() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    let (_, voucher) = researcher.post(&path, None, &json!({})).await;
    let reader = patient_with_data(&researcher).await;
    let yours = [
        ("PULSEWARD_URL", service.url.as_str()),
        ("CODE", voucher["code"].as_str().unwrap()),
        ("TOKEN", &reader.token),
        ("PULSEWARD_TOKEN", &researcher.key),
    ];
    let reported = run_guide("docs/getting-started-app-developer.md", &yours);
    let answers = answers(&reported);
    let receipt = answers.iter().find(|answer| answer["sync_id"].is_string()).unwrap();
    assert_eq!(receipt["types"]["activity"]["stored"], 2);
    assert!(answers.iter().any(|answer| answer["user"]["uuid"] == voucher["uuid"]), "the login: {reported}");
    assert!(answers.iter().any(|answer| answer["authorization_endpoint"].is_string()), "{reported}");
    let pages = answers.iter().find(|answer| answer["total"].is_i64()).unwrap();
    assert_eq!((&pages["total"], &pages["data"][19]["heart_rate"]["max_daily_heart_rate"]), (&json!(20), &json!(61)));
    let rows = answers.iter().find(|answer| answer.is_array()).unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(61));
    let (_, groups) = researcher.get("/integration/v1/groups", None).await;
    let mut patients = 0;
    for group in groups.as_array().unwrap() {
        let path = format!("/integration/v1/groups/{}/patients", group["code"].as_str().unwrap());
        patients += researcher.get(&path, None).await.1.as_array().unwrap().len();
    }
    assert_eq!(patients, 4, "the two of this test and two that are simulated");
}

#[tokio::test]
async fn the_guide_for_operators() {
    if !can_run() {
        return;
    }
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let metrics = service.said.iter().find_map(|line| line.strip_prefix("metrics on ")).unwrap();
    let metrics_url = metrics.strip_suffix("/metrics").unwrap();
    let yours = [
        ("PULSEWARD_DATA", data.path().to_str().unwrap()),
        ("PULSEWARD_URL", &service.url),
        ("METRICS_URL", metrics_url),
    ];
    let reported = run_guide("docs/getting-started-operator.md", &yours);
    assert!(
        reported.contains("pulseward_fold_queue_patients") && reported.contains("process_resident_memory_bytes"),
        "{reported}"
    );
    // Its visible prefix is printed too.
    let keys = reported.split_whitespace().filter(|word| word.starts_with("pwk_"));
    let key = keys.max_by_key(|word| word.len()).expect("a key");
    let answer = reqwest::Client::new().get(format!("{}/integration/v1/groups", service.url)).header("X-Api-Key", key);
    assert_eq!(answer.send().await.unwrap().status(), 200, "the key that was printed opens the service");
}
