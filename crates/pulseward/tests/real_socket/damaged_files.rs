//! Sealed files that are missing or damaged, and objects that do not answer: what asks for them hears of it at once, an operator
//! hears of it, and everything else goes on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Response;
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::{S3_BUCKET, S3Server};

use crate::exports::{BEGIN_MS, s3_environment, send_day};
use crate::harness::{Patient, Researcher, Service, pulseward, run, store_command};
use crate::meanwhile::Meanwhile;
use crate::sealed_day::SealedDay;

const RANGE: &str = "from_date=2025-11-19T00:00:00Z&to_date=2025-11-19T01:00:00Z";
/// What a reader waits for at most, s; here with other tests at the same time, ten times as long counts as a fault.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
/// Rounds of requests of others during a fault: four of them are more than a hundred.
const ROUNDS: i64 = 40;

async fn raw(service: &Service, patient: &Patient, data_type: &str, range: &str) -> Response {
    let url = format!("{}/health/v2/raw-metrics/{data_type}?{range}", service.url);
    reqwest::Client::new().get(url).bearer_auth(&patient.token).send().await.unwrap()
}

/// A 503 that says when to come again, and why.
async fn assert_refused(answer: Response, code: &str) {
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], code, "{body}");
}

async fn sealed_files(researcher: &Researcher) -> Vec<Value> {
    let (_, lake) = researcher.get(&format!("/integration/v1/groups/{}/lake", researcher.group), None).await;
    lake["files"].as_array().unwrap().clone()
}

async fn sealed_file(researcher: &Researcher, patient: &Patient, data_type: &str) -> Value {
    let files = sealed_files(researcher).await;
    files.into_iter().find(|file| file["type"] == data_type && file["patient"] == patient.uuid.as_str()).unwrap()
}

fn object(data: &Path, file: &Value) -> PathBuf {
    data.join("objects").join(file["path"].as_str().unwrap())
}

