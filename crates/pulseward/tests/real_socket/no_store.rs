//! Commands that work on a store, where there is none, one that is being made, or one of an earlier version.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use tempfile::{TempDir, tempdir};
use testkit::Postgres;

use crate::harness::{database_file, pulseward, run, store_command};

const UUID: &str = "80876de9-4e89-449a-9a8f-c1e11f720437";

/// Every operation of `admin`, with the options that it needs.
const OPERATIONS: [&[&str]; 18] = [
    &["create-account", "--email", "rita@study.example", "--role", "researcher"],
    &["list-accounts"],
    &["set-subscription", "--account", "a@study.example", "--until", "none"],
    &["reset-password", "--account", "a@study.example"],
    &["change-role", "--account", "a@study.example", "--role", "hcp"],
    &["security-log"],
    &["remove-second-factor", "--account", "a@study.example"],
    &["disable-account", "--account", "a@study.example"],
    &["enable-account", "--account", "a@study.example"],
    &["create-api-key", "--account", "a@study.example"],
    &["list-api-keys", "--account", "a@study.example"],
    &["revoke-api-key", "--id", "x"],
    &["erase-patient", UUID],
    &["set-export-limit", "--default", "--interval", "0s"],
    &[
        "create-oauth-client",
        "--name",
        "N",
        "--redirect-uri",
        "http://127.0.0.1/back",
        "--privacy-policy-url",
        "https://a.example",
    ],
    &["list-oauth-clients"],
    &["remove-oauth-client", "--id", "x"],
    &["rotate-keys"],
];

/// A folder to bring sealed files back from.
fn source() -> TempDir {
    let source = tempdir().unwrap();
    std::fs::create_dir(source.path().join("objects")).unwrap();
    source
}

/// Every command that works on a store and may not make one.
fn commands<'command>(backup: &'command str, source: &'command str) -> Vec<Vec<&'command str>> {
    let others: [&[&str]; 11] = [
        &["doctor"],
        &["doctor", "--verify"],
        &["seal"],
        &["seal", "--now"],
        &["recompute"],
        &["audit", "verify"],
        &["audit", "checkpoint"],
        &["audit", "seal"],
        &["backup", backup],
        &["restore", source, "--segment", "v1/x"],
        &["admin", "rotate-keys", "--new-master-key"],
    ];
    let of_admin = OPERATIONS.iter().map(|operation| [&["admin"], *operation].concat());
    others.iter().map(|command| command.to_vec()).chain(of_admin).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs all commands at the same time, since each waits for a store that might be being made.
fn run_all(commands: &[Vec<&str>], store: &[&str]) -> Vec<Output> {
    std::thread::scope(|scope| {
        let running: Vec<_> = commands.iter().map(|command| scope.spawn(|| run(&[command, store].concat()))).collect();
        running.into_iter().map(|command| command.join().unwrap()).collect()
    })
}

fn assert_refused(command: &[&str], output: &Output) {
    let said = said(output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{command:?}: {said}");
    assert!(said.contains("holds no store") && said.contains("pulseward migrate"), "{command:?}: {said}");
}

#[test]
fn list_of_operations_is_whole() {
    let help = String::from_utf8(run(&["admin", "--help"]).stdout).unwrap();
    let (_, commands) = help.split_once("Commands:").unwrap();
    let names = commands.split("Options:").next().unwrap().lines().filter_map(|line| line.split_whitespace().next());
    let offered: BTreeSet<&str> = names.filter(|name| *name != "help").collect();
    assert_eq!(OPERATIONS.map(|operation| operation[0]).into_iter().collect::<BTreeSet<_>>(), offered);
}

#[test]
fn commands_on_a_folder_without_a_store_fail_and_make_nothing() {
    let folder = tempdir().unwrap();
    let (data, into) = (folder.path().join("mistyped"), folder.path().join("backup"));
    let (data_text, into) = (data.to_str().unwrap(), into.to_str().unwrap());
    let source = source();
    let commands = commands(into, source.path().to_str().unwrap());
    for (command, output) in commands.iter().zip(run_all(&commands, &["--data", data_text])) {
        assert_refused(command, &output);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");
}

#[test]
fn commands_on_an_empty_database_fail_and_make_nothing() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, key, objects, into) =
        (path("data"), path("shared.key"), format!("file://{}", path("objects")), path("backup"));
    let store = ["--data", &data, "--users-db", &users.url, "--health-db", &health.url];
    let store = [&store[..], &["--master-key-file", &key, "--objects", &objects]].concat();
    let source = source();
    let commands = commands(&into, source.path().to_str().unwrap());
    for (command, output) in commands.iter().zip(run_all(&commands, &store)) {
        assert_refused(command, &output);
        assert!(!said(&output).contains(&users.url), "an address can hold a password");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");
    // A database with tables is refused by a restore; an empty one becomes a store.
    assert!(run(&[&["migrate"], &store[..]].concat()).status.success());
    assert!(run(&[&["admin", "list-accounts"], &store[..]].concat()).status.success());
}

#[test]
fn command_waits_for_a_store_that_is_being_made() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let waiting = pulseward(&["admin", "list-accounts", "--json", "--data", data.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    store_command(&data, &["migrate"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), r#"{"accounts":[]}"#);
}

/// The key is the last that is made.
#[test]
fn command_waits_for_the_master_key_of_a_store_that_is_being_made() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    store_command(&data, &["migrate"]);
    let (key, away) = (data.join("master.key"), folder.path().join("away"));
    std::fs::rename(&key, &away).unwrap();
    let waiting = pulseward(&["admin", "list-accounts", "--json", "--data", data.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    std::fs::rename(&away, &key).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// Makes a store look as an earlier version of the program has left it.
fn made_older(data: &Path, database: &str) -> i64 {
    let file = database_file(&data.join(database));
    file.execute("UPDATE schema_version SET version = version - 1", []).unwrap();
    version(data, database)
}

fn version(data: &Path, database: &str) -> i64 {
    let file = database_file(&data.join(database));
    file.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn store_of_an_earlier_version_is_brought_up_to_date_by_no_other_command() {
    for database in ["users.db", "health.db"] {
        let folder = tempdir().unwrap();
        store_command(folder.path(), &["migrate"]);
        let older = made_older(folder.path(), database);
        let into = folder.path().join("backup");
        let source = source();
        let commands = commands(into.to_str().unwrap(), source.path().to_str().unwrap());
        for (command, output) in commands.iter().zip(run_all(&commands, &["--data", folder.path().to_str().unwrap()])) {
            let said = said(&output);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{command:?}: {said}");
            assert!(said.contains("earlier version"), "{command:?}: {said}");
        }
        assert_eq!(version(folder.path(), database), older);
        assert!(!into.exists());
    }
}
