//! A reader that follows an event log while the process that writes it is killed and started again.
//!
//! On SQLite what a killed process leaves is recovered by the process that opens the file next, which may be the reader. On
//! PostgreSQL the server outlives its client: what the client has sent before it was killed may still be committed.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use store::events::{Followed, LogCursor};
use store::{Address, HealthChange, HealthDb, Objects, PatientId, Profile, Sync, SyncOutcome};
use testkit::{Postgres, Rounds};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

const PATIENTS: [&str; 3] = ["ada", "grace", "hedy"];
const FOLDER_VARIABLE: &str = "PULSEWARD_TEST_FOLDER";
const URL_VARIABLE: &str = "PULSEWARD_TEST_URL";
/// Rows begin here, µs; each sync has one, a second after the one before it.
const BEGIN_US: i64 = 1_763_600_000_000_000;
const LONGEST_LIFE: Duration = Duration::from_millis(150);
/// How often a server is asked, 20 ms apart, whether it has done what a killed process had sent.
const LOOKS: usize = 500;

/// Opens the database at a URL, or the file in the folder.
async fn open(folder: &Path, url: Option<&str>) -> HealthDb {
    let objects = Objects::folder(&folder.join("objects")).unwrap();
    let file = || Address::File(folder.join("health.db"));
    HealthDb::open(url.map_or_else(file, |url| Address::Postgres(url.to_owned())), objects).await.unwrap()
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
    let url = std::env::var_os(URL_VARIABLE).map(|url| url.into_string().unwrap());
    let health = open(Path::new(&std::env::var_os(FOLDER_VARIABLE).unwrap()), url.as_deref()).await;
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

fn start(folder: &Path, url: Option<&str>) -> Child {
    let arguments = ["--exact", "writes_until_it_is_killed", "--ignored", "--nocapture"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(FOLDER_VARIABLE, folder).envs(url.map(|url| (URL_VARIABLE, url)));
    command.args(arguments).stdout(Stdio::piped()).spawn().unwrap()
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

/// Whether the last event of each patient was read.
async fn has_all(health: &HealthDb, last: &BTreeMap<PatientId, i64>) -> bool {
    for name in PATIENTS.map(PatientId::new) {
        if health.arrivals(&name).await.unwrap() != last.get(&name).copied().unwrap_or(0) {
            return false;
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_killed_writer_is_followed_once_and_in_order_on_sqlite() {
    follows_a_killed_writer(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_of_a_killed_writer_is_followed_once_and_in_order_on_postgresql() {
    let Some(server) = Postgres::start() else { return };
    follows_a_killed_writer(Some(&server.url)).await;
}

async fn follows_a_killed_writer(url: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let health = open(folder.path(), url).await;
    for name in PATIENTS {
        let change = HealthChange::PutPatient {
            uuid: PatientId::new(name),
            record_id: store::RecordId::new(format!("id-{name}")),
            customer_code: None,
            profile: Profile::default(),
            at_ms: 1,
        };
        health.apply(change).await.unwrap();
    }
    let mut cursor = health.events().oldest().await.unwrap();
    let (mut last, mut acknowledged) = (BTreeMap::new(), BTreeMap::<PatientId, i64>::new());
    for life in Rounds::of_test("kills of a process that writes events", 10).lives(LONGEST_LIFE) {
        let mut writer = start(folder.path(), url);
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
    for _ in 0..LOOKS {
        if has_all(&health, &last).await {
            break;
        }
        runtime::sleep(Duration::from_millis(20)).await;
        cursor = follow(&health, cursor, &mut last).await;
    }
    for name in PATIENTS.map(PatientId::new) {
        assert_eq!(health.arrivals(&name).await.unwrap(), last[&name], "none was passed over");
        assert!(last[&name] >= acknowledged.get(&name).copied().unwrap_or(0), "none that was acknowledged is lost");
    }
    assert!(acknowledged.values().sum::<i64>() > 20, "hardly anything was written: {acknowledged:?}");
}
