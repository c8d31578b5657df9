//! Paths that name what there is not: which 404 each route gives, for names of every shape.

use serde_json::{Value, json};

use crate::common::Answer;
use crate::common::study::Study;

/// Nobody's uuid, and texts that are none.
const NOBODY: [&str; 6] = [
    "00000000-0000-4000-8000-000000000000",
    "nobody",
    "0",
    "%27%20OR%20%271%27%3D%271",
    "..%2F..%2Fetc%2Fpasswd",
    "%F0%9F%92%A9",
];

#[tokio::test]
async fn call_without_a_credential_is_answered_where_one_may_go() {
    let study = Study::begin().await;
    let places = |answer: &Answer| answer.body["message"].as_str().expect("a message").to_owned();
    let refused = study.story.get("/integration/v1/groups").await;
    assert_eq!(refused.error(), (401, "unauthenticated"));
    for place in ["Authorization: Bearer", "X-Api-Key", "?token="] {
        assert!(places(&refused).contains(place), "{refused:?}");
    }
    for path in ["/users/me", "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20"] {
        let refused = study.story.get(path).await;
        assert_eq!(refused.error(), (401, "unauthenticated"), "{path}");
        assert!(places(&refused).contains("send the token as Authorization: Bearer"), "{refused:?}");
    }
}

#[tokio::test]
async fn unknown_patients_are_not_found_on_every_route() {
    let study = Study::begin().await;
    study.ask("POST", "/v1/bracelets", json!({"serial_number": "PB-1", "device_type": "wrist"})).await.ok();
    let dates = json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-19T01:00:00"});
    for uuid in NOBODY {
        let of = |what: &str| format!("/v1/patients/{uuid}{what}");
        for (method, path, body) in [
            ("PATCH", of(""), json!({"external_patient_id": "7"})),
            ("DELETE", of(""), Value::Null),
            ("PUT", of("/profile"), json!({"weight": 61})),
            ("POST", of("/reset-password"), json!({"password": "another long one"})),
            ("GET", of("/health-token"), Value::Null),
            ("GET", of("/latest-news-score"), Value::Null),
            ("GET", of("/news-settings"), Value::Null),
            ("PUT", of("/news-settings"), json!({"oxygen": true})),
            ("GET", of("/alarms"), Value::Null),
            ("PUT", of("/alarms"), json!({"alarms": []})),
            ("GET", of("/summary/2025-11-20"), Value::Null),
            ("GET", of("/compliance/2025-11-20"), Value::Null),
            ("GET", of("/raw-data-compliance/2025-11-20"), Value::Null),
            ("PUT", of("/bracelets/PB-1"), Value::Null),
            ("PUT", study.of_group(&format!("/patients/{uuid}")), Value::Null),
            ("DELETE", study.of_group(&format!("/patients/{uuid}")), Value::Null),
            ("POST", format!("/v1/create-export/{uuid}/acc"), dates.clone()),
            ("POST", format!("/v1/create-afib-export/{uuid}"), json!({"timestamp_from": 0, "timestamp_to": 1})),
            ("GET", of("/afib/000000000000000000000000/strip.svg"), Value::Null),
        ] {
            let answer = study.ask(method, &path, body).await;
            assert_eq!(answer.error(), (404, "patient_not_found"), "{method} {path}");
        }
    }
    assert_eq!(study.read("/v1/bracelets").await[0].get("patient_uuid"), None);
}

