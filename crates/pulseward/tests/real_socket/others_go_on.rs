//! What is damaged of one patient stops nobody else's retention.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::tempdir;

use crate::harness::{Patient, Researcher, Service, store_command};

/// 2025-11-19T00:00Z, long before what is kept.
const BEGIN_MS: i64 = 1_763_510_400_000;
const DAY: &str = "2025-11-19";
/// The hourly work is due when a service with a worker starts on the store for the first time.
const LONGEST: Duration = Duration::from_secs(30);

async fn send(researcher: &Researcher, patient: &Patient, minute: i64) {
    let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * 60_000], "bpm": [61]}}});
    assert_eq!(researcher.sync(patient, &body).await.unwrap().0, 200);
}

async fn rows(researcher: &Researcher, patient: &Patient) -> i64 {
    let path = format!("/integration/v1/patients/{}/raw-data-compliance/{DAY}?utc=yes", patient.uuid);
    let (status, counts) = researcher.get(&path, None).await;
    assert_eq!(status, 200, "{counts}");
    counts.get("raw_data_activity").and_then(serde_json::Value::as_i64).unwrap_or(0)
}

/// Flips bits in the middle of every file below a folder; returns how many files there were.
fn damage_files(folder: &Path) -> usize {
    let mut damaged = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damaged += damage_files(&path);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0xff);
        std::fs::write(&path, bytes).unwrap();
        damaged += 1;
    }
    damaged
}

/// A row that comes late has the period sealed again, for which the damaged file must be read.
#[tokio::test(flavor = "multi_thread")]
async fn period_that_cannot_be_sealed_stops_no_retention_of_others() {
    let data = tempdir().unwrap();
    let named = ["--public-url", "http://study.example"];
    let without_worker = [&named[..], &["--roles", "integration,users,health"]].concat();
    let service = Service::start_with(data.path(), &without_worker);
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let ill = researcher.enrol().await;
    send(&researcher, &ill, 0).await;
    store_command(data.path(), &["seal", "--now"]);
    assert_eq!(damage_files(&data.path().join("objects/v1")), 1);
    send(&researcher, &ill, 1).await;
    let well = researcher.enrol().await;
    send(&researcher, &well, 0).await;
    assert_eq!(rows(&researcher, &well).await, 1);
    let settings = format!("/integration/v1/groups/{}/settings", researcher.group);
    let (status, answer) = researcher.put(&settings, &json!({"retention": {"activity": 10}})).await;
    assert_eq!(status, 200, "{answer}");
    service.kill();

    let service = Service::start_with(data.path(), &named);
    researcher.at(&service.url);
    let begun = Instant::now();
    while rows(&researcher, &well).await > 0 {
        assert!(begun.elapsed() < LONGEST, "rows are kept that the rule retires");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
