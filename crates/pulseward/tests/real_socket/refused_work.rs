//! Commands that are used rightly and cannot do their work: status 1, what is wrong, and nothing incomplete.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{PATIENT_PASSWORD, Patient, Researcher, Service, admin, run, store_command};

/// Status, standard output and standard error of a command.
fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn import(service: &Service, bearer: &str, options: &[&str], file: &Path) -> (Option<i32>, String, String) {
    let basic = ["import", "--url", &service.url, "--bearer", bearer, "--json"];
    ended(&[&basic[..], options, &[file.to_str().unwrap()]].concat())
}

async fn rows_of(researcher: &Researcher, patient: &Patient) -> Value {
    let path = format!("/integration/v1/patients/{}/raw-data-compliance/2025-11-18", patient.uuid);
    researcher.get(&path, None).await.1
}

#[tokio::test]
async fn files_that_cannot_be_imported_are_reported_with_their_place() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let file = data.path().join("rows.csv");
    for (text, options, status, named) in [
        ("timestamp,bmp\n1763467200000,60\n", &["--type", "activity"][..], 1, "`bmp`"),
        ("bpm\n60\n", &["--type", "activity"], 1, "timestamp"),
        ("", &["--type", "activity"], 1, "timestamp"),
        ("timestamp,bpm\n1763467200000\n", &["--type", "activity"], 1, "rows.csv"),
        ("timestamp,bpm\n1763467200000,60\n1763467260000,fast\n", &["--type", "activity"], 1, "line 3"),
        ("timestamp,bpm\nnoon,60\n", &["--type", "activity"], 1, "line 2"),
        ("timestamp,bpm\n1763467200000,60\n", &[], 2, "--type"),
        ("timestamp,bpm\n1763467200000,60\n", &["--type", "heartbeat"], 2, "heartbeat"),
        ("timestamp,bpm\n1763467200000,60\n", &["--type", "activity", "--time-zone", "Mars/Olympus"], 1, "time_zone"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (found, printed, said) = import(&service, &patient.token, options, &file);
        assert_eq!((found, printed.as_str()), (Some(status), ""), "{text:?} {options:?}: {said}");
        assert!(said.contains(named), "{text:?} {options:?}: {said}");
    }
    std::fs::write(&file, "timestamp,bpm\n1763467200000,60\n").unwrap();
    let good = ["--type", "activity"];
    for (bearer, named) in [("rubbish", "401"), (researcher.key.as_str(), "401")] {
        let (found, _, said) = import(&service, bearer, &good, &file);
        assert_eq!(found, Some(1), "{said}");
        assert!(said.contains(named) && !said.contains(bearer), "a token is not repeated: {said}");
    }
    let missing = data.path().join("missing.csv");
    let (found, _, said) = import(&service, &patient.token, &good, &missing);
    assert_eq!(found, Some(1));
    assert!(said.contains("missing.csv"), "{said}");
    assert_eq!(rows_of(&researcher, &patient).await, json!({}), "nothing of all this was stored");
    let (found, printed, said) = import(&service, &patient.token, &good, &file);
    let counts: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((found, counts), (Some(0), json!({"rows": 1, "stored": 1, "duplicate": 0, "rejected": 0})), "{said}");
}

#[test]
fn services_that_are_not_there_are_reported() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, "timestamp,bpm\n1763467200000,60\n").unwrap();
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mirror = folder.path().join("mirror");
    let lake = ["lake", "copy", "--url", &url, "--token", "pwk_x", "--group", "AAAAA", mirror.to_str().unwrap()];
    let (status, printed, said) = ended(&lake);
    assert_eq!((status, printed.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("error") && !said.contains("pwk_x"), "{said}");
    let import = ["import", "--bearer", "t", "--type", "activity", file.to_str().unwrap(), "--url"];
    let lake = ["lake", "copy", "--token", "t", "--group", "AAAAA", mirror.to_str().unwrap(), "--url"];
    let simulate = ["simulate", "--token", "t", "--patients", "1", "--url"];
    for wrong in ["not an address", "127.0.0.1:8080", "ftp://127.0.0.1/", ""] {
        for command in [&import[..], &lake, &simulate] {
            let (status, printed, said) = ended(&[command, &[wrong]].concat());
            assert_eq!((status, printed.as_str()), (Some(2), ""), "{wrong}: {said}");
            assert!(said.contains("--url"), "{wrong}: {said}");
        }
    }
}

#[tokio::test]
async fn simulated_fleets_need_a_key_and_a_study_of_their_own() {
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let basic = ["simulate", "--url", &service.url, "--patients", "1", "--days", "1", "--json"];
    for (token, group) in [("pwk_wrong", researcher.group.as_str()), (researcher.key.as_str(), "ZZZZZ")] {
        let (status, printed, said) = ended(&[&basic[..], &["--token", token, "--group", group]].concat());
        assert_eq!((status, printed.as_str()), (Some(1), ""), "{said}");
        assert!(!said.contains(token), "a key is not repeated: {said}");
    }
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    assert_eq!(researcher.get(&path, None).await.1, json!([]), "nobody was enrolled");
}

#[test]
fn demonstration_stays_on_this_machine() {
    for address in ["0.0.0.0:0", "192.0.2.1:8080", "[::]:0"] {
        let (status, printed, said) = ended(&["demo", "--listen", address]);
        assert_eq!((status, printed.as_str()), (Some(2), ""), "{address}: {said}");
        assert!(said.contains("loopback"), "{address}: {said}");
    }
}

