//! After a crash the derived values of every patient move on within seconds, while all of them go on being sent.
//!
//! What a process held when it was killed must not wait for the end of a lease: neither what it was deriving, nor what it
//! was just claiming, nor the row that a sync holds just when the next process looks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::tempdir;
use testkit::{Postgres, Rounds};
use tokio::task::JoinSet;

use crate::harness::{Patient, Researcher, Service};
use crate::takeover::shared;

const PATIENTS: usize = 24;
const KILLS: usize = 4;
/// How long a service lives before it is killed, at most.
const LONGEST_LIFE: Duration = Duration::from_secs(3);
/// Midnight in Zurich.
const BEGIN_MS: i64 = 1_763_593_200_000; // 2025-11-19T23:00Z
const FIRST_DAY: jiff::civil::Date = jiff::civil::date(2025, 11, 20);
const MINUTE_MS: i64 = 60_000;
/// Minutes of a slot, and of a day.
const SLOT: i64 = 5;
const DAY: i64 = 1440;
/// Pause of a phone between two minutes.
const PAUSE: Duration = Duration::from_millis(250);
/// How often readers look.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Ten times what is promised.
const LONGEST: Duration = Duration::from_secs(50);

/// A phone that sends minute after minute, each until it is acknowledged.
struct Phone {
    patient: Patient,
    /// Minutes that were acknowledged.
    acknowledged: Arc<AtomicI64>,
}

impl Phone {
    async fn send(self, researcher: Arc<Researcher>, stop: Arc<AtomicBool>) -> Self {
        while !stop.load(Ordering::SeqCst) {
            let minute = self.acknowledged.load(Ordering::SeqCst);
            let body = json!({"data": {"activity": {"timestamp": [BEGIN_MS + minute * MINUTE_MS],
                "bpm": [60 + minute % 40], "spo2": [97], "respiration_rate": [15]}}});
            match researcher.sync(&self.patient, &body).await {
                Ok((200, _)) => drop(self.acknowledged.fetch_add(1, Ordering::SeqCst)),
                Ok((503, _)) | Err(_) => {}
                Ok(other) => panic!("{other:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        self
    }
}

/// What is to be seen of all patients, by uuid: the minute up to which they are derived.
type Minutes = BTreeMap<String, i64>;

/// The patients who are not derived up to their minutes.
async fn behind(researcher: &Researcher, expected: &Minutes) -> Minutes {
    let mut slots = BTreeMap::new();
    for day in expected.values().map(|minute| minute / DAY).collect::<BTreeSet<_>>() {
        let date = FIRST_DAY.checked_add(jiff::Span::new().days(day)).unwrap();
        let path = format!("/integration/v1/groups/{}/summaries?date={date}&include_slots=1", researcher.group);
        let (status, days) = researcher.get(&path, None).await;
        assert_eq!(status, 200, "{days}");
        slots.insert(day, days);
    }
    let mut behind = Minutes::new();
    for (uuid, minute) in expected {
        let of_day = &slots[&(minute / DAY)][uuid]["heart_rate"]["slots"];
        // The score and not the latest values, which a sync brings itself.
        let path = format!("/integration/v1/patients/{uuid}/latest-news-score");
        let scored_ms = researcher.get(&path, None).await.1["timestamp"].as_i64().unwrap_or_default();
        let has_slot = of_day.as_array().map_or(0, Vec::len) as i64 > minute % DAY / SLOT;
        if !has_slot || scored_ms < BEGIN_MS + minute * MINUTE_MS {
            behind.insert(uuid.clone(), *minute);
        }
    }
    behind
}

/// Waits until every patient is derived up to a minute; returns how long the slowest took.
async fn until_derived(researcher: &Researcher, mut expected: Minutes) -> Duration {
    let begun = Instant::now();
    loop {
        expected = behind(researcher, &expected).await;
        if expected.is_empty() {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < LONGEST, "{} patients do not move on: {expected:?}", expected.len());
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Lets all phones send until the first of the answers becomes true.
fn start_sending(phones: &mut Vec<Phone>, researcher: &Arc<Researcher>) -> (Arc<AtomicBool>, JoinSet<Phone>) {
    let stop: Arc<AtomicBool> = Arc::default();
    let sending = phones.drain(..).map(|phone| phone.send(researcher.clone(), stop.clone())).collect();
    (stop, sending)
}

async fn check(engine: &str, data: &Path, store: &[&str], options: &[&str]) {
    let options = [store, &["--public-url", "http://study.example"], options].concat();
    let mut service = Service::start_with(data, &options);
    let mut researcher = Arc::new(Researcher::new_with(data, store, &service.url).await);
    let mut phones = Vec::new();
    for _ in 0..PATIENTS {
        phones.push(Phone { patient: researcher.enrol().await, acknowledged: Arc::default() });
    }
    let known: BTreeMap<String, Arc<AtomicI64>> =
        phones.iter().map(|phone| (phone.patient.uuid.clone(), phone.acknowledged.clone())).collect();
    let next = || known.iter().map(|(uuid, minutes)| (uuid.clone(), minutes.load(Ordering::SeqCst))).collect();
    // What the machine makes of it otherwise, for comparison.
    let (stop, sending) = start_sending(&mut phones, &researcher);
    tokio::time::sleep(LONGEST_LIFE).await;
    let undisturbed = until_derived(&researcher, next()).await;
    println!("{engine}: without a crash, all of {PATIENTS} patients move on within {undisturbed:.1?}");
    stop.store(true, Ordering::SeqCst);
    phones = sending.join_all().await;
    let mut slowest = Duration::ZERO;
    for life in Rounds::of_test("crashes while all patients are sent", KILLS).lives(LONGEST_LIFE) {
        let (stop, sending) = start_sending(&mut phones, &researcher);
        tokio::time::sleep(life).await;
        service.kill();
        service = Service::start_with(data, &options);
        stop.store(true, Ordering::SeqCst);
        phones = sending.join_all().await;
        researcher = Arc::new(researcher.moved(&service.url));

        let (stop, sending) = start_sending(&mut phones, &researcher);
        // The next minute, so that each has to move on and not only to be as far as before.
        let took = until_derived(&researcher, next()).await;
        println!("{engine}: all of {PATIENTS} patients moved on {took:.1?} after the restart");
        slowest = slowest.max(took);
        stop.store(true, Ordering::SeqCst);
        phones = sending.join_all().await;
    }
    println!("{engine}: every patient moves on within {slowest:.1?} after a crash");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_patient_moves_on_soon_after_a_crash_on_sqlite() {
    let data = tempdir().unwrap();
    check("SQLite", data.path(), &[], &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_patient_moves_on_soon_after_a_crash_on_postgresql() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let store = shared(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    check("PostgreSQL", &folder.path().join("node"), &store, &["--listen-db-url", &health.url]).await;
}
