//! The program on an S3 server that others wrote and run in production: `SeaweedFS`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{S3_BUCKET, Seaweed};

use crate::exports::{BEGIN_MS, environment_of, export, fetch, send_day, unpacked};
use crate::harness::{Patient, Researcher, Service, pulseward};

/// Where the objects lie.
fn objects() -> String {
    format!("s3://{S3_BUCKET}/trial")
}

/// Runs a command on a data folder whose objects are in the bucket; returns what it printed.
fn on_bucket(server: &Seaweed, data: &Path, arguments: &[&str]) -> Value {
    let objects = objects();
    let arguments = [arguments, &["--data", data.to_str().unwrap(), "--objects", &objects, "--json"]].concat();
    let output = pulseward(&arguments).envs(environment_of(&server.url)).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The addresses of a group's sealed files, by patient.
async fn sealed_files(researcher: &Researcher) -> Vec<(String, String)> {
    let (status, lake) = researcher.get(&format!("/integration/v1/groups/{}/lake", researcher.group), None).await;
    assert_eq!(status, 200, "{lake}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lake["files"].as_array().unwrap().iter().map(|file| (text(&file["patient"]), text(&file["url"]))).collect()
}

async fn beats(researcher: &Researcher, patient: &Patient) -> (u16, Value) {
    let path = "/health/v2/raw-metrics/activity?from_date=2025-11-19T00:00:00Z&to_date=2025-11-19T23:59:59Z";
    researcher.get(path, Some(&patient.token)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn bucket_of_seaweedfs_does_what_a_folder_does() {
    let Some(server) = Seaweed::start() else { return };
    let data = tempdir().unwrap();
    let objects = objects();
    let options = ["--export-interval", "0s", "--public-url", "http://study.example", "--objects", &objects];
    let service = Service::start_in(data.path(), &options, &environment_of(&server.url));
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (grace, ada) = (researcher.enrol().await, researcher.enrol().await);
    for patient in [&grace, &ada] {
        send_day(&researcher, patient).await;
    }
    let (_, before) = beats(&researcher, &grace).await;
    let unsealed = fetch(&export(&researcher, &grace, "csv").await).await;
    on_bucket(&server, data.path(), &["seal", "--now"]);

    // The same from sealed files, in answers and in archives, which a signed address of the bucket gives out.
    assert_eq!(beats(&researcher, &grace).await, (200, before.clone()));
    let address = export(&researcher, &grace, "csv").await;
    assert!(address.starts_with(&server.url) && address.contains("X-Amz-Signature="), "{address}");
    assert!(fetch(&address).await == unsealed);
    let (files, _) = unpacked(&fetch(&export(&researcher, &grace, "parquet").await).await);
    assert!(files["ppg2/2025-11-19.parquet"].starts_with(b"PAR1"));
    let checked = on_bucket(&server, data.path(), &["doctor", "--verify"]);
    assert_eq!((&checked["ok"], &checked["segments"]), (&json!(true), &json!(6)), "{checked}");
    let mirror = data.path().join("mirror");
    let copy = ["lake", "copy", "--url", &service.url, "--token", &researcher.key, "--group", &researcher.group];
    let output = pulseward(&[&copy[..], &[mirror.to_str().unwrap(), "--json"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["copied"], 6);

    // A backup lists and holds the objects; what replaces one of them takes nothing from it.
    let backup = data.path().join("backup");
    let made = on_bucket(&server, data.path(), &["backup", backup.to_str().unwrap()]);
    assert_eq!(made["objects"], 6 + 3, "the three archives too: {made}");
    let late = json!({"data": {"activity": {"timestamp": [BEGIN_MS + 30_000], "bpm": [99]}}});
    assert_eq!(researcher.sync(&grace, &late).await.unwrap().0, 200);
    on_bucket(&server, data.path(), &["seal", "--now"]);
    let (_, merged) = beats(&researcher, &grace).await;
    assert_eq!(merged.as_array().unwrap().len(), before.as_array().unwrap().len() + 1);

    // Frozen: an answer within the deadline that says so, and everything again afterwards.
    server.set_frozen(true);
    let begun = Instant::now();
    let (status, refused) = beats(&researcher, &ada).await;
    assert_eq!(status, 503, "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!(researcher.get("/readyz", None).await.0, 503);
    server.set_frozen(false);
    let mut answer = beats(&researcher, &ada).await;
    while answer.0 != 200 {
        assert!(begun.elapsed() < Duration::from_secs(100), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
        answer = beats(&researcher, &ada).await;
    }
    assert_eq!(answer.1.as_array().unwrap().len(), 121);

    // Of somebody who was erased no object is left, once the hold of the backup is released.
    let of_grace: Vec<String> = sealed_files(&researcher)
        .await
        .into_iter()
        .filter(|(uuid, _)| *uuid == grace.uuid)
        .map(|(_, url)| url)
        .collect();
    assert_eq!(of_grace.len(), 3);
    let status = researcher.delete(&format!("/integration/v1/patients/{}", grace.uuid)).await;
    assert!(matches!(status, 200 | 202), "{status}");
    let hold = on_bucket(&server, data.path(), &["doctor"])["holds"][0]["id"].as_str().unwrap().to_owned();
    on_bucket(&server, data.path(), &["doctor", "--release", &hold]);
    for url in of_grace {
        let begun = Instant::now();
        while reqwest::get(&url).await.unwrap().status() != 404 {
            assert!(begun.elapsed() < Duration::from_mins(1), "{url}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    assert_eq!(beats(&researcher, &ada).await.0, 200);
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
}
