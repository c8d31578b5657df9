//! A reader that follows the event log of an SQLite file while the process that writes it is killed and started again.
//!
//! On PostgreSQL the server outlives a killed client, and `contract/followers.rs` ends connections there; on SQLite what a
//! killed process leaves is recovered by the process that opens the file next, which may be the reader.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use store::events::{Followed, LogCursor};
use store::{Address, HealthChange, HealthDb, Objects, PatientId, Profile, Sync, SyncOutcome};
use testkit::Rounds;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

const PATIENTS: [&str; 3] = ["ada", "grace", "hedy"];
const FOLDER_VARIABLE: &str = "PULSEWARD_TEST_FOLDER";
/// Rows begin here, µs; each sync has one, a second after the one before it.
const BEGIN_US: i64 = 1_763_600_000_000_000;
const LONGEST_LIFE: Duration = Duration::from_millis(150);

async fn open(folder: &Path) -> HealthDb {
    let objects = Objects::folder(&folder.join("objects")).unwrap();
    HealthDb::open(Address::File(folder.join("health.db")), objects).await.unwrap()
}

fn row(number: i64) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = vec![BEGIN_US + number * 1_000_000];
    block.columns[DataType::Activity.column_index("bpm").unwrap()] = Cells::Constant(60);
    block.zones = ZoneRuns::constant("UTC".into(), 1);
    block
}

/// Stores syncs of all patients at once until it is killed; says a name for each that was acknowledged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "for a process of its own, which the test below kills"]
async fn writes_until_it_is_killed() {
    let health = open(Path::new(&std::env::var_os(FOLDER_VARIABLE).unwrap())).await;
    let writing = PATIENTS.map(|name| {
        let health = health.clone();
        async move {
            let patient = PatientId::new(name);
            for number in health.arrivals(&patient).await.unwrap().. {
                let sync = Sync {
                    patient: patient.clone(),
                    received_ms: BEGIN_US / 1000 + 86_400_000,
                    id: None,
                    device: None,
                    blocks: vec![row(number)],
                };
                assert!(matches!(health.store_sync(sync).await.unwrap(), SyncOutcome::Stored(_)));
                println!("stored {name}");
            }
        }
    });
    futures::future::join_all(writing).await;
}

fn start(folder: &Path) -> Child {
    let arguments = ["--exact", "writes_until_it_is_killed", "--ignored", "--nocapture"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env(FOLDER_VARIABLE, folder).stdout(Stdio::piped()).spawn().unwrap()
}

/// Reads all that is behind a cursor, and checks that each patient's events come once and in their order.
async fn follow(health: &HealthDb, mut cursor: LogCursor, last: &mut BTreeMap<PatientId, i64>) -> LogCursor {
    loop {
        let Followed::Page(page) = health.events().read_after(&cursor, 7).await.unwrap() else {
            panic!("the cursor does not hold")
        };
        let is_end = page.events.is_empty() && !page.more;
        for event in page.events {
            let last = last.entry(event.patient).or_default();
            assert_eq!(event.sequence, *last + 1);
            *last = event.sequence;
        }
        cursor = page.next;
        if is_end {
            return cursor;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_writer_that_is_killed_is_followed_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let health = open(folder.path()).await;
    for name in PATIENTS {
        let change = HealthChange::PutPatient {
            uuid: PatientId::new(name),
            record_id: format!("id-{name}"),
            customer_code: None,
            profile: Profile::default(),
            at_ms: 1,
        };
        health.apply(change).await.unwrap();
    }
    let mut cursor = health.events().oldest().await.unwrap();
    let (mut last, mut acknowledged) = (BTreeMap::new(), BTreeMap::<PatientId, i64>::new());
    for life in Rounds::of_test("kills of a process that writes events", 10).lives(LONGEST_LIFE) {
        let mut writer = start(folder.path());
        let mut said = BufReader::new(writer.stdout.take().unwrap());
        // A life counts from the first sync: before it there is nothing to lose.
        let mut line = String::new();
        while !line.contains("stored") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
        }
        let until = runtime::Instant::now() + life;
        while runtime::Instant::now() < until {
            cursor = follow(&health, cursor, &mut last).await;
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let rest = said.lines().map_while(std::io::Result::ok);
        for line in std::iter::once(line).chain(rest) {
            // The first line can begin with what the test harness says.
            let name = line.split_once("stored ").map(|(_, name)| name.trim());
            if let Some(name) = name.filter(|name| PATIENTS.contains(name)) {
                *acknowledged.entry(PatientId::new(name)).or_default() += 1;
            }
        }
        cursor = follow(&health, cursor, &mut last).await;
    }
    for name in PATIENTS.map(PatientId::new) {
        assert_eq!(health.arrivals(&name).await.unwrap(), last[&name], "none was passed over");
        assert!(last[&name] >= acknowledged.get(&name).copied().unwrap_or(0), "none that was acknowledged is lost");
    }
    assert!(acknowledged.values().sum::<i64>() > 20, "hardly anything was written: {acknowledged:?}");
}
