//! Logs that come back from a backup, under a new master key, and without the persons who were erased.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;

use super::{Log, fault, faults, on_both_engines};
use crate::harness::{Researcher, Service};

on_both_engines! {
    new_master_key_keeps_the_log_and_its_checkpoints
    erasure_keeps_the_log_and_its_checkpoints
    restore_of_an_earlier_backup_sets_later_checkpoints_aside
}

impl Log {
    /// Nothing yet, to restore into.
    fn nothing(servers: Option<[Postgres; 2]>) -> Self {
        Log { folder: tempdir().unwrap(), servers }
    }

    fn nothing_on_postgres() -> Option<Self> {
        Some(Log::nothing(Some([Postgres::start()?, Postgres::start()?])))
    }

    fn take_key_away(&self) {
        std::fs::remove_file(self.data().join("master.key")).unwrap();
    }
}

async fn new_master_key_keeps_the_log_and_its_checkpoints(log: Log) {
    log.write("a", 3).await;
    let first = log.done(&["audit", "checkpoint"]);
    log.done(&["admin", "rotate-keys"]);
    assert_eq!(log.verified(&[])["public_key"], first["public_key"]);

    // A log alone makes the key one that may not be lost unnoticed, whatever else is sealed.
    log.take_key_away();
    let refused = log.command(&["migrate"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--new-master-key"), "{refused:?}");
    log.done(&["admin", "rotate-keys", "--new-master-key"]);
    let report = log.verified(&[]);
    assert_ne!(report["public_key"], first["public_key"]);
    assert_eq!((&report["head"]["sealed_by"], &report["head"]["sealed_from"]), (&json!("operator"), &json!(3)));
    assert_eq!(report["checkpoints"]["agreeing"], 1, "of the key before");
    log.write("b", 2).await;
    let second = log.done(&["audit", "checkpoint"]);
    assert_eq!(second["public_key"], report["public_key"]);
    assert_eq!(log.verified(&[])["checkpoints"]["agreeing"], 2);
    // The old key is good for what it guarded, and a list of keys that somebody has emptied for nothing.
    log.run(&["DELETE FROM audit_key"]);
    assert_eq!(faults(&log.faulty(&[]).0["checkpoints"]), [fault(3, "key")]);
}

async fn erasure_keeps_the_log_and_its_checkpoints(log: Log) {
    let options = log.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let service = Service::start_with(&log.data(), &options);
    let researcher = Researcher::new_with(&log.data(), &options, &service.url).await;
    let patient = researcher.enrol().await;
    log.done(&["audit", "checkpoint"]);
    let before = log.verified(&[]);
    log.done(&["admin", "erase-patient", &patient.uuid]);
    log.done(&["audit", "checkpoint"]);
    let after = log.verified(&[]);
    assert!(after["entries"].as_i64() > before["entries"].as_i64(), "{after}");
    assert!(after["checkpoints"]["agreeing"].as_i64() > before["checkpoints"]["agreeing"].as_i64(), "{after}");
}

/// A backup comes back over objects that went on.
async fn restore_of_an_earlier_backup_sets_later_checkpoints_aside(log: Log) {
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    let backup = log.folder.path().join("backup");
    log.done(&["backup", backup.to_str().unwrap()]);
    log.write("b", 2).await;
    log.done(&["audit", "checkpoint"]);
    let kept = log.keep();

    let Some(to) = (if log.servers.is_some() { Log::nothing_on_postgres() } else { Some(Log::nothing(None)) }) else {
        return;
    };
    std::fs::create_dir(to.data()).unwrap();
    let copied = std::process::Command::new("cp").args(["-a"]).arg(log.data().join("objects")).arg(to.data()).status();
    assert!(copied.unwrap().success());
    let report = to.done(&["restore", backup.to_str().unwrap()]);
    assert_eq!(report["checkpoints_set_aside"], 1, "{report}");
    let found = to.verified(&[]);
    assert_eq!((&found["entries"], &found["checkpoints"]["agreeing"]), (&json!(3), &json!(1)));
    to.write("c", 2).await;
    to.done(&["audit", "checkpoint"]);
    assert_eq!(to.verified(&[])["checkpoints"]["agreeing"], 2);
    let aside: Vec<_> = walk(&to.data().join("objects/audit/set-aside"));
    assert_eq!(aside.len(), 1, "{aside:?}");
    // What an auditor has says so all the same.
    let (report, _) = to.faulty(&["--against", kept.to_str().unwrap()]);
    assert_eq!((&report["against"]["agreeing"], faults(&report["against"])), (&json!(1), vec![fault(5, "differs")]));
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// A log with two checkpoints goes through a backup; the second is of the entries that came while nobody looked.
async fn comes_back(from: &Log, to: &Log, more: &[&str]) -> Value {
    from.write("a", 3).await;
    from.done(&["audit", "checkpoint"]);
    from.write("b", 2).await;
    from.done(&["audit", "checkpoint"]);
    let backup = from.folder.path().join("backup");
    from.done(&[&["backup", backup.to_str().unwrap()], more].concat());
    let restore = ["restore", backup.to_str().unwrap()];
    let key_lost: &[&str] = if more.is_empty() { &[] } else { &["--key-lost"] };
    let report = to.done(&[&restore[..], key_lost].concat());
    assert_eq!(report["checkpoints_set_aside"], 0, "{report}");
    let found = to.verified(&[]);
    assert_eq!((&found["entries"], &found["checkpoints"]["agreeing"]), (&json!(5), &json!(2)));
    to.write("c", 1).await;
    to.done(&["audit", "checkpoint"]);
    assert_eq!(to.verified(&[])["checkpoints"]["agreeing"], 3);
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_sqlite_comes_back_on_sqlite() {
    comes_back(&Log::on_sqlite(), &Log::nothing(None), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_sqlite_comes_back_on_postgres() {
    let Some(to) = Log::nothing_on_postgres() else { return };
    comes_back(&Log::on_sqlite(), &to, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_of_postgres_comes_back_on_sqlite() {
    let Some(from) = Log::on_postgres() else { return };
    comes_back(&from, &Log::nothing(None), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_comes_back_with_another_key_where_that_is_lost() {
    let from = Log::on_sqlite();
    let to = Log::nothing(None);
    std::fs::create_dir(to.data()).unwrap();
    let key = to.data().join("master.key");
    std::fs::write(&key, [7; 32]).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let found = comes_back(&from, &to, &["--without-key"]).await;
    assert_eq!(found["head"]["sealed_by"], "operator");
    let other = Log::nothing(None);
    std::fs::create_dir(other.data()).unwrap();
    std::fs::copy(&key, other.data().join("master.key")).unwrap();
    let backup = from.folder.path().join("backup");
    let output = other.command(&["restore", backup.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--key-lost"), "the log alone says whose key it is");
}
