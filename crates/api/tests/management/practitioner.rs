//! What a practitioner may do in a study and what not, and that a refusal changes nothing.

use serde_json::{Value, json};
use store::Role;

use crate::common::study::Study;
use crate::common::{PASSWORD, START_MS, text};

/// Everything of the study that a practitioner must not be able to change.
async fn state(study: &Study) -> Value {
    let hcps = study.read(&study.of_group("/hcps")).await;
    let settings = study.read(&study.of_group("/settings")).await;
    let entries = study.log_as(&study.key).await.len();
    json!([study.read("/v1/groups").await, study.row().await, hcps, settings, entries])
}

#[tokio::test]
async fn refused_practitioner_changes_nothing_and_leaves_no_entry() {
    let study = Study::begin_with(json!({"email": "grace@example.org", "first_name": "Grace"})).await;
    let hal = study.practitioner("hal@example.org").await;
    let ada = study.member("ada@example.org").await;
    let other = study.ask("POST", "/v1/groups", json!({"name": "Other", "description": ""})).await.ok();
    let other = text(&other["code"]);
    let dates = json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-19T01:00:00"});
    let before = state(&study).await;
    for (method, path, body) in [
        ("POST", "/v1/groups".to_owned(), json!({"name": "Own", "description": ""})),
        ("PATCH", study.of_group(""), json!({"name": "Mine"})),
        ("DELETE", study.of_group(""), Value::Null),
        ("PUT", study.of_group("/settings"), json!({"activity_goal_steps": 1})),
        ("GET", study.of_group("/hcps"), Value::Null),
        ("POST", study.of_group("/hcps"), json!({"email": "ada@example.org"})),
        ("DELETE", study.of_group(&format!("/hcps/{ada}")), Value::Null),
        ("POST", study.of_group("/patients"), Value::Null),
        ("PUT", study.of_group(&format!("/patients/{}", study.grace.uuid)), Value::Null),
        ("DELETE", study.of_group(&format!("/patients/{}", study.grace.uuid)), Value::Null),
        ("PUT", format!("/v1/groups/{other}/patients/{}", study.grace.uuid), Value::Null),
        ("PATCH", study.of_grace(""), json!({"external_patient_id": "7"})),
        ("PUT", study.of_grace("/profile"), json!({"weight": 99})),
        ("DELETE", study.of_grace(""), Value::Null),
        ("POST", study.of_grace("/reset-password"), json!({"password": "chosen by Hal"})),
        ("POST", format!("/v1/create-export/{}/activity", study.grace.uuid), dates),
        (
            "POST",
            format!("/v1/create-afib-export/{}", study.grace.uuid),
            json!({"timestamp_from": 0, "timestamp_to": 1}),
        ),
        ("GET", study.of_group("/lake"), Value::Null),
    ] {
        let refused = study.ask_as(&hal, method, &path, body).await;
        assert_eq!(refused.error(), (403, "forbidden"), "{method} {path}");
        assert!(refused.header("www-authenticate").is_empty(), "the credential is good: {method} {path}");
    }
    assert_eq!(state(&study).await, before);
    let login = json!({"email": "grace@example.org", "password": PASSWORD});
    study.story.post("/users/login", login).await.ok();
    let codes: Vec<Value> = study.log_as(&hal).await.iter().map(|entry| entry["action_type"].clone()).collect();
    assert_eq!(codes, ["ADD_HCP"], "the log of the practitioner names the membership alone");
}

