//! Two nodes on shared PostgreSQL databases and one master key: what one does, the other knows.

use serde_json::json;
use tempfile::tempdir;
use testkit::Postgres;

use crate::harness::{Researcher, Service, run};

#[tokio::test]
async fn a_token_of_one_node_counts_on_the_other_until_it_is_ended_there() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let key_file = folder.path().join("shared.key");
    let objects = format!("file://{}", folder.path().join("objects").display());
    let store = [
        "--users-db",
        &users.url,
        "--health-db",
        &health.url,
        "--master-key-file",
        key_file.to_str().unwrap(),
        "--objects",
        &objects,
    ];
    let named = [&store[..], &["--public-url", "http://study.example"]].concat();
    let first = Service::start_with(&folder.path().join("first"), &named);
    let second = Service::start_with(&folder.path().join("second"), &named);
    let mut researcher = Researcher::new_with(&folder.path().join("first"), &store, &first.url).await;
    let patient = researcher.enrol().await;
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "bpm": [61]}}});
    let (status, receipt) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!((status, &receipt["types"]["activity"]["stored"]), (200, &json!(1)));

    researcher.at(&second.url);
    let (status, receipt) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!((status, &receipt["types"]["activity"]["duplicate"]), (200, &json!(1)));
    let (status, _) = researcher.post("/health/auth/logout", Some(&patient.token), &json!({})).await;
    assert_eq!(status, 204);
    researcher.at(&first.url);
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 401);
}

#[test]
fn shared_databases_without_a_shared_key_are_refused() {
    let data = tempdir().unwrap();
    let data = data.path().join("never-made");
    let address = "postgres://db.example/users";
    let output = run(&["migrate", "--data", data.to_str().unwrap(), "--users-db", address]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!data.exists());
}

#[tokio::test]
async fn connections_are_limited_by_the_option_and_shown_among_the_metrics() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let key_file = folder.path().join("master.key");
    let store = ["--users-db", &users.url, "--health-db", &health.url, "--master-key-file", key_file.to_str().unwrap()];
    let options = ["--metrics-listen", "127.0.0.1:0"];
    let service =
        Service::start_in(folder.path(), &[&store[..], &options].concat(), &[("PULSEWARD_DB_CONNECTIONS", "3")]);
    Researcher::new_with(folder.path(), &store, &service.url).await;
    let metrics = service.said.iter().find_map(|line| line.strip_prefix("metrics on ")).unwrap();
    let text = reqwest::get(metrics).await.unwrap().text().await.unwrap();
    for line in [
        "pulseward_store_connections_limit{database=\"users\"} 3",
        "pulseward_store_connections_limit{database=\"health\"} 3",
        "pulseward_store_operation_duration_seconds_count{database=\"users\",operation=\"groups.add_group\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("pulseward_store_writer_queue{"), "{text}");
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
}
