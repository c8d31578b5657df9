//! Faults of our own: a request that breaks is answered without a word of why, and the next one is answered as ever.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::Role;

use crate::common::study::Study;
use crate::common::{Answer, PASSWORD, SAID_BY_THE_CLOCK, Story};

/// Returns every cloud, with and without a body: each reads the time.
fn requests(study: &Study) -> Vec<(&'static str, String, Value)> {
    let uuid = &study.grace.uuid;
    vec![
        ("GET", format!("/integration/v1/groups?token={}", study.key), Value::Null),
        ("POST", format!("/integration/v1/groups?token={}", study.key), json!({"name": "S", "description": ""})),
        ("GET", format!("/integration/v1/patients/{uuid}/summary/2025-11-19?token={}", study.key), Value::Null),
        ("POST", "/users/login".to_owned(), json!({"email": "ada@example.org", "password": PASSWORD})),
        ("POST", "/health/login".to_owned(), json!({"user_api_token": study.grace.users_token})),
        ("POST", "/portal/session".to_owned(), json!({"email": "ada@example.org", "password": PASSWORD})),
    ]
}

#[tokio::test]
async fn handler_that_panics_answers_500_without_a_word_of_what_was_said() {
    let study = Study::begin().await;
    let story = &study.story;
    story.break_clock();
    for (method, path, body) in requests(&study) {
        let answer = story.ask(method, &path, "", body).await;
        assert_eq!(answer.error(), (500, "internal"), "{method} {path}");
        assert_eq!(answer.body["message"], "something went wrong on our side", "{method} {path}");
        assert_eq!(answer.body.as_object().map(serde_json::Map::len), Some(2), "{method} {path}: {}", answer.body);
        let reported = format!("{:?} {}", answer.headers, answer.body);
        for secret in [SAID_BY_THE_CLOCK, "panick", ".rs", &study.key, &study.grace.users_token, PASSWORD] {
            assert!(!reported.contains(secret), "{method} {path} shows `{secret}`: {reported}");
        }
        assert_eq!(answer.header("x-request-id").len(), 16, "{method} {path}");
        assert_eq!((answer.header("cache-control"), answer.header("x-content-type-options")), ("no-store", "nosniff"));
    }
    assert_eq!(story.get("/livez").await.ok(), json!({"status": "ok"}), "the process goes on");

    story.mend_clock();
    for (method, path, body) in requests(&study) {
        let answer = story.ask(method, &path, "", body).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    }
}

#[tokio::test]
async fn handlers_that_panicked_are_counted_and_hold_no_place() {
    let limits = api::Limits { requests_at_once: 3, ..api::Limits::default() };
    let story = Story::begin_with(limits).await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let path = format!("/integration/v1/groups?token={key}");
    story.break_clock();
    for _ in 0..5 {
        assert_eq!(story.get(&path).await.error(), (500, "internal"), "and not that there are too many");
    }
    story.mend_clock();
    story.get(&path).await.ok();
    let counted = api::metrics_text(&story.state).await;
    for line in [
        "pulseward_requests_total{method=\"GET\",route=\"/integration/v1/groups\",status=\"500\"} 5",
        "pulseward_requests_total{method=\"GET\",route=\"/integration/v1/groups\",status=\"200\"} 1",
        "pulseward_requests_under_way 0",
    ] {
        assert!(counted.lines().any(|found| found == line), "{line}\n{counted}");
    }
}

#[tokio::test]
async fn request_that_broke_has_changed_nothing_and_can_be_made_again() {
    let study = Study::begin().await;
    let voucher = study.voucher().await;
    let listed = study.read(&study.of_group("/patients")).await;
    study.story.break_clock();
    let activation = json!({"code": voucher, "password": PASSWORD, "first_name": "Halved"});
    for (method, path, body) in [
        ("POST", "/users/activate".to_owned(), activation.clone()),
        ("DELETE", format!("/integration{}", study.of_grace("")), Value::Null),
        ("POST", format!("/integration{}", study.of_group("/patients")), Value::Null),
        ("DELETE", format!("/integration{}", study.of_group("")), Value::Null),
    ] {
        let answer = study.story.ask(method, &path, &study.key, body).await;
        assert_eq!(answer.error(), (500, "internal"), "{method} {path}");
    }
    study.story.mend_clock();
    assert_eq!(study.read(&study.of_group("/patients")).await, listed);
    study.story.post("/users/activate", activation).await.ok();
}

async fn with_id(study: &Study, path: &str, id: &str) -> Answer {
    study.story.send(Request::get(path).header("x-request-id", id).body(Body::empty()).expect("a request")).await
}

#[tokio::test]
async fn request_ids_are_ours_whatever_a_client_sends() {
    let study = Study::begin().await;
    let groups = format!("/integration/v1/groups?token={}", study.key);
    let mut seen = std::collections::BTreeSet::new();
    let long = "9".repeat(1_000);
    for path in ["/livez", "/readyz", "/nowhere", "/openapi.json", "/docs", "/users/me", "/a%00b", &groups] {
        for theirs in ["0123456789abcdef", "../../etc", "<script>", "", &long] {
            let answer = with_id(&study, path, theirs).await;
            let ours = answer.header("x-request-id").to_owned();
            assert_eq!(answer.headers.get_all("x-request-id").iter().count(), 1, "{path}");
            assert!(ours.len() == 16 && ours.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{ours}");
            assert_ne!(ours, theirs, "{path}");
            assert!(seen.insert(ours), "{path}: an id twice");
        }
    }
}
