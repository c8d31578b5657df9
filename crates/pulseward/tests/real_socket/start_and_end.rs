//! How the service starts, what it refuses, and how it ends.

use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::tempdir;

use crate::certificates::Certificate;
use crate::harness::{Researcher, Service, admin, database_file, pulseward, run, store_command};

const DATABASES: [&str; 2] = ["users.db", "health.db"];

#[test]
fn both_signals_end_the_service_with_success() {
    for name in ["-TERM", "-INT"] {
        let data = tempdir().unwrap();
        let service = Service::start(data.path());
        service.signal(name);
        assert_eq!(service.wait().code(), Some(0), "{name}");
    }
}

/// Another process on the same folder sees by the lock that it needs a name of its own.
#[tokio::test]
async fn name_of_the_node_is_held_for_as_long_as_the_service_works() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    // It works in the background before it answers.
    reqwest::get(format!("{}/livez", service.url)).await.unwrap();
    let file = std::fs::File::open(data.path().join("node.id")).unwrap();
    assert!(matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
    file.try_lock().unwrap();
}

#[cfg(not(feature = "otlp"))]
#[test]
fn collector_of_traces_without_the_feature_is_wrong_usage() {
    let data = tempdir().unwrap();
    let ended = run(&["serve", "--data", data.path().to_str().unwrap(), "--otlp-url", "http://127.0.0.1:4318"]);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said, "error: --otlp-url: this program cannot send traces; build it with `--features otlp`\n");
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_end() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let address = service.url.strip_prefix("http://").unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let head = "POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    // The service answers others while it waits for the body, so it has read the head by then.
    for _ in 0..3 {
        reqwest::get(format!("{}/livez", service.url)).await.unwrap();
    }
    service.signal("-TERM");
    client.write_all(b"{}").unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut client, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert_eq!(service.wait().code(), Some(0));
}

#[tokio::test]
async fn planned_stop_writes_what_was_counted_of_refusals() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    for _ in 0..50 {
        // For administrators alone.
        assert_eq!(researcher.get("/integration/v1/security/events", None).await.0, 403);
    }
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
    let data = data.path().to_str().unwrap();
    let log = run(&["admin", "security-log", "--data", data, "--type", "access_denied"]);
    assert!(log.status.success(), "{}", String::from_utf8_lossy(&log.stderr));
    let log = String::from_utf8(log.stdout).unwrap();
    let events: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counted: i64 = events.iter().map(|event| event["count"].as_i64().unwrap()).sum();
    assert_eq!(counted, 50, "{log}");
}

#[tokio::test]
async fn ten_stops_leave_nothing_in_the_write_ahead_logs() {
    let data = tempdir().unwrap();
    let mut service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let time_ms = |stop: i64, row: i64| 1_763_600_000_000 + (stop * 10 + row) * 1000;
    for stop in 0..10 {
        for row in 0..10 {
            let body = json!({"data": {"activity": {"timestamp": [time_ms(stop, row)], "bpm": [60 + row]}}});
            assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
        }
        service.signal("-TERM");
        assert_eq!(service.wait().code(), Some(0));
        assert_eq!(logged_bytes(data.path()), [0, 0], "stop {stop}");
        service = Service::start_named(data.path());
        researcher.at(&service.url);
    }
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));

    // The files of the databases alone hold what was acknowledged last.
    let copy = tempdir().unwrap();
    for name in DATABASES.iter().chain(&["master.key"]) {
        std::fs::copy(data.path().join(name), copy.path().join(name)).unwrap();
    }
    let objects = format!("file://{}", data.path().join("objects").display());
    let options = ["--public-url", "http://study.example", "--objects", &objects];
    let service = Service::start_with(copy.path(), &options);
    researcher.at(&service.url);
    let last = json!({"data": {"activity": {"timestamp": [time_ms(9, 9)], "bpm": [69]}}});
    let (status, receipt) = researcher.sync(&patient, &last).await.unwrap();
    assert_eq!((status, &receipt["types"]["activity"]["duplicate"]), (200, &json!(1)));
}

