//! The event log: numbers, places, retention, erasure.

use std::time::Duration;

use serde_json::json;

use super::{Stores, on_both_engines};
use crate::error::Result;
use crate::events::{self, Event, EventType, Followed, LogCursor, NewEvent};
use crate::ids::PatientId;
use crate::{HealthChange, HealthDb, Profile, StoreError};

on_both_engines! {
    rolled_back_events_leave_no_gap
    place_within_a_position_is_kept_by_pages_of_any_size
    event_of_an_unknown_patient_is_none
    event_with_a_damaged_body_stops_no_reader
    events_expire_from_the_oldest_and_the_newest_stays
    events_of_one_transaction_expire_however_many_there_are
    sync_stays_until_it_is_derived
    types_of_the_service_are_read_and_not_shown_to_clients
    another_epoch_ends_cursors
    erased_patient_keeps_positions_without_data
}

pub(super) fn event(label: &str) -> NewEvent {
    NewEvent { event_type: EventType::SyncStored, time_ms: 7, body: json!({ "label": label }) }
}

pub(super) async fn with_patients(stores: &Stores, names: &[&str]) {
    for name in names {
        let change = HealthChange::PutPatient {
            uuid: PatientId::new(*name),
            record_id: crate::ids::RecordId::new(format!("id-{name}")),
            customer_code: None,
            profile: Profile::default(),
            at_ms: 1,
        };
        stores.health.apply(change).await.expect("a patient");
    }
}

const DERIVED_ALL_OF_HEDY: &str = "UPDATE patient SET derived_through = 9 WHERE uuid = 'hedy'";

async fn append(health: &HealthDb, patient: &'static str, labels: &'static [&'static str]) {
    let events: Vec<NewEvent> = labels.iter().map(|label| event(label)).collect();
    health
        .db
        .write(async move |tx| events::append(tx, &PatientId::new(patient), &events).await)
        .await
        .expect("appended");
}

async fn start(health: &HealthDb) -> LogCursor {
    health.events().oldest().await.expect("a cursor")
}

/// Waits until readers may see all that is committed: transactions of other tests run on the same server.
pub(super) async fn settle(health: &HealthDb) {
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
            events::append(tx, &PatientId::new("grace"), &[event("lost")]).await?;
            Err(StoreError::LeaseLost)
        })
        .await;
    assert!(matches!(failed, Err(StoreError::LeaseLost)));
    append(health, "grace", &["two", "three"]).await;
    let all = health.events().after(&PatientId::new("grace"), 0, 10).await.expect("events");
    assert_eq!(labels(&all), [("grace", 1, "one"), ("grace", 2, "two"), ("grace", 3, "three")]);
    let later = health.events().after(&PatientId::new("grace"), 1, 1).await.expect("events");
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
            events::append(tx, &PatientId::new("grace"), &[event("g1"), event("g2")]).await?;
            events::append(tx, &PatientId::new("hedy"), &[event("h2"), event("h3"), event("h4")]).await
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

async fn types_of_the_service_are_read_and_not_shown_to_clients(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let health = &stores.health;
    let of_type = |event_type| NewEvent { event_type, ..event("internal") };
    // One transaction: one position on PostgreSQL, with hidden events amid it.
    health
        .db
        .write(async move |tx| {
            let hidden = [of_type(EventType::SyncRepeated), of_type(EventType::LatestChanged)];
            events::append(tx, &PatientId::new("grace"), &[event("one")]).await?;
            events::append(tx, &PatientId::new("grace"), &hidden).await?;
            events::append(tx, &PatientId::new("grace"), &[event("two")]).await
        })
        .await
        .expect("appended");
    settle(health).await;
    let shown = health.events().after(&PatientId::new("grace"), 0, 10).await.expect("events");
    assert_eq!(labels(&shown), [("grace", 1, "one"), ("grace", 4, "two")]);
    let (mut cursor, mut read) = (start(health).await, Vec::new());
    for _ in 0..4 {
        let Followed::Page(page) = health.events().read_after(&cursor, 1).await.expect("a page") else {
            panic!("the cursor holds")
        };
        cursor = page.next;
        read.extend(page.events);
    }
    assert_eq!(read.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    read.retain(|event| EventType::SHOWN.contains(&event.event_type));
    assert_eq!(read.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 4]);
}

async fn event_of_an_unknown_patient_is_none(stores: Stores) {
    append(&stores.health, "nobody", &["lost"]).await;
    assert!(followed(&stores.health, start(&stores.health).await, 5).await.is_empty());
}