#[tokio::test]
async fn practitioner_reads_the_same_as_the_researcher() {
    let study = Study::begin_with(json!({"time_zone": "UTC", "birthday": "1966-12-09"})).await;
    let hal = study.practitioner("hal@example.org").await;
    let minutes: Vec<i64> = (1..=20).map(|minute| START_MS - minute * 60_000).collect();
    let columns = json!({"timestamp": minutes, "bpm": 72, "bpm_q": 4, "respiration_rate": 15, "resp_q": 4, "spo2": 97,
        "spo2_q": 4, "core_temp": 36.9, "nibp_systolic": 121, "nibp_diastolic": 79, "wearing": 4});
    study.story.sync(&study.grace, json!({ "activity": columns })).await;
    for path in [
        "/v1/groups".to_owned(),
        study.of_group("/patients"),
        study.of_group("/patients?with_latest_values=1"),
        study.of_group("/settings"),
        study.of_group("/summaries?date=2025-11-20&include_slots=1"),
        study.of_grace("/summary/2025-11-20?include_slots=1"),
        study.of_grace("/compliance/2025-11-20"),
        study.of_grace("/raw-data-compliance/2025-11-20"),
        study.of_grace("/latest-news-score"),
        study.of_grace("/news-settings"),
        study.of_grace("/alarms"),
        format!("/v1/check-voucher-code/{}", study.grace.code),
    ] {
        let of_hal = study.ask_as(&hal, "GET", &path, Value::Null).await.ok();
        assert_eq!(of_hal, study.read(&path).await, "{path}");
        assert!(of_hal.as_object().is_none_or(|fields| !fields.is_empty()), "{path} shows nothing");
    }
    let token = study.ask_as(&hal, "GET", &study.of_grace("/health-token"), Value::Null).await.ok();
    let raw = "/health/v2/raw-metrics/activity?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z";
    let rows = study.story.get_as(raw, &text(&token["token"])).await.ok();
    assert_eq!(rows.as_array().map(Vec::len), Some(20));
}

#[tokio::test]
async fn practitioner_sets_alarms_scores_and_bracelets() {
    let study = Study::begin().await;
    let hal = study.practitioner("hal@example.org").await;
    let ask = async |method: &str, path: String, body: Value| study.ask_as(&hal, method, &path, body).await;
    let alarms = json!({"alarms": [{"vital": "spo2", "below": 92.0, "for_s": 60}]});
    ask("PUT", study.of_grace("/alarms"), alarms.clone()).await.ok();
    assert_eq!(study.read(&study.of_grace("/alarms")).await, alarms);
    ask("PUT", study.of_grace("/news-settings"), json!({"oxygen": true})).await.ok();
    assert_eq!(study.read(&study.of_grace("/news-settings")).await["oxygen"], true);
    ask("POST", "/v1/bracelets".to_owned(), json!({"serial_number": "PB-1", "device_type": "wrist"})).await.ok();
    ask("PUT", study.of_grace("/bracelets/PB-1"), Value::Null).await.done();
    assert_eq!(study.row().await["device"]["serial_number"], "PB-1");
    ask("DELETE", study.of_grace("/bracelets/PB-1"), Value::Null).await.done();
    ask("PATCH", "/v1/bracelets/PB-1".to_owned(), json!({"firmware_version": "2"})).await.ok();
    ask("DELETE", "/v1/bracelets/PB-1".to_owned(), Value::Null).await.done();
    let written: Vec<Value> = study.log_as(&hal).await;
    let hal_uuid = text(&written[1]["user_id"]);
    let reported: Vec<String> = written.iter().map(|entry| text(&entry["action_type"])).collect();
    let expected = [
        "ADD_HCP",
        "PATIENT_ALARM_CHANGE",
        "PATIENT_UPDATE",
        "BRACELET_CREATE",
        "BRACELET_ATTACH",
        "BRACELET_DETACH",
        "BRACELET_UPDATE",
        "BRACELET_DELETE",
    ];
    assert_eq!(reported, expected);
    for entry in &written[1..] {
        assert_eq!((&entry["user_id"], &entry["user_role"]), (&json!(hal_uuid), &json!("hcp")), "{entry}");
    }
}

