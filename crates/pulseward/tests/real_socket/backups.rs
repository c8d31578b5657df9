//! Backups of a running service on either engine, brought back on either, and what is refused.

mod damaged;
mod large;
mod silent;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use store::backup::{FillTarget, look_at};
use tempfile::{TempDir, tempdir};
use testkit::{Postgres, Rounds};

use crate::exports::send_day;
use crate::harness::{Patient, Researcher, Service, database_file, pulseward, run};

const NAMED: [&str; 2] = ["--public-url", "http://study.example"];

/// A store on one of the engines.
struct Place {
    folder: TempDir,
    /// The databases live as long as this.
    servers: Option<[Postgres; 2]>,
}

fn with_options<'a>(options: &'a [String], arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().chain(options.iter().map(String::as_str)).collect()
}

impl Place {
    fn on_sqlite() -> Self {
        Place { folder: tempdir().unwrap(), servers: None }
    }

    fn on_postgres() -> Option<Self> {
        let servers = [Postgres::start()?, Postgres::start()?];
        Some(Place { folder: tempdir().unwrap(), servers: Some(servers) })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Whether no restore has begun in it, or nothing of what it has begun is there. A command would make a store there.
    async fn is_untouched(&self) -> bool {
        let is_marked = self.data().join("restore.unfinished").exists();
        let is_empty = match &self.servers {
            Some([users, _]) => look_at(&users.url).await.unwrap() == FillTarget::Empty,
            None => !self.data().join("users.db").exists(),
        };
        !is_marked && is_empty
    }

    fn options(&self) -> Vec<String> {
        let Some([users, health]) = &self.servers else { return Vec::new() };
        let key = self.data().join("master.key").display().to_string();
        ["--users-db", &users.url, "--health-db", &health.url, "--master-key-file", &key].map(str::to_owned).to_vec()
    }

    fn serve(&self) -> Service {
        let options = self.options();
        Service::start_with(&self.data(), &with_options(&options, &NAMED))
    }

    fn command(&self, arguments: &[&str]) -> std::process::Output {
        let (options, data) = (self.options(), self.data());
        run(&[&with_options(&options, arguments)[..], &["--json", "--data", data.to_str().unwrap()]].concat())
    }

    fn done(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(arguments);
        assert!(output.stdout.is_empty(), "{output:?}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

fn minute(number: i64) -> Value {
    json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64 + number * 60_000], "bpm": [60 + number % 40]}}})
}

