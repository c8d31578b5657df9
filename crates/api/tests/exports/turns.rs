//! One export per patient and five minutes: what takes the turn, what does not, and which patient it is of.

use serde_json::{Value, json};

use crate::common::text;
use crate::{Study, day};

#[tokio::test]
async fn turn_ends_after_five_minutes_to_the_millisecond() {
    let study = Study::begin().await;
    study.create("/acc", day(&[])).await.ok();
    study.story.pass_ms(299_999);
    let refused = study.create("/acc", day(&[])).await;
    assert_eq!((refused.error(), refused.header("retry-after")), ((429, "too_many_requests"), "1"));
    let message = "one export per patient in 300 seconds, over all types; wait 1 seconds";
    assert_eq!(refused.body["message"], message, "the rule, as the operator has set it");
    study.story.pass_ms(1);
    study.create("/acc", day(&[])).await.ok();
    study.story.pass_ms(1500);
    let refused = study.create("", day(&["sleep", "activity"])).await;
    assert_eq!((refused.error().0, refused.header("retry-after")), (429, "299"), "over all types, rounded up");
}

#[tokio::test]
async fn refused_requests_take_no_turn() {
    let study = Study::begin().await;
    for (of_type, body, status) in [
        ("/mood", day(&[]), 404),
        ("", day(&[]), 422),
        ("", day(&["mood"]), 422),
        ("/acc", json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-18T00:00:00"}), 422),
        ("/acc", json!({"client_date_from": "2025-11-19", "client_date_to": "2025-11-20"}), 422),
        ("/acc", json!({}), 422),
        ("/acc", json!([]), 422),
    ] {
        assert_eq!(study.create(of_type, body.clone()).await.error().0, status, "{of_type} {body}");
    }
    study.create("/acc", day(&[])).await.ok();
    // A request that came too soon does not put off the next turn.
    study.story.pass_ms(200_000);
    assert_eq!(study.create("/acc", day(&[])).await.status, 429);
    study.story.pass_ms(100_000);
    study.create("/acc", day(&[])).await.ok();
}

#[tokio::test]
async fn turn_is_the_patients_for_every_caller() {
    let study = Study::begin().await;
    let hcps = format!("/integration/v1/groups/{}/hcps", study.group);
    let bob = study.story.key_of("bob@example.org", store::Role::Researcher).await;
    study.story.post_as(&hcps, &study.key, json!({"email": "bob@example.org"})).await.ok();
    let hedy = study.story.patient(&study.key, &study.group, Value::Null).await;
    let ask = async |uuid: &str, key: &str| {
        study.story.post_as(&format!("/integration/v1/create-export/{uuid}/acc"), key, day(&[])).await
    };
    let mine = text(&ask(&study.patient.uuid, &study.key).await.ok()["id"]);
    assert_eq!(ask(&study.patient.uuid, &bob).await.status, 429, "another researcher of the study");
    let of_hedy = text(&ask(&hedy.uuid, &bob).await.ok()["id"]);
    assert_ne!(mine, of_hedy);
    for id in [&mine, &of_hedy] {
        assert!(id.len() == 24 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{id}");
    }
    // Only the account that asked may ask on.
    let status = async |id: &str, key: &str| story_status(&study, id, key).await;
    assert_eq!(status(&mine, &study.key).await, 200);
    assert_eq!(status(&mine, &bob).await, 403);
    assert_eq!(status(&of_hedy, &study.key).await, 403);
}

async fn story_status(study: &Study, id: &str, key: &str) -> u16 {
    study.story.get_as(&format!("/integration/v1/export/{id}"), key).await.status.as_u16()
}

#[tokio::test]
async fn requests_at_once_get_one_turn() {
    let study = Study::begin().await;
    let asked = futures::future::join_all((0..8).map(|_| study.create("/acc", day(&[])))).await;
    let statuses: Vec<u16> = asked.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 7, "{statuses:?}");
    assert_eq!(study.work().await, 1);
    let log = format!("/integration/v1/patients/audit/logs?token={}&from=0&to=9999999999999", study.key);
    let log = study.story.get(&log).await.ok().to_string();
    assert_eq!(log.matches("PATIENT_API_EXPORT").count(), 1);
}

#[tokio::test]
async fn unknown_exports_are_not_found_whatever_their_id_looks_like() {
    let study = Study::begin().await;
    for id in ["0", &"f".repeat(24), &"f".repeat(25), "..%2F..", "%00", &study.patient.uuid, "'%20OR%201=1"] {
        let path = format!("/integration/v1/export/{id}?token={}", study.key);
        let answer = study.story.get(&path).await;
        assert_eq!(answer.status, 404, "{id}: {answer:?}");
    }
}

#[tokio::test]
async fn records_of_fibrillation_are_asked_for_without_a_turn() {
    let study = Study::begin().await;
    let path = format!("/integration/v1/create-afib-export/{}?token={}", study.patient.uuid, study.key);
    let ask =
        async |from: i64, to: i64| study.story.post(&path, json!({"timestamp_from": from, "timestamp_to": to})).await;
    let longest = 31 * 86_400_000;
    for _ in 0..3 {
        assert_eq!(ask(0, longest).await.ok(), json!([]));
    }
    assert_eq!(ask(5, 5).await.ok(), json!([]));
    for (from, to) in [(0, longest + 1), (1, 0), (i64::MIN, i64::MAX)] {
        let refused = ask(from, to).await;
        assert_eq!(refused.error(), (422, "invalid"), "{from} {to}");
        assert!(refused.body["errors"]["timestamp_to"].is_array(), "{}", refused.body);
    }
    for (body, fields) in [
        (json!({}), vec!["timestamp_from", "timestamp_to"]),
        (json!({"timestamp_from": 0}), vec!["timestamp_to"]),
        (json!({"timestamp_from": "0", "timestamp_to": 1.5}), vec!["timestamp_from", "timestamp_to"]),
    ] {
        let refused = study.story.post(&path, body.clone()).await;
        let found: Vec<&String> = refused.body["errors"].as_object().expect("fields").keys().collect();
        assert_eq!(found, fields, "{body}");
    }
}
