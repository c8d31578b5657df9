//! Who logs in by which name, and what a login refuses.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::Role;

use crate::common::study::{Study, wrong_fields};
use crate::common::{Answer, PASSWORD, text};

async fn log_in(study: &Study, body: Value) -> Answer {
    study.story.post("/users/login", body).await
}

#[tokio::test]
async fn names_are_matched_whatever_their_case_and_blanks() {
    let study = Study::begin_with(json!({"email": "Grace.Hopper+Study@Example.ORG"})).await;
    for email in
        ["grace.hopper+study@example.org", " GRACE.HOPPER+STUDY@EXAMPLE.ORG ", "\tGrace.Hopper+study@example.org"]
    {
        let login = log_in(&study, json!({"email": email, "password": PASSWORD})).await.ok();
        assert_eq!(login["user"]["uuid"], study.grace.uuid.as_str(), "{email}");
        assert_eq!(login["user"]["email"], "grace.hopper+study@example.org");
    }
    let code = &study.grace.code;
    for code in [code.clone(), code.to_lowercase(), format!(" {code}\n")] {
        let login = log_in(&study, json!({"code": code, "password": PASSWORD})).await.ok();
        assert_eq!(login["user"]["uuid"], study.grace.uuid.as_str(), "{code:?}");
    }
    // A password is taken as it is.
    for password in [format!(" {PASSWORD}"), format!("{PASSWORD} "), PASSWORD.to_uppercase()] {
        let refused = log_in(&study, json!({"code": code, "password": password})).await;
        assert_eq!(refused.error(), (401, "unauthenticated"), "{password:?}");
    }
}

#[tokio::test]
async fn bodies_that_name_nobody_or_two_are_refused_before_any_password_is_tried() {
    let study = Study::begin_with(json!({"email": "grace@example.org"})).await;
    for (body, fields) in [
        (json!({}), vec!["email", "password"]),
        (json!({"password": PASSWORD}), vec!["email"]),
        (json!({"email": "grace@example.org"}), vec!["password"]),
        (json!({"email": null, "code": null, "password": PASSWORD}), vec!["email"]),
        (json!({"email": 1, "password": 2}), vec!["email", "password"]),
        (json!({"email": "grace@example.org", "code": study.grace.code, "password": PASSWORD}), vec!["email"]),
        (json!({"email": "grace@example.org", "password": null}), vec!["password"]),
    ] {
        assert_eq!(wrong_fields(&log_in(&study, body.clone()).await), fields, "{body}");
    }
    // None of this counted as a failed try.
    log_in(&study, json!({"email": "grace@example.org", "password": PASSWORD})).await.ok();
    for (kind, body, error) in [
        ("application/json", "{", (400, "not_json")),
        ("application/json", "", (400, "not_json")),
        ("application/json", "[]", (422, "invalid")),
        ("application/x-www-form-urlencoded", "email=grace%40example.org", (415, "unsupported_media_type")),
    ] {
        let request = Request::post("/users/login").header("content-type", kind).body(Body::from(body));
        assert_eq!(study.story.send(request.expect("a request")).await.error(), error, "{kind} {body}");
    }
}

