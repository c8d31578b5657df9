//! Keeping data: checked, backed up, restored; nothing lost and nothing left over when the process is killed while it
//! seals and exports, or when the disk is full.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::events::{EventLog, Followed, LogCursor};
use store::{Address, HealthDb, Objects, UsersDb};
use tempfile::tempdir;
use testkit::{Rounds, S3_BUCKET, S3Server};

use crate::exports::{export, fetch, s3_environment, send_day, unpacked, wait_for};
use crate::harness::{Researcher, Service, pulseward, run, store_command};
use crate::sealed_day::SealedDay;

const KILLS: usize = 50;
/// The longest that service and sealing live before they are killed.
const LONGEST_LIFE: Duration = Duration::from_millis(400);

#[tokio::test]
async fn a_backup_brings_everything_back_but_the_erased() {
    let data = tempdir().unwrap();
    let service =
        Service::start_with(data.path(), &["--public-url", "http://study.example", "--export-interval", "0s"]);
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let (kept, gone) = (researcher.enrol().await, researcher.enrol().await);
    send_day(&researcher, &kept).await;
    send_day(&researcher, &gone).await;
    store_command(data.path(), &["seal", "--now"]);
    let late = json!({"data": {"activity": {"timestamp": [1_763_520_000_000_i64], "bpm": [64]}}});
    assert_eq!(researcher.sync(&kept, &late).await.unwrap().0, 200);
    let count = format!("/integration/v1/patients/{}/raw-data-compliance/2025-11-19", kept.uuid);
    let counts = raw_counts(&researcher.get(&count, None).await.1);

    let copy = data.path().join("copy");
    let made = store_command(data.path(), &["backup", copy.to_str().unwrap()]);
    assert_eq!(made["objects"], 6, "three files of two patients: {made}");
    for database in ["users", "health"] {
        let copied = &made["databases"][database];
        let length = std::fs::metadata(copy.join(format!("{database}.db"))).unwrap().len();
        assert_eq!(
            (&copied["engine"], &copied["patients"], &copied["bytes"]),
            (&json!("sqlite"), &json!(2), &json!(length))
        );
    }
    assert_eq!(made["master_key"], true);
    let taken = run(&["backup", copy.to_str().unwrap(), "--data", data.path().to_str().unwrap()]);
    assert_eq!(taken.status.code(), Some(2), "the folder is not empty");
    let among = data.path().join("objects/copy");
    let among = run(&["backup", among.to_str().unwrap(), "--data", data.path().to_str().unwrap()]);
    assert_eq!(among.status.code(), Some(2), "objects are no place for a backup");
    // Written after the backup, and not in it.
    let after = json!({"data": {"activity": {"timestamp": [1_763_521_000_000_i64], "bpm": [65]}}});
    assert_eq!(researcher.sync(&kept, &after).await.unwrap().0, 200);
    assert!((200..300).contains(&researcher.delete(&format!("/integration/v1/patients/{}", gone.uuid)).await));
    let list = data.path().join("erased.txt");
    let erased: Vec<String> = std::fs::read_dir(data.path().join("objects/erased"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(erased, [gone.uuid.as_str()]);
    let strangers = format!("\u{feff}# erased since\r\n{}\r\n\r\n{}\n", gone.uuid.to_uppercase(), "0".repeat(32));
    std::fs::write(&list, strangers).unwrap();
    drop(service);

    // What a restore that was killed has left: nobody opens it, and the next restore begins again.
    let restored = tempdir().unwrap();
    std::fs::write(restored.path().join("restore.unfinished"), "").unwrap();
    for name in ["users.db", "health.db"] {
        std::fs::copy(copy.join(name), restored.path().join(name)).unwrap();
    }
    let early = run(&["doctor", "--data", restored.path().to_str().unwrap()]);
    assert_eq!(early.status.code(), Some(2), "the erased are still in it");
    let doubtful = data.path().join("doubtful.txt");
    std::fs::write(&doubtful, format!("{}\nnot a uuid\n", gone.uuid)).unwrap();
    let (from, to) = (copy.to_str().unwrap(), restored.path().to_str().unwrap());
    let refused = run(&["restore", from, "--data", to, "--erased", doubtful.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("line 2: not a uuid"), "{refused:?}");
    let arguments = ["restore", from, "--erased", list.to_str().unwrap()];
    let reported = store_command(restored.path(), &arguments);
    assert_eq!(
        (&reported["erased"], &reported["not_in_backup"], &reported["master_key"]),
        (&json!(1), &json!(1), &json!(true))
    );
    let again = run(&[&arguments[..], &["--data", restored.path().to_str().unwrap()]].concat());
    assert_eq!(again.status.code(), Some(2), "the store is not empty");
    let checked = store_command(restored.path(), &["doctor", "--verify"]);
    assert_eq!((&checked["ok"], &checked["segments"], &checked["orphans"]), (&json!(true), &json!(3), &json!(0)));
    assert!(checked["audit_entries"].as_i64().unwrap() > 5);

    let options = ["--public-url", "http://study.example", "--export-interval", "0s"];
    let service = Service::start_with(restored.path(), &options);
    researcher.at(&service.url);
    assert_eq!(raw_counts(&researcher.get(&count, None).await.1), counts, "the state of the backup");
    assert_eq!(
        researcher.get(&format!("/integration/v1/patients/{}/summary/2025-11-19", gone.uuid), None).await.0,
        404
    );
    // Tokens of before hold, since keys and address are the same.
    assert_eq!(researcher.sync(&kept, &after).await.unwrap().1["types"]["activity"]["stored"], 1);
}

/// The event logs of a data folder that nobody else uses, and what ends the connections to them.
async fn event_logs(data: &Path) -> (UsersDb, HealthDb) {
    let objects = Objects::folder(&data.join("objects")).unwrap();
    let users = UsersDb::open(Address::File(data.join("users.db"))).await.unwrap();
    (users, HealthDb::open(Address::File(data.join("health.db")), objects).await.unwrap())
}

#[tokio::test]
async fn restored_store_does_not_know_cursors_of_before() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let sync = json!({"data": {"activity": {"timestamp": [1_763_520_000_000_i64], "bpm": [64]}}});
    assert_eq!(researcher.sync(&patient, &sync).await.unwrap().0, 200);
    drop(service);
    let copy = data.path().join("copy");
    store_command(data.path(), &["backup", copy.to_str().unwrap()]);

    let (users, health) = event_logs(data.path()).await;
    let cursors = [users.events().oldest().await.unwrap(), health.events().oldest().await.unwrap()];
    let holds = async |log: &EventLog, cursor: &LogCursor| match log.read_after(cursor, 9).await.unwrap() {
        Followed::Page(page) => !page.events.is_empty(),
        Followed::AnotherStore => false,
        Followed::Expired => panic!("nothing has expired"),
    };
    assert!(holds(&users.events(), &cursors[0]).await && holds(&health.events(), &cursors[1]).await);

    let restored = tempdir().unwrap();
    store_command(restored.path(), &["restore", copy.to_str().unwrap()]);
    let (users, health) = event_logs(restored.path()).await;
    assert!(!holds(&users.events(), &cursors[0]).await, "of the users database");
    assert!(!holds(&health.events(), &cursors[1]).await, "of the health database");
    for log in [users.events(), health.events()] {
        assert!(holds(&log, &log.oldest().await.unwrap()).await, "a new reader sees what was restored");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_lists_the_objects_of_a_bucket_and_keeps_them() {
    let server = S3Server::start();
    let data = tempdir().unwrap();
    let objects = format!("s3://{S3_BUCKET}/trial");
    let on_bucket = |data: &Path, arguments: &[&str]| -> Value {
        let folder = data.to_str().unwrap();
        let arguments = [arguments, &["--data", folder, "--objects", &objects, "--json"]].concat();
        let output = pulseward(&arguments).envs(s3_environment(&server)).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let options = ["--public-url", "http://study.example", "--objects", &objects];
    let service = Service::start_in(data.path(), &options, &s3_environment(&server));
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    on_bucket(data.path(), &["seal", "--now"]);
    let copy = data.path().join("copy");
    let made = on_bucket(data.path(), &["backup", copy.to_str().unwrap(), "--without-key"]);
    assert_eq!(made["objects"], 3, "{made}");
    assert!(made["objects_held_until"].is_string(), "{made}");
    assert!(!copy.join("objects").exists() && !copy.join("master.key").exists());
    let content: Value = serde_json::from_slice(&std::fs::read(copy.join("backup.json")).unwrap()).unwrap();
    assert_eq!((&content["objects"], &content["objects_are_here"]), (&json!(3), &json!(false)));
    assert_eq!(std::fs::read_to_string(copy.join("objects.jsonl")).unwrap().lines().count(), 3);

    // The file that is replaced is dead, but the backup still names it.
    let late = json!({"data": {"activity": {"timestamp": [1_763_520_000_000_i64], "bpm": [64]}}});
    assert_eq!(researcher.sync(&patient, &late).await.unwrap().0, 200);
    on_bucket(data.path(), &["seal", "--now"]);
    drop(service);
    let restored = tempdir().unwrap();
    std::fs::copy(data.path().join("master.key"), restored.path().join("master.key")).unwrap();
    assert_eq!(on_bucket(restored.path(), &["restore", copy.to_str().unwrap()])["objects"], 3);
    let checked = on_bucket(restored.path(), &["doctor", "--verify"]);
    assert_eq!((&checked["ok"], &checked["segments"]), (&json!(true), &json!(3)), "{checked}");
    assert_eq!(checked["holds"], json!([]), "the restored store is not the one that holds objects");

    // The hold is shown where it is, is the same for the next backup in this folder, and ends when somebody says so.
    let held = on_bucket(data.path(), &["doctor"]);
    assert_eq!(held["holds"].as_array().unwrap().len(), 1);
    assert_eq!((&held["holds"][0]["id"], &held["holds"][0]["until"]), (&made["hold"], &made["objects_held_until"]));
    std::fs::remove_dir_all(&copy).unwrap();
    let next = on_bucket(data.path(), &["backup", copy.to_str().unwrap(), "--without-key"]);
    assert_eq!(next["hold"], made["hold"]);
    let hold = next["hold"].as_str().unwrap();
    assert_eq!(on_bucket(data.path(), &["doctor", "--release", hold])["holds"], json!([]));
    let folder = data.path().to_str().unwrap();
    let again = pulseward(&["doctor", "--release", hold, "--data", folder, "--objects", &objects]);
    assert_eq!({ again }.envs(s3_environment(&server)).output().unwrap().status.code(), Some(2));
}

/// Counts of rows; slots follow a little later.
fn raw_counts(counts: &Value) -> Vec<(String, Value)> {
    let counts = counts.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("raw_"));
    counts.map(|(name, count)| (name.clone(), count.clone())).collect()
}

#[tokio::test]
async fn the_doctor_finds_what_is_damaged_missing_and_lost() {
    let SealedDay { data, service: _service, researcher, patient } = SealedDay::begin().await;
    let well = store_command(data.path(), &["doctor", "--verify"]);
    assert_eq!(well["problems"], json!([]));
    let group = &well["groups"][0];
    assert_eq!(
        (&group["code"], &group["patients"], &group["rows"]),
        (&json!(researcher.group), &json!(1), &json!(230_522))
    );
    assert!(group["bytes"].as_u64().unwrap() > 100_000 && group["bytes"] == well["bytes"]);
    assert_eq!(
        (&group["bytes_per_day"], &well["full_in_days"]),
        (&json!(0), &Value::Null),
        "nothing was measured lately"
    );
    #[expect(clippy::disallowed_methods, reason = "the service that is started goes by the real clock")]
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let today = json!({"data": {"activity": {"timestamp": [now_ms - 60_000], "bpm": [61]}}});
    assert_eq!(researcher.sync(&patient, &today).await.unwrap().0, 200);
    let grown = store_command(data.path(), &["doctor"]);
    let per_day = grown["groups"][0]["bytes_per_day"].as_u64().unwrap();
    assert!(per_day > 0 && per_day == grown["bytes"].as_u64().unwrap() - well["bytes"].as_u64().unwrap(), "{grown}");
    let of_databases = grown["database_bytes_per_day"].as_u64().unwrap();
    assert!(of_databases > per_day, "events, catalogs and what is derived count: {grown}");
    assert_eq!(grown["full_in_days"], json!(grown["free_bytes"].as_u64().unwrap() / (per_day + of_databases)));
    assert_eq!(grown["warnings"], json!([]));

    let (_, lake) = researcher.get(&format!("/integration/v1/groups/{}/lake", researcher.group), None).await;
    let paths: Vec<_> = lake["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    let object = |path: &str| data.path().join("objects").join(path);
    let mut bytes = std::fs::read(object(paths[0])).unwrap();
    bytes[100] ^= 1;
    std::fs::write(object(paths[0]), bytes).unwrap();
    std::fs::remove_file(object(paths[1])).unwrap();
    std::fs::write(object("v1/lost.parquet"), "lost").unwrap();
    std::fs::write(object("v1/half.parquet#3"), "half").unwrap();
    let folder = data.path().to_str().unwrap();
    let output = run(&["doctor", "--verify", "--lost-after", "1s", "--json", "--data", folder]);
    assert_eq!(output.status.code(), Some(1));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let output = run(&["doctor", "--verify", "--sweep", "--lost-after", "1s", "--json", "--data", folder]);
    let ill: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&ill["damaged"], &ill["missing"]), (&json!([paths[0]]), &json!([paths[1]])));
    assert_eq!((&ill["orphans"], &ill["ok"]), (&json!(1), &json!(false)));
    assert!(!object("v1/lost.parquet").exists() && !object("v1/half.parquet#3").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_while_it_seals_and_exports_leave_one_archive_and_nothing_else() {
    let data = tempdir().unwrap();
    let options = ["--public-url", "http://study.example", "--export-interval", "0s"];
    let mut service = Service::start_with(data.path(), &options);
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    send_day(&researcher, &patient).await;
    let (expected, _) = unpacked(&fetch(&local(&service.url, &export(&researcher, &patient, "csv").await)).await);
    let body = json!({"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2025-11-21T00:00:00.000",
        "types": ["ppg2", "activity", "tests"]});
    let create = format!("/integration/v1/create-export/{}", patient.uuid);
    let (_, created) = researcher.post(&create, None, &body).await;
    let id = created["id"].as_str().unwrap().to_owned();
    let rounds = Rounds::of_test("kills while it seals and exports", KILLS);
    let mut ids = vec![id];
    for (kill, life) in rounds.lives(LONGEST_LIFE).into_iter().enumerate() {
        // A sealing alongside the service, killed as well. New rows keep it at work.
        let minute = i64::try_from(kill).unwrap() * 60_000 + 1;
        let body_of_sync = json!({"data": {"ppg2": [{"start": 1_763_520_000_000_i64 + minute, "rate_hz": 16,
            "metric_id": "0x7b", "led_pd_pos": 6, "value": vec![kill; 800]}]}});
        assert_eq!(researcher.sync(&patient, &body_of_sync).await.unwrap().0, 200);
        let mut sealing = pulseward(&["seal", "--now", "--data", data.path().to_str().unwrap()])
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        if kill % 2 == 1 {
            let (status, created) = researcher.post(&create, None, &body).await;
            assert_eq!(status, 200, "{created}");
            ids.push(created["id"].as_str().unwrap().to_owned());
        }
        tokio::time::sleep(life).await;
        service.kill();
        let _ = sealing.kill();
        sealing.wait().unwrap();
        service = Service::start_with(data.path(), &options);
        researcher.at(&service.url);
        listed_files_are_whole(&researcher, &service.url).await;
    }
    // All but a few of the exports still wait when the last service starts.
    let longest_s = 100 + 2 * rounds.count as u64;
    for id in &ids {
        let url = local(&service.url, &wait_within(&researcher, id, longest_s).await);
        let (files, _) = unpacked(&fetch(&url).await);
        for (name, bytes) in &expected {
            assert!(files[name] == *bytes, "{name}");
        }
    }
    service.kill();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let folder = data.path().to_str().unwrap();
    let output = run(&["doctor", "--sweep", "--lost-after", "1s", "--json", "--data", folder]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let checked = store_command(data.path(), &["doctor", "--verify", "--lost-after", "1s"]);
    assert_eq!((&checked["ok"], &checked["orphans"]), (&json!(true), &json!(0)), "{checked}");
    assert!(unfinished(&data.path().join("objects")).is_empty());
}

/// Every file that the lake names is there and is what was written.
async fn listed_files_are_whole(researcher: &Researcher, service: &str) {
    let (status, lake) = researcher.get(&format!("/integration/v1/groups/{}/lake", researcher.group), None).await;
    assert_eq!(status, 200, "{lake}");
    for file in lake["files"].as_array().unwrap() {
        let bytes = fetch(&local(service, file["url"].as_str().unwrap())).await;
        let hash = platform::hex(&Sha256::digest(&bytes));
        assert_eq!((&json!(hash), &json!(bytes.len())), (&file["sha256"], &file["bytes"]), "{file}");
    }
}

/// A link leads to the public address, behind which there is nothing here.
fn local(service: &str, url: &str) -> String {
    url.replace("http://study.example", service)
}

/// Waits longer: the lease of a worker that was killed has to run out first.
async fn wait_within(researcher: &Researcher, id: &str, seconds: u64) -> String {
    for _ in 0..seconds {
        let (_, export) = researcher.get(&format!("/integration/v1/export/{id}"), None).await;
        if export["status"] != "in_progress" {
            return wait_for(researcher, id).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("the export does not come to its end");
}

fn unfinished(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(unfinished(&path));
        } else if path.to_string_lossy().contains('#') {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Files cannot grow beyond a few MB: for the program it looks as a full disk does.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported_and_nothing_is_partly_stored() {
    let data = tempdir().unwrap();
    let mut service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    service.kill();
    let limited = format!(
        "trap '' XFSZ; ulimit -f 3000; exec {} serve --data {} --listen 127.0.0.1:0 --rate-limit off --public-url http://study.example",
        env!("CARGO_BIN_EXE_pulseward"),
        data.path().display()
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &limited]);
    service = Service::start_command(shell);
    researcher.at(&service.url);
    let signal = |part: i64| -> Value {
        let noise: Vec<i64> = (0..60_000_i64).map(|row| (row * row * 7919 + part * 104_729 + row) % 65_536).collect();
        json!({"data": {"ppg2": [{"start": 1_763_510_400_000_i64 + part * 1_000_000, "rate_hz": 64,
            "metric_id": "0x7e", "led_pd_pos": 6, "value": noise}]}})
    };
    let mut stored = 0;
    let refused = loop {
        let (status, answer) = researcher.sync(&patient, &signal(stored)).await.unwrap();
        match status {
            200 => stored += 1,
            other => break (other, answer),
        }
        assert!(stored < 500, "the disk does not fill up");
    };
    assert_eq!(refused.0, 503, "{}", refused.1);
    // There may be room for something small yet; asking takes it up.
    let mut asked = 0;
    while researcher.get("/readyz", None).await.0 != 503 {
        asked += 1;
        assert!(asked < 500, "the service goes on saying that it is ready, after {stored} syncs and {}", refused.1);
    }
    assert_eq!(researcher.get("/livez", None).await.0, 200);
    service.kill();

    service = Service::start_named(data.path());
    researcher.at(&service.url);
    assert_eq!(researcher.get("/readyz", None).await.0, 200);
    for part in 0..stored {
        let (status, answer) = researcher.sync(&patient, &signal(part)).await.unwrap();
        assert_eq!((status, &answer["types"]["ppg2"]["duplicate"]), (200, &json!(60_000)), "what was taken is there");
    }
    let (_, answer) = researcher.sync(&patient, &signal(stored)).await.unwrap();
    assert_eq!(answer["types"]["ppg2"]["stored"], 60_000, "what was refused is not");
}
