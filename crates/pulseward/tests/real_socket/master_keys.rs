//! Master keys that are lost, wrong, or left by a restore that did not come to its end.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::{TempDir, tempdir};

use crate::harness::{Service, admin, database_file, run, store_command};

const DATABASES: [&str; 2] = ["users.db", "health.db"];

/// A store whose keys that sign are sealed, and backups of it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { folder: tempdir().unwrap() };
        store_command(&place.data(), &["migrate"]);
        admin(&place.data(), &["rotate-keys"]);
        for (name, more) in [("copy", &[][..]), ("keyless", &["--without-key"])] {
            store_command(&place.data(), &[&["backup", place.path(name).to_str().unwrap()], more].concat());
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// A folder to restore into, in which a key was put already.
    fn with_key(&self, name: &str, key: &[u8]) -> PathBuf {
        std::fs::create_dir(self.path(name)).unwrap();
        put_key(&self.path(name), key);
        self.path(name)
    }

    fn key(&self) -> Vec<u8> {
        std::fs::read(self.data().join("master.key")).unwrap()
    }

    /// Status and standard error of restoring one of the backups, which has to fail.
    fn refused(&self, backup: &str, target: &Path) -> (Option<i32>, String) {
        let output =
            run(&["restore", self.path(backup).to_str().unwrap(), "--data", target.to_str().unwrap(), "--json"]);
        assert!(output.stdout.is_empty(), "{output:?}");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn restored(&self, backup: &str, target: &Path) -> Value {
        store_command(target, &["restore", self.path(backup).to_str().unwrap()])
    }
}

fn put_key(folder: &Path, key: &[u8]) {
    let path = folder.join("master.key");
    std::fs::write(&path, key).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
}

/// Signing keys of a database, and how many of them sign.
fn signing(database: &Path) -> (i64, i64) {
    let database = database_file(database);
    let count = "SELECT COUNT(*), COUNT(*) - COUNT(retired_ms) FROM signing_key";
    database.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// Makes a row unreadable for the service in the copy of a backup, which knows it no better: its checksums are right. A retired
/// key is not looked at before the store is open.
fn break_signing_key(backup: &Path) {
    let broken = database_file(&backup.join("health.db"));
    let add = "INSERT INTO signing_key (kid, sealed_key, public_key, created_ms, retired_ms) VALUES ('x', x'', x'', 'soon', 1)";
    broken.execute(add, []).unwrap();
    drop(broken);
    rewrite_checksums(backup);
}

/// Makes the lists of a backup fit its files, as if it had been made like this.
fn rewrite_checksums(backup: &Path) {
    let digest = |bytes: &[u8]| platform::hex(&Sha256::digest(bytes));
    let list = std::fs::read_to_string(backup.join("files.jsonl")).unwrap();
    let line = |line: &str| {
        let mut file: Value = serde_json::from_str(line).unwrap();
        let bytes = std::fs::read(backup.join(file["path"].as_str().unwrap())).unwrap();
        file["bytes"] = bytes.len().into();
        file["sha256"] = digest(&bytes).into();
        format!("{file}\n")
    };
    let list: String = list.lines().map(line).collect();
    std::fs::write(backup.join("files.jsonl"), &list).unwrap();
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(backup.join("backup.json")).unwrap()).unwrap();
    manifest["files_sha256"] = digest(list.as_bytes()).into();
    std::fs::write(backup.join("backup.json"), manifest.to_string()).unwrap();
}

#[test]
fn operators_key_is_kept_and_one_that_is_not_the_backups_is_refused() {
    let place = Place::new();
    let other = place.with_key("other", &[7; 32]);
    let (status, said) = place.refused("copy", &other);
    assert_eq!(status, Some(2), "{said}");
    for file in [other.join("master.key"), place.path("copy").join("master.key")] {
        assert!(said.contains(file.to_str().unwrap()), "{said}");
    }
    let entries: Vec<_> = std::fs::read_dir(&other).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries, ["master.key"], "nothing was begun");
    assert_eq!(std::fs::read(other.join("master.key")).unwrap(), [7; 32]);

    let kept = json!({"users": "kept", "health": "kept"});
    for (backup, name) in [("copy", "same"), ("keyless", "apart")] {
        let reported = place.restored(backup, &place.with_key(name, &place.key()));
        assert_eq!((&reported["master_key_from"], &reported["signing_keys"]), (&json!("store"), &kept), "{backup}");
    }
    // Of a backup without a key the stored keys say whose key is the right one.
    let (status, said) = place.refused("keyless", &other);
    assert_eq!(status, Some(2), "{said}");
    for named in [other.join("master.key").to_str().unwrap(), "--key-lost", "remove-second-factor"] {
        assert!(said.contains(named), "{said}");
    }
    let entries: Vec<_> = std::fs::read_dir(&other).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries, ["master.key"], "nothing was begun");
    let keyless = place.path("keyless");
    let users = database_file(&keyless.join("users.db"));
    let factor = "INSERT INTO account (uuid, id, email, role, password_hash, created_ms, updated_ms)
            VALUES ('u', 'i', 'rita@study.example', 'hcp', '', 0, 0);
        INSERT INTO totp (account, sealed_secret, last_step) VALUES ('u', zeroblob(60), 0);";
    users.execute_batch(factor).unwrap();
    drop(users);
    rewrite_checksums(&keyless);
    let reported = store_command(&other, &["restore", keyless.to_str().unwrap(), "--key-lost"]);
    let rotated = json!({"users": "rotated", "health": "rotated"});
    assert_eq!((&reported["master_key"], &reported["master_key_from"]), (&json!(true), &json!("store")));
    assert_eq!((&reported["signing_keys"], &reported["unreadable_second_factors"]), (&rotated, &json!(1)));
    assert_eq!(DATABASES.map(|name| signing(&other.join(name))), [(2, 1); 2]);
}

