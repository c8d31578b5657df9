//! Which events operations write.

use crate::names::JobKind;
use serde_json::{Value, json};

use super::example_rows::{activation, message, patient, with_ada_in};
use super::{Stores, audit, no_settings, on_both_engines};
use crate::events::{EventLog, EventType};
use crate::ids::{ExportId, NodeId, PatientId, SerialNumber};
use crate::{AccountId, DeviceReport, GroupCode, HealthChange, NewExport, PatientErasure, Profile, Sync};

on_both_engines! {
    enrolment_activation_and_groups_are_events
    erasure_is_an_event_of_the_groups_that_held_the_patient
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
        record_id: "r".to_owned(),
        customer_code: None,
        profile: Profile::default(),
        at_ms: 1,
    };
    stores.health.apply(change).await.expect("a patient");
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
