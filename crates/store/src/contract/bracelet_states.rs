//! Events of bracelets that charge, are not worn or have fallen silent.

use serde_json::{Value, json};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::{Stores, activity_row, on_both_engines};
use crate::engine::Tx;
use crate::events::EventType;
use crate::ids::{PatientId, RecordId};
use crate::{HealthChange, HealthDb, Profile, Sync, SyncOutcome};

on_both_engines! {
    bracelet_that_charges_or_is_not_worn_is_an_event_of_the_newest_row
    rows_of_a_late_sync_are_no_event
    bracelet_that_is_silent_is_one_event_on_two_nodes_and_heard_with_the_next_newer_sample
    silence_is_looked_for_by_an_index_and_put_off_by_a_newer_sample
    erased_patient_is_not_looked_at
    damaged_state_begins_again
}

const DAMAGE: &str = "UPDATE patient SET bracelet = $2 WHERE uuid = $1";

/// 2025-11-20T00:53:20Z.
const BEGIN_MS: i64 = 1_763_600_000_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

fn grace() -> PatientId {
    PatientId::new("uuid-grace")
}

async fn with_grace(stores: &Stores) -> HealthDb {
    let change = HealthChange::PutPatient {
        uuid: grace(),
        record_id: RecordId::new("grace"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(change).await.expect("a patient");
    stores.health.clone()
}

/// Stores rows of some minutes with the values of a column, as they come at another minute.
async fn sync(health: &HealthDb, received_minute: i64, column: &str, values: &[(i64, i32)]) {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = values.iter().map(|(minute, _)| (BEGIN_MS + minute * MINUTE_MS) * 1000).collect();
    let column = DataType::Activity.column_index(column).expect("a column");
    block.columns[column] = Cells::Values(values.iter().map(|(_, value)| *value).collect()).simplified();
    block.zones = ZoneRuns::constant("UTC".into(), values.len());
    let received_ms = BEGIN_MS + received_minute * MINUTE_MS;
    let sync = Sync { patient: grace(), received_ms, id: None, device: None, blocks: vec![block] };
    assert!(matches!(health.store_sync(sync).await.expect("stored"), SyncOutcome::Stored(_)));
}

/// The events of the bracelet: minute, state, and minute of the sample that shows it.
async fn changes(health: &HealthDb) -> Vec<(i64, String, i64)> {
    let events = health.events().after(&grace(), 0, 100).await.expect("events");
    let minute = |time_ms: i64| (time_ms - BEGIN_MS) / MINUTE_MS;
    let of_bracelet = events.into_iter().filter(|event| event.event_type == EventType::DeviceChanged);
    of_bracelet
        .map(|event| {
            let Value::String(state) = &event.body["state"] else { panic!("{}", event.body) };
            let time_ms = event.body["time_ms"].as_i64().expect("a time");
            assert_eq!(event.body, json!({"state": state, "time_ms": time_ms}));
            (minute(event.time_ms), state.clone(), minute(time_ms))
        })
        .collect()
}

fn expected(changes: &[(i64, &str, i64)]) -> Vec<(i64, String, i64)> {
    changes.iter().map(|(minute, state, sample)| (*minute, (*state).to_owned(), *sample)).collect()
}

async fn bracelet_that_charges_or_is_not_worn_is_an_event_of_the_newest_row(stores: Stores) {
    let health = with_grace(&stores).await;
    sync(&health, 10, "charging", &[(1, 0), (2, 1)]).await;
    sync(&health, 11, "charging", &[(11, 1)]).await;
    sync(&health, 40, "wearing", &[(12, 4), (20, 0), (40, 0)]).await;
    sync(&health, 50, "wearing", &[(50, 0)]).await;
    sync(&health, 55, "charging", &[(55, 0)]).await;
    sync(&health, 60, "wearing", &[(56, 0), (60, 2)]).await;
    assert_eq!(
        changes(&health).await,
        expected(&[(10, "charging", 2), (50, "not_worn", 50), (55, "not_charging", 55), (60, "worn", 60)])
    );
}

/// Syncs of an hour in every order come to the same state, and none to one that is over.
async fn rows_of_a_late_sync_are_no_event(stores: Stores) {
    let health = with_grace(&stores).await;
    sync(&health, 100, "wearing", &[(100, 4)]).await;
    sync(&health, 101, "wearing", &[(10, 0), (60, 0)]).await;
    sync(&health, 102, "charging", &[(102, 0)]).await;
    sync(&health, 103, "charging", &[(20, 1)]).await;
    assert_eq!(changes(&health).await, []);
    // Repeated, and a row that takes the place of the newest one.
    sync(&health, 104, "charging", &[(102, 0)]).await;
    sync(&health, 105, "charging", &[(102, 1)]).await;
    assert_eq!(changes(&health).await, expected(&[(105, "charging", 102)]));
}

async fn bracelet_that_is_silent_is_one_event_on_two_nodes_and_heard_with_the_next_newer_sample(stores: Stores) {
    let health = with_grace(&stores).await;
    let other_node = HealthDb::open(stores.addresses[1].clone(), health.objects.clone()).await.expect("a database");
    sync(&health, 5, "bpm", &[(4, 60)]).await;
    let at = |minute: i64| BEGIN_MS + minute * MINUTE_MS;
    assert!(!health.note_silence(&grace(), at(64)).await.expect("an answer"));
    let patient = grace();
    let (one, other) = futures::join!(health.note_silence(&patient, at(65)), other_node.note_silence(&patient, at(65)));
    assert_eq!([one.expect("an answer"), other.expect("an answer")].iter().filter(|fell| **fell).count(), 1);
    // Old rows fill a gap; the bracelet is silent all the same.
    sync(&health, 70, "bpm", &[(3, 61)]).await;
    assert_eq!(changes(&health).await, expected(&[(65, "silent", 4)]));
    sync(&health, 71, "bpm", &[(6, 62)]).await;
    assert_eq!(changes(&health).await[1..], expected(&[(71, "heard", 6)]));
    assert_eq!(health.possibly_silent(at(131) - 1, 9).await.expect("patients"), []);
    assert_eq!(health.possibly_silent(at(131), 9).await.expect("patients"), [grace()]);
    assert!(other_node.note_silence(&grace(), at(131)).await.expect("an answer"));
}

async fn silence_is_looked_for_by_an_index_and_put_off_by_a_newer_sample(stores: Stores) {
    let health = with_grace(&stores).await;
    let at = |minute: i64| BEGIN_MS + minute * MINUTE_MS;
    assert_eq!(health.possibly_silent(at(9_000), 9).await.expect("patients"), []);
    sync(&health, 0, "bpm", &[(0, 60)]).await;
    sync(&health, 30, "bpm", &[(30, 60)]).await;
    // A sync does not move the time to look at, which lies in an index; the look does.
    assert_eq!(health.possibly_silent(at(60), 9).await.expect("patients"), [grace()]);
    assert!(!health.note_silence(&grace(), at(60)).await.expect("an answer"));
    assert_eq!(health.possibly_silent(at(90) - 1, 9).await.expect("patients"), []);
    assert!(health.note_silence(&grace(), at(90)).await.expect("an answer"));
    assert_eq!(health.possibly_silent(i64::MAX, 9).await.expect("patients"), []);
    assert_eq!(changes(&health).await, expected(&[(90, "silent", 30)]));
}

async fn erased_patient_is_not_looked_at(stores: Stores) {
    let health = with_grace(&stores).await;
    sync(&health, 0, "bpm", &[(0, 60)]).await;
    health.erase_rows(&grace(), BEGIN_MS + 1).await.expect("erased");
    assert_eq!(health.possibly_silent(i64::MAX, 9).await.expect("patients"), []);
    assert!(!health.note_silence(&grace(), i64::MAX).await.expect("an answer"));
}

/// Rows are stored whatever became of the state, which they say again.
async fn damaged_state_begins_again(stores: Stores) {
    let health = with_grace(&stores).await;
    sync(&health, 0, "charging", &[(0, 1)]).await;
    let damage = async |tx: &Tx<'_>| tx.execute(DAMAGE, &[&grace(), &vec![1_u8, 2, 3]]).await;
    health.db.write(damage).await.expect("damaged");
    let later_ms = BEGIN_MS + HOUR_MS;
    // Nobody knows when it was heard, so it is not silent; and it is looked at again.
    assert!(!health.note_silence(&grace(), later_ms).await.expect("an answer"));
    assert_eq!(health.possibly_silent(later_ms + HOUR_MS, 9).await.expect("patients"), [grace()]);
    health
        .store_sync(Sync {
            patient: grace(),
            received_ms: later_ms,
            id: None,
            device: None,
            blocks: vec![activity_row(later_ms, "charging", 1)],
        })
        .await
        .expect("stored");
    assert_eq!(changes(&health).await, expected(&[(0, "charging", 0), (60, "charging", 60)]));
    assert!(health.note_silence(&grace(), later_ms + HOUR_MS).await.expect("an answer"));
}
