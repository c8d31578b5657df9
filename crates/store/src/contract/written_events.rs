//! Which events operations write.

use serde_json::{Value, json};
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneRuns;

use super::example_rows::{activation, message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::events::{EventLog, EventType};
use crate::ids::{ExportId, NodeId, PatientId, SerialNumber};
use crate::names::JobKind;
use crate::{AccountId, DeviceReport, GroupCode, HealthChange, NewExport, PatientErasure, Profile, Sync};

/// 2025-11-20T00:53:20Z, µs.
const BEGIN_US: i64 = 1_763_600_000_000_000;

on_both_engines! {
    enrolment_activation_and_groups_are_events
    erasure_is_an_event_of_the_groups_that_held_the_patient
    sync_that_stores_rows_is_an_event_of_what_it_stored
    battery_that_becomes_low_or_recovers_is_an_event
    export_that_ended_is_an_event
}

async fn written(log: &EventLog) -> Vec<(EventType, i64, Value)> {
    let events = log.after(&PatientId::new("uuid-grace"), 0, 100).await.expect("events");
    events.into_iter().map(|event| (event.event_type, event.time_ms, event.body)).collect()
}

async fn enrolment_activation_and_groups_are_events(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    users
        .add_patient(patient("grace"), &GroupCode::new("AAAAA"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    let activated = users.activate_patient(activation("grace", None), message("i2", 0)).await;
    assert!(activated.expect("an answer"));
    let again = users.activate_patient(activation("grace", None), message("i3", 0)).await;
    assert!(!again.expect("an answer"));
    for _ in 0..2 {
        users
            .attach_patient(
                &GroupCode::new("BBBBB"),
                &PatientId::new("uuid-grace"),
                no_settings(),
                audit(Vec::new(), 5),
            )
            .await
            .expect("an answer");
    }
    for id in ["i4", "i5"] {
        users
            .detach_patient(&GroupCode::new("AAAAA"), &PatientId::new("uuid-grace"), no_settings(), message(id, 0))
            .await
            .expect("an answer");
    }
    let activated_ms = activation("grace", None).now_ms;
    assert_eq!(
        written(&users.events()).await,
        [
            (EventType::PatientAttached, patient("grace").created_ms, json!({"group": "AAAAA"})),
            (EventType::PatientActivated, activated_ms, json!({})),
            (EventType::PatientAttached, 0, json!({"group": "BBBBB"})),
            (EventType::PatientDetached, 0, json!({"group": "AAAAA"})),
        ]
    );
}

async fn erasure_is_an_event_of_the_groups_that_held_the_patient(stores: Stores) {
    with_ada_in(&stores, &["AAAAA", "BBBBB"]).await;
    let users = &stores.users;
    users
        .add_patient(patient("grace"), &GroupCode::new("BBBBB"), message("i1", 0), no_settings())
        .await
        .expect("a patient");
    users
        .attach_patient(&GroupCode::new("AAAAA"), &PatientId::new("uuid-grace"), no_settings(), audit(Vec::new(), 5))
        .await
        .expect("an answer");
    let change = HealthChange::ErasePatient { uuid: PatientId::new("uuid-grace"), at_ms: 50 };
    let erasing = crate::HealthMessage { change, ..message("i2", 50) };
    users.erase_patient(&PatientId::new("uuid-grace"), PatientErasure::default(), 50, erasing).await.expect("erased");
    assert_eq!(
        written(&users.events()).await,
        [
            (EventType::PatientAttached, patient("grace").created_ms, json!({})),
            (EventType::PatientAttached, 0, json!({})),
            (EventType::PatientErased, 50, json!({"groups": ["AAAAA", "BBBBB"]})),
        ]
    );
}

async fn with_grace(stores: &Stores) {
    let change = HealthChange::PutPatient {
        uuid: PatientId::new("uuid-grace"),
        record_id: crate::ids::RecordId::new("r"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(change).await.expect("a patient");
}

/// Ranges, what is new and what was replaced by type, and whether a bracelet was described: never which one.
async fn sync_that_stores_rows_is_an_event_of_what_it_stored(stores: Stores) {
    with_grace(&stores).await;
    let grace = PatientId::new("uuid-grace");
    let device = |serial| Some(DeviceReport::new(SerialNumber::new(serial)));
    let rows = |times_us: &[i64], bpm: i32| {
        let mut block = Block::empty(DataType::Activity, Channel::default());
        block.times_us = times_us.to_vec();
        block.columns[DataType::Activity.column_index("bpm").expect("a column")] = Cells::Constant(bpm);
        block.zones = ZoneRuns::constant("UTC".into(), times_us.len());
        block
    };
    let (first_us, next_us, late_us) = (BEGIN_US, BEGIN_US + 60_000_000, BEGIN_US + 3_600_000_000);
    let syncs = [
        (1, device("SN-7731"), rows(&[first_us, next_us, late_us], 60)),
        (2, None, rows(&[next_us], 61)),
        (3, device("SN-7731"), rows(&[next_us], 61)),
    ];
    for (after_ms, device, block) in syncs {
        let received_ms = BEGIN_US / 1000 + 86_400_000 + after_ms;
        let sync = Sync { patient: grace.clone(), received_ms, id: None, device, blocks: vec![block] };
        stores.health.store_sync(sync).await.expect("stored");
    }
    let written = written(&stores.health.events()).await;
    let bodies: Vec<&Value> = written.iter().map(|(_, _, body)| body).collect();
    // A block is one range, however far its rows lie apart.
    let first = json!([[first_us, late_us, 3, null]]);
    // The repeated sync stored nothing, which is no event for readers.
    assert_eq!(
        bodies,
        [
            &json!({"types": {"activity": {"stored": 3, "replaced": 0, "ranges": first}}, "device": true}),
            &json!({"types": {"activity": {"stored": 0, "replaced": 1, "ranges": [[next_us, next_us, 1, null]]}}}),
        ]
    );
    assert!(written.iter().all(|(of, _, body)| *of == EventType::SyncStored && !body.to_string().contains("7731")));
}

async fn battery_that_becomes_low_or_recovers_is_an_event(stores: Stores) {
    with_grace(&stores).await;
    let levels = [Some(16), Some(15), None, Some(3), Some(16), Some(90), Some(14)];
    for (time_ms, battery_level) in levels.into_iter().enumerate() {
        let device = DeviceReport { battery_level, ..DeviceReport::new(SerialNumber::new("s1")) };
        let sync = Sync {
            patient: PatientId::new("uuid-grace"),
            received_ms: time_ms as i64,
            id: None,
            device: Some(device),
            blocks: Vec::new(),
        };
        stores.health.store_sync(sync).await.expect("stored");
    }
    // Syncs that store nothing are no reader's business.
    assert_eq!(
        written(&stores.health.events()).await,
        [
            (EventType::DeviceChanged, 1, json!({"state": "battery_low", "battery_level": 15})),
            (EventType::DeviceChanged, 4, json!({"state": "battery_ok", "battery_level": 16})),
            (EventType::DeviceChanged, 6, json!({"state": "battery_low", "battery_level": 14})),
        ]
    );
}

async fn export_that_ended_is_an_event(stores: Stores) {
    with_grace(&stores).await;
    let health = &stores.health;
    for (id, is_done) in [("e1", true), ("e2", false)] {
        let export = NewExport {
            id: ExportId::new(id),
            patient: PatientId::new("uuid-grace"),
            actor: AccountId::new("ada"),
            request: "{}".to_owned(),
            entry: super::export_entry(id),
            now_ms: 1,
            interval_ms: 0,
        };
        health.begin_export(export).await.expect("begun");
        assert_eq!(super::deliver_entries_of(&stores, "uuid-grace").await, 1);
        let lease = health
            .claim_jobs(JobKind::new("export"), &NodeId::new("node"), 1, 1000, 1)
            .await
            .expect("an answer")
            .remove(0);
        for _ in 0..2 {
            let ended = if is_done {
                health.finish_export(&lease, 9, 20).await
            } else {
                health.give_export_up(&lease, "no disk in the cellar", 30).await
            };
            ended.expect("an answer");
        }
    }
    assert_eq!(
        written(&health.events()).await,
        [
            (EventType::ExportFinished, 20, json!({"export": "e1", "state": "done"})),
            (EventType::ExportFinished, 30, json!({"export": "e2", "state": "failed"})),
        ]
    );
}