/// A restore of which a run before did not come to its end, after it had put a key there.
#[test]
fn key_of_a_restore_that_did_not_end_is_not_taken_for_the_operators() {
    let place = Place::new();
    let health = place.path("keyless").join("health.db");
    let whole = std::fs::read(&health).unwrap();
    break_signing_key(&place.path("keyless"));
    let targets = [place.path("again"), place.path("with key")];
    for target in &targets {
        assert_eq!(place.refused("keyless", target).0, Some(1));
        assert!(target.join("master.key").exists() && target.join("restore.unfinished").exists());
    }
    std::fs::write(&health, whole).unwrap();
    rewrite_checksums(&place.path("keyless"));
    let reported = place.restored("keyless", &targets[0]);
    assert_eq!((&reported["master_key"], &reported["master_key_from"]), (&json!(false), &json!("made")));
    assert_eq!(reported["signing_keys"], json!({"users": "rotated", "health": "rotated"}));

    let reported = place.restored("copy", &targets[1]);
    assert_eq!((&reported["master_key"], &reported["master_key_from"]), (&json!(true), &json!("backup")));
    assert_eq!(reported["signing_keys"], json!({"users": "kept", "health": "kept"}));
    assert_eq!(std::fs::read(targets[1].join("master.key")).unwrap(), place.key());
}

/// A keyed restore is cut off, and the next one is of a backup of the same store without its key.
#[test]
fn left_over_key_that_is_the_backups_is_not_reported_as_made() {
    let place = Place::new();
    let target = place.path("restored");
    let whole = std::fs::read(place.path("copy").join("health.db")).unwrap();
    break_signing_key(&place.path("copy"));
    assert_eq!(place.refused("copy", &target).0, Some(1));
    assert_eq!(std::fs::read(target.join("master.key")).unwrap(), place.key());
    std::fs::write(place.path("copy").join("health.db"), whole).unwrap();
    let reported = place.restored("keyless", &target);
    assert_eq!((&reported["master_key"], &reported["master_key_from"]), (&json!(true), &json!("store")));
    assert_eq!(reported["signing_keys"], json!({"users": "kept", "health": "kept"}));
}

#[test]
fn signing_key_that_cannot_be_read_is_not_replaced() {
    let place = Place::new();
    break_signing_key(&place.path("copy"));
    let target = place.path("restored");
    let (status, said) = place.refused("copy", &target);
    assert_eq!(status, Some(1), "{said}");
    assert_eq!(signing(&target.join("health.db")), (2, 1), "an error is no wrong key");
    assert!(target.join("restore.unfinished").exists(), "nobody opens it");
}

#[tokio::test]
async fn store_whose_master_key_is_lost_is_opened_by_nothing_but_an_explicit_option() {
    let folder = tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let key = folder.path().join("master.key");
    store_command(folder.path(), &["migrate"]);
    std::fs::remove_file(&key).unwrap();
    store_command(folder.path(), &["migrate"]);
    assert!(key.exists(), "nothing was sealed yet");

    let account =
        ["create-account", "--email", "rita@study.example", "--role", "hcp", "--password", "an early password"];
    admin(folder.path(), &account);
    let login = async || {
        let service = Service::start(folder.path());
        let body = json!({"email": "rita@study.example", "password": "an early password"});
        let request = reqwest::Client::new().post(format!("{}/users/login", service.url)).json(&body);
        let status = request.send().await.unwrap().status().as_u16();
        service.signal("-TERM");
        assert_eq!(service.wait().code(), Some(0));
        status
    };
    assert_eq!(login().await, 200);
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["admin", "list-accounts"], &["admin", "rotate-keys"]] {
        let output = run(&[command, &["--data", data]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{command:?}: {said}");
        for reported in [key.to_str().unwrap(), "put its copy there", "admin rotate-keys --new-master-key"] {
            assert!(said.contains(reported), "{command:?}: {said}");
        }
        assert!(!key.exists(), "{command:?}");
    }
    // Of another store: every login would be answered 500.
    put_key(folder.path(), &[7; 32]);
    let commands = [&["serve", "--listen", "127.0.0.1:0"][..], &["doctor"], &["admin", "rotate-keys"]];
    for command in commands {
        let output = run(&[command, &["--data", data]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{command:?}: {said}");
        assert!(said.contains("is not the master key of this store"), "{command:?}: {said}");
    }
    put_key(folder.path(), &kept);
    assert_eq!(login().await, 200);
    let refused = run(&["admin", "rotate-keys", "--new-master-key", "--data", data]);
    assert_eq!(refused.status.code(), Some(2), "the key is not lost");
    assert_eq!(std::fs::read(&key).unwrap(), kept);

    std::fs::remove_file(&key).unwrap();
    admin(folder.path(), &["rotate-keys", "--new-master-key"]);
    assert_ne!(std::fs::read(&key).unwrap(), kept);
    assert_eq!(login().await, 200);
}
