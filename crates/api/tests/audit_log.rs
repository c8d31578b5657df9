//! What was done is written down, also by an operation that was killed halfway.

mod common;

use common::{START_MS, Story, text};
use platform::Role;
use serde_json::{Value, json};
use store::{EffectiveSettings, Entity, HealthChange, Intent, NewAuditEntry, Patient, Profile};

#[tokio::test]
async fn the_log_tells_what_the_caller_did() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let ada = story.platform.account_by_email("ada@example.org").await.expect("an account").uuid;
    let created = story
        .post(&format!("/integration/v1/groups?token={key}"), json!({"name": "Sleep", "description": ""}))
        .await
        .ok();
    let (group, group_id) = (text(&created["code"]), text(&created["id"]));
    story.pass_ms(10);
    let grace = story.patient(&key, &group, Value::Null).await;
    let log = |query: &str| format!("/integration/v1/patients/audit/logs?token={key}&{query}");

    let entries = story.get(&log(&format!("from={START_MS}&to={}", START_MS + 10))).await.ok();
    let told: Vec<Value> = entries
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| {
            assert_eq!((&entry["user_id"], &entry["user_role"]), (&json!(ada), &json!("researcher")));
            json!([entry["timestamp"], entry["action_type"], entry["primary_entity_id"], entry["secondary_entity_id"]])
        })
        .collect();
    let expected = [
        json!([START_MS, "GROUP_CREATE", group_id, null]),
        json!([START_MS + 10, "PATIENT_CREATE", grace.uuid, null]),
        json!([START_MS + 10, "PATIENT_ATTACH_GROUP", grace.uuid, group_id]),
    ];
    assert_eq!(told, expected);
    assert_eq!(entries[2]["primary_entity_type"], "patient.id");
    assert_eq!(entries[2]["secondary_entity_type"], "group.id");

    let all = format!("from=0&to={}", START_MS + 10);
    let one = story.get(&log(&format!("{all}&action_type=PATIENT_CREATE"))).await.ok();
    assert_eq!(one.as_array().expect("a list").len(), 1);
    assert_eq!(story.get(&log(&format!("{all}&action_type=NAP"))).await.error(), (422, "invalid"));
    assert_eq!(story.get(&log("from=5")).await.error(), (422, "invalid"));
    let both = story.get(&log("")).await;
    assert_eq!(both.error(), (422, "invalid"));
    assert!(both.body["errors"]["from"].is_array() && both.body["errors"]["to"].is_array(), "{}", both.body);
    assert_eq!(story.get(&log("from=5&to=4")).await.error(), (422, "invalid"));
    assert_eq!(story.get(&log("from=x&to=4")).await.error(), (400, "malformed_parameter"));

    story.platform.set_subscription("ada@example.org", Some(story.now_ms())).await.expect("set");
    assert_eq!(story.get(&log(&all)).await.error(), (403, "forbidden"));
    assert_eq!(story.get(&log("")).await.error(), (403, "forbidden"));

    // The patient's own registration and login are there too, under his own name.
    let (entries, broken) = story.platform.users.verify_audit().await.expect("an answer");
    assert_eq!((entries, broken), (5, None));
}

/// Makes what enrolling a patient leaves behind when it is killed right after its first commit.
async fn half_enrolled(story: &Story, group: &str, name: &str) -> String {
    let uuid = format!("uuid-{name}");
    let patient = Patient {
        uuid: uuid.clone(),
        record_id: format!("record-{name}"),
        state: "pre_created".to_owned(),
        voucher_code: name.to_owned(),
        voucher_expires_ms: i64::MAX,
        email: None,
        password_hash: None,
        must_change_password: false,
        person: "{}".to_owned(),
        created_ms: story.now_ms(),
        updated_ms: story.now_ms(),
    };
    story.platform.users.add_patient(patient, group, intent(story, name), no_settings(story)).await.expect("a patient");
    uuid
}

fn no_settings(story: &Story) -> EffectiveSettings {
    EffectiveSettings { rule: |_| serde_json::Map::new(), intent_id: "none".to_owned(), at_ms: story.now_ms() }
}

fn intent(story: &Story, name: &str) -> Intent {
    let entry = NewAuditEntry {
        id: format!("entry-{name}"),
        action_type: "PATIENT_CREATE".to_owned(),
        user_id: "ada".to_owned(),
        user_role: "researcher".to_owned(),
        primary: Entity { id: format!("uuid-{name}"), kind: "patient.id".to_owned() },
        secondary: None,
        details: None,
        salt: [1; 16],
    };
    let change = HealthChange::PutPatient {
        uuid: format!("uuid-{name}"),
        record_id: format!("record-{name}"),
        customer_code: None,
        profile: Profile::default(),
        at_ms: story.now_ms(),
    };
    Intent { id: format!("intent-{name}"), change, entries: vec![entry], created_ms: story.now_ms() }
}

#[tokio::test]
async fn a_killed_operation_is_finished_by_the_next_look() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let (before, _) = story.platform.users.verify_audit().await.expect("an answer");

    // Killed before the health change, and between the health change and the completion.
    let first = half_enrolled(&story, &group, "AAAA").await;
    let second = half_enrolled(&story, &group, "BBBB").await;
    story.platform.health.apply(intent(&story, "BBBB").change).await.expect("made");
    assert!(story.platform.health.patient(&first).await.expect("an answer").is_none());

    assert_eq!(story.platform.finish_old_intents(30_000).await.expect("nothing is old yet"), 0);
    story.pass_ms(30_000);
    assert_eq!(story.platform.finish_old_intents(30_000).await.expect("finished"), 2);
    assert_eq!(story.platform.finish_old_intents(30_000).await.expect("nothing is left"), 0);
    for uuid in [&first, &second] {
        assert!(story.platform.health.patient(uuid).await.expect("an answer").is_some());
    }
    assert_eq!(story.platform.users.verify_audit().await.expect("an answer"), (before + 2, None));
}
