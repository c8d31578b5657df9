//! Who reads which entries, and from when to when.

use serde_json::{Value, json};
use store::Role;

use crate::common::study::{Study, wrong_fields};
use crate::common::{START_MS, text};

fn codes(entries: &Value) -> Vec<String> {
    entries.as_array().expect("a list").iter().map(|entry| text(&entry["action_type"])).collect()
}

#[tokio::test]
async fn both_ends_of_a_range_are_included() {
    let study = Study::begin().await;
    let names = ["first", "second", "third"];
    for name in names {
        study.story.pass_ms(100);
        study.ask("PATCH", &study.of_group(""), json!({ "name": name })).await.ok();
    }
    let at = |number: i64| START_MS + 100 * number;
    let count = async |from: i64, to: i64| {
        let path = format!("/v1/patients/audit/logs?from={from}&to={to}&action_type=GROUP_UPDATE");
        study.read(&path).await.as_array().map_or(0, Vec::len)
    };
    for (from, to, expected) in [
        (at(1), at(3), 3),
        (at(1) + 1, at(3), 2),
        (at(1), at(3) - 1, 2),
        (at(2), at(2), 1),
        (at(2) + 1, at(3) - 1, 0),
        (at(3) + 1, at(3) + 1_000_000, 0),
        (0, at(1) - 1, 0),
        (i64::MIN, i64::MAX, 3),
    ] {
        assert_eq!(count(from, to).await, expected, "{from} to {to}");
    }
    let entries = study.read(&format!("/v1/patients/audit/logs?from=0&to={}", at(9))).await;
    let times: Vec<i64> =
        entries.as_array().expect("a list").iter().map(|entry| entry["timestamp"].as_i64().expect("ms")).collect();
    assert!(times.is_sorted(), "ascending: {times:?}");
    let mut ids: Vec<String> = entries.as_array().expect("a list").iter().map(|entry| text(&entry["id"])).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "each entry has an id of its own");
}

#[tokio::test]
async fn parameters_of_the_log_are_checked_one_by_one() {
    let study = Study::begin().await;
    let ask = async |query: &str| study.ask("GET", &format!("/v1/patients/audit/logs?{query}"), Value::Null).await;
    for (query, fields) in [
        ("", vec!["from", "to"]),
        ("from=&to=", vec!["from", "to"]),
        ("from=1", vec!["to"]),
        ("to=1", vec!["from"]),
        ("from=2&to=1", vec!["to"]),
        ("from=0&to=1&action_type=group_create", vec!["action_type"]),
        ("from=0&to=1&action_type=GROUP_CREATE,GROUP_UPDATE", vec!["action_type"]),
    ] {
        assert_eq!(wrong_fields(&ask(query).await), fields, "{query}");
    }
    for query in ["from=now&to=1", "from=0&to=2025-11-20", "from=0x1&to=1", "from=NaN&to=1", "from=0&to=Infinity"] {
        assert_eq!(ask(query).await.error(), (400, "malformed_parameter"), "{query}");
    }
    assert_eq!(ask("from=5&to=5&unknown=1").await.ok(), json!([]), "other parameters are ignored");
    assert_eq!(codes(&ask(&format!("from=0&to={START_MS}&action_type=")).await.ok()).len(), 3, "an empty code is none");
}

#[tokio::test]
async fn everyone_reads_what_they_did_and_what_was_done_to_them() {
    let study = Study::begin().await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let hal = study.practitioner("hal@example.org").await;
    study.ask("POST", &study.of_group("/hcps"), json!({"email": "bob@example.org"})).await.ok();
    study.ask_as(&bob, "PATCH", &study.of_grace(""), json!({"external_patient_id": "7"})).await.ok();
    study.ask_as(&hal, "PUT", &study.of_grace("/alarms"), json!({"alarms": []})).await.ok();
    let log = async |key: &str| codes(&json!(study.log_as(key).await));
    let of_ada = ["GROUP_CREATE", "PATIENT_CREATE", "PATIENT_ATTACH_GROUP", "ADD_HCP", "ADD_HCP"];
    assert_eq!(log(&study.key).await, of_ada);
    assert_eq!(log(&bob).await, ["ADD_HCP", "PATIENT_UPDATE"]);
    assert_eq!(log(&hal).await, ["ADD_HCP", "PATIENT_ALARM_CHANGE"]);
    // Per-patient review is a filter of the client's.
    let entries = study.log_as(&study.key).await;
    let of_grace: Vec<&Value> = entries
        .iter()
        .filter(|entry| {
            [&entry["primary_entity_id"], &entry["secondary_entity_id"]].contains(&&json!(study.grace.uuid))
        })
        .collect();
    assert_eq!(of_grace.len(), 2);
}

