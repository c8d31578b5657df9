//! The audit log in the hands of somebody who changes it: what `audit verify` finds by the chain, by the seal of its end, by
//! the checkpoints among the objects, and by those that were kept elsewhere.

mod brought_back;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::{
    ActorRole, Address, Audit, AuditEntryId, Entity, EntityId, NewAuditEntry, Role, UserId, UserRole, UsersDb,
};
use tempfile::{TempDir, tempdir};
use testkit::Postgres;

use crate::harness::{Service, database_file, run};

/// A store with a log on one of the engines. No service runs on it unless a test starts one.
struct Log {
    folder: TempDir,
    /// The databases live as long as this.
    servers: Option<[Postgres; 2]>,
}

/// Makes of each `async fn name(log: Log)` a test on SQLite and one on PostgreSQL.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Log::on_sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if let Some(log) = super::Log::on_postgres() {
                    super::$name(log).await;
                }
            })*
        }
    };
}
use on_both_engines;

on_both_engines! {
    log_without_checkpoints_is_intact_and_gets_one
    log_that_is_cut_with_its_head_set_is_reported_until_an_operator_takes_it
    log_that_is_set_back_to_an_earlier_state_is_reported_by_checkpoints
    log_that_an_operator_has_set_back_goes_on
    log_that_is_written_again_with_the_key_is_reported_by_a_kept_checkpoint
    seal_that_is_taken_away_is_reported_after_the_next_start
    checkpoint_that_is_changed_or_of_another_key_is_reported
}

impl Log {
    fn on_sqlite() -> Self {
        Log { folder: tempdir().unwrap(), servers: None }.made()
    }

    fn on_postgres() -> Option<Self> {
        let servers = [Postgres::start()?, Postgres::start()?];
        Some(Log { folder: tempdir().unwrap(), servers: Some(servers) }.made())
    }

    fn made(self) -> Self {
        self.done(&["migrate"]);
        self
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn options(&self) -> Vec<String> {
        let Some([users, health]) = &self.servers else { return Vec::new() };
        let key = self.data().join("master.key").display().to_string();
        ["--users-db", &users.url, "--health-db", &health.url, "--master-key-file", &key].map(str::to_owned).to_vec()
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let (options, data) = (self.options(), self.data());
        let options = options.iter().map(String::as_str).chain(["--json", "--data", data.to_str().unwrap()]);
        run(&arguments.iter().copied().chain(options).collect::<Vec<_>>())
    }

    fn done(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Verifies a log that is not what was written; returns what it printed and the reason.
    fn faulty(&self, against: &[&str]) -> (Value, String) {
        let output = self.command(&[&["audit", "verify"], against].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["intact"], false, "{report}");
        (report, said)
    }

    fn verified(&self, against: &[&str]) -> Value {
        let report = self.done(&[&["audit", "verify"], against].concat());
        assert_eq!((&report["intact"], report.get("first_broken")), (&json!(true), None), "{report}");
        report
    }

    /// Carries statements out that the service would not.
    fn run(&self, statements: &[&str]) {
        for statement in statements {
            match &self.servers {
                Some([users, _]) => users.execute(statement),
                None => database_file(&self.data().join("users.db")).execute_batch(statement).unwrap(),
            }
        }
    }

    /// Writes so many entries, as an operation of the service does.
    async fn write(&self, name: &str, count: usize) {
        page_sums::install().unwrap();
        let address = match &self.servers {
            Some([users, _]) => Address::Postgres(users.url.clone()),
            None => Address::File(self.data().join("users.db")),
        };
        let users = UsersDb::open(address).await.unwrap();
        let new = |number: usize| NewAuditEntry {
            id: AuditEntryId::new(format!("{name} {number}")),
            action_type: "GROUP_UPDATE".to_owned(),
            user_id: UserId::new("somebody"),
            user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
            primary: Entity { id: EntityId::new("a study"), kind: "group.id".to_owned() },
            secondary: None,
            details: None,
            salt: [1; 16],
        };
        let master_key = std::fs::read(self.data().join("master.key")).unwrap();
        let key = platform::audit_key(master_key.as_slice().try_into().unwrap());
        let entries = (0..count).map(new).collect();
        let clock = Arc::new(|| 1_763_600_000_000);
        users.record(Audit { entries, security: Vec::new(), clock, key }).await.unwrap();
        users.close().await.unwrap();
    }

    fn checkpoints(&self) -> PathBuf {
        self.data().join("objects/audit/checkpoints")
    }

    fn checkpoint(&self, number: i64) -> PathBuf {
        self.checkpoints().join(format!("{number:012}.json"))
    }

    /// Keeps what is among the objects elsewhere; returns the folder.
    fn keep(&self) -> PathBuf {
        let kept = self.folder.path().join("kept");
        std::fs::create_dir_all(&kept).unwrap();
        for entry in std::fs::read_dir(self.checkpoints()).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, kept.join(path.file_name().unwrap())).unwrap();
        }
        kept
    }

