//! What the entry of each operation says: who, when, on what, and which details; and that a refusal writes none.

use serde_json::{Value, json};

use crate::common::study::Study;
use crate::common::{PASSWORD, text};

/// Entries as code and details, since a number of entries.
fn codes_and_details(entries: &[Value], seen: usize) -> Vec<Value> {
    entries[seen..].iter().map(|entry| json!([entry["action_type"], entry["details"]])).collect()
}

#[tokio::test]
async fn details_name_what_was_changed_and_no_personal_value() {
    let study = Study::begin().await;
    let mut seen = study.log_as(&study.key).await.len();
    let secret = "Confidential";
    let profile =
        json!({"first_name": secret, "email": "confidential@example.org", "weight": 61, "birthday": "1966-12-09"});
    for (method, path, body, expected) in [
        ("PATCH", study.of_group(""), json!({"name": secret}), json!(["GROUP_UPDATE", {"fields": ["name"]}])),
        (
            "PATCH",
            study.of_group(""),
            json!({"description": "a", "name": "b"}),
            json!(["GROUP_UPDATE", {"fields": ["name", "description"]}]),
        ),
        (
            "PUT",
            study.of_group("/settings"),
            json!({"activity_goal_steps": 8000, "retention": {"acc": 30}}),
            json!(["GROUP_SETTINGS_CHANGE", {"settings": {"activity_goal_steps": 8000, "retention": {"acc": 30}}}]),
        ),
        (
            "PATCH",
            study.of_grace(""),
            json!({"external_patient_id": secret, "time_zone": "UTC"}),
            json!(["PATIENT_UPDATE", {"fields": ["external_patient_id", "time_zone"]}]),
        ),
        (
            "PUT",
            study.of_grace("/profile"),
            profile,
            json!(["PATIENT_PROFILE_UPDATE", {"fields": ["first_name", "email", "birthday", "weight"]}]),
        ),
        (
            "PUT",
            study.of_grace("/news-settings"),
            json!({"oxygen": true}),
            json!(["PATIENT_UPDATE", {"news_settings": {"oxygen": true}}]),
        ),
        (
            "PUT",
            study.of_grace("/alarms"),
            json!({"alarms": [{"vital": "spo2", "below": 92.5, "for_s": 60}]}),
            json!(["PATIENT_ALARM_CHANGE",
                {"alarms": [{"vital": "spo2", "below": 92.5, "above": null, "for_s": 60}]}]),
        ),
    ] {
        study.story.pass_ms(11);
        study.ask(method, &path, body).await.ok();
        let entries = study.log_as(&study.key).await;
        assert_eq!(codes_and_details(&entries, seen), [expected], "{method} {path}");
        let entry = &entries[seen];
        assert_eq!((&entry["timestamp"], &entry["user_role"]), (&json!(study.story.now_ms()), &json!("researcher")));
        seen += 1;
    }
    let log = json!(study.log_as(&study.key).await).to_string();
    for personal in [secret, "confidential@", "1966"] {
        assert!(!log.contains(personal), "{personal}: {log}");
    }
}

#[tokio::test]
async fn details_of_bracelets_and_exports_name_patient_and_content() {
    let study = Study::begin().await;
    let mut seen = study.log_as(&study.key).await.len();
    let dates = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "2025-11-19T23:59:59.999"});
    let worn = study.of_grace("/bracelets/PB-1");
    let wearer = json!({"patient": study.grace.uuid});
    for (method, path, body, code, details) in [
        (
            "POST",
            "/v1/bracelets".to_owned(),
            json!({"serial_number": "PB-1", "device_type": "wrist"}),
            "BRACELET_CREATE",
            Value::Null,
        ),
        ("PUT", worn.clone(), Value::Null, "BRACELET_ATTACH", wearer.clone()),
        (
            "PATCH",
            "/v1/bracelets/PB-1".to_owned(),
            json!({"firmware_version": "2"}),
            "BRACELET_UPDATE",
            json!({"device_type": "wrist", "firmware_version": "2"}),
        ),
        ("DELETE", worn, Value::Null, "BRACELET_DETACH", wearer),
        ("DELETE", "/v1/bracelets/PB-1".to_owned(), Value::Null, "BRACELET_DELETE", Value::Null),
        (
            "POST",
            format!("/v1/create-afib-export/{}", study.grace.uuid),
            json!({"timestamp_from": 5, "timestamp_to": 9}),
            "PATIENT_API_EXPORT",
            json!({"types": ["afib"], "from": 5, "to": 9}),
        ),
    ] {
        let answer = study.ask(method, &path, body).await;
        assert!(answer.status.is_success(), "{answer:?}");
        let entries = study.log_as(&study.key).await;
        assert_eq!(codes_and_details(&entries, seen), [json!([code, details])], "{method} {path}");
        seen += 1;
    }
    study.ask("POST", &format!("/v1/create-export/{}/acc", study.grace.uuid), dates).await.ok();
    let entries = study.log_as(&study.key).await;
    let export = &entries[seen];
    assert_eq!((entries.len(), &export["action_type"]), (seen + 1, &json!("PATIENT_API_EXPORT")));
    assert_eq!(export["details"]["types"], json!(["acc"]));
}