#[tokio::test]
async fn member_of_one_study_sees_nothing_of_another() {
    let study = Study::begin().await;
    let hal = study.practitioner("hal@example.org").await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let of_bob = study.story.group(&bob).await;
    let hedy = study.story.patient(&bob, &of_bob, Value::Null).await;
    let path = |what: &str| format!("/v1/patients/{}{what}", hedy.uuid);
    for (method, path, body) in [
        ("GET", format!("/v1/groups/{of_bob}/patients"), Value::Null),
        ("GET", format!("/v1/groups/{of_bob}/settings"), Value::Null),
        ("GET", format!("/v1/groups/{of_bob}/summaries?date=2025-11-20"), Value::Null),
        ("GET", path("/summary/2025-11-20"), Value::Null),
        ("GET", path("/compliance/2025-11-20"), Value::Null),
        ("GET", path("/raw-data-compliance/2025-11-20"), Value::Null),
        ("GET", path("/latest-news-score"), Value::Null),
        ("GET", path("/news-settings"), Value::Null),
        ("PUT", path("/news-settings"), json!({"oxygen": true})),
        ("GET", path("/alarms"), Value::Null),
        ("PUT", path("/alarms"), json!({"alarms": []})),
        ("GET", path("/health-token"), Value::Null),
    ] {
        for key in [&hal, &study.key] {
            let refused = study.ask_as(key, method, &path, body.clone()).await;
            assert_eq!(refused.error(), (403, "forbidden"), "{method} {path}");
        }
    }
    // The patient of another study is not known even by a voucher's state beyond what any researcher may ask.
    let groups = study.ask_as(&hal, "GET", "/v1/groups", Value::Null).await.ok();
    assert!(!groups.to_string().contains(&of_bob), "{groups}");
}

#[tokio::test]
async fn member_who_leaves_loses_everything_at_once_and_may_come_back() {
    let study = Study::begin().await;
    let hal = study.practitioner("hal@example.org").await;
    let hcps = study.of_group("/hcps");
    let uuid = study.member("hal@example.org").await;
    study.ask_as(&hal, "GET", &study.of_grace("/alarms"), Value::Null).await.ok();
    study.ask("DELETE", &format!("{hcps}/{uuid}"), Value::Null).await.done();
    for path in [study.of_group("/patients"), study.of_grace("/alarms"), study.of_grace("/health-token")] {
        assert_eq!(study.ask_as(&hal, "GET", &path, Value::Null).await.error(), (403, "forbidden"), "{path}");
    }
    assert_eq!(study.ask_as(&hal, "GET", "/v1/groups", Value::Null).await.ok(), json!([]));
    study.ask("POST", &hcps, json!({"email": "hal@example.org"})).await.ok();
    study.ask_as(&hal, "GET", &study.of_grace("/alarms"), Value::Null).await.ok();
    let codes: Vec<Value> = study.log_as(&hal).await.iter().map(|entry| entry["action_type"].clone()).collect();
    assert_eq!(codes, ["ADD_HCP", "REMOVE_HCP", "ADD_HCP"]);
}

#[tokio::test]
async fn second_researcher_manages_as_the_first_and_the_last_one_stays() {
    let study = Study::begin().await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let hcps = study.of_group("/hcps");
    study.ask("POST", &hcps, json!({"email": "bob@example.org"})).await.ok();
    let (ada, of_bob) = (study.member("ada@example.org").await, study.member("bob@example.org").await);
    study.ask_as(&bob, "PATCH", &study.of_group(""), json!({"name": "Of both"})).await.ok();
    study.ask_as(&bob, "POST", &study.of_group("/patients"), Value::Null).await.ok();
    study.ask_as(&bob, "DELETE", &format!("{hcps}/{ada}"), Value::Null).await.done();
    assert_eq!(study.ask("GET", &hcps, Value::Null).await.error(), (403, "forbidden"));
    let last = study.ask_as(&bob, "DELETE", &format!("{hcps}/{of_bob}"), Value::Null).await;
    assert_eq!(last.error(), (409, "last_manager"));
    study.ask_as(&bob, "GET", &hcps, Value::Null).await.ok();
}
