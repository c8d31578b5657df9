//! An audit log of many entries: reading, checking and erasing take memory for a part of it, never for all.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};
use store::engine::Address;
use store::{ActorRole, Audit, AuditEntryId, Entity, EntityId, NewAuditEntry, Role, UserId, UserRole, UsersDb};
use tempfile::tempdir;
use testkit::Rounds;

use crate::harness::{Patient, Researcher, Service, admin, pulseward};
use crate::meanwhile::{OTHERS, TIMES_IN_TESTS};
use crate::took::Took;

/// Entries that are written in one transaction.
const AT_ONCE: usize = 1_000;
/// What the log may take above rest, and a command in all. Held as a whole, 60,000 entries took some 75 MiB.
const SLACK_MIB: u64 = 48;
const COMMAND_MIB: u64 = 96;
/// Memory that erasing may take above rest, which does not grow with the entries: with a savepoint to undo it, 60,000 of them
/// took 25 MiB and 300,000 took 100.
const ERASURE_MIB: u64 = 20;

/// Writes so many thousand entries, as somebody does who changes patients all day.
async fn write(data: &Path, thousands: usize, patient: &str, account: &str) {
    page_sums::install().unwrap();
    let users = UsersDb::open(Address::File(data.join("users.db"))).await.unwrap();
    let master_key = std::fs::read(data.join("master.key")).unwrap();
    let key = platform::audit_key(master_key.as_slice().try_into().unwrap());
    for thousand in 0..thousands {
        let new = |number: usize| NewAuditEntry {
            id: AuditEntryId::new(format!("{:024x}", thousand * AT_ONCE + number)),
            action_type: "PATIENT_UPDATE".to_owned(),
            user_id: UserId::new(account),
            user_role: ActorRole::User(UserRole::Account(Role::Researcher)),
            primary: Entity { id: EntityId::new(patient), kind: "patient.id".to_owned() },
            secondary: None,
            details: Some(format!("{{\"note\":\"change {number} of a long day\"}}")),
            salt: [1; 16],
        };
        let now_ms = 1_763_600_000_000 + thousand as i64;
        let entries = (0..AT_ONCE).map(new).collect();
        let audit = Audit { entries, security: Vec::new(), clock: Arc::new(move || now_ms), key: key.clone() };
        users.record(audit).await.unwrap();
    }
    users.close().await.unwrap();
}

/// Runs a command; returns what it printed and the most memory that it had, MiB.
fn measured(data: &Path, arguments: &[&str]) -> (Value, u64) {
    let arguments = [arguments, &["--json", "--data", data.to_str().unwrap()]].concat();
    let mut child = pulseward(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most_kib = 0;
    while child.try_wait().unwrap().is_none() {
        let said = std::fs::read_to_string(&status).unwrap_or_default();
        let line = said.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most_kib = most_kib.max(line.and_then(|kib| kib.parse().ok()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    (serde_json::from_slice(&stdout).unwrap(), most_kib >> 10)
}

/// Reads the whole log; returns how many entries it has, without holding them.
async fn entries_read(service: &Service, researcher: &Researcher) -> usize {
    let url = format!("{}/integration/v1/patients/audit/logs?from=0&to=4102444800000", service.url);
    let answer = reqwest::Client::new().get(url).header("X-Api-Key", &researcher.key).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut body = answer.bytes_stream();
    let (mut entries, mut last) = (0, Vec::new());
    while let Some(piece) = body.next().await {
        let piece = piece.unwrap();
        // With the end of the piece before, so that no name is cut in two.
        last.extend_from_slice(&piece);
        entries += String::from_utf8_lossy(&last).matches("\"action_type\"").count();
        let kept = last.len().saturating_sub("\"action_type\"".len() - 1);
        last.drain(..kept);
    }
    entries
}

/// Changes a patient again and again while the whole log is read; returns how long the changes took.
async fn changes_while_it_is_read(service: &Service, researcher: &Researcher, patient: &Patient) -> Took {
    let url = format!("{}/integration/v1/patients/{}", service.url, patient.uuid);
    let client = reqwest::Client::new();
    let (mut took, mut number) = (Took::default(), 0);
    let changing = async {
        loop {
            number += 1;
            let begun = Instant::now();
            let body = json!({"external_patient_id": format!("P-{number}")});
            let changed = client.patch(&url).header("X-Api-Key", &researcher.key).json(&body).send().await.unwrap();
            took.add(begun);
            assert_eq!(changed.status(), 200);
        }
    };
    tokio::select! {
        biased;
        _ = entries_read(service, researcher) => {}
        () = changing => {}
    }
    took
}

/// `PULSEWARD_TEST_ROUNDS` is the number of thousands of entries.
#[tokio::test(flavor = "multi_thread")]
async fn log_of_many_entries_is_read_checked_and_erased_in_little_memory() {
    let thousands = Rounds::count_of_test("thousands of entries of a long log", 60);
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let accounts = admin(data.path(), &["list-accounts"]);
    write(data.path(), thousands, &patient.uuid, accounts["accounts"][0]["uuid"].as_str().unwrap()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let rest = service.memory_kib("VmRSS") >> 10;
    service.forget_peak();
    let entries = entries_read(&service, &researcher).await;
    let peak = service.memory_kib("VmHWM") >> 10;
    println!("{entries} entries read: {peak} MiB of {rest} at rest");
    assert!(entries >= thousands * AT_ONCE, "{entries}");
    assert!(peak <= rest + SLACK_MIB, "{peak} MiB, {rest} at rest");

    // Each change adds an entry to the log that is being read: a reader that held the writer would hold it up.
    let other = researcher.enrol().await;
    let changes = changes_while_it_is_read(&service, &researcher, &other).await;
    println!("while {entries} entries are read, {} changes took {changes}", changes.count());
    assert!(changes.count() > 0, "nothing was changed meanwhile");
    assert!(changes.slowest() < OTHERS * TIMES_IN_TESTS, "{changes}");

    for command in [&["audit", "verify"][..], &["doctor", "--verify"]] {
        let (said, most) = measured(data.path(), command);
        println!("{command:?}: {most} MiB");
        assert!(most <= COMMAND_MIB, "{command:?}: {most} MiB");
        let counted = said["entries"].as_u64().or(said["audit_entries"].as_u64()).unwrap();
        assert!(counted as usize >= thousands * AT_ONCE, "{said}");
    }

    service.forget_peak();
    let status = researcher.delete(&format!("/integration/v1/patients/{}", patient.uuid)).await;
    assert!(matches!(status, 200 | 202), "{status}");
    let peak = service.memory_kib("VmHWM") >> 10;
    println!("erased: {peak} MiB");
    assert!(peak <= rest + ERASURE_MIB, "{peak} MiB, {rest} at rest");
    let (verified, _) = measured(data.path(), &["audit", "verify"]);
    assert_eq!(verified["intact"], true, "{verified}");
}
