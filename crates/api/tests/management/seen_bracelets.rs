//! Bracelets that syncs have named, in addition to the inventory.

use serde_json::{Value, json};
use store::Role;

use crate::common::START_MS;
use crate::common::study::Study;

async fn sync(study: &Study, device: Value) {
    let body = json!({"data": {"activity": {"timestamp": [START_MS], "bpm": [61]}}, "device": device});
    study.story.post_as("/health/v1/sync", &study.grace.health_token, body).await.ok();
}

async fn listed(study: &Study, key: &str) -> Value {
    study.ask_as(key, "GET", "/v1/bracelets", Value::Null).await.ok()
}

#[tokio::test]
async fn bracelets_seen_in_syncs_are_listed_with_the_inventory() {
    let study = Study::begin().await;
    let known = json!({"serial_number": "PW-1", "device_type": "wrist"});
    let registered = study.ask("POST", "/v1/bracelets", known).await.ok();
    assert_eq!(registered["registered"], true, "{registered}");
    let before = study.log_as(&study.key).await.len();
    sync(
        &study,
        json!({"serial_number": "PW-2", "device_type": "finger", "firmware_version": "1.2", "battery_level": 83}),
    )
    .await;
    study.story.pass_ms(60_000);
    sync(&study, json!({"serial_number": "PW-1", "battery_level": 40})).await;

    let rows = listed(&study, &study.key).await;
    let inventory = json!({"id": registered["id"], "serial_number": "PW-1", "device_type": "wrist", "registered": true,
        "created_at": registered["created_at"], "updated_at": "2025-11-20T00:54:20.000Z",
        "seen_on": study.grace.uuid, "battery_level": 40});
    let seen = json!({"serial_number": "PW-2", "device_type": "finger", "firmware_version": "1.2", "registered": false,
        "updated_at": "2025-11-20T00:53:20.000Z", "seen_on": study.grace.uuid, "battery_level": 83});
    assert_eq!(rows, json!([inventory, seen]));
    assert_eq!(study.log_as(&study.key).await.len(), before, "a sync makes no entry");
    let attach = study.ask("PUT", &study.of_grace("/bracelets/PW-2"), Value::Null).await;
    assert_eq!(attach.error(), (404, "bracelet_not_found"), "a sync registers nothing");

    let hcp = study.practitioner("ida@example.org").await;
    assert_eq!(listed(&study, &hcp).await, rows);
    let stranger = study.story.key_of("eve@example.org", Role::Researcher).await;
    assert_eq!(listed(&study, &stranger).await, json!([]));

    study.ask("POST", "/v1/bracelets", json!({"serial_number": "PW-2", "device_type": "ring"})).await.ok();
    study.ask("PUT", &study.of_grace("/bracelets/PW-2"), Value::Null).await.done();
    let rows = listed(&study, &study.key).await;
    let of = |serial: &str| {
        rows.as_array().expect("rows").iter().filter(|row| row["serial_number"] == serial).collect::<Vec<_>>()
    };
    let [row] = of("PW-2")[..] else { panic!("{rows}") };
    assert_eq!(
        (&row["registered"], &row["device_type"], &row["patient_uuid"]),
        (&json!(true), &json!("ring"), &json!(study.grace.uuid))
    );
}

#[tokio::test]
async fn bracelet_that_another_study_has_registered_is_seen_without_its_record() {
    let study = Study::begin().await;
    let eve = study.story.key_of("eve@example.org", Role::Researcher).await;
    let body = json!({"serial_number": "PW-9", "device_type": "wrist", "firmware_version": "9"});
    study.ask_as(&eve, "POST", "/v1/bracelets", body.clone()).await.ok();
    sync(&study, json!({"serial_number": "PW-9"})).await;
    let expected = json!([{"serial_number": "PW-9", "registered": true, "updated_at": "2025-11-20T00:53:20.000Z",
        "seen_on": study.grace.uuid}]);
    assert_eq!(listed(&study, &study.key).await, expected, "as a registration would find it");
    assert_eq!(study.ask("POST", "/v1/bracelets", body).await.error(), (409, "duplicate_serial_number"));
}

#[tokio::test]
async fn bracelet_that_was_attached_and_has_sent_nothing_is_seen_nowhere() {
    let study = Study::begin().await;
    for serial_number in ["PW-1", "PW-2"] {
        let body = json!({"serial_number": serial_number, "device_type": "wrist"});
        study.ask("POST", "/v1/bracelets", body).await.ok();
    }
    sync(&study, json!({"serial_number": "PW-2", "battery_level": 40})).await;
    study.story.pass_ms(60_000);
    for serial_number in ["PW-1", "PW-2"] {
        study.ask("PUT", &study.of_grace(&format!("/bracelets/{serial_number}")), Value::Null).await.done();
    }
    let seen = |rows: &Value, at: usize| {
        let row = &rows[at];
        (row["patient_uuid"].clone(), row["seen_on"].clone(), row["updated_at"].clone())
    };
    let grace = json!(study.grace.uuid);
    let rows = listed(&study, &study.key).await;
    assert_eq!(seen(&rows, 0), (grace.clone(), Value::Null, Value::Null), "{rows}");
    // The attachment is no sign of life either.
    assert_eq!(seen(&rows, 1), (grace.clone(), grace.clone(), json!("2025-11-20T00:53:20.000Z")), "{rows}");
    study.story.pass_ms(60_000);
    sync(&study, json!({"serial_number": "PW-1"})).await;
    let rows = listed(&study, &study.key).await;
    assert_eq!(seen(&rows, 0), (grace.clone(), grace, json!("2025-11-20T00:55:20.000Z")), "{rows}");
}