async fn event_with_a_damaged_body_stops_no_reader(stores: Stores) {
    const DAMAGE: &str = "UPDATE event SET body = '{' WHERE patient = 'grace' AND sequence = 1";
    with_patients(&stores, &["grace"]).await;
    append(&stores.health, "grace", &["damaged", "whole"]).await;
    stores.health.db.write(async |tx| tx.execute(DAMAGE, &[]).await).await.expect("damaged");
    let read = followed(&stores.health, start(&stores.health).await, 1).await;
    assert_eq!(labels(&read), [("grace", 1, ""), ("grace", 2, "whole")]);
}

async fn events_expire_from_the_oldest_and_the_newest_stays(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let health = &stores.health;
    for time_ms in [10, 20, 30, 20, 40] {
        let event = NewEvent { event_type: EventType::DayUpdated, time_ms, body: json!({}) };
        let written = health
            .db
            .write(async move |tx| events::append(tx, &PatientId::new("grace"), std::slice::from_ref(&event)).await);
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
    assert_eq!(health.events().after(&PatientId::new("grace"), 5, 9).await.expect("events")[0].sequence, 6);
}

async fn append_at(health: &HealthDb, times_ms: Vec<i64>) {
    let event = |time_ms: &i64| NewEvent { event_type: EventType::DayUpdated, time_ms: *time_ms, body: json!({}) };
    let events: Vec<NewEvent> = times_ms.iter().map(event).collect();
    let written = health.db.write(async move |tx| events::append(tx, &PatientId::new("grace"), &events).await);
    written.await.expect("appended");
}

async fn events_of_one_transaction_expire_however_many_there_are(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    let health = &stores.health;
    for times_ms in [vec![10; 6], vec![20], vec![30, 30, 30, 30, 30, 90], vec![40]] {
        append_at(health, times_ms).await;
    }
    settle(health).await;
    let expire = async || {
        let mut deleted = Vec::new();
        loop {
            match health.events().expire(50, 5).await.expect("a count") {
                0 => break deleted.iter().sum::<u64>(),
                count => deleted.push(count),
            }
        }
    };
    let times = async || {
        let left = health.events().after(&PatientId::new("grace"), 0, 99).await.expect("events");
        left.iter().map(|event| event.time_ms).collect::<Vec<_>>()
    };
    // Of a transaction with a younger event all stay on PostgreSQL, where they have one position.
    let kept = if health.db.is_sqlite() { vec![90, 40] } else { vec![30, 30, 30, 30, 30, 90, 40] };
    assert_eq!((expire().await, times().await), (14 - kept.len() as u64, kept));
}

async fn sync_stays_until_it_is_derived(stores: Stores) {
    const DERIVED: &str = "UPDATE patient SET derived_through = 1 WHERE uuid = 'grace'";
    with_patients(&stores, &["grace", "hedy"]).await;
    let health = &stores.health;
    append(health, "grace", &["one"]).await;
    append(health, "hedy", &["of another"]).await;
    append(health, "grace", &["newest"]).await;
    health.db.write(async |tx| tx.execute(DERIVED_ALL_OF_HEDY, &[]).await).await.expect("derived");
    settle(health).await;
    let begin = start(health).await;
    assert_eq!(health.events().expire(1_000, 100).await.expect("a count"), 1, "what waits holds up no other");
    assert_eq!(labels(&health.events().after(&PatientId::new("grace"), 0, 9).await.expect("events")).len(), 2);
    assert_eq!(labels(&followed(health, start(health).await, 9).await), [("grace", 2, "newest")]);
    assert_eq!(health.events().read_after(&begin, 9).await.expect("an answer"), Followed::Expired);
    let end = health.events().end().await.expect("a cursor");
    append(health, "hedy", &["later"]).await;
    settle(health).await;
    assert_eq!(health.events().expire(5, 100).await.expect("a count"), 0);
    assert_eq!(labels(&followed(health, end, 9).await), [("hedy", 2, "later")], "a cursor at the end stays good");
    health.db.write(async |tx| tx.execute(DERIVED, &[]).await).await.expect("derived");
    assert_eq!(health.events().expire(1_000, 100).await.expect("a count"), 1);
    let left = health.events().after(&PatientId::new("grace"), 0, 9).await.expect("events");
    assert_eq!(labels(&left), [("grace", 2, "newest")]);
}

async fn another_epoch_ends_cursors(stores: Stores) {
    with_patients(&stores, &["grace"]).await;
    append(&stores.health, "grace", &["one"]).await;
    let (log, users) = (stores.health.events(), stores.users.events());
    let before = log.end().await.expect("a cursor");
    assert_ne!(before.epoch, users.end().await.expect("a cursor").epoch);
    log.begin_epoch(&crate::ids::LogEpoch::new("restored")).await.expect("begun");
    assert_eq!(log.read_after(&before, 9).await.expect("an answer"), Followed::AnotherStore);
    assert_eq!(start(&stores.health).await.epoch.as_str(), "restored");
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
    health.erase_rows(&PatientId::new("grace"), 50).await.expect("erased");
    let after = followed(health, start(health).await, 9).await;
    let expected: Vec<Event> = before
        .into_iter()
        .map(|event| if event.patient == PatientId::new("grace") { Event { body: json!({}), ..event } } else { event })
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
    let Stores { users, addresses, .. } = Stores::sqlite().await;
    let health = HealthDb::open(address.clone(), objects.clone()).await.expect("a database");
    let stores = Stores { users, health, addresses, folder };
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

/// What is deleted while an older transaction is under way is noted: a cursor from before it is expired.
#[tokio::test(flavor = "multi_thread")]
async fn events_that_go_below_a_young_one_behind_an_open_transaction_expire_cursors() {
    let Some(stores) = Stores::postgres().await else { return };
    with_patients(&stores, &["grace", "hedy"]).await;
    let health = &stores.health;
    append_at(health, vec![10]).await;
    append_at(health, vec![20]).await;
    settle(health).await;
    let oldest = start(health).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (end_it, may_end) = tokio::sync::oneshot::channel::<()>();
    let mut parts = Some((begun, may_end));
    let held = health.db.write(async move |tx| {
        events::append(tx, &PatientId::new("hedy"), &[event("held")]).await?;
        // Waited for, so that the transaction has its number.
        tx.query_opt("SELECT COUNT(*) FROM patient", &[], |row| row.get::<i64>(0)).await?;
        if let Some((begun, may_end)) = parts.take() {
            let _ = begun.send(());
            let _ = may_end.await;
        }
        Ok(())
    });
    let retention = async {
        has_begun.await.expect("begun");
        append_at(health, vec![900]).await;
        let deleted = health.events().expire(100, 100).await.expect("a count");
        end_it.send(()).expect("the transaction is open");
        deleted
    };
    let (held, deleted) = futures::join!(held, retention);
    held.expect("committed");
    settle(health).await;
    let times: Vec<i64> = followed(health, start(health).await, 9).await.iter().map(|event| event.time_ms).collect();
    assert_eq!((deleted, times), (2, vec![7, 900]), "hedy's event is written below the young one");
    assert_eq!(health.events().read_after(&oldest, 9).await.expect("an answer"), Followed::Expired);
}

/// A reader that cannot see an event yet is asked to look again soon.
#[tokio::test(flavor = "multi_thread")]
async fn page_says_that_committed_events_wait_for_an_older_transaction() {
    let Some(stores) = Stores::postgres().await else { return };
    with_patients(&stores, &["grace", "hedy"]).await;
    settle(&stores.health).await;
    let health = &stores.health;
    let end = health.events().end().await.expect("a cursor");
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (end_it, may_end) = tokio::sync::oneshot::channel::<()>();
    let mut parts = Some((begun, may_end));
    let older = health.db.write(async move |tx| {
        events::append(tx, &PatientId::new("grace"), &[event("older")]).await?;
        // Waited for, so that the transaction has its number.
        tx.query_opt("SELECT COUNT(*) FROM patient", &[], |row| row.get::<i64>(0)).await?;
        if let Some((begun, may_end)) = parts.take() {
            let _ = begun.send(());
            let _ = may_end.await;
        }
        Ok(())
    });
    let reader = async {
        has_begun.await.expect("begun");
        append(health, "hedy", &["younger"]).await;
        let Followed::Page(page) = health.events().read_after(&end, 10).await.expect("a page") else {
            panic!("the cursor does not hold")
        };
        end_it.send(()).expect("the transaction is open");
        page
    };
    let (older, page) = futures::join!(older, reader);
    older.expect("committed");
    assert!(page.waits && page.events.is_empty() && !page.more, "{page:?}");
    settle(health).await;
    let Followed::Page(page) = health.events().read_after(&page.next, 10).await.expect("a page") else {
        panic!("the cursor does not hold")
    };
    assert_eq!(labels(&page.events), [("grace", 1, "older"), ("hedy", 1, "younger")]);
    assert!(!page.waits);
}
