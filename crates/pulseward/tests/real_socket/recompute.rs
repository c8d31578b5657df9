//! Derived data computed once more, alongside the running service and on what is sealed.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tempfile::tempdir;

use crate::harness::{Patient, Researcher, Service, database_file, pulseward, run, store_command};

const BEGIN_MS: i64 = 1_763_510_400_000; // 2025-11-19T00:00Z
/// Minutes of a patient who is recomputed for longer than it takes to see that.
const MINUTES: i64 = 7 * 1440;
/// Longer than any lease but that of a recomputation.
const LONG_LEASE_MS: i64 = 120_000;
/// Ten times what is promised.
const LONGEST: Duration = Duration::from_secs(50);

#[tokio::test]
async fn nothing_differs_on_healthy_data() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patients = [researcher.enrol().await, researcher.enrol().await];
    let minutes: Vec<i64> = (0..120).map(|minute| BEGIN_MS + minute * 60_000).collect();
    let beats: Vec<i64> = (0..2000).map(|beat| BEGIN_MS + beat * 800).collect();
    for patient in &patients {
        let body = json!({"data": {
            "activity": {"timestamp": minutes, "bpm": 61, "respiration_rate": 14, "spo2": 98},
            "rr-interval": {"timestamp": beats, "rr": 800}, "sleep": {"timestamp": minutes, "sleep_state": 2},
            "temperature": {"timestamp": minutes, "temp_sk1": 33.1}}});
        assert_eq!(researcher.sync(patient, &body).await.unwrap().0, 200);
    }
    // Two hours of three types, and of the beats what 1,600 s touch.
    let windows = 3 * 24 + 6;
    assert_eq!(store_command(data.path(), &["recompute"]), json!({"windows": 2 * windows, "differences": 0}));
    store_command(data.path(), &["seal", "--now"]);
    let one = ["recompute", "--patient", &patients[0].uuid];
    assert_eq!(store_command(data.path(), &one), json!({"windows": windows, "differences": 0}));

    let unknown = ["recompute", "--patient", "nobody", "--data", data.path().to_str().unwrap(), "--json"];
    let output = run(&unknown);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

/// Begins to recompute a patient, and kills that while it holds them.
fn kill_a_recomputation(data: &Path) {
    let health = database_file(&data.join("health.db"));
    let held_until_ms =
        || -> i64 { health.query_row("SELECT MAX(fold_lease_until_ms) FROM patient", [], |row| row.get(0)).unwrap() };
    for _ in 0..20 {
        let mut command = pulseward(&["recompute", "--data", data.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_held = loop {
            let now_ms = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
            if held_until_ms() > now_ms + LONG_LEASE_MS {
                break true;
            }
            if child.try_wait().unwrap().is_some() {
                break false;
            }
        };
        // It may have ended just now, and its lease with it.
        child.kill().unwrap();
        child.wait().unwrap();
        let now_ms = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
        if is_held && held_until_ms() > now_ms + LONG_LEASE_MS {
            return;
        }
    }
    panic!("no recomputation was killed while it held the patient");
}

/// Waits until a patient is scored at a minute; returns how long that took.
async fn until_scored(researcher: &Researcher, patient: &Patient, minute: i64) -> Duration {
    let begun = Instant::now();
    let path = format!("/integration/v1/patients/{}/latest-news-score", patient.uuid);
    while researcher.get(&path, None).await.1["timestamp"].as_i64() < Some(BEGIN_MS + minute * 60_000) {
        assert!(begun.elapsed() < LONGEST, "the patient does not move on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

/// Its lease alone would hold the patient for ten minutes.
#[tokio::test(flavor = "multi_thread")]
async fn patient_of_a_killed_recomputation_moves_on_within_seconds() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let sync = async |minutes: std::ops::Range<i64>| {
        let times: Vec<i64> = minutes.clone().map(|minute| BEGIN_MS + minute * 60_000).collect();
        let rates: Vec<i64> = minutes.map(|minute| 55 + minute % 40).collect();
        let body =
            json!({"data": {"activity": {"timestamp": times, "bpm": rates, "spo2": 97, "respiration_rate": 15}}});
        assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    };
    sync(0..MINUTES).await;
    until_scored(&researcher, &patient, MINUTES - 1).await;
    kill_a_recomputation(data.path());
    sync(MINUTES..MINUTES + 1).await;
    println!("the patient moves on {:.1?} after the kill", until_scored(&researcher, &patient, MINUTES).await);
    // What the killed one has left holds up no other.
    assert_eq!(store_command(data.path(), &["recompute"])["differences"], 0);
}
