//! What was acknowledged survives a crash at any moment, once.
//!
//! Phones send; the service is killed at random moments, fifty times or as often as the environment asks for, and
//! started again on the same folder. A sync
//! whose answer was lost is sent again, as an app does. In the end every row must be there, with its value, once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Rounds;
use tokio::task::JoinSet;

use crate::harness::{Patient, Researcher, Service};

const KILLS: usize = 50;
const PATIENTS: usize = 3;
const ROWS_OF_SYNC: i64 = 10;
/// Rows of a second each; one answer of raw metrics covers at most a day.
const ROWS_READ_AT_ONCE: usize = 80_000;
const BEGIN_MS: i64 = 1_763_600_000_000;
/// The longest that a service lives before it is killed: long enough for some hundred syncs, and often too short for one.
const LONGEST_LIFE: Duration = Duration::from_millis(150);

/// An app that sends ten seconds after ten seconds.
struct Phone {
    patient: Patient,
    /// Syncs acknowledged; the next one to send has this number.
    acknowledged: i64,
    /// Of these, how many were there already when they were sent again.
    found: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_lose_nothing_and_store_nothing_twice() {
    let data = tempdir().unwrap();
    let mut service = Service::start_named(data.path());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let mut phones = Vec::new();
    for _ in 0..PATIENTS {
        phones.push(Phone { patient: researcher.enrol().await, acknowledged: 0, found: 0 });
    }
    let rounds = Rounds::of_test("kills between syncs", KILLS);
    for life in rounds.lives(LONGEST_LIFE) {
        let shared = Arc::new(researcher);
        let mut sending = JoinSet::new();
        for phone in phones.drain(..) {
            sending.spawn(send_until_the_service_is_gone(shared.clone(), phone));
        }
        tokio::time::sleep(life).await;
        service.kill();
        phones = sending.join_all().await;
        service = Service::start_named(data.path());
        researcher = Arc::into_inner(shared).unwrap();
        researcher.at(&service.url);
    }
    for phone in &mut phones {
        // The last sync may be there without its answer; sent again, it surely is.
        assert!(send_next(&researcher, phone).await);
        check(&researcher, phone).await;
    }
    for database in ["users.db", "health.db"] {
        let damaged = page_sums::damaged_logs(&data.path().join(database)).unwrap();
        assert!(damaged.is_empty(), "what a crash leaves was taken for damage: {damaged:?}");
    }
    let acknowledged: i64 = phones.iter().map(|phone| phone.acknowledged).sum();
    let found: i64 = phones.iter().map(|phone| phone.found).sum();
    println!("{acknowledged} syncs acknowledged, {found} of them stored before their answer was lost");
    assert!(acknowledged > rounds.count as i64, "the service hardly lived: {acknowledged}");
}

async fn send_until_the_service_is_gone(researcher: Arc<Researcher>, mut phone: Phone) -> Phone {
    while send_next(&researcher, &mut phone).await {}
    phone
}

/// Sends the next sync; false when its answer did not come.
async fn send_next(researcher: &Researcher, phone: &mut Phone) -> bool {
    let number = phone.acknowledged;
    let rows = number * ROWS_OF_SYNC..(number + 1) * ROWS_OF_SYNC;
    let times: Vec<i64> = rows.clone().map(time_ms).collect();
    let rates: Vec<i64> = rows.map(heart_rate).collect();
    let body = json!({"data": {"activity": {"timestamp": times, "bpm": rates}}});
    let Ok((status, receipt)) = researcher.sync(&phone.patient, &body).await else { return false };
    assert_eq!(status, 200, "{receipt}");
    let counts = &receipt["types"]["activity"];
    let count = |name: &str| counts[name].as_i64().unwrap();
    // A sync is there as a whole or not at all.
    match (count("stored"), count("duplicate")) {
        (ROWS_OF_SYNC, 0) => {}
        (0, ROWS_OF_SYNC) => phone.found += 1,
        _ => panic!("a sync was stored in part: {receipt}"),
    }
    phone.acknowledged += 1;
    true
}

/// Reads everything back and compares it with what was acknowledged.
async fn check(researcher: &Researcher, phone: &Phone) {
    let count = phone.acknowledged * ROWS_OF_SYNC;
    let instant = |ms: i64| format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap());
    let number = |value: &Value| value.as_i64().unwrap();
    let mut read = BTreeMap::new();
    for first in (0..count).step_by(ROWS_READ_AT_ONCE) {
        let end = count.min(first + ROWS_READ_AT_ONCE as i64);
        let range = format!("from_date={}&to_date={}", instant(time_ms(first)), instant(time_ms(end - 1) + 1));
        let path = format!("/health/v2/raw-metrics/activity?{range}");
        let (status, answer) = researcher.get(&path, Some(&phone.patient.token)).await;
        assert_eq!(status, 200, "{answer}");
        let rows = answer.as_array().unwrap();
        assert_eq!(rows.len() as i64, end - first, "rows stored");
        read.extend(rows.iter().map(|row| (number(&row["timestamp"]), number(&row["bpm"]))));
    }
    let sent: BTreeMap<i64, i64> = (0..count).map(|row| (time_ms(row), heart_rate(row))).collect();
    assert_eq!(read, sent);
}

fn time_ms(row: i64) -> i64 {
    BEGIN_MS + row * 1000
}

fn heart_rate(row: i64) -> i64 {
    50 + row % 97
}
