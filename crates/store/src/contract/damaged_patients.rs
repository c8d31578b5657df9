//! Pages of the table of patients that cannot be read: whose rows lie in them is not derived, and everybody else is.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::damaged_pages::{PAGE_BYTES, flip, leaves_of, open_in};
use super::{Stores, activity_row, on_both_engines};
use crate::engine::Address;
use crate::ids::{NodeId, PatientId};
use crate::{DueRange, Failures, HealthChange, HealthDb, JobFailure, NEVER_MS, Objects, Profile, Sync, SyncOutcome};

const PATIENTS: usize = 200;
/// Patients that a node holds that has died, enrolled first.
const HELD: usize = 3;
const NOW_MS: i64 = 1_000;
const LEASE_MS: i64 = 60_000;

/// Like the uuids of a real store, which differ in their first digits.
fn name(number: usize) -> PatientId {
    PatientId::new(format!("{:08x}-0000-4000-8000-000000000000", number * 0x0100_0000))
}

on_both_engines! { chunk_of_an_unknown_type_stops_no_sealing_of_others }

/// Patients who are due, those that were enrolled last for the longest time: what looks for work meets them first.
async fn enrol(health: &HealthDb, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let uuid = name(number);
        let (record_id, profile) = (crate::ids::RecordId::new(format!("id-{number}")), Profile::default());
        let change = HealthChange::PutPatient { uuid: uuid.clone(), record_id, customer_code: None, profile, at_ms: 1 };
        health.apply(change).await.expect("enrolled");
        let ready_ms = (PATIENTS - number) as i64;
        let range = DueRange { arrival: 1, data_type: 2, first_us: 1, last_us: 6, ready_ms };
        health.mark_due(&uuid, range).await.expect("marked");
    }
}

/// Fills a store with patients, and lets a node hold the first ones.
async fn make(health: &HealthDb) {
    health.enter_node(&NodeId::new("dead"), "first", NOW_MS).await.expect("entered");
    enrol(health, 0..HELD).await;
    let held = health.claim_due(&NodeId::new("dead"), NOW_MS, LEASE_MS, HELD).await.expect("claimed");
    assert_eq!(held.len(), HELD);
    enrol(health, HELD..PATIENTS).await;
}

/// What a node does with a damaged page; returns who cannot be read.
async fn node_goes_on(health: &HealthDb) -> Vec<PatientId> {
    let node = NodeId::new("next");
    assert_eq!(health.enter_node(&node, "first", NOW_MS).await.expect("entered"), 1);
    let beats = health.beats().await.expect("a list");
    assert_eq!(beats.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["next"]);
    // On PostgreSQL it is another patient who waits longest.
    let ready_ms = i64::from(!health.db.is_sqlite());
    for view in [health.look_for_work(&node).await, health.beat(&node).await] {
        let view = view.expect("a look that needs no patient").expect("it is entered");
        assert_eq!((view.derivations_ms, view.nodes), (Some(ready_ms), 1));
    }
    health.end_late_leases(NOW_MS).await.expect("looked");

    let claimed = health.claim_due(&node, NOW_MS, LEASE_MS, PATIENTS).await;
    assert!(claimed.is_err_and(|error| error.is_damage()), "the page is met by what claims many at once");
    let (claims, unread) =
        health.claim_around_damage(&node, NOW_MS, LEASE_MS, PATIENTS).await.expect("claims of the others");
    assert!(!unread.is_empty() && unread.len() < PATIENTS / 2, "{}", unread.len());
    assert_eq!(claims.len() + unread.len(), PATIENTS);
    assert!((0..HELD).all(|number| claims.iter().any(|claim| claim.patient == name(number))), "held by the dead node");
    for claim in claims {
        health.hold_claim(claim, 0).await.expect("given back");
    }
    let (some, _) = health.claim_around_damage(&node, NOW_MS, LEASE_MS, 5).await.expect("claims");
    assert_eq!(some.len(), 5);
    for claim in some {
        health.hold_claim(claim, 0).await.expect("given back");
    }

    let versions = health.other_versions_around_damage("news=2", None).await.expect("a list");
    // PostgreSQL does not list who cannot be read.
    let readable: Vec<&PatientId> =
        versions.iter().filter(|(_, stored)| stored.is_ok()).map(|(patient, _)| patient).collect();
    let is_unread = |patient: &PatientId| unread.iter().any(|finding| finding.patient == *patient);
    // Nobody who is not read was claimed, and all who were claimed are read. A few in pages next to the damaged one can be
    // read and not be written.
    assert!((0..PATIENTS).all(|number| is_unread(&name(number)) || readable.contains(&&name(number))));
    assert!(unread.iter().any(|finding| !readable.contains(&&finding.patient)), "nobody is damaged");

    let mut aside = Vec::new();
    let mut unread: Vec<PatientId> = unread.into_iter().map(|finding| finding.patient).collect();
    while !unread.is_empty() {
        for patient in &unread {
            put_aside(health, patient).await;
        }
        aside.append(&mut unread);
        let (claims, again) = health.claim_around_damage(&node, NOW_MS, LEASE_MS, PATIENTS).await.expect("claims");
        // A row that becomes longer in a page next to the damaged one cannot be written either.
        unread = again.into_iter().map(|finding| finding.patient).collect();
        assert_eq!(claims.len() + unread.len() + aside.len(), PATIENTS, "each is asked for once");
        for claim in claims {
            health.hold_claim(claim, 0).await.expect("given back");
        }
    }
    assert!(aside.len() < PATIENTS / 2, "{}", aside.len());
    let taken_up = health.take_jobs_up(None, NOW_MS).await.expect("an answer") as usize;
    let left = health.jobs_put_aside().await.expect("a list");
    assert!(!left.is_empty() && left.len() + taken_up == aside.len(), "{taken_up} of {}", aside.len());
    health.leave_node(&node, NOW_MS).await.expect("left");
    left.iter().map(|job| PatientId::new(job.subject.as_str())).collect()
}