    /// Takes all checkpoints away.
    fn forget(&self) {
        std::fs::remove_dir_all(self.checkpoints()).unwrap();
    }
}

/// Returns the faults of a report by the name of the file.
fn faults(compared: &Value) -> Vec<(String, String)> {
    let text = |fault: &Value, name: &str| fault[name].as_str().unwrap().to_owned();
    let name =
        |path: String| Path::new(&path).file_stem().unwrap().to_str().unwrap().trim_start_matches('0').to_owned();
    let faults = compared["faults"].as_array().unwrap();
    faults.iter().map(|fault| (name(text(fault, "checkpoint")), text(fault, "fault"))).collect()
}

fn fault(number: i64, fault: &str) -> (String, String) {
    (number.to_string(), fault.to_owned())
}

/// Keeps all rows of the log; [`SET_BACK`] brings them back.
const KEEP: [&str; 2] =
    ["CREATE TABLE kept_entry AS SELECT * FROM audit_entry", "CREATE TABLE kept_head AS SELECT * FROM audit_head"];
const SET_BACK: [&str; 4] = [
    "DELETE FROM audit_entry",
    "INSERT INTO audit_entry SELECT * FROM kept_entry",
    "DELETE FROM audit_head",
    "INSERT INTO audit_head SELECT * FROM kept_head",
];

async fn log_without_checkpoints_is_intact_and_gets_one(log: Log) {
    let report = log.verified(&[]);
    let none = json!({"agreeing": 0, "last": null, "faulty": 0, "faults": []});
    assert_eq!((&report["entries"], &report["checkpoints"]), (&json!(0), &none));
    assert_eq!((&report["head"]["state"], &report["head"]["sealed_from"]), (&json!("sealed"), &json!(0)));
    let output = log.command(&["audit", "checkpoint"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("no entry yet"), "{said}");

    log.write("a", 3).await;
    assert_eq!(log.verified(&[])["checkpoints"], none);
    let written = log.done(&["audit", "checkpoint"]);
    assert_eq!((&written["number"], &written["public_key"]), (&json!(3), &report["public_key"]));
    let stored: Value = serde_json::from_slice(&std::fs::read(log.checkpoint(3)).unwrap()).unwrap();
    assert_eq!(stored, written);
    let newest = log.done(&["doctor"])["audit_checkpoint"].clone();
    assert!(
        newest["number"] == 3 && newest["age_s"].as_i64().is_some_and(|age_s| (0..600).contains(&age_s)),
        "{newest}"
    );
    log.done(&["audit", "checkpoint"]);
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(log.checkpoint(3)).unwrap()).unwrap(), stored);
    log.write("b", 2).await;
    let compared = log.verified(&[])["checkpoints"].clone();
    assert_eq!((&compared["agreeing"], &compared["last"]["number"]), (&json!(1), &json!(3)));
    assert_eq!(compared["last"]["time"], written["time"]);
    // What is printed is what can be kept.
    let kept = log.folder.path().join("kept.json");
    std::fs::write(&kept, written.to_string()).unwrap();
    assert_eq!(log.verified(&["--against", kept.to_str().unwrap()])["against"]["agreeing"], 1);
    // One that is taken away is none that does not agree.
    std::fs::remove_file(log.checkpoint(3)).unwrap();
    assert_eq!(log.verified(&[])["checkpoints"], none);
    let doctor = log.done(&["doctor", "--verify"]);
    assert_eq!((&doctor["audit_entries"], &doctor["audit_checkpoint"]), (&json!(5), &Value::Null));
}

