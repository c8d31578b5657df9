//! What a killed process was doing in the background goes on: at once when it is started again, within seconds on
//! another node. A lease alone would hold it up for a minute.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::tempdir;
use testkit::Postgres;

use crate::exports::wait_for;
use crate::harness::{Patient, Researcher, Service};

const PATIENTS: usize = 12;
/// Minutes of a patient: their derivations take longer than the service lives.
const MINUTES: i64 = 5 * 1440;
const BEGIN_MS: i64 = 1_763_510_400_000; // 2025-11-19T00:00Z
/// Ten times what was measured, and half of what a lease lasts.
const LONGEST: Duration = Duration::from_secs(30);

/// Enrols patients, sends days of each, asks for an export, and kills the service while it works on all that.
async fn killed_at_work(service: Service, researcher: &Researcher) -> (Vec<Patient>, String) {
    let times: Vec<i64> = (0..MINUTES).map(|minute| BEGIN_MS + minute * 60_000).collect();
    let rates: Vec<i64> = (0..MINUTES).map(|minute| 55 + minute % 40).collect();
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": rates, "spo2": 97, "respiration_rate": 15}}});
    let mut patients = Vec::new();
    for _ in 0..PATIENTS {
        patients.push(researcher.enrol().await);
    }
    let range = json!({"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2025-12-21T00:00:00.000",
        "types": ["activity"], "format": "csv"});
    let path = format!("/integration/v1/create-export/{}", patients[0].uuid);
    let syncs = patients.iter().map(|patient| researcher.sync(patient, &body));
    for answer in futures::future::join_all(syncs).await {
        assert_eq!(answer.unwrap().0, 200);
    }
    let (status, export) = researcher.post(&path, None, &range).await;
    assert_eq!(status, 200, "{export}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    service.kill();
    (patients, export["id"].as_str().unwrap().to_owned())
}

/// Waits until everything is derived and exported; returns how long that took.
async fn finished(researcher: &Researcher, patients: &[Patient], export: &str) -> Duration {
    let begun = Instant::now();
    for patient in patients {
        let path = format!("/integration/v1/patients/{}/latest-news-score", patient.uuid);
        while researcher.get(&path, None).await.0 != 200 {
            assert!(begun.elapsed() < LONGEST, "a patient is not derived after {:?}", begun.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    wait_for(researcher, export).await;
    assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_process_goes_on_with_its_work_when_it_is_started_again() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let (patients, export) = killed_at_work(service, &researcher).await;
    let service = Service::start_named(data.path());
    researcher.at(&service.url);
    println!("SQLite: everything is done {:?} after the start", finished(&researcher, &patients, &export).await);
}

/// Options of nodes on shared databases.
pub fn shared(folder: &Path, users: &Postgres, health: &Postgres) -> Vec<String> {
    let (key_file, objects) = (folder.join("shared.key"), folder.join("objects"));
    let (key_file, objects) = (key_file.display().to_string(), format!("file://{}", objects.display()));
    let options = [
        ["--users-db", &users.url],
        ["--health-db", &health.url],
        ["--master-key-file", &key_file],
        ["--objects", &objects],
    ];
    options.concat().into_iter().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_node_goes_on_when_started_again_and_another_node_takes_over_when_it_is_not() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let store = shared(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let options = [&store[..], &["--public-url", "http://study.example", "--listen-db-url", &health.url]].concat();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));

    let service = Service::start_with(&first, &options);
    let mut researcher = Researcher::new_with(&first, &store, &service.url).await;
    let (patients, export) = killed_at_work(service, &researcher).await;
    let service = Service::start_with(&first, &options);
    researcher.at(&service.url);
    println!("PostgreSQL: everything is done {:?} after the start", finished(&researcher, &patients, &export).await);

    let other = Service::start_with(&second, &options);
    let (patients, export) = killed_at_work(service, &researcher).await;
    researcher.at(&other.url);
    println!("PostgreSQL: everything is done {:?} after a node died", finished(&researcher, &patients, &export).await);
}
