//! A database that gives no answer any more, or is gone: requests are refused soon, nothing that was acknowledged is lost,
//! and everything goes on by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{OwnServer, SilentProxy};
use tokio::task::JoinSet;

use crate::harness::{Patient, Researcher};
use crate::held_rows::{start_node, store_options};

const BEGIN_MS: i64 = 1_763_600_000_000;
const ROWS: &str = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:00:00Z";
const PATIENTS: usize = 6;
/// How long the outage lasts, and how long the phones send before it.
const OUTAGE: Duration = Duration::from_secs(5);
const BEFORE: Duration = Duration::from_secs(1);
/// Ten times what is promised of a refusal, and of readiness.
const LONGEST: Duration = Duration::from_secs(20);
const LONGEST_PROBE: Duration = Duration::from_secs(10);
/// Ten times what is promised of scores.
const LONGEST_STANDSTILL: Duration = Duration::from_secs(50);
/// An app gives up long after that.
const PATIENCE: Duration = Duration::from_mins(1);

/// What phones were answered during an outage.
#[derive(Debug, Default)]
struct Answers {
    stored: i64,
    refused: i64,
    slowest: Duration,
}

/// Sends row after row, each until it is acknowledged, as an app does.
async fn send_until(end: Arc<AtomicBool>, researcher: Arc<Researcher>, patient: Patient) -> (Patient, Answers) {
    let mut answers = Answers::default();
    while !end.load(Ordering::Relaxed) {
        let time_ms = BEGIN_MS + answers.stored * 1000;
        let body = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [60]}}});
        let begun = Instant::now();
        match researcher.try_sync(&patient, &body, PATIENCE).await.expect("an answer") {
            (200, _) => answers.stored += 1,
            (503, Some(seconds)) => {
                answers.refused += 1;
                assert!((1..=10).contains(&seconds), "{seconds}");
                // Sooner than the answer says, so that the outage is met often.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            other => panic!("{other:?}"),
        }
        answers.slowest = answers.slowest.max(begun.elapsed());
    }
    (patient, answers)
}