#[tokio::test]
async fn answer_is_the_same_for_a_wrong_password_and_an_unknown_name() {
    let study = Study::begin_with(json!({"email": "grace@example.org"})).await;
    let disabled = study.story.key_of("gone@example.org", Role::Hcp).await;
    let account = study.story.platform.identity.account_by_email("gone@example.org").await.expect("an account");
    study.story.platform.identity.disable_account(&account).await.expect("disabled");
    let voucher = study.voucher().await;
    let mut answers = Vec::new();
    for body in [
        json!({"email": "grace@example.org", "password": "not the password"}),
        json!({"email": "nobody@example.org", "password": PASSWORD}),
        json!({"email": "gone@example.org", "password": PASSWORD}),
        json!({"email": "not an address", "password": PASSWORD}),
        json!({"email": "", "password": PASSWORD}),
        json!({"code": "ZZZZZZZZ", "password": PASSWORD}),
        json!({"code": voucher, "password": PASSWORD}),
        json!({"code": study.grace.code, "password": ""}),
        json!({"code": "ada@example.org", "password": PASSWORD}),
        json!({"email": study.grace.code, "password": PASSWORD}),
    ] {
        let answer = log_in(&study, body.clone()).await;
        assert_eq!(answer.error(), (401, "unauthenticated"), "{body}");
        answers.push(answer.body);
    }
    assert!(answers.iter().all(|body| *body == answers[0]), "{answers:?}");
    assert_eq!(study.ask_as(&disabled, "GET", "/v1/groups", Value::Null).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn exchange_takes_a_patients_token_of_the_users_cloud_alone() {
    let study = Study::begin().await;
    let staff = text(&log_in(&study, json!({"email": "ada@example.org", "password": PASSWORD})).await.ok()["token"]);
    let exchange = async |body: Value| study.story.post("/health/login", body).await;
    for body in [json!({}), json!({"user_api_token": null}), json!({"user_api_token": 7}), json!({"token": "x"})] {
        assert_eq!(wrong_fields(&exchange(body.clone()).await), ["user_api_token"], "{body}");
    }
    for token in ["", "rubbish", "a.b.c", &study.key, &study.grace.health_token] {
        let refused = exchange(json!({"user_api_token": token})).await;
        assert_eq!(refused.error(), (401, "unauthenticated"), "{token}");
    }
    let refused = exchange(json!({"user_api_token": staff})).await;
    assert_eq!(refused.error(), (403, "forbidden"), "staff have no data of their own");
    let health = exchange(json!({"user_api_token": study.grace.users_token})).await.ok();
    assert_eq!((&health["ttl"], &health["refresh_ttl"]), (&json!(60), &json!("518400")));
    assert_eq!(health["user"]["uuid"], study.grace.uuid.as_str());
    // No personal datum is known there.
    let reported = health["user"].to_string();
    for name in ["first_name", "last_name", "email", "external_patient_id"] {
        assert!(!reported.contains(name), "{reported}");
    }
    // The token is exchanged as often as needed, until it ends.
    exchange(json!({"user_api_token": study.grace.users_token})).await.ok();
    study.story.pass_ms(60 * 60_000);
    let late = exchange(json!({"user_api_token": study.grace.users_token})).await;
    assert_eq!(late.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn tokens_last_an_hour_to_the_second() {
    let study = Study::begin().await;
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    let login = log_in(&study, json!({"code": study.grace.code, "password": PASSWORD})).await.ok();
    assert_eq!((&login["ttl"], &login["refresh_ttl"]), (&json!(60), &json!("518400")));
    study.story.pass_ms(60 * 60_000 - 1000);
    study.story.get_as("/users/me", &study.grace.users_token).await.ok();
    study.story.get_as(summaries, &study.grace.health_token).await.ok();
    study.story.pass_ms(1000);
    for (path, token) in [("/users/me", &study.grace.users_token), (summaries, &study.grace.health_token)] {
        let late = study.story.get_as(path, token).await;
        assert_eq!(late.error(), (401, "unauthenticated"), "{path}");
        assert!(late.header("www-authenticate").contains("invalid_token"), "{path}");
    }
}

#[tokio::test]
async fn users_of_every_role_see_themselves() {
    let study = Study::begin_with(json!({"first_name": "Grace", "time_zone": "UTC"})).await;
    for (email, role, name) in [
        ("ada@example.org", None, "researcher"),
        ("hal@example.org", Some(Role::Hcp), "hcp"),
        ("root@example.org", Some(Role::Admin), "admin"),
    ] {
        if let Some(role) = role {
            study.story.key_of(email, role).await;
        }
        let login = log_in(&study, json!({"email": email, "password": PASSWORD})).await.ok();
        let own = study.story.get_as("/users/me", &text(&login["token"])).await.ok();
        assert_eq!(own, login["user"], "{email}");
        assert_eq!((&own["role"], &own["email"], &own["state"]), (&json!(name), &json!(email), &Value::Null));
    }
    let own = study.story.get_as("/users/me", &study.grace.users_token).await.ok();
    assert_eq!((&own["role"], &own["state"]), (&json!("patient"), &json!("confirmed")));
    assert_eq!((&own["code"], &own["customer_code"]), (&json!(study.grace.code), &json!(study.group)));
    assert_eq!((&own["first_name"], &own["last_name"], &own["email"]), (&json!("Grace"), &Value::Null, &Value::Null));
}

#[tokio::test]
async fn accounts_change_and_take_away_their_names() {
    let study = Study::begin().await;
    let login = log_in(&study, json!({"email": "ada@example.org", "password": PASSWORD})).await.ok();
    let token = text(&login["token"]);
    let change = async |body: Value| study.story.ask("PATCH", "/users/me", &token, body).await;
    let names = |user: &Value| json!([user["first_name"], user["last_name"]]);
    for (body, expected) in [
        (json!({"first_name": "Ada", "last_name": "Lovelace"}), json!(["Ada", "Lovelace"])),
        (json!({"last_name": "L."}), json!(["Ada", "L."])),
        (json!({"first_name": ""}), json!([null, "L."])),
        (json!({"last_name": "  "}), json!([null, null])),
        (json!({"first_name": "A".repeat(200)}), json!(["A".repeat(200), null])),
    ] {
        let user = change(body.clone()).await.ok();
        assert_eq!(names(&user), expected, "{body}");
        assert_eq!(names(&study.story.get_as("/users/me", &token).await.ok()), expected, "{body}");
    }
    for (body, fields) in [
        (json!({}), vec!["first_name"]),
        (json!({"first_name": "A".repeat(201)}), vec!["first_name"]),
        (json!({"email": "other@example.org"}), vec!["email"]),
        (
            json!({"time_zone": "UTC", "agreement_to_terms_of_use": true}),
            vec!["agreement_to_terms_of_use", "time_zone"],
        ),
        (json!({"first_name": 1}), vec!["first_name"]),
    ] {
        assert_eq!(wrong_fields(&change(body.clone()).await), fields, "{body}");
    }
}
