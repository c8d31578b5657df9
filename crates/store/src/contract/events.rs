//! The event log: nothing is lost, nothing doubled, each patient's events come in their order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Stores, on_both_engines};
use crate::engine::Tx;
use crate::error::Result;
use crate::events::{self, Event, EventType, Followed, LogCursor, NewEvent};
use crate::{HealthChange, HealthDb, Profile, StoreError};

on_both_engines! {
    every_committed_event_is_followed_once_and_in_order
    rolled_back_events_leave_no_gap
    place_within_a_position_is_kept_by_pages_of_any_size
    event_of_an_unknown_patient_is_none
    events_expire_from_the_oldest_and_the_newest_stays
    another_epoch_ends_cursors
    erased_patient_keeps_positions_without_data
}

fn event(label: &str) -> NewEvent {
    NewEvent { event_type: EventType::SyncStored, time_ms: 7, body: json!({ "label": label }) }
}

async fn with_patients(stores: &Stores, names: &[&str]) {
    for name in names {
        let change = HealthChange::PutPatient {
            uuid: (*name).to_owned(),
            record_id: format!("id-{name}"),
            customer_code: None,
            profile: Profile::default(),
            at_ms: 1,
        };
        stores.health.apply(change).await.expect("a patient");
    }
}

async fn append(health: &HealthDb, patient: &'static str, labels: &'static [&'static str]) {
    let events: Vec<NewEvent> = labels.iter().map(|label| event(label)).collect();
    health.db.write(async move |tx| events::append(tx, patient, &events).await).await.expect("appended");
}

async fn start(health: &HealthDb) -> LogCursor {
    health.events().oldest().await.expect("a cursor")
}

/// Waits until readers may see all that is committed: transactions of other tests run on the same server.
async fn settle(health: &HealthDb) {
    while health.events().lag_ms(i64::MAX).await.expect("a number") > 0 {
        runtime::sleep(Duration::from_millis(1)).await;
    }
}

/// Everything behind a cursor, in pages of a size.
async fn followed(health: &HealthDb, mut cursor: LogCursor, limit: usize) -> Vec<Event> {
    settle(health).await;
    let mut events = Vec::new();
    loop {
        let Followed::Page(page) = health.events().read_after(&cursor, limit).await.expect("a page") else {
            panic!("the cursor does not hold")
        };
        assert!(page.events.len() <= limit);
        cursor = page.next;
        events.extend(page.events);
        if !page.more {
            return events;
        }
    }
}

fn labels(events: &[Event]) -> Vec<(&str, i64, &str)> {
    let mut labels = Vec::new();
    for event in events {
        labels.push((event.patient.as_str(), event.sequence, event.body["label"].as_str().unwrap_or_default()));
    }
    labels
}

async fn rolled_back_events_leave_no_gap(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let health = &stores.health;
    append(health, "grace", &["one"]).await;
    let failed: Result<()> = health
        .db
        .write(async |tx| {
            events::append(tx, "grace", &[event("lost")]).await?;
            Err(StoreError::LeaseLost)
        })
        .await;
    assert!(matches!(failed, Err(StoreError::LeaseLost)));
    append(health, "grace", &["two", "three"]).await;
    let all = health.events().after("grace", 0, 10).await.expect("events");
    assert_eq!(labels(&all), [("grace", 1, "one"), ("grace", 2, "two"), ("grace", 3, "three")]);
    let later = health.events().after("grace", 1, 1).await.expect("events");
    assert_eq!(labels(&later), [("grace", 2, "two")]);
}

async fn place_within_a_position_is_kept_by_pages_of_any_size(stores: Stores) {
    with_patients(&stores, &["grace", "hedy"]).await;
    let health = &stores.health;
    append(health, "hedy", &["h1"]).await;
    // One transaction: one position on PostgreSQL.
    health
        .db
        .write(async |tx| {
            events::append(tx, "grace", &[event("g1"), event("g2")]).await?;
            events::append(tx, "hedy", &[event("h2"), event("h3"), event("h4")]).await
        })
        .await
        .expect("appended");
    append(health, "grace", &["g3"]).await;
    let whole = followed(health, start(health).await, 100).await;
    assert_eq!(whole.len(), 7);
    for limit in 1..8 {
        assert_eq!(followed(health, start(health).await, limit).await, whole, "pages of {limit}");
    }
    // The place behind each event leads to the rest.
    let epoch = start(health).await.epoch;
    for (at, event) in whole.iter().enumerate() {
        let cursor = LogCursor { epoch: epoch.clone(), place: event.next };
        assert_eq!(followed(health, cursor, 2).await, whole[at + 1..]);
    }
    let end = health.events().end().await.expect("a cursor");
    assert!(followed(health, end.clone(), 5).await.is_empty());
    append(health, "hedy", &["h5"]).await;
    assert_eq!(labels(&followed(health, end, 5).await), [("hedy", 5, "h5")]);
}

async fn event_of_an_unknown_patient_is_none(stores: Stores) {
    append(&stores.health, "nobody", &["lost"]).await;
    assert!(followed(&stores.health, start(&stores.health).await, 5).await.is_empty());
}

async fn events_expire_from_the_oldest_and_the_newest_stays(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let health = &stores.health;
    for time_ms in [10, 20, 30, 20, 40] {
        let event = NewEvent { event_type: EventType::DayUpdated, time_ms, body: json!({}) };
        let written = health.db.write(async move |tx| events::append(tx, "grace", std::slice::from_ref(&event)).await);
        written.await.expect("appended");
    }
    let log = health.events();
    let oldest = start(health).await;
    let times = async |cursor| followed(health, cursor, 9).await.iter().map(|event| event.time_ms).collect::<Vec<_>>();
    assert_eq!(log.expire(10, 100).await.expect("a count"), 0);
    assert_eq!(times(oldest.clone()).await, [10, 20, 30, 20, 40]);
    assert_eq!(log.expire(30, 100).await.expect("a count"), 2);
    assert_eq!(log.read_after(&oldest, 9).await.expect("an answer"), Followed::Expired);
    // The one of 20 comes after one that is kept.
    assert_eq!(times(start(health).await).await, [30, 20, 40]);
    let mut deleted = 0;
    for _ in 0..5 {
        deleted += log.expire(1_000, 2).await.expect("a count");
    }
    assert_eq!((deleted, times(start(health).await).await), (2, vec![40]));
    append(health, "grace", &["after"]).await;
    assert_eq!(health.events().after("grace", 5, 9).await.expect("events")[0].sequence, 6);
}

async fn another_epoch_ends_cursors(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    append(&stores.health, "grace", &["one"]).await;
    let (log, users) = (stores.health.events(), stores.users.events());
    let before = log.end().await.expect("a cursor");
    assert_ne!(before.epoch, users.end().await.expect("a cursor").epoch);
    log.begin_epoch("restored").await.expect("begun");
    assert_eq!(log.read_after(&before, 9).await.expect("an answer"), Followed::AnotherStore);
    assert_eq!(start(&stores.health).await.epoch, "restored");
    assert_eq!(followed(&stores.health, start(&stores.health).await, 9).await.len(), 1);
}

async fn erased_patient_keeps_positions_without_data(stores: Stores) {
    const SYNC: &str = "UPDATE event SET sync_id = 'phone of Grace', content_hash = $1 WHERE patient = 'grace'";
    const LEFT: &str = "SELECT body, sync_id, content_hash FROM event WHERE patient = 'grace'";
    with_patients(&stores, &["grace", "hedy"]).await;
    let health = &stores.health;
    append(health, "grace", &["one"]).await;
    append(health, "hedy", &["two"]).await;
    let before = followed(health, start(health).await, 9).await;
    health.db.write(async |tx| tx.execute(SYNC, &[&vec![1_u8]]).await).await.expect("named");
    health.erase_rows("grace", 50).await.expect("erased");
    let after = followed(health, start(health).await, 9).await;
    let expected: Vec<Event> = before
        .into_iter()
        .map(|event| if event.patient == "grace" { Event { body: json!({}), ..event } } else { event })
        .collect();
    assert_eq!(after, expected);
    let left = health.db.read(async |tx| {
        tx.query(LEFT, &[], |row| {
            Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?, row.get::<Option<Vec<u8>>>(2)?))
        })
        .await
    });
    assert_eq!(left.await.expect("rows"), [("{}".to_owned(), None, None)]);
}