/// What was acknowledged last is in no file that is copied alone: the service says so, and ends with a status of its own.
#[tokio::test]
async fn end_while_another_process_reads_a_database_is_reported() {
    let data = tempdir().unwrap();
    let arguments = ["serve", "--data", data.path().to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let mut child = pulseward(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned)).unwrap();
    let researcher = Researcher::new(data.path(), &url).await;
    let patient = researcher.enrol().await;
    let path = data.path().join("health.db");
    let reader = database_file(&path);
    reader.execute_batch("BEGIN").unwrap();
    // The snapshot is taken by the first look and not by the beginning.
    assert_eq!(reader.query_row("SELECT COUNT(*) FROM patient", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "bpm": [61]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let said: Vec<String> = lines.collect();
    let log = format!("{}-wal", path.display());
    assert!(said.iter().any(|line| line.contains("WARN") && line.contains(&log)), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("error: ") && line.contains("keep both files")), "{said:?}");
    assert!(logged_bytes(data.path())[1] > 0);

    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    assert_eq!(store_command(data.path(), &["doctor"])["ok"], true);
    assert_eq!(logged_bytes(data.path()), [0, 0], "as it says");
}

#[test]
fn commands_leave_nothing_in_the_write_ahead_logs() {
    let data = tempdir().unwrap();
    for number in 0..5 {
        let email = format!("rita{number}@study.example");
        admin(data.path(), &["create-account", "--email", &email, "--role", "researcher"]);
        assert_eq!(logged_bytes(data.path()), [0, 0], "create-account");
        for command in [&["seal", "--now"][..], &["migrate"], &["doctor"], &["audit", "verify"], &["recompute"]] {
            store_command(data.path(), command);
            assert_eq!(logged_bytes(data.path()), [0, 0], "{command:?}");
        }
    }
    // A command that fails has opened the databases too.
    let output = run(&["recompute", "--patient", "nobody", "--data", data.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(logged_bytes(data.path()), [0, 0]);
}

/// Sizes of the write-ahead logs; none is as good as an empty one.
fn logged_bytes(data: &Path) -> [u64; 2] {
    DATABASES.map(|name| std::fs::metadata(data.join(format!("{name}-wal"))).map_or(0, |log| log.len()))
}

#[test]
fn an_open_address_without_encryption_is_refused() {
    let data = tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let output = run(&["serve", "--data", data, "--listen", "0.0.0.0:0", "--public-url", "http://study.example"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--behind-proxy"));
}

#[test]
fn a_configuration_file_is_read_and_its_mistakes_are_named() {
    let folder = tempdir().unwrap();
    let (file, data) = (folder.path().join("pulseward.toml"), folder.path().join("from-file"));
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write(&format!("data = {data:?}\nlisten = \"127.0.0.1:0\"\n"));
    let output = run(&["migrate", "--json", "--config", file.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(data.join("users.db").exists());
    write("lissen = \"127.0.0.1:0\"\n");
    let output = run(&["serve", "--config", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`lissen`"));
}

#[tokio::test]
async fn the_service_speaks_tls_with_a_certificate() {
    let folder = tempdir().unwrap();
    let Some(certificate) = Certificate::make(folder.path(), "IP:127.0.0.1") else { return };
    let [file, key] = [&certificate.file, &certificate.key].map(|path| path.to_str().unwrap());
    let service = Service::start_with(&folder.path().join("data"), &["--tls-cert", file, "--tls-key", key]);
    assert!(service.url.starts_with("https://"), "{}", service.url);
    let builder = || certificate.client();
    let address = format!("{}/livez", service.url);
    let answer = builder().build().unwrap().get(&address).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["strict-transport-security"], "max-age=31536000");
    let answer = builder().http1_only().build().unwrap().get(&address).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_11));
    assert!(reqwest::get(address.replace("https", "http")).await.is_err(), "no unencrypted answer");
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
}