#[test]
fn backups_go_into_empty_folders_and_restores_come_from_whole_ones() {
    let data = tempdir().unwrap();
    admin(data.path(), &["create-account", "--email", "a@study.example", "--role", "researcher"]);
    let data_path = data.path().to_str().unwrap();
    let place = tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(place.path().join("taken")).unwrap();
    std::fs::write(place.path().join("taken/letter.txt"), "mine").unwrap();
    std::fs::write(place.path().join("file"), "mine").unwrap();
    for (target, status) in [("taken", 2), ("file", 1)] {
        let (found, printed, said) = ended(&["backup", &path(target), "--data", data_path, "--json"]);
        assert_eq!((found, printed.as_str()), (Some(status), ""), "{target}: {said}");
        assert!(said.contains(target), "{said}");
    }
    assert_eq!(std::fs::read_to_string(place.path().join("taken/letter.txt")).unwrap(), "mine");
    let made = store_command(data.path(), &["backup", &path("good")]);
    assert_eq!(made["version"], env!("CARGO_PKG_VERSION"));
    for name in ["users.db", "health.db", "master.key", "backup.json"] {
        assert!(place.path().join("good").join(name).exists(), "{name}");
    }
    // What is no backup, or was none whole, is not restored, and leaves the store as empty as it was.
    let restored = path("restored");
    for source in ["nowhere", "taken"] {
        let (found, printed, said) = ended(&["restore", &path(source), "--data", &restored, "--json"]);
        assert_eq!((found, printed.as_str()), (Some(1), ""), "{source}: {said}");
        assert!(said.contains("backup.json"), "{source}: {said}");
        assert!(!place.path().join("restored").exists(), "{source}");
    }
    let over = ended(&["restore", &path("good"), "--data", data_path, "--json"]);
    assert_eq!(over.0, Some(2), "{}", over.2);
    let accounts = admin(data.path(), &["list-accounts"]);
    assert_eq!(accounts["accounts"].as_array().unwrap().len(), 1);
    let done = store_command(place.path().join("restored").as_path(), &["restore", &path("good")]);
    assert_eq!((&done["master_key"], &done["erased"], &done["objects"]), (&json!(true), &json!(0), &json!(0)));
    assert_eq!(done["master_key_from"], "backup");
    let accounts_again = admin(place.path().join("restored").as_path(), &["list-accounts"]);
    assert_eq!(accounts_again, accounts);
}

#[tokio::test]
async fn backup_without_the_key_brings_back_everything_and_new_keys_sign() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let body = json!({"data": {"sleep": {"timestamp": [1_763_467_200_000_i64], "sleep_state": [2]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let copy = data.path().join("copy");
    store_command(data.path(), &["backup", copy.to_str().unwrap(), "--without-key"]);
    assert!(!copy.join("master.key").exists());
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
    let restored = tempdir().unwrap();
    let reported = store_command(restored.path(), &["restore", copy.to_str().unwrap()]);
    assert_eq!((&reported["master_key"], &reported["master_key_from"]), (&json!(false), &json!("made")));
    assert_eq!(reported["signing_keys"], json!({"users": "rotated", "health": "rotated"}));
    let service = Service::start_named(restored.path());
    researcher.at(&service.url);
    assert_eq!(rows_of(&researcher, &patient).await["raw_data_sleep"], 1, "keys are hashes and still good");
    let again = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!((again.0, &again.1["types"]["sleep"]["duplicate"]), (200, &json!(1)), "old tokens are still verified");
    let login = json!({"code": patient.code, "password": PATIENT_PASSWORD});
    let (status, users) = researcher.post("/users/login", None, &login).await;
    assert_eq!(status, 200, "{users}");
    let exchange = json!({"user_api_token": users["token"]});
    let (status, health) = researcher.post("/health/login", None, &exchange).await;
    assert_eq!(status, 200, "{health}");
    let bearer = health["token"].as_str().unwrap();
    assert_eq!(researcher.post("/health/v1/sync", Some(bearer), &body).await.0, 200);
}

#[test]
fn doctor_finds_a_new_store_in_order_and_says_what_is_wrong_with_a_broken_one() {
    let data = tempdir().unwrap();
    let path = data.path().to_str().unwrap();
    store_command(data.path(), &["migrate"]);
    let well = store_command(data.path(), &["doctor", "--verify"]);
    assert_eq!((&well["ok"], &well["problems"], &well["warnings"]), (&json!(true), &json!([]), &json!([])));
    for name in ["bytes", "orphans", "segments", "audit_entries"] {
        assert_eq!(well[name], 0, "{name}: {well}");
    }
    std::fs::create_dir_all(data.path().join("objects/v1")).unwrap();
    std::fs::write(data.path().join("objects/v1/lost.parquet"), "lost").unwrap();
    let young = store_command(data.path(), &["doctor"]);
    assert_eq!((&young["orphans"], &young["ok"]), (&json!(0), &json!(true)), "it may be about to get its row");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let old = store_command(data.path(), &["doctor", "--lost-after", "1s"]);
    assert_eq!((&old["orphans"], &old["orphan_bytes"], &old["ok"]), (&json!(1), &json!(4), &json!(true)));
    assert!(old["warnings"][0].as_str().unwrap().contains("--sweep"), "{old}");
    store_command(data.path(), &["doctor", "--lost-after", "1s", "--sweep"]);
    assert!(!data.path().join("objects/v1/lost.parquet").exists());

    std::fs::write(data.path().join("master.key"), "too short").unwrap();
    let (status, printed, said) = ended(&["doctor", "--data", path, "--json"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("master.key") && said.contains("32 bytes"), "{said}");
    std::fs::write(data.path().join("master.key"), [7; 32]).unwrap();
    std::fs::write(data.path().join("health.db"), "this is no database, but long enough to be read as one").unwrap();
    let (status, printed, said) = ended(&["doctor", "--data", path, "--json"]);
    assert_eq!((status, printed.as_str()), (Some(1), ""), "{said}");
    assert!(said.contains("error: "), "{said}");
}