async fn put_aside(health: &HealthDb, patient: &PatientId) {
    let failures = Failures { runs: 1, panics: 0 };
    let (error, put_aside) = ("a page".to_owned(), Some("1".to_owned()));
    let failure = JobFailure { failures, error, failed_ms: NOW_MS, retry_ms: NEVER_MS, put_aside };
    health.note_unread_patient(patient, failure).await.expect("noted");
}

/// Once the page can be read, those who were put aside are claimed as everybody is.
async fn all_are_claimed(health: &HealthDb, unread: &[PatientId]) {
    let claims = health.claim_due(&NodeId::new("x"), NOW_MS, LEASE_MS, PATIENTS).await.expect("claims");
    assert_eq!(claims.len(), PATIENTS);
    for claim in claims {
        assert_eq!(claim.failures.runs, i64::from(unread.contains(&claim.patient)), "{}", claim.patient);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_patients_of_a_file_stops_no_derivation_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("health.sqlite");
    let health = open_in(folder.path()).await;
    make(&health).await;
    health.close().await.expect("closed");
    let page = *leaves_of(&file, "patient").last().expect("a page");
    flip(&file, page * PAGE_BYTES - 100);
    let health = open_in(folder.path()).await;
    let unread = node_goes_on(&health).await;
    health.close().await.expect("closed");
    flip(&file, page * PAGE_BYTES - 100);
    all_are_claimed(&open_in(folder.path()).await, &unread).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_patients_on_postgres_stops_no_derivation_of_others() {
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let (folder, url) = (tempfile::tempdir().expect("a folder"), server.database());
    let health = open_on(&url, folder.path()).await;
    make(&health).await;
    let number = server.number(&url, "SELECT pg_relation_filenode('patient')").to_string();
    let file = server.written_files(&url).join(number);
    let place = full_page(&file) * PAGE_BYTES + PAGE_BYTES - 100;
    flip(&file, place);
    // The server forgets the pages that it has in memory.
    server.restart();
    let unread = node_goes_on(&health).await;
    server.written_files(&url);
    flip(&file, place);
    server.restart();
    all_are_claimed(&health, &unread).await;
}

async fn open_on(url: &str, folder: &Path) -> HealthDb {
    let objects = Objects::folder(&folder.join("objects")).expect("a folder");
    HealthDb::open(Address::Postgres(url.to_owned()), objects).await.expect("a database")
}

/// A page in the middle of those of a file that hold anything. It is full: the server puts nobody else's rows into it.
fn full_page(file: &Path) -> u64 {
    let opened = std::fs::File::open(file).expect("a file");
    let pages = opened.metadata().expect("a size").len() / PAGE_BYTES;
    let is_filled = |page: &u64| {
        let mut end = [0; 200];
        opened.read_exact_at(&mut end, (page + 1) * PAGE_BYTES - 200).expect("the end of a page");
        end.iter().any(|byte| *byte != 0)
    };
    let filled = (0..pages).filter(is_filled).count() as u64;
    assert!(filled > 3, "{filled} of {pages}");
    filled / 2
}

/// Sends minutes of a patient, a chunk each.
async fn send(health: &HealthDb, number: usize) {
    for minute in 0..4 {
        let blocks = vec![activity_row(NOON_MS + minute * 60_000, "bpm", 60)];
        let sync = Sync { patient: name(number), received_ms: NOON_MS, id: None, device: None, blocks };
        let outcome = health.store_sync(sync).await.expect("stored");
        assert!(matches!(outcome, SyncOutcome::Stored(_)));
    }
}

const NOON_MS: i64 = 1_763_640_000_000;
const FAR_US: i64 = i64::MAX / 4;

async fn unsealed(health: &HealthDb) -> Vec<PatientId> {
    let periods = health.unsealed_periods(FAR_US, PATIENTS as i64).await.expect("periods of the others");
    periods.into_iter().map(|unsealed| unsealed.patient).collect()
}

async fn chunk_of_an_unknown_type_stops_no_sealing_of_others(stores: Stores) {
    const DAMAGE: &str = "UPDATE chunk SET data_type = 61 WHERE patient LIKE '01000000%'";
    let health = &stores.health;
    enrol(health, 0..3).await;
    for number in 0..3 {
        send(health, number).await;
    }
    health.db.write(async |tx| tx.execute(DAMAGE, &[]).await).await.expect("damaged");
    assert_eq!(unsealed(health).await, [name(0), name(2)]);
}

const HOURS: usize = 3;
/// Notes three closed hours of each patient.
const NOTE_HOURS: &str = "INSERT INTO open_hour (patient, data_type, hour_us, ready_ms)
    SELECT uuid, 2, 3600000000 * n, 7 FROM patient, (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) hours";

async fn note_hours(health: &HealthDb) {
    enrol(health, 0..PATIENTS).await;
    health.db.write(async |tx| tx.execute(NOTE_HOURS, &[]).await).await.expect("noted");
    assert_eq!(closed_hours(health, 10_000).await, HOURS * PATIENTS);
}

async fn closed_hours(health: &HealthDb, limit: i64) -> usize {
    health.closed_hours(NOW_MS, limit).await.expect("closed hours of those that can be read").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_closed_hours_of_a_file_stops_no_merging_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("health.sqlite");
    let health = open_in(folder.path()).await;
    note_hours(&health).await;
    health.close().await.expect("closed");
    // The index has all that is asked for, so a page of the table costs nothing.
    for table in ["open_hour_ready", "open_hour"] {
        let page = leaves_of(&file, table)[1];
        flip(&file, page * PAGE_BYTES - 100);
        let health = open_in(folder.path()).await;
        assert_eq!(closed_hours(&health, 10_000).await, HOURS * PATIENTS, "{table}");
        assert_eq!(closed_hours(&health, 5).await, 5, "{table}");
        health.close().await.expect("closed");
        flip(&file, page * PAGE_BYTES - 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_closed_hours_on_postgres_stops_no_merging_of_others() {
    let Some(server) = testkit::OwnServer::start_without_cache() else { return };
    let (folder, url) = (tempfile::tempdir().expect("a folder"), server.database());
    let health = open_on(&url, folder.path()).await;
    note_hours(&health).await;
    let number = server.number(&url, "SELECT pg_relation_filenode('open_hour')").to_string();
    let file = server.written_files(&url).join(number);
    flip(&file, full_page(&file) * PAGE_BYTES + PAGE_BYTES - 100);
    server.restart();
    let found = closed_hours(&health, 10_000).await;
    assert!(found < HOURS * PATIENTS && found > HOURS * PATIENTS / 4, "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_the_index_of_chunks_stops_no_sealing_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("health.sqlite");
    let health = open_in(folder.path()).await;
    enrol(&health, 0..PATIENTS).await;
    for number in 0..PATIENTS {
        send(&health, number).await;
    }
    assert_eq!(unsealed(&health).await.len(), PATIENTS);
    health.close().await.expect("closed");
    let pages = leaves_of(&file, "sqlite_autoindex_chunk_1");
    assert!(pages.len() > 2, "{pages:?}");
    let page = pages[pages.len() - 1];
    flip(&file, page * PAGE_BYTES - 100);
    let found = unsealed(&open_in(folder.path()).await).await;
    assert!(found.len() >= PATIENTS / 4 && found.len() < PATIENTS, "{}", found.len());
}