#[tokio::test]
async fn refused_operations_write_no_entry() {
    let study = Study::begin().await;
    study.practitioner("hal@example.org").await;
    let hedy = study.story.patient(&study.key, &study.group, Value::Null).await;
    for serial_number in ["PB-1", "PB-2"] {
        let body = json!({"serial_number": serial_number, "device_type": "wrist"});
        study.ask("POST", "/v1/bracelets", body).await.ok();
    }
    study.ask("PUT", &study.of_grace("/bracelets/PB-1"), Value::Null).await.done();
    let before = study.log_as(&study.key).await;
    for (method, path, body, status) in [
        ("POST", "/v1/groups".to_owned(), json!({"name": "", "description": ""}), 422),
        ("PATCH", study.of_group(""), json!({}), 422),
        ("DELETE", study.of_group(""), Value::Null, 409),
        ("PUT", study.of_group("/settings"), json!({"activity_goal_steps": 0}), 422),
        ("POST", study.of_group("/hcps"), json!({"email": "nobody@example.org"}), 404),
        ("DELETE", study.of_group("/hcps/00000000-0000-4000-8000-000000000000"), Value::Null, 404),
        ("DELETE", study.of_group(&format!("/patients/{}", study.grace.uuid)), Value::Null, 409),
        ("PATCH", study.of_grace(""), json!({"customer_tag": "?"}), 422),
        ("PUT", study.of_grace("/profile"), json!({"email": "ada@example.org"}), 409),
        ("PUT", study.of_grace("/profile"), json!({"skin_color": 7}), 422),
        ("PUT", study.of_grace("/alarms"), json!({"alarms": [{"vital": "mood"}]}), 422),
        ("PUT", study.of_grace("/news-settings"), json!({"consciousness": "Z"}), 422),
        ("POST", study.of_grace("/reset-password"), json!({"password": "short"}), 422),
        ("POST", "/v1/bracelets".to_owned(), json!({"serial_number": "PB-1", "device_type": "wrist"}), 409),
        ("PATCH", "/v1/bracelets/PB-1".to_owned(), json!({}), 422),
        ("DELETE", "/v1/bracelets/PB-1".to_owned(), Value::Null, 409),
        ("PUT", format!("/v1/patients/{}/bracelets/PB-1", hedy.uuid), Value::Null, 409),
        ("DELETE", format!("/v1/patients/{}/bracelets/PB-1", hedy.uuid), Value::Null, 404),
        ("PUT", study.of_grace("/bracelets/PB-9"), Value::Null, 404),
        ("POST", format!("/v1/create-export/{}", study.grace.uuid), json!({"types": ["acc"]}), 422),
        (
            "POST",
            format!("/v1/create-afib-export/{}", study.grace.uuid),
            json!({"timestamp_from": 2, "timestamp_to": 1}),
            422,
        ),
    ] {
        let refused = study.ask(method, &path, body).await;
        assert_eq!(refused.error().0, status, "{method} {path}: {refused:?}");
        assert_eq!(study.log_as(&study.key).await, before, "{method} {path}");
    }
}

#[tokio::test]
async fn doing_again_what_is_done_writes_nothing() {
    let study = Study::begin().await;
    study.practitioner("hal@example.org").await;
    study.ask("POST", "/v1/bracelets", json!({"serial_number": "PB-1", "device_type": "wrist"})).await.ok();
    study.ask("PUT", &study.of_grace("/bracelets/PB-1"), Value::Null).await.done();
    let before = study.log_as(&study.key).await;
    study.ask("POST", &study.of_group("/hcps"), json!({"email": "hal@example.org"})).await.ok();
    study.ask("PUT", &study.of_grace("/bracelets/PB-1"), Value::Null).await.done();
    study.ask("PUT", &study.of_group(&format!("/patients/{}", study.grace.uuid)), Value::Null).await.done();
    assert_eq!(study.log_as(&study.key).await, before);
}

#[tokio::test]
async fn logins_are_entries_of_the_person_and_failed_ones_are_none() {
    let study = Study::begin_with(json!({"email": "grace@example.org"})).await;
    let login = |password: &str| json!({"email": "grace@example.org", "password": password});
    let count = async || study.story.audit_entries(&study.grace.uuid, Some("USER_LOGIN")).await.len();
    let before = count().await;
    for password in ["not the password", "", PASSWORD] {
        study.story.post("/users/login", login(password)).await;
    }
    assert_eq!(count().await, before + 1);
    // An exchange and a refresh are no logins of a person.
    let token = text(&study.story.post("/users/login", login(PASSWORD)).await.ok()["token"]);
    study.story.post("/health/login", json!({"user_api_token": token})).await.ok();
    study.story.post_as("/users/auth/refresh", &token, Value::Null).await.ok();
    assert_eq!(count().await, before + 2);
    let entries = study.story.audit_entries(&study.grace.uuid, Some("USER_LOGIN")).await;
    let last = entries.last().expect("an entry");
    assert_eq!((last.user_id.as_str(), last.user_role.as_str()), (study.grace.uuid.as_str(), "patient"));
    assert_eq!((last.primary.id.as_str(), last.primary.kind.as_str()), (study.grace.uuid.as_str(), "user.id"));
    let ada = study.story.post("/users/login", json!({"email": "ada@example.org", "password": PASSWORD})).await.ok();
    let entry = study.last_entry().await;
    assert_eq!((&entry["action_type"], &entry["user_id"]), (&json!("USER_LOGIN"), &ada["user"]["uuid"]));
}