#[tokio::test]
async fn unknown_studies_are_not_found_on_every_route() {
    let study = Study::begin().await;
    let small = study.group.to_lowercase();
    let longer = format!("{}A", study.group);
    for code in ["ZZZZZ", "A", &small, &longer, "%20", "%27", "..%2F"] {
        let of = |what: &str| format!("/v1/groups/{code}{what}");
        for (method, path, body) in [
            ("PATCH", of(""), json!({"name": "Other"})),
            ("DELETE", of(""), Value::Null),
            ("GET", of("/patients"), Value::Null),
            ("POST", of("/patients"), Value::Null),
            ("GET", of("/settings"), Value::Null),
            ("PUT", of("/settings"), json!({"activity_goal_steps": 5})),
            ("GET", of("/hcps"), Value::Null),
            ("POST", of("/hcps"), json!({"email": "ada@example.org"})),
            ("GET", of("/summaries?date=2025-11-20"), Value::Null),
            ("GET", of("/lake"), Value::Null),
            ("PUT", of(&format!("/patients/{}", study.grace.uuid)), Value::Null),
        ] {
            let answer = study.ask(method, &path, body).await;
            assert_eq!(answer.error(), (404, "group_not_found"), "{method} {path}");
        }
    }
    assert_eq!(study.read("/v1/groups").await.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn other_unknown_things_have_their_own_codes() {
    let study = Study::begin().await;
    let nobody = NOBODY[0];
    for (method, path, body, code) in [
        ("DELETE", study.of_group(&format!("/hcps/{nobody}")), Value::Null, "hcp_not_found"),
        ("POST", study.of_group("/hcps"), json!({"email": "nobody@example.org"}), "account_not_found"),
        ("PATCH", "/v1/bracelets/PB-9".to_owned(), json!({"firmware_version": "2"}), "bracelet_not_found"),
        ("DELETE", "/v1/bracelets/PB-9".to_owned(), Value::Null, "bracelet_not_found"),
        ("PUT", study.of_grace("/bracelets/PB-9"), Value::Null, "bracelet_not_found"),
        ("DELETE", study.of_grace("/bracelets/PB-9"), Value::Null, "bracelet_not_found"),
        ("GET", format!("/v1/export/{}", "0".repeat(24)), Value::Null, "export_not_found"),
        (
            "POST",
            format!("/v1/create-export/{}/mood", study.grace.uuid),
            json!({"client_date_from": "2025-11-19T00:00:00", "client_date_to": "2025-11-19T01:00:00"}),
            "data_type_not_found",
        ),
        ("GET", study.of_grace("/latest-news-score"), Value::Null, "no_news_score"),
    ] {
        let answer = study.ask(method, &path, body).await;
        assert_eq!(answer.error(), (404, code), "{method} {path}");
    }
    for (method, path, code) in [
        ("POST", "/health/v1/sync/mood", "data_type_not_found"),
        (
            "GET",
            "/health/v2/raw-metrics/mood?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T00:01:00Z",
            "raw_metric_type_not_found",
        ),
        ("GET", "/health/v1/raw-metrics/activity", "not_found"),
        ("GET", "/health/v2/user-summaries", "not_found"),
    ] {
        let answer = study.story.ask(method, path, &study.grace.health_token, Value::Null).await;
        assert_eq!(answer.error(), (404, code), "{method} {path}");
    }
}

#[tokio::test]
async fn unknown_data_type_in_a_path_is_answered_with_those_that_there_are() {
    let study = Study::begin().await;
    let range = "?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T00:01:00Z";
    for (name, hint) in [("activty", "; did you mean activity?"), ("mood", ": must be activity, ")] {
        let of_export = format!("/v1/create-export/{}/{name}", study.grace.uuid);
        let (sync, raw) = (format!("/health/v1/sync/{name}"), format!("/health/v2/raw-metrics/{name}{range}"));
        let token = &study.grace.health_token;
        for answer in [
            study.ask("POST", &of_export, json!({})).await,
            study.story.ask("POST", &sync, token, Value::Null).await,
            study.story.ask("GET", &raw, token, Value::Null).await,
        ] {
            assert_eq!(answer.error().0, 404);
            let message = answer.body["message"].as_str().expect("a text");
            assert!(message.starts_with(&format!("there is no such data type{hint}")), "{message}");
        }
    }
}

#[tokio::test]
async fn paths_are_matched_to_the_letter() {
    let study = Study::begin().await;
    for path in [
        "/v1/Groups",
        "/v1/groups/",
        "//v1/groups",
        "/v1//groups",
        "/v2/groups",
        "/groups",
        "/v1/groups/%2e%2e/groups",
        "/v1/check-voucher-code",
        "/v1/check-voucher-code/",
        "/v1/patients",
        "/v1/export",
    ] {
        let answer = study.ask("GET", path, Value::Null).await;
        assert_eq!(answer.error(), (404, "not_found"), "{path}");
    }
    // Both placeholders of the specification are one router, and the versions are part of the path.
    study.read("/v1/groups").await;
    for path in ["/users/v1/login", "/users/Login", "/health/v2/login", "/integration/login"] {
        assert_eq!(study.story.post(path, json!({})).await.error(), (404, "not_found"), "{path}");
    }
}
