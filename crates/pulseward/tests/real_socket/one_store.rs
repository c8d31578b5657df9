//! One store is served by those who belong together: one service on a folder, nodes with the same objects, demonstrations on
//! stores of their own; and what an operator has ended or brought back is so.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;

use crate::harness::{Researcher, Service, admin, run, store_command};

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a service that has to be refused.
fn refused(data: &Path, options: &[&str]) -> String {
    let basic = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let output = run(&[&basic[..], options].concat());
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    said(&output)
}

#[tokio::test(flavor = "multi_thread")]
async fn second_service_on_a_folder_is_refused_and_commands_work_next_to_the_first() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let said_why = refused(data.path(), &[]);
    assert!(said_why.contains("already") && said_why.contains("--data"), "{said_why}");
    let body = json!({"data": {"activity": {"timestamp": [1_763_510_400_000_i64], "bpm": [61]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let copy = data.path().join("copy");
    for arguments in [
        &["migrate"][..],
        &["admin", "list-accounts"],
        &["admin", "rotate-keys"],
        &["audit", "verify"],
        &["seal", "--now"],
        &["doctor", "--verify"],
        &["recompute"],
        &["backup", copy.to_str().unwrap()],
        &["admin", "erase-patient", &patient.uuid],
    ] {
        store_command(data.path(), arguments);
    }
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    service.kill();
    // A crash frees the folder.
    let service = Service::start(data.path());
    assert_eq!(reqwest::get(format!("{}/readyz", service.url)).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn node_without_the_objects_of_the_others_is_refused() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let key_file = folder.path().join("shared.key");
    let key_file = key_file.to_str().unwrap();
    let store = ["--users-db", &users.url, "--health-db", &health.url, "--master-key-file", key_file];
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let service = Service::start_with(&first, &store);
    // Each has `objects` in its own data folder when nothing else is said.
    let said_why = refused(&second, &store);
    assert!(said_why.contains("--objects"), "{said_why}");
    let same = format!("file://{}", first.join("objects").display());
    let other = Service::start_with(&second, &[&store[..], &["--objects", &same]].concat());
    assert_ne!(service.url, other.url);
    // Databases that were mixed up.
    let (Some(strange), third) = (Postgres::start(), folder.path().join("third")) else { return };
    let mixed = ["--users-db", &strange.url, "--health-db", &health.url, "--master-key-file", key_file];
    let said_why = refused(&third, &[&mixed[..], &["--objects", &same]].concat());
    assert!(said_why.contains("--users-db") && said_why.contains("different stores"), "{said_why}");
}

#[test]
fn demonstration_writes_into_no_store_that_it_has_not_made() {
    let data = tempdir().unwrap();
    admin(data.path(), &["create-account", "--email", "rita@study.example", "--role", "researcher"]);
    let mut demo = crate::harness::pulseward(&["demo", "--listen", "127.0.0.1:0", "--patients", "1", "--days", "1"]);
    let output = demo.env("PULSEWARD_DATA", data.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("PULSEWARD_DATA"), "{}", said(&output));
    let accounts = admin(data.path(), &["list-accounts"]);
    assert_eq!(accounts["accounts"].as_array().unwrap().len(), 1, "{accounts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_account_can_be_enabled_and_its_old_keys_stay_ended() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let email = "rita@study.example";
    let created = ["create-account", "--email", email, "--role", "researcher", "--password", "a password for tests"];
    admin(data.path(), &created);
    let key = admin(data.path(), &["create-api-key", "--account", email])["token"].as_str().unwrap().to_owned();
    let http = reqwest::Client::new();
    let groups = async |key: &str| {
        let request = http.get(format!("{}/integration/v1/groups", service.url)).header("X-Api-Key", key);
        request.send().await.unwrap().status().as_u16()
    };
    let login = async || {
        let body = json!({"email": email, "password": "a password for tests"});
        http.post(format!("{}/users/login", service.url)).json(&body).send().await.unwrap().status().as_u16()
    };
    assert_eq!((groups(&key).await, login().await), (200, 200));
    admin(data.path(), &["disable-account", "--account", email]);
    assert_eq!((groups(&key).await, login().await), (401, 401));
    let enabled = admin(data.path(), &["enable-account", "--account", email]);
    assert_eq!((&enabled["email"], &enabled["disabled_at"]), (&json!(email), &Value::Null));
    assert_eq!(login().await, 200);
    assert_eq!(groups(&key).await, 401, "anyone who has it may be the reason why the account was disabled");
    let fresh = admin(data.path(), &["create-api-key", "--account", email]);
    assert_eq!(groups(fresh["token"].as_str().unwrap()).await, 200);
    // Again, and one that never was disabled: nothing changes.
    admin(data.path(), &["enable-account", "--account", email]);
    assert_eq!(groups(fresh["token"].as_str().unwrap()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_start_after_a_restore_misses_no_node() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    Researcher::new(data.path(), &service.url).await;
    let copy = data.path().join("copy");
    // The table of nodes that is copied has the service, which works.
    store_command(data.path(), &["backup", copy.to_str().unwrap()]);
    let restored = tempdir().unwrap();
    store_command(restored.path(), &["restore", copy.to_str().unwrap()]);
    let objects = store::Objects::folder(&restored.path().join("objects")).unwrap();
    let health = store::Address::File(restored.path().join("health.db"));
    let health = store::HealthDb::open(health, objects).await.unwrap();
    assert_eq!(health.beats().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_objects_says_where_the_service_listens_in_addition_to_the_line_for_programs() {
    let data = tempdir().unwrap();
    let log = data.path().join("log");
    let mut command = crate::harness::pulseward(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    command.args(["--data", data.path().join("store").to_str().unwrap()]);
    let mut child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let lines = loop {
        let text = std::fs::read_to_string(&log).unwrap();
        if text.lines().any(|line| line.contains("\"listening\"") && line.ends_with('}')) {
            break text;
        }
        assert!(child.try_wait().unwrap().is_none(), "{text}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let url = lines.lines().find_map(|line| line.strip_prefix("listening on ")).unwrap().to_owned();
    let objects: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let said_why = objects.iter().find(|object| object["message"] == "listening").unwrap();
    assert_eq!(said_why["address"], url.as_str());
    assert_eq!(lines.lines().count(), objects.len() + 1, "every other line is an object: {lines}");
}