/// Sends from phones, has an outage meanwhile, and checks what they and the operator are answered.
async fn check_outage(server: &OwnServer, port: u16, begin: impl FnOnce(), end: impl FnOnce()) {
    let at = |url: String| url.replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let (users, health) = (at(server.database()), at(server.database()));
    let folder = tempdir().unwrap();
    let store = store_options(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let service = start_node(&folder.path().join("node"), &store);
    let researcher = Arc::new(Researcher::new_with(&folder.path().join("node"), &store, &service.url).await);
    let stop = Arc::new(AtomicBool::new(false));
    let mut phones = JoinSet::new();
    for _ in 0..PATIENTS {
        let patient = researcher.enrol().await;
        phones.spawn(send_until(stop.clone(), researcher.clone(), patient));
    }
    tokio::time::sleep(BEFORE).await;
    begin();
    let outage = Instant::now();
    let mut slowest_probe = Duration::ZERO;
    let mut list = Vec::new();
    while outage.elapsed() < OUTAGE {
        let begun = Instant::now();
        let (status, ready) = researcher.get("/readyz", None).await;
        assert_eq!(status, 503, "{ready}");
        slowest_probe = slowest_probe.max(begun.elapsed());
        let begun = Instant::now();
        let (status, _) = researcher.get(&format!("/integration/v1/groups/{}/patients", researcher.group), None).await;
        assert_eq!(status, 503);
        list.push(begun.elapsed());
    }
    end();
    let back = Instant::now();
    while researcher.get("/readyz", None).await.0 != 200 {
        assert!(back.elapsed() < LONGEST, "not ready {:?} after the outage", back.elapsed());
    }
    let ready_after = back.elapsed();
    tokio::time::sleep(BEFORE).await;
    stop.store(true, Ordering::Relaxed);
    let answers = phones.join_all().await;
    let slowest = answers.iter().map(|(_, answers)| answers.slowest).max().unwrap();
    println!(
        "readiness denied within {slowest_probe:?}, lists refused within {:?}, syncs answered within {slowest:?}, ready \
         again after {ready_after:?}",
        list.iter().max().unwrap()
    );
    assert!(slowest_probe < LONGEST_PROBE && slowest < LONGEST, "{slowest_probe:?} {slowest:?}");
    assert!(list.iter().all(|took| *took < LONGEST), "{list:?}");
    let moved_on = Instant::now();
    for (patient, answers) in &answers {
        assert!(answers.stored > 0 && answers.refused > 0, "{answers:?}");
        check_rows(&researcher, patient, answers.stored).await;
        while latest_ms(&researcher, patient).await < BEGIN_MS + (answers.stored - 1) * 1000 {
            assert!(moved_on.elapsed() < LONGEST_STANDSTILL, "latest values do not move on after the outage");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    println!("everything is derived {:?} after the outage", back.elapsed());
}

/// When the newest value of a patient was measured that pages show.
async fn latest_ms(researcher: &Researcher, patient: &Patient) -> i64 {
    let path = format!("/integration/v1/patients/{}/latest-news-score", patient.uuid);
    researcher.get(&path, None).await.1["timestamp"].as_i64().unwrap_or_default()
}

/// Exactly what was acknowledged is there. The last row may have been stored and not acknowledged only while it was sent
/// again, which the phones did.
async fn check_rows(researcher: &Researcher, patient: &Patient, stored: i64) {
    let (status, rows) = researcher.get(ROWS, Some(&patient.token)).await;
    assert_eq!(status, 200, "{rows}");
    let times: Vec<i64> = rows.as_array().unwrap().iter().filter_map(|row| row["timestamp"].as_i64()).collect();
    let sent: Vec<i64> = (0..stored).map(|row| BEGIN_MS + row * 1000).collect();
    let found = times.len() as i64;
    assert!(times[..sent.len().min(times.len())] == sent && found <= stored + 1, "{found} of {stored} rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_database_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    check_outage(&server, server.port(), || server.freeze(), || server.thaw()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_is_cut_off_silently_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    let proxy = SilentProxy::start(server.port());
    check_outage(&server, proxy.port(), || proxy.cut(), || proxy.mend()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_crashes_refuses_soon_and_loses_nothing() {
    let Some(server) = OwnServer::start() else { return };
    check_outage(&server, server.port(), || server.crash(), || server.come_back()).await;
}

/// The other node goes on, also with the patients whose rows the frozen one may hold.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_node_stops_no_other() {
    let Some(server) = OwnServer::start() else { return };
    let (users, health) = (server.database(), server.database());
    let folder = tempdir().unwrap();
    let store = store_options(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let (frozen, other) = (start_node(&first, &store), start_node(&second, &store));
    let at_frozen = Arc::new(Researcher::new_with(&first, &store, &frozen.url).await);
    let mut patients = Vec::new();
    for _ in 0..PATIENTS {
        patients.push(at_frozen.enrol().await);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut phones = JoinSet::new();
    for patient in &patients {
        phones.spawn(send_until(stop.clone(), at_frozen.clone(), patient.clone()));
    }
    tokio::time::sleep(BEFORE).await;
    frozen.signal("-STOP");
    phones.abort_all();
    let at_other = at_frozen.moved(&other.url);
    let (mut slowest, mut refused) = (Duration::ZERO, 0);
    for (number, patient) in (0_i64..).zip(patients.iter().cycle().take(5 * PATIENTS)) {
        let begun = Instant::now();
        let body: Value =
            json!({"data": {"activity": {"timestamp": [BEGIN_MS + (9_000 + number) * 1000], "bpm": [70]}}});
        // Of its own patients a frozen node may hold a row until the server ends its transaction.
        let status = at_other.try_sync(patient, &body, PATIENCE).await.expect("an answer").0;
        assert!(status == 200 || status == 503, "{status} at {number}");
        refused += usize::from(status == 503);
        let (status, _) = at_other.get(&format!("/integration/v1/groups/{}/patients", at_other.group), None).await;
        assert_eq!(status, 200);
        assert_eq!(at_other.get("/readyz", None).await.0, 200);
        slowest = slowest.max(begun.elapsed());
    }
    assert!(refused <= PATIENTS / 2, "{refused} refused");
    println!("next to a frozen node, three requests take up to {slowest:?}");
    assert!(slowest < LONGEST, "{slowest:?}");
    frozen.signal("-CONT");
}