async fn log_that_is_cut_with_its_head_set_is_reported_until_an_operator_takes_it(log: Log) {
    log.write("a", 5).await;
    log.verified(&[]);
    let head = "UPDATE audit_head SET number = 3, entry_hash = (SELECT entry_hash FROM audit_entry WHERE number = 3)";
    log.run(&["DELETE FROM audit_entry WHERE number > 3", head]);
    let (report, said) = log.faulty(&[]);
    assert_eq!((&report["entries"], &report["first_broken"]), (&json!(3), &json!(4)));
    assert_eq!(report["head"]["state"], "altered");
    assert!(said.contains("entry 4") && said.contains("its end, entry 3"), "{said}");
    let doctor = log.command(&["doctor", "--verify"]);
    assert!(String::from_utf8_lossy(&doctor.stderr).contains("audit log: entry 4"), "{doctor:?}");
    // Nothing that happens afterwards makes it good, and nobody signs it.
    log.write("b", 2).await;
    log.done(&["migrate"]);
    assert_eq!(log.faulty(&[]).0["head"]["state"], "altered");
    let output = log.command(&["audit", "checkpoint"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("audit verify"), "{output:?}");
    assert!(!log.checkpoints().exists());
    let taken = log.done(&["audit", "seal"]);
    assert_eq!(taken, json!({"before": "altered", "sealed_from": 5, "checkpoints_set_aside": 0}));
    let report = log.verified(&[]);
    assert_eq!((&report["head"]["sealed_from"], &report["head"]["sealed_by"]), (&json!(5), &json!("operator")));
}

async fn log_that_is_set_back_to_an_earlier_state_is_reported_by_checkpoints(log: Log) {
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    log.run(&KEEP);
    log.write("b", 2).await;
    log.done(&["audit", "checkpoint"]);
    log.verified(&[]);
    let kept = log.keep();
    let against = ["--against", kept.to_str().unwrap()];
    assert_eq!(log.verified(&against)["against"]["agreeing"], 2);
    // Everything that is in the database fits.
    log.run(&SET_BACK);
    let (report, said) = log.faulty(&[]);
    assert_eq!(
        (&report["entries"], &report["head"]["state"], &report["first_broken"]),
        (&json!(3), &json!("sealed"), &json!(4))
    );
    assert_eq!(
        (&report["checkpoints"]["agreeing"], faults(&report["checkpoints"])),
        (&json!(1), vec![fault(5, "missing")])
    );
    assert!(said.contains("000000000005.json (missing)"), "{said}");
    // The log goes on, over the number of the checkpoint.
    log.write("c", 4).await;
    let (report, _) = log.faulty(&[]);
    assert_eq!((&report["entries"], &report["first_broken"]), (&json!(7), &json!(4)));
    assert_eq!(faults(&report["checkpoints"]), [fault(5, "differs")]);
    // Anyone who takes the checkpoints away as well cannot reach the copies.
    log.forget();
    log.verified(&[]);
    let (report, _) = log.faulty(&against);
    assert_eq!((&report["against"]["agreeing"], faults(&report["against"])), (&json!(1), vec![fault(5, "differs")]));
    assert_eq!(report["first_broken"], 4);
    let file = kept.join("000000000005.json");
    assert_eq!(log.faulty(&["--against", file.to_str().unwrap()]).0["first_broken"], 1);
}

/// A database that the tools of PostgreSQL have set back, as an operator wanted.
async fn log_that_an_operator_has_set_back_goes_on(log: Log) {
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    log.run(&KEEP);
    log.write("b", 2).await;
    log.done(&["audit", "checkpoint"]);
    log.run(&SET_BACK);
    log.faulty(&[]);
    assert_eq!(log.done(&["audit", "seal"])["checkpoints_set_aside"], 1);
    assert_eq!(log.verified(&[])["checkpoints"]["agreeing"], 1);
    log.write("c", 2).await;
    log.done(&["audit", "checkpoint"]);
    assert_eq!(log.verified(&[])["checkpoints"]["agreeing"], 2);
}

/// With the master key everything can be written again, all codes and signatures with it.
async fn log_that_is_written_again_with_the_key_is_reported_by_a_kept_checkpoint(log: Log) {
    log.run(&KEEP);
    log.write("a", 4).await;
    log.done(&["audit", "checkpoint"]);
    let kept = log.keep();
    log.forget();
    log.run(&SET_BACK);
    log.write("others", 6).await;
    log.done(&["audit", "checkpoint"]);
    let report = log.verified(&[]);
    assert_eq!((&report["entries"], &report["checkpoints"]["agreeing"]), (&json!(6), &json!(1)));
    let (report, said) = log.faulty(&["--against", kept.to_str().unwrap()]);
    assert_eq!((faults(&report["against"]), &report["first_broken"]), (vec![fault(4, "differs")], &json!(1)));
    assert!(said.contains("(differs)"), "{said}");
    assert_eq!(report["checkpoints"]["faulty"], 0);
}

async fn seal_that_is_taken_away_is_reported_after_the_next_start(log: Log) {
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    log.write("b", 4).await;
    log.run(&[
        "DELETE FROM audit_entry WHERE number > 5",
        "UPDATE audit_head SET number = 5, entry_hash = (SELECT entry_hash FROM audit_entry WHERE number = 5),
            mac = NULL, public_key = NULL, sealed_from = NULL, sealed_ms = NULL, sealed_by = NULL",
    ]);
    let (report, said) = log.faulty(&[]);
    assert_eq!(report["head"]["state"], "unsealed");
    assert!(said.contains("no key guards its end"), "{said}");
    // A start takes it for a log of before, which has no checkpoint.
    log.done(&["migrate"]);
    let (report, _) = log.faulty(&[]);
    assert_eq!((&report["head"]["state"], faults(&report["checkpoints"])), (&json!("sealed"), vec![fault(3, "seal")]));
    assert_eq!(report["head"]["sealed_from"], 5);
    // An operator has looked into it.
    log.done(&["audit", "seal"]);
    assert_eq!(log.verified(&[])["checkpoints"]["agreeing"], 1);
    log.write("c", 1).await;
    log.done(&["audit", "checkpoint"]);
    assert_eq!(log.verified(&[])["checkpoints"]["agreeing"], 2);
}

async fn checkpoint_that_is_changed_or_of_another_key_is_reported(log: Log) {
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    let text = std::fs::read_to_string(log.checkpoint(3)).unwrap();
    let reported = |number: i64, text: &str| {
        std::fs::write(log.checkpoint(number), text).unwrap();
        let (report, _) = log.faulty(&[]);
        let found = faults(&report["checkpoints"]);
        assert_eq!(report.get("first_broken"), None, "the log itself is whole");
        std::fs::remove_file(log.checkpoint(number)).unwrap();
        found
    };
    assert_eq!(reported(3, &text.replace("\"number\":3", "\"number\":2")), [fault(3, "signature")]);
    assert_eq!(reported(3, &text.replace("\"time\":\"2", "\"time\":\"1")), [fault(3, "signature")]);
    assert_eq!(reported(2, &text), [fault(2, "unreadable")], "under the name of another entry");
    assert_eq!(reported(3, "{}"), [fault(3, "unreadable")]);
    assert_eq!(reported(3, &" ".repeat(5_000)), [fault(3, "unreadable")]);
    let other = Log::on_sqlite();
    other.write("a", 3).await;
    let of_other = other.done(&["audit", "checkpoint"]).to_string();
    assert_eq!(reported(3, &of_other), [fault(3, "key")]);
    // A store with the same key is another one all the same.
    let twin = Log { folder: tempdir().unwrap(), servers: None };
    std::fs::create_dir(twin.data()).unwrap();
    std::fs::copy(log.data().join("master.key"), twin.data().join("master.key")).unwrap();
    let twin = twin.made();
    twin.write("a", 3).await;
    let of_twin = twin.done(&["audit", "checkpoint"]);
    assert_eq!(of_twin["public_key"], log.verified(&[])["public_key"]);
    let found = reported(3, &of_twin.to_string());
    assert!(found == [fault(3, "store")] || found == [fault(3, "seal")], "{found:?}");
    std::fs::write(log.checkpoint(3), &text).unwrap();
    log.verified(&[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn service_signs_its_log_when_it_starts() {
    let log = Log::on_sqlite();
    log.write("a", 3).await;
    let service = Service::start(&log.data());
    for _ in 0..300 {
        if log.checkpoint(3).exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let report = log.verified(&[]);
    assert_eq!((&report["checkpoints"]["agreeing"], &report["checkpoints"]["last"]["number"]), (&json!(1), &json!(3)));
    service.signal("-TERM");
    assert!(service.wait().success());
}

/// What docs/operations.md shows an auditor who does not have the program.
#[tokio::test(flavor = "multi_thread")]
async fn signature_of_a_checkpoint_is_verified_by_openssl() {
    let log = Log::on_sqlite();
    log.write("a", 3).await;
    log.done(&["audit", "checkpoint"]);
    let guide = include_str!("../../../../docs/operations.md");
    let (_, rest) = guide.split_once("# A checkpoint without Pulseward\n").unwrap();
    let (script, _) = rest.split_once("```").unwrap();
    let check = || {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", script]).current_dir(log.folder.path()).output().unwrap()
    };
    let file = log.folder.path().join("checkpoint.json");
    std::fs::copy(log.checkpoint(3), &file).unwrap();
    let output = check();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Verified Successfully"), "{output:?}");
    let changed = std::fs::read_to_string(&file).unwrap().replace("\"number\":3", "\"number\":4");
    std::fs::write(&file, changed).unwrap();
    assert!(!check().status.success());
}

#[test]
fn folder_without_a_checkpoint_is_wrong_usage() {
    let log = Log::on_sqlite();
    let empty = tempdir().unwrap();
    for path in [empty.path().to_str().unwrap(), "/nowhere/at/all.json"] {
        let output = log.command(&["audit", "verify", "--against", path]);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(path), "{output:?}");
    }
}
