//! An operator erases a patient and checks the audit log, while the service runs and while it does not.

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, admin, database_file, run, store_command};

#[tokio::test]
async fn a_patient_is_erased_next_to_the_running_service() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (grace, hedy) = (researcher.enrol().await, researcher.enrol().await);
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "bpm": [61]}},
        "device": {"serial_number": "SN-ERASE-ME"}});
    for patient in [&grace, &hedy] {
        assert_eq!(researcher.sync(patient, &body).await.unwrap().0, 200);
    }
    // A log that was damaged after an earlier crash holds rows of everybody.
    let kept_log = data.path().join("health.db-wal-damaged-1");
    std::fs::write(&kept_log, &grace.uuid).unwrap();
    let receipt = admin(data.path(), &["erase-patient", &grace.uuid]);
    assert_eq!(std::fs::read(&kept_log).unwrap(), b"");
    assert_eq!((&receipt["uuid"], &receipt["counts"]["samples"]), (&json!(grace.uuid), &json!(1)));
    assert!(receipt["erased_at"].is_string());
    assert_eq!(admin(data.path(), &["erase-patient", &grace.uuid]), receipt, "the receipt of then is kept");

    assert_eq!(researcher.sync(&grace, &body).await.unwrap().0, 401);
    assert_eq!(researcher.sync(&hedy, &body).await.unwrap().0, 200);
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    let (_, patients) = researcher.get(&path, None).await;
    let uuids: Vec<&Value> = patients.as_array().unwrap().iter().map(|patient| &patient["uuid"]).collect();
    assert_eq!(uuids, [&json!(hedy.uuid)]);

    let folder = data.path().to_str().unwrap();
    let nobody = ["admin", "erase-patient", "00000000-0000-4000-8000-000000000000", "--data", folder, "--json"];
    assert_eq!(run(&nobody).status.code(), Some(1));
    assert_eq!(run(&["admin", "erase-patient", "grace", "--data", folder]).status.code(), Some(2));
}

/// The option of the service, or its configuration file: the receipt of an operator names the copies too.
#[tokio::test]
async fn receipt_of_an_operator_names_the_copies_of_objects() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let grace = researcher.enrol().await;
    let copies = format!("file://{}", data.path().join("copies").display());
    let file = data.path().join("pulseward.toml");
    std::fs::write(&file, format!("object_copies = \"{copies}\"\n")).unwrap();
    let names_copies = |options: &[&str]| {
        let receipt = admin(data.path(), &[&["erase-patient", grace.uuid.as_str()], options].concat());
        receipt["remains"].as_array().unwrap().contains(&json!({"where": "object_copies", "until": null}))
    };
    assert!(names_copies(&["--config", file.to_str().unwrap()]));
    assert!(names_copies(&["--object-copies", &copies]));
    assert!(!names_copies(&[]), "none are known");
}

#[tokio::test]
async fn erasure_says_that_a_log_is_being_read_and_later_that_it_is_empty() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let grace = researcher.enrol().await;
    let client = reqwest::Client::new();
    let url = format!("{}/integration/v1/patients/{}", service.url, grace.uuid);
    let filed = client.patch(&url).header("X-Api-Key", &researcher.key).json(&json!({"external_patient_id": MARKER}));
    assert_eq!(filed.send().await.unwrap().status(), 200);
    // Somebody reads the state of before, as a copy does.
    let reader = database_file(&data.path().join("users.db"));
    reader.execute_batch("BEGIN; SELECT count(*) FROM patient").unwrap();
    let answer = client.delete(&url).header("X-Api-Key", &researcher.key).send().await.unwrap();
    let address = answer.headers()["Location"].to_str().unwrap().to_owned();
    assert_eq!((answer.status().as_u16(), address), (202, format!("../erasures/{}", grace.uuid)));
    let later = answer.url().join(&format!("../erasures/{}", grace.uuid)).unwrap();
    let receipt: Value = answer.json().await.unwrap();
    let places = |receipt: &Value| -> Vec<String> {
        let remains = receipt["remains"].as_array().unwrap().iter();
        remains.map(|left| left["where"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(places(&receipt), ["write_ahead_logs", "database_files", "backups"]);
    assert!(receipt["remains"][0]["until"].is_string() && receipt["remains"][2]["until"].is_null());
    assert!(is_in_a_log(data.path()), "it is there as long as the receipt says so");
    reader.execute_batch("COMMIT").unwrap();
    let answer = client.get(later).header("X-Api-Key", &researcher.key).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let receipt: Value = answer.json().await.unwrap();
    assert_eq!(places(&receipt), ["database_files", "backups"]);
    assert!(!is_in_a_log(data.path()));
}

/// What the study calls the patient who is erased.
const MARKER: &str = "EXT-MARKER-8831";

/// Returns whether a write-ahead log of the data folder holds the patient's name in the study.
fn is_in_a_log(data: &std::path::Path) -> bool {
    ["users.db-wal", "health.db-wal"].iter().any(|name| {
        let bytes = std::fs::read(data.join(name)).unwrap();
        bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
    })
}

#[tokio::test]
async fn a_log_that_was_tampered_with_is_reported() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let grace = researcher.enrol().await;
    admin(data.path(), &["erase-patient", &grace.uuid]);
    let verified = store_command(data.path(), &["audit", "verify"]);
    let entries = verified["entries"].as_i64().unwrap();
    assert_eq!((&verified["intact"], verified.get("first_broken")), (&json!(true), None));
    // Group, patient, attachment, registration, login, erasure.
    assert_eq!(entries, 6);

    let tamper = |text: &str| {
        let database = database_file(&data.path().join("users.db"));
        database.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        assert_eq!(database.execute(text, []).unwrap(), 1);
    };
    let verify = || {
        let output = run(&["audit", "verify", "--json", "--data", data.path().to_str().unwrap()]);
        assert!(!output.stderr.is_empty());
        assert_eq!(output.status.code(), Some(1));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        json!({"entries": found["entries"], "intact": found["intact"], "first_broken": found["first_broken"]})
    };
    tamper("UPDATE audit_entry SET user_id = 'somebody else' WHERE number = 4");
    assert_eq!(verify(), json!({"entries": 3, "intact": false, "first_broken": 4}));
    tamper("DELETE FROM audit_entry WHERE number = 2");
    assert_eq!(verify(), json!({"entries": 1, "intact": false, "first_broken": 2}));
}