/// Rows that have come from a server whose transactions had higher numbers.
#[tokio::test(flavor = "multi_thread")]
async fn moved_log_goes_on_behind_its_newest_event() {
    const MOVE: &str = "UPDATE event SET position = position + 1000000000";
    let Some(database) = testkit::Postgres::start() else { return };
    let address = crate::Address::Postgres(database.url);
    let folder = tempfile::tempdir().expect("a folder");
    let objects = crate::Objects::folder(folder.path()).expect("a folder");
    let users = Stores::sqlite().await.users;
    let health = HealthDb::open(address.clone(), objects.clone()).await.expect("a database");
    let stores = Stores { users, health, _folder: folder };
    with_patients(&stores, &["grace"]).await;
    append(&stores.health, "grace", &["one"]).await;
    stores.health.db.write(async |tx| tx.execute(MOVE, &[]).await).await.expect("moved");
    assert_eq!(stores.health.events().lag_ms(1_007).await.expect("a number"), 1_000);

    let moved = HealthDb::open(address.clone(), objects.clone()).await.expect("a database");
    append(&moved, "grace", &["two"]).await;
    let all = followed(&moved, start(&moved).await, 9).await;
    assert_eq!(labels(&all), [("grace", 1, "one"), ("grace", 2, "two")]);
    let offset = async |health: &HealthDb| {
        const OFFSET: &str = "SELECT position_offset FROM store_epoch";
        health.db.read(async |tx| tx.query_opt(OFFSET, &[], |row| row.get::<i64>(0)).await).await.expect("a row")
    };
    let raised = offset(&moved).await;
    let again = HealthDb::open(address, objects).await.expect("a database");
    assert_eq!(offset(&again).await, raised, "it is raised once");
}