/// Everything that one patient has of a day, in a form that two services can be compared in.
async fn answers(researcher: &Researcher, patient: &Patient) -> Vec<Value> {
    let uuid = &patient.uuid;
    let mut found = Vec::new();
    for path in [
        format!("/integration/v1/patients/{uuid}/raw-data-compliance/2025-11-19"),
        format!("/integration/v1/patients/{uuid}/summary/2025-11-19"),
        format!("/integration/v1/groups/{}/patients", researcher.group),
    ] {
        let (status, answer) = researcher.get(&path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        found.push(answer);
    }
    found
}

/// While rows go on arriving: those of before the backup are in it, those of a sync are there together or not at all.
async fn comes_back(from: &Place, to: &Place) {
    let service = from.serve();
    let (options, data) = (from.options(), from.data());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let researcher = Researcher::new_with(&data, &options, &service.url).await;
    let (patient, gone, busy) = (researcher.enrol().await, researcher.enrol().await, researcher.enrol().await);
    for patient in [&patient, &gone] {
        send_day(&researcher, patient).await;
    }
    from.done(&["seal", "--now"]);
    from.done(&["recompute"]);
    let before = answers(&researcher, &patient).await;

    let (sent, ended) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let (number, end) = (sent.clone(), ended.clone());
    let backup = from.folder.path().join("backup");
    let path = backup.clone();
    let sending = async {
        while !end.load(Ordering::Relaxed) {
            let next = number.load(Ordering::Relaxed);
            // Two types in one sync: half of it would show.
            let mut body = minute(next);
            body["data"]["temperature"] =
                json!({"timestamp": [1_763_600_000_000_i64 + next * 60_000], "temp_sk1": [33.1]});
            assert_eq!(researcher.sync(&busy, &body).await.unwrap().0, 200);
            number.store(next + 1, Ordering::Relaxed);
        }
    };
    let copying = async {
        while sent.load(Ordering::Relaxed) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let acknowledged = sent.load(Ordering::Relaxed);
        let (arguments, options, data) = (path.to_str().unwrap().to_owned(), from.options(), from.data());
        let made = tokio::task::spawn_blocking(move || {
            let mut command = pulseward(&["backup", &arguments, "--json", "--data", data.to_str().unwrap()]);
            command.args(&options).output().unwrap()
        });
        let made = made.await.unwrap();
        ended.store(true, Ordering::Relaxed);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (acknowledged, serde_json::from_slice::<Value>(&made.stdout).unwrap())
    };
    let ((), (acknowledged, made)) = futures::join!(sending, copying);
    let engine = if from.servers.is_some() { "postgresql" } else { "sqlite" };
    for database in ["users", "health"] {
        assert_eq!(
            (&made["databases"][database]["engine"], &made["databases"][database]["patients"]),
            (&json!(engine), &json!(3))
        );
    }
    assert_eq!(made["format"], 1);
    // Erased after the backup.
    assert!((200..300).contains(&researcher.delete(&format!("/integration/v1/patients/{}", gone.uuid)).await));
    let erased = from.folder.path().join("erased.txt");
    std::fs::write(&erased, &gone.uuid).unwrap();
    drop(service);

    damage_is_found(&backup, to);
    let reported = to.done(&["restore", backup.to_str().unwrap(), "--erased", erased.to_str().unwrap()]);
    assert_eq!((&reported["erased"], &reported["master_key_from"]), (&json!(1), &json!("backup")), "{reported}");
    assert_eq!(reported["signing_keys"], json!({"users": "kept", "health": "kept"}));
    let (status, said) = to.refused(&["restore", backup.to_str().unwrap()]);
    assert_eq!(status, Some(2), "the store is not empty");
    assert!(said.contains("empty store"), "{said}");
    let checked = to.done(&["doctor", "--verify"]);
    assert_eq!(
        (&checked["ok"], &checked["holds"], &checked["segments"]),
        (&json!(true), &json!([]), &json!(3)),
        "{checked}"
    );
    // Who worked on the original when it was copied holds nobody here.
    assert_eq!(to.done(&["recompute"])["differences"], 0);

    let service = to.serve();
    let mut researcher = researcher;
    researcher.at(&service.url);
    let mut after = answers(&researcher, &patient).await;
    // The list has lost the one who was erased.
    let (listed, was_listed) = (after.pop().unwrap(), before[2].clone());
    assert_eq!(&after[..], &before[..2]);
    assert_ne!(listed, was_listed);
    assert!(!listed.to_string().contains(&gone.uuid));
    let sent = sent.load(Ordering::Relaxed);
    let mut first_lost = None;
    for number in 0..sent {
        let mut body = minute(number);
        body["data"]["temperature"] =
            json!({"timestamp": [1_763_600_000_000_i64 + number * 60_000], "temp_sk1": [33.1]});
        let (status, answer) = researcher.sync(&busy, &body).await.unwrap();
        assert_eq!(status, 200);
        let duplicate = |name: &str| answer["types"][name]["duplicate"] == 1;
        assert_eq!(duplicate("activity"), duplicate("temperature"), "{number} is there by half: {answer}");
        if !duplicate("activity") {
            first_lost.get_or_insert(number);
        }
    }
    assert!(first_lost.is_none_or(|lost| lost >= acknowledged), "{first_lost:?} was acknowledged before the backup");
}

/// Every file of a backup is looked at before the target is touched.
fn damage_is_found(backup: &Path, to: &Place) {
    for name in ["health.db", "files.jsonl"] {
        let path = backup.join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let (status, said) = to.refused(&["restore", backup.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("damaged") && said.contains(name), "{said}");
        assert!(!to.data().join("restore.unfinished").exists(), "nothing was begun");
        std::fs::write(&path, whole).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_sqlite_comes_back_on_postgres() {
    let Some(to) = Place::on_postgres() else { return };
    comes_back(&Place::on_sqlite(), &to).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_postgres_comes_back_on_sqlite() {
    let Some(from) = Place::on_postgres() else { return };
    comes_back(&from, &Place::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_postgres_comes_back_on_postgres() {
    let (Some(from), Some(to)) = (Place::on_postgres(), Place::on_postgres()) else { return };
    comes_back(&from, &to).await;
}

/// What a restore has left that was killed when both databases were filled.
#[tokio::test(flavor = "multi_thread")]
async fn restore_into_postgres_that_was_cut_off_says_so_and_is_run_again() {
    let Some(to) = Place::on_postgres() else { return };
    let from = Place::on_sqlite();
    drop(from.serve());
    let backup = from.folder.path().join("backup");
    from.done(&["backup", backup.to_str().unwrap()]);
    let servers = to.servers.as_ref().unwrap();
    for (database, server) in store::backup::Database::BOTH.into_iter().zip(servers) {
        let file = backup.join(format!("{}.db", database.name()));
        store::backup::fill(database, file, &server.url, to.folder.path().to_owned()).await.unwrap();
    }
    // Another node, with a folder of its own, in which there is no mark.
    std::fs::create_dir(to.data()).unwrap();
    std::fs::copy(backup.join("master.key"), to.data().join("master.key")).unwrap();
    for command in [&["doctor"][..], &["admin", "list-accounts"], &["serve", "--listen", "127.0.0.1:0"]] {
        let (options, data) = (to.options(), to.data());
        let output = run(&[&with_options(&options, command)[..], &["--data", data.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("was not finished") && said.contains("run the restore again"), "{command:?}: {said}");
    }
    assert_eq!(to.done(&["restore", backup.to_str().unwrap()])["master_key_from"], "store");
    to.done(&["doctor", "--verify"]);
}

#[tokio::test]
async fn backup_with_a_sealed_file_missing_fails_and_names_it() {
    let from = Place::on_sqlite();
    let service = from.serve();
    let researcher = Researcher::new(&from.data(), &service.url).await;
    send_day(&researcher, &researcher.enrol().await).await;
    from.done(&["seal", "--now"]);
    let (_, lake) = researcher.get(&format!("/integration/v1/groups/{}/lake", researcher.group), None).await;
    let path = lake["files"][0]["path"].as_str().unwrap();
    std::fs::remove_file(from.data().join("objects").join(path)).unwrap();
    let backup = from.folder.path().join("backup");
    let (status, said) = from.refused(&["backup", backup.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(path) && said.contains("bring them back"), "{said}");
    assert_eq!(std::fs::read_dir(&backup).unwrap().count(), 0, "half a backup looks like one");
    let output = from.command(&["doctor"]);
    assert_eq!(output.status.code(), Some(1), "a file is missing");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["holds"], json!([]), "what has failed holds nothing");
}

#[test]
fn backup_of_another_format_is_not_begun() {
    let to = Place::on_sqlite();
    let backup = to.folder.path().join("backup");
    std::fs::create_dir(&backup).unwrap();
    for (manifest, named) in [("{\"format\": 2}", "format 2"), ("{\"version\": \"0.0.9\"}", "older version")] {
        std::fs::write(backup.join("backup.json"), manifest).unwrap();
        let (status, said) = to.refused(&["restore", backup.to_str().unwrap()]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(named), "{said}");
        assert!(!to.data().exists());
    }
}

/// Killed as soon as it holds objects, so that nothing is there but the hold.
#[test]
fn killed_backup_holds_objects_for_an_hour_at_most_and_the_next_one_ends_that() {
    const HOUR_MS: i64 = 3_600_000;
    let from = Place::on_sqlite();
    from.done(&["migrate"]);
    let backup = from.folder.path().join("backup");
    let health = database_file(&from.data().join("health.db"));
    let until_ms =
        || -> Option<i64> { health.query_row("SELECT MAX(until_ms) FROM object_hold", [], |row| row.get(0)).unwrap() };
    let (data, mut held) = (from.data(), None);
    for _ in 0..50 {
        let mut child = pulseward(&["backup", backup.to_str().unwrap(), "--data", data.to_str().unwrap()])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while until_ms().is_none() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_dir_all(&backup).unwrap();
        held = until_ms();
        if held.is_some() {
            break;
        }
    }
    let now_ms = jiff_now_ms();
    assert!((now_ms..=now_ms + HOUR_MS).contains(&held.expect("no backup was killed in time")));
    let shown = from.done(&["doctor"]);
    assert!(shown["holds"][0]["id"].as_str().unwrap().ends_with(backup.to_str().unwrap()), "{shown}");
    from.done(&["backup", backup.to_str().unwrap()]);
    assert_eq!(from.done(&["doctor"])["holds"], json!([]));
}

#[expect(clippy::disallowed_methods, reason = "the service that is started goes by the real clock")]
fn jiff_now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Whatever a killed restore leaves, nobody opens it, and the next one comes to its end.
async fn killed_restores_are_run_again(to: &Place) {
    let from = Place::on_sqlite();
    from.done(&["migrate"]);
    from.done(&["admin", "create-account", "--email", "rita@study.example", "--role", "researcher"]);
    let backup = from.folder.path().join("backup");
    from.done(&["backup", backup.to_str().unwrap()]);
    let (options, data) = (to.options(), to.data());
    let restore = ["restore", backup.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let rounds = Rounds::of_test("kills while it restores", 8);
    for life in rounds.lives(Duration::from_millis(250)) {
        let mut child = pulseward(&with_options(&options, &restore))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(life);
        let _ = child.kill();
        if child.wait().unwrap().success() {
            // It was quicker. What it has made is whole, and the next rounds meet a store that is in use.
            break;
        }
        if to.is_untouched().await {
            continue;
        }
        let opened = to.command(&["admin", "list-accounts"]);
        let said = String::from_utf8_lossy(&opened.stderr).into_owned();
        let is_whole =
            opened.status.success() && String::from_utf8_lossy(&opened.stdout).contains("rita@study.example");
        assert!(is_whole || said.contains("not finished"), "{opened:?}");
    }
    if to.is_untouched().await || !to.command(&["admin", "list-accounts"]).status.success() {
        to.done(&["restore", backup.to_str().unwrap()]);
    }
    assert!(to.done(&["admin", "list-accounts"]).to_string().contains("rita@study.example"));
}

#[tokio::test]
async fn killed_restores_into_a_folder_are_run_again() {
    killed_restores_are_run_again(&Place::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_restores_into_postgres_are_run_again() {
    let Some(to) = Place::on_postgres() else { return };
    killed_restores_are_run_again(&to).await;
}