fn doctor(data: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let data = data.to_str().unwrap();
    let output = run(&[&["doctor", "--json", "--data", data], arguments].concat());
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

async fn sync_minute(researcher: &Researcher, patient: &Patient, time_ms: i64) -> u16 {
    let body = json!({"data": {"activity": {"timestamp": [time_ms], "bpm": [61]}}});
    researcher.sync(patient, &body).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_file_is_reported_before_the_first_row_and_stops_nothing_else() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (ill, well) = (researcher.enrol().await, researcher.enrol().await);
    send_day(&researcher, &ill).await;
    send_day(&researcher, &well).await;
    store_command(data.path(), &["seal", "--now"]);
    assert_eq!(doctor(data.path(), &[]).0, Some(0));
    let file = sealed_file(&researcher, &ill, "activity").await;
    let (lost, kept) = (object(data.path(), &file), data.path().join("kept"));
    std::fs::rename(&lost, &kept).unwrap();

    assert_refused(raw(&service, &ill, "activity", RANGE).await, "data_damaged").await;
    assert_eq!(raw(&service, &ill, "ppg2", &RANGE.replace("01:00", "00:10")).await.status(), 200);
    assert_eq!(raw(&service, &well, "activity", RANGE).await.status(), 200);
    let url = file["url"].as_str().unwrap();
    assert_refused(reqwest::get(url).await.unwrap(), "data_damaged").await;
    // Another month, and another patient in the same one.
    assert_eq!(sync_minute(&researcher, &ill, BEGIN_MS + 40 * 86_400_000).await, 200);
    assert_eq!(sync_minute(&researcher, &well, BEGIN_MS + 9_300_000).await, 200);

    let (status, ready) = researcher.get("/readyz", None).await;
    assert_eq!((status, &ready["damaged_files"]["missing"]), (200, &json!(1)), "{ready}");
    let example = ready["damaged_files"]["example"].as_str().unwrap();
    assert!(example.starts_with("type=activity/") && !ready.to_string().contains(&ill.uuid), "{ready}");
    let (status, report) = doctor(data.path(), &[]);
    assert_eq!((status, &report["missing_files"], &report["ok"]), (Some(1), &json!(1), &json!(false)));
    assert!(report["problems"][0].as_str().unwrap().contains(file["path"].as_str().unwrap()), "{report}");

    std::fs::rename(&kept, &lost).unwrap();
    assert_eq!(raw(&service, &ill, "activity", RANGE).await.status(), 200);
    assert_eq!(doctor(data.path(), &["--verify"]).0, Some(0), "it was brought back");
    let (_, ready) = researcher.get("/readyz", None).await;
    assert_eq!(ready.get("damaged_files"), None, "{ready}");
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_is_missing_or_damaged_delays_nobody_else() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (ill, well) = (researcher.enrol().await, researcher.enrol().await);
    send_day(&researcher, &ill).await;
    store_command(data.path(), &["seal", "--now"]);
    let file = object(data.path(), &sealed_file(&researcher, &ill, "activity").await);
    let mut damaged = std::fs::read(&file).unwrap();
    // In every block that a reader can ask for.
    damaged.iter_mut().step_by(500).for_each(|byte| *byte ^= 1);
    std::fs::remove_file(&file).unwrap();
    for fault in ["a missing file", "a damaged file"] {
        let mut meanwhile = Meanwhile::default();
        for minute in 0..ROUNDS {
            let others = meanwhile.ask(&researcher, &well, minute, 200);
            let (refused, ()) = tokio::join!(raw(&service, &ill, "activity", RANGE), others);
            assert_refused(refused, "data_damaged").await;
        }
        meanwhile.report(fault);
        std::fs::write(&file, &damaged).unwrap();
    }
}

/// Nobody has asked for it: the doctor finds it without reading files.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_what_is_missing_or_cut_short_without_reading_it() {
    let SealedDay { data, service, researcher, patient } = SealedDay::begin().await;
    let missing = sealed_file(&researcher, &patient, "tests").await;
    std::fs::remove_file(object(data.path(), &missing)).unwrap();
    let cut = object(data.path(), &sealed_file(&researcher, &patient, "ppg2").await);
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let (status, report) = doctor(data.path(), &[]);
    assert_eq!(status, Some(1));
    assert_eq!((&report["missing_files"], &report["damaged_files"]), (&json!(1), &json!(1)), "{report}");
    assert_refused(raw(&service, &patient, "ppg2", &RANGE.replace("01:00", "00:10")).await, "data_damaged").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn range_over_two_months_is_refused_when_the_second_is_missing() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    // 2025-11-30T20:00Z and twelve hours later.
    let evening_ms = 1_764_532_800_000_i64;
    for time_ms in [evening_ms, evening_ms + 43_200_000] {
        assert_eq!(sync_minute(&researcher, &patient, time_ms).await, 200);
    }
    store_command(data.path(), &["seal", "--now"]);
    let december = sealed_files(&researcher).await.into_iter().find(|file| file["period"] == "2025-12").unwrap();
    std::fs::remove_file(object(data.path(), &december)).unwrap();
    let range = "from_date=2025-11-30T12:00:00Z&to_date=2025-12-01T12:00:00Z";
    assert_refused(raw(&service, &patient, "activity", range).await, "data_damaged").await;
    let range = "from_date=2025-11-30T12:00:00Z&to_date=2025-11-30T23:00:00Z";
    assert_eq!(raw(&service, &patient, "activity", range).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_store_with_a_missing_file_fails_and_names_it() {
    let SealedDay { data, service: _service, researcher, patient } = SealedDay::begin().await;
    let file = sealed_file(&researcher, &patient, "activity").await;
    std::fs::remove_file(object(data.path(), &file)).unwrap();
    let copy = data.path().join("copy");
    let output = run(&["backup", copy.to_str().unwrap(), "--data", data.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(file["path"].as_str().unwrap()), "{said}");
    assert_eq!(std::fs::read_dir(&copy).map_or(0, Iterator::count), 0, "nothing looks like a backup");
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_of_objects_that_is_gone_is_not_made_again() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    let (objects, away) = (data.path().join("objects"), data.path().join("away"));
    std::fs::rename(&objects, &away).unwrap();
    for _ in 0..2 {
        assert_eq!(researcher.get("/readyz", None).await.0, 503);
    }
    assert!(!objects.exists(), "what is written there would be lost below the mounted disk");
    assert_eq!(sync_minute(&researcher, &patient, BEGIN_MS).await, 200);
    let folder = data.path().to_str().unwrap();
    let output = run(&["seal", "--now", "--data", folder]);
    assert!(!output.status.success() && !objects.exists());
    assert!(String::from_utf8_lossy(&output.stderr).contains("mounted"), "{output:?}");
    // The empty folder that the disk was mounted on.
    std::fs::create_dir(&objects).unwrap();
    assert_eq!(researcher.get("/readyz", None).await.0, 503);
    assert!(!run(&["seal", "--now", "--data", folder]).status.success());
    assert_eq!(std::fs::read_dir(&objects).unwrap().count(), 0);
    std::fs::remove_dir(&objects).unwrap();
    std::fs::rename(&away, &objects).unwrap();
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    assert_eq!(store_command(data.path(), &["seal", "--now"])["segments"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_bucket_holds_nobody_up_but_those_who_ask_it() {
    let server = S3Server::start();
    let data = tempdir().unwrap();
    let objects = format!("s3://{S3_BUCKET}/trial");
    let service = Service::start_in(data.path(), &["--objects", &objects], &s3_environment(&server));
    let researcher = Researcher::new(data.path(), &service.url).await;
    let (sealed, other) = (researcher.enrol().await, researcher.enrol().await);
    send_day(&researcher, &sealed).await;
    let folder = data.path().to_str().unwrap();
    let mut seal = pulseward(&["seal", "--now", "--data", folder, "--objects", &objects]);
    assert!(seal.envs(s3_environment(&server)).status().unwrap().success());
    assert_eq!(raw(&service, &sealed, "activity", RANGE).await.status(), 200);

    server.set_silent(true);
    let begun = Instant::now();
    let asked = futures::future::join_all((0..20).map(|_| raw(&service, &sealed, "activity", RANGE))).await;
    println!("twenty readers of a silent bucket waited {:?}", begun.elapsed());
    assert!(begun.elapsed() < LONGEST_ANSWER * 10);
    for answer in asked {
        assert_refused(answer, "unavailable").await;
    }
    let begun = Instant::now();
    let (status, _) = researcher.get("/readyz", None).await;
    println!("readyz answered after {:?}", begun.elapsed());
    assert!(status == 503 && begun.elapsed() < Duration::from_secs(10));
    let mut meanwhile = Meanwhile::default();
    for minute in 0..ROUNDS {
        let others = meanwhile.ask(&researcher, &other, minute, 503);
        let (refused, ()) = tokio::join!(raw(&service, &sealed, "activity", RANGE), others);
        assert_refused(refused, "unavailable").await;
    }
    meanwhile.report("a silent bucket");
    service.check_memory("a silent bucket");
    // Rows that need no object are stored and derived, however many patients wait for the bucket.
    for minute in 0..20 {
        assert_eq!(sync_minute(&researcher, &other, BEGIN_MS + minute * 60_000).await, 200);
    }
    let begun = Instant::now();
    let path = format!("/integration/v1/patients/{}/summary/2025-11-19", other.uuid);
    while researcher.get(&path, None).await.1["heart_rate"].is_null() {
        assert!(begun.elapsed() < Duration::from_secs(50), "another patient is not derived");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.set_silent(false);
    let begun = Instant::now();
    while raw(&service, &sealed, "activity", RANGE).await.status() != 200 {
        assert!(begun.elapsed() < Duration::from_secs(30), "the bucket is back");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn single_file_is_brought_back_from_a_backup_while_the_service_runs() {
    let SealedDay { data, service, researcher, patient } = SealedDay::begin().await;
    let copy = data.path().join("copy");
    let copy = copy.to_str().unwrap();
    store_command(data.path(), &["backup", copy]);
    let file = sealed_file(&researcher, &patient, "activity").await;
    let path = file["path"].as_str().unwrap();
    // Not in its place: the backup's file is the same one.
    std::fs::remove_file(object(data.path(), &file)).unwrap();
    std::fs::write(object(data.path(), &file), "no Parquet").unwrap();
    assert_refused(raw(&service, &patient, "activity", RANGE).await, "data_damaged").await;
    let restored = store_command(data.path(), &["restore", copy, "--segment", path]);
    assert_eq!((&restored["segments"][0]["path"], &restored["segments"][0]["bytes"]), (&file["path"], &file["bytes"]));
    assert_eq!(raw(&service, &patient, "activity", RANGE).await.status(), 200);
    assert_eq!(doctor(data.path(), &["--verify"]).0, Some(0));
    let folder = data.path().to_str().unwrap();
    let unknown = run(&["restore", copy, "--segment", "v1/unknown.parquet", "--data", folder]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("v1/unknown.parquet"), "{unknown:?}");
}