#[tokio::test]
async fn log_is_open_while_the_subscription_lasts() {
    let study = Study::begin().await;
    let identity = &study.story.platform.identity;
    let set = async |until_ms: Option<i64>| {
        identity.set_subscription("ada@example.org", until_ms).await.expect("set");
    };
    let ask = async || study.ask("GET", "/v1/patients/audit/logs?from=0&to=1", Value::Null).await;
    set(Some(study.story.now_ms() + 5)).await;
    study.story.pass_ms(4);
    ask().await.ok();
    study.story.pass_ms(1);
    assert_eq!(ask().await.error(), (403, "forbidden"));
    set(None).await;
    assert_eq!(ask().await.error(), (403, "forbidden"));
    // What else the key opens does not depend on it.
    study.read("/v1/groups").await;
    study.read(&study.of_grace("/summary/2025-11-20")).await;
    set(Some(study.story.now_ms() + 1)).await;
    ask().await.ok();
    // The other address is gone for everybody, whatever they bring.
    for key in ["", "pwk_wrong", study.key.as_str(), study.grace.health_token.as_str()] {
        let gone = study.ask_as(key, "GET", &study.of_grace("/audit/logs?from=0&to=1"), Value::Null).await;
        assert_eq!(gone.error(), (410, "gone"), "{key}");
    }
}

#[tokio::test]
async fn key_of_one_study_reads_the_entries_of_that_study_alone() {
    let study = Study::begin().await;
    let other = study.ask("POST", "/v1/groups", json!({"name": "Other", "description": ""})).await.ok();
    let other = text(&other["code"]);
    let hedy = study.story.patient(&study.key, &other, Value::Null).await;
    let account = study.story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let scope =
        platform::NewApiKey { groups: vec![store::GroupCode::new(other.as_str())], ..platform::NewApiKey::default() };
    let (_, scoped) = study.story.platform.identity.create_api_key(&account, scope).await.expect("a key");
    for (path, body) in [
        (study.of_grace(""), json!({"external_patient_id": "G"})),
        (format!("/v1/patients/{}", hedy.uuid), json!({"external_patient_id": "H"})),
    ] {
        study.ask("PATCH", &path, body).await.ok();
    }
    let seen = study.log_as(&scoped).await;
    let updates: Vec<&Value> = seen.iter().filter(|entry| entry["action_type"] == "PATIENT_UPDATE").collect();
    assert_eq!(updates.len(), 1);
    assert_eq!(updates[0]["primary_entity_id"], hedy.uuid.as_str());
    assert!(!json!(seen).to_string().contains(&study.grace.uuid));
    assert_eq!(
        study.log_as(&study.key).await.iter().filter(|entry| entry["action_type"] == "PATIENT_UPDATE").count(),
        2
    );
}

#[tokio::test]
async fn erased_patient_leaves_entries_without_details() {
    let study = Study::begin().await;
    study.ask("PATCH", &study.of_grace(""), json!({"external_patient_id": "7"})).await.ok();
    study.ask("PUT", &study.of_grace("/alarms"), json!({"alarms": []})).await.ok();
    let before = study.log_as(&study.key).await;
    study.ask("DELETE", &study.of_grace(""), Value::Null).await.ok();
    let after = study.log_as(&study.key).await;
    assert_eq!(after.len(), before.len() + 1, "no entry is lost");
    assert_eq!(after.last().expect("an entry")["action_type"], "PATIENT_DELETE");
    for (then, now) in before.iter().zip(&after) {
        for field in ["id", "timestamp", "action_type", "user_id", "primary_entity_id", "secondary_entity_id"] {
            assert_eq!(now[field], then[field]);
        }
        if then["primary_entity_id"] == study.grace.uuid.as_str() {
            assert_eq!(now["details"], Value::Null, "{now}");
        }
    }
    assert_eq!(study.story.platform.core.users().verify_audit().await.expect("an answer").1, None);
}