/// Writers, and how often they write together.
const WRITERS: usize = 3;
const PATIENTS: [&str; 4] = ["a", "b", "c", "d"];
/// The patient whom the held transaction reaches before it waits.
const HELD: &str = "0";

#[allow(clippy::disallowed_methods, reason = "a longer run of the same test")]
fn rounds() -> u64 {
    std::env::var("PULSEWARD_EVENT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200)
}

/// What the tasks of the test tell each other.
#[derive(Default)]
struct Progress {
    polls: AtomicU64,
    are_writers_done: AtomicBool,
    is_over: AtomicBool,
}

impl Progress {
    /// Waits, without giving the thread up, until readers have looked a few times more.
    #[expect(clippy::disallowed_methods, reason = "the writer's thread is held up on purpose")]
    fn wait_for_polls(&self) {
        let until = self.polls.load(Ordering::SeqCst) + 4;
        while self.polls.load(Ordering::SeqCst) < until {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Follows the log from its beginning until the test is over and nothing is left.
async fn follow(health: HealthDb, limit: usize, progress: Arc<Progress>) -> Vec<Event> {
    let mut cursor = loop {
        if let Ok(cursor) = health.events().oldest().await {
            break cursor;
        }
    };
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let was_over = progress.is_over.load(Ordering::SeqCst);
        // A connection that was ended in the middle of the answer.
        let Ok(followed) = health.events().read_after(&cursor, limit).await else { continue };
        let Followed::Page(page) = followed else { panic!("the cursor does not hold: {followed:?}") };
        progress.polls.fetch_add(1, Ordering::SeqCst);
        cursor = page.next;
        let is_end = page.events.is_empty() && !page.more;
        seen.extend(page.events);
        if is_end {
            if was_over {
                return seen;
            }
            runtime::sleep(Duration::from_micros(300)).await;
        }
    }
}

/// One transaction of a writer: some events of some patients, always in the same order of patients, and sometimes rolled
/// back at its end.
async fn write(health: &HealthDb, writer: usize, round: u64) {
    let number = round * WRITERS as u64 + writer as u64;
    let _ = health
        .db
        .write(async move |tx| {
            for (at, patient) in PATIENTS.iter().enumerate() {
                let count = (number >> at) % 3;
                let label = format!("{writer} in {round}");
                let events: Vec<NewEvent> = (0..count).map(|_| event(&label)).collect();
                events::append(tx, patient, &events).await?;
            }
            if number % 7 == 3 { Err(StoreError::LeaseLost) } else { Ok(()) }
        })
        .await;
}

/// A transaction that begins before the writers' and ends after them. It reaches one of their patients late.
async fn hold(health: &HealthDb, round: u64, is_sqlite: bool, progress: Arc<Progress>) {
    let begun = Arc::new(tokio::sync::Notify::new());
    let at_work = begun.clone();
    let waiting = progress.clone();
    let work = async move |tx: &Tx<'_>| {
        events::append(tx, HELD, &[event(&format!("held in {round}"))]).await?;
        if is_sqlite {
            // The only writer: the others wait for it, readers do not.
            at_work.notify_one();
            waiting.wait_for_polls();
        } else {
            // An answer shows that the transaction has its number.
            tx.query("SELECT position FROM event_clock", &[], |row| row.get::<i64>(0)).await?;
            at_work.notify_one();
            while !waiting.are_writers_done.load(Ordering::SeqCst) {
                runtime::sleep(Duration::from_micros(200)).await;
            }
        }
        events::append(tx, PATIENTS[3], &[event(&format!("late in {round}"))]).await
    };
    let held = health.clone();
    let holding = runtime::spawn("hold", async move { held.db.write(work).await });
    begun.notified().await;
    let writers = (0..WRITERS).map(|writer| write(health, writer, round));
    if round % 4 == 1 {
        tokio::join!(futures::future::join_all(writers), interrupt(health, is_sqlite));
    } else {
        futures::future::join_all(writers).await;
    }
    progress.are_writers_done.store(true, Ordering::SeqCst);
    let _ = holding.await.expect("no panic");
    progress.are_writers_done.store(false, Ordering::SeqCst);
}

/// Ends every connection on PostgreSQL, whatever it is doing; on SQLite leaves a transaction of another process open
/// until its connection is gone, and lets one panic.
async fn interrupt(health: &HealthDb, is_sqlite: bool) {
    const KILL: &str = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    const FILE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    const DOUBLE: &str = "INSERT INTO event (patient, sequence, time_ms, type, body)
        SELECT uuid, events + 1, 0, 'sync.stored', '{}' FROM patient";
    if !is_sqlite {
        let _ = health.db.read_single(async |tx| tx.query_opt(KILL, &[], |row| row.get::<i64>(0)).await).await;
        return;
    }
    let file = health.db.read(async |tx| tx.query_opt(FILE, &[], |row| row.get::<String>(0)).await).await;
    let file = file.expect("an answer").expect("a file");
    let other = runtime::blocking("other process", move || {
        let other = rusqlite::Connection::open(file).expect("a connection");
        other.busy_timeout(Duration::from_secs(5)).expect("set");
        other.execute_batch("BEGIN IMMEDIATE").expect("begun");
        other.execute(DOUBLE, []).expect("written");
    });
    other.await.expect("no panic");
    let panicked: Result<()> = health
        .db
        .write(async |tx| {
            events::append(tx, PATIENTS[0], &[event("lost")]).await?;
            panic!("part of the test")
        })
        .await;
    assert!(panicked.is_err());
}

async fn every_committed_event_is_followed_once_and_in_order(stores: Stores) {
    const NUMBERS: &str = "SELECT uuid, events FROM patient";
    let is_sqlite = stores.health.db.pool_state().is_none();
    with_patients(&stores, &PATIENTS).await;
    with_patients(&stores, &[HELD]).await;
    let progress = Arc::new(Progress::default());
    let follow = |limit| runtime::spawn("follow", follow(stores.health.clone(), limit, progress.clone()));
    let followers = [1, 3, 100].map(follow);
    for round in 0..rounds() {
        hold(&stores.health, round, is_sqlite, progress.clone()).await;
    }
    settle(&stores.health).await;
    progress.is_over.store(true, Ordering::SeqCst);

    let numbers = stores
        .health
        .db
        .read(async |tx| tx.query(NUMBERS, &[], |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?))).await);
    let numbers: BTreeMap<String, i64> = numbers.await.expect("the patients").into_iter().collect();
    assert!(numbers.values().all(|events| *events > rounds() as i64 / 4), "{numbers:?}");
    let mut orders = Vec::new();
    for follower in followers {
        let seen = follower.await.expect("no panic");
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        for event in &seen {
            let last = last.entry(event.patient.clone()).or_default();
            assert_eq!(event.sequence, *last + 1, "{event:?}");
            *last = event.sequence;
        }
        assert_eq!(last, numbers);
        assert!(seen.windows(2).all(|pair| pair[0].next < pair[1].next));
        orders.push(
            seen.into_iter().map(|event| (event.next, event.patient, event.sequence, event.body)).collect::<Vec<_>>(),
        );
    }
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "readers see the same log");
}
