//! What becomes of a login: it is refreshed, ended, and outlived by nothing that came from it.

#[path = "logins/back_off.rs"]
mod back_off;
mod common;
#[path = "logins/names.rs"]
mod names;
#[path = "logins/passwords.rs"]
mod passwords;

use common::{Answer, Enrolled, PASSWORD, Story, text};
use platform::{Cloud, NewApiKey};
use serde_json::{Value, json};
use store::{GroupCode, Role};

const MINUTE_MS: i64 = 60_000;
const CLOUDS: [&str; 2] = ["/users", "/health"];

async fn with_grace(story: &Story) -> (String, String, Enrolled) {
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    (key, group, grace)
}

/// Returns whether a token opens its cloud.
async fn opens(story: &Story, cloud: &str, token: &str) -> bool {
    let path = match cloud {
        "/users" => "/users/me",
        _ => "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20",
    };
    match story.get_as(path, token).await.status.as_u16() {
        200 => true,
        401 => false,
        other => panic!("{cloud} answered {other}"),
    }
}

async fn refresh(story: &Story, cloud: &str, token: &str) -> Answer {
    story.get_as(&format!("{cloud}/auth/refresh"), token).await
}

fn token_of(grace: &Enrolled, cloud: &str) -> String {
    if cloud == "/users" { grace.users_token.clone() } else { grace.health_token.clone() }
}

async fn log_in(story: &Story, password: &str) -> Answer {
    story.post("/users/login", json!({"email": "grace@example.org", "password": password})).await
}

#[tokio::test]
async fn a_token_is_refreshed_on_both_clouds_by_both_methods() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    for cloud in CLOUDS {
        let first = token_of(&grace, cloud);
        let answer = refresh(&story, cloud, &first).await;
        let header = answer.header("authorization").to_owned();
        let body = answer.ok();
        let names: Vec<_> = body.as_object().expect("an object").keys().cloned().collect();
        assert_eq!(names, ["refresh_ttl", "token", "ttl"]);
        assert_eq!((&body["ttl"], &body["refresh_ttl"]), (&json!(60), &json!("518400")));
        let second = text(&body["token"]);
        assert_eq!(header, format!("Bearer {second}"));
        assert!(!opens(&story, cloud, &first).await, "the old token ends there");
        assert!(opens(&story, cloud, &second).await);
        let third = story.post_as(&format!("{cloud}/auth/refresh"), &second, Value::Null).await.ok();
        assert!(opens(&story, cloud, &text(&third["token"])).await);
    }
}

#[tokio::test]
async fn an_expired_token_is_refreshed_until_the_login_is_too_old() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    for cloud in CLOUDS {
        let mut token = token_of(&grace, cloud);
        story.pass_ms(61 * MINUTE_MS);
        assert!(!opens(&story, cloud, &token).await);
        token = text(&refresh(&story, cloud, &token).await.ok()["token"]);
        assert!(opens(&story, cloud, &token).await);
    }
    let users = text(&log_in(&story, PASSWORD).await.ok()["token"]);
    story.pass_ms(518_400 * MINUTE_MS - 1);
    let late = text(&refresh(&story, "/users", &users).await.ok()["token"]);
    story.pass_ms(1);
    assert_eq!(refresh(&story, "/users", &late).await.error(), (401, "unauthenticated"));
    assert!(opens(&story, "/users", &late).await, "what was issued in time lives its hour");
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_and_a_copy_ends_the_family() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    // Health first: the end of a login on the Users Cloud ends what it was exchanged for.
    for cloud in ["/health", "/users"] {
        // The failures of one cloud are forgotten before those of the other.
        story.pass_ms(61 * MINUTE_MS);
        let first = token_of(&grace, cloud);
        let second = text(&refresh(&story, cloud, &first).await.ok()["token"]);
        story.pass_ms(MINUTE_MS - 1);
        let again = text(&refresh(&story, cloud, &first).await.ok()["token"]);
        assert!(opens(&story, cloud, &second).await && opens(&story, cloud, &again).await);
        story.pass_ms(1);
        assert_eq!(refresh(&story, cloud, &first).await.error(), (401, "unauthenticated"));
        for token in [&second, &again] {
            assert!(!opens(&story, cloud, token).await);
            assert_eq!(refresh(&story, cloud, token).await.error(), (401, "unauthenticated"));
        }
    }
}

#[tokio::test]
async fn a_copied_users_token_also_ends_what_it_was_exchanged_for() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    refresh(&story, "/users", &grace.users_token).await.ok();
    assert!(opens(&story, "/health", &grace.health_token).await);
    story.pass_ms(MINUTE_MS);
    assert_eq!(refresh(&story, "/users", &grace.users_token).await.error(), (401, "unauthenticated"));
    assert!(!opens(&story, "/health", &grace.health_token).await);
}

#[tokio::test]
async fn tokens_of_others_are_not_refreshed() {
    let story = Story::begin().await;
    let (key, _, grace) = with_grace(&story).await;
    let path = format!("/integration/v1/patients/{}/health-token?token={key}", grace.uuid);
    let reader = text(&story.get(&path).await.ok()["token"]);
    assert_eq!(refresh(&story, "/health", &reader).await.error(), (403, "forbidden"));
    assert!(opens(&story, "/health", &reader).await);
    for (cloud, token) in [("/users", &grace.health_token), ("/health", &grace.users_token), ("/users", &key)] {
        assert_eq!(refresh(&story, cloud, token).await.error(), (401, "unauthenticated"), "{cloud}");
    }
    for cloud in CLOUDS {
        assert_eq!(story.get(&format!("{cloud}/auth/refresh")).await.error(), (401, "unauthenticated"));
        assert_eq!(story.post(&format!("{cloud}/auth/logout"), Value::Null).await.error(), (401, "unauthenticated"));
    }
}

#[tokio::test]
async fn refreshing_what_has_ended_is_slowed_for_its_owner_alone() {
    let story = Story::begin().await;
    let (key, group, grace) = with_grace(&story).await;
    let hedy = story.patient(&key, &group, Value::Null).await;
    story.post_as("/users/auth/logout", &grace.users_token, Value::Null).await;
    for _ in 0..5 {
        assert_eq!(refresh(&story, "/users", &grace.users_token).await.error(), (401, "unauthenticated"));
    }
    let slowed = refresh(&story, "/users", &grace.users_token).await;
    assert_eq!((slowed.error(), slowed.header("retry-after")), ((429, "too_many_requests"), "1"));
    refresh(&story, "/users", &hedy.users_token).await.ok();
    for _ in 0..5 {
        assert_eq!(refresh(&story, "/health", "rubbish").await.error(), (401, "unauthenticated"));
    }
    assert_eq!(refresh(&story, "/health", "rubbish").await.error(), (429, "too_many_requests"));
    refresh(&story, "/health", &hedy.health_token).await.ok();
}

#[tokio::test]
async fn logging_out_of_the_users_cloud_ends_the_health_cloud_too() {
    let story = Story::begin().await;
    let (key, _, grace) = with_grace(&story).await;
    let other = text(&log_in(&story, PASSWORD).await.ok()["token"]);
    let other_health = text(&story.post("/health/login", json!({"user_api_token": other})).await.ok()["token"]);
    let path = format!("/integration/v1/patients/{}/health-token?token={key}", grace.uuid);
    let reader = text(&story.get(&path).await.ok()["token"]);
    let refreshed = text(&refresh(&story, "/health", &grace.health_token).await.ok()["token"]);

    let out = story.post_as("/users/auth/logout", &grace.users_token, Value::Null).await;
    assert_eq!((out.status.as_u16(), out.body), (204, Value::Null));
    assert!(!opens(&story, "/users", &grace.users_token).await);
    assert!(!opens(&story, "/health", &refreshed).await);
    let exchange = story.post("/health/login", json!({"user_api_token": grace.users_token})).await;
    assert_eq!(exchange.error(), (401, "unauthenticated"));
    // Another login of the patient, and those who read on their behalf, are not touched.
    assert!(opens(&story, "/users", &other).await && opens(&story, "/health", &other_health).await);
    assert!(opens(&story, "/health", &reader).await);

    story.post_as("/health/auth/logout", &other_health, Value::Null).await;
    assert!(!opens(&story, "/health", &other_health).await);
    assert!(opens(&story, "/users", &other).await, "the other way round it does not");
}

/// Everything of the Users Cloud that takes a token, except what changes the password and what ends the token.
const CLOSED_TO_A_PASSWORD_FROM_STAFF: [(&str, &str); 7] = [
    ("GET", "/users/me"),
    ("PATCH", "/users/me"),
    ("DELETE", "/users/me"),
    ("GET", "/users/auth/refresh"),
    ("POST", "/users/auth/refresh"),
    ("GET", "/users/auth/consents"),
    ("DELETE", "/users/auth/consents/65b1f0c2a4d3e5f60718293a"),
];

/// Checks that a login by a password that staff chose opens nothing but the change of that password, and makes the change.
async fn must_change(story: &Story, email: &str, given: &str) {
    let log_in = async |password: &str| story.post("/users/login", json!({"email": email, "password": password})).await;
    // However often: it is the password that opens nothing, not its second use.
    for _ in 0..2 {
        let login = log_in(given).await.ok();
        assert_eq!((&login["user"]["must_change_password"], &login["refresh_ttl"]), (&json!(true), &json!("0")));
        let users = text(&login["token"]);
        for (method, path) in CLOSED_TO_A_PASSWORD_FROM_STAFF {
            let request = axum::http::Request::builder().method(method).uri(path);
            let request = request.header("authorization", format!("Bearer {users}"));
            let request = request.header("content-type", "application/json").body(axum::body::Body::from("{}"));
            let answer = story.send(request.expect("a request")).await;
            assert_eq!(answer.error(), (403, "password_change_required"), "{method} {path}");
        }
        let exchange = story.post("/health/login", json!({"user_api_token": users})).await;
        assert_eq!(exchange.error(), (403, "password_change_required"));
    }
    let with_new = |new: &str| json!({"email": email, "password": given, "new_password": new});
    let short = story.post("/users/login", with_new("short")).await;
    assert_eq!(short.body["errors"], json!({"new_password": ["must have at least 10 characters"]}));
    let same = story.post("/users/login", with_new(given)).await;
    assert_eq!(same.body["errors"], json!({"new_password": ["must differ from the present password"]}));

    let (first, second) = (text(&log_in(given).await.ok()["token"]), text(&log_in(given).await.ok()["token"]));
    assert_eq!(story.post_as("/users/auth/logout", &second, Value::Null).await.status, 204, "a token can always end");
    let body = json!({"password": given, "new_password": "chosen by oneself"});
    let changed = story.post_as("/users/auth/password", &first, body).await.ok();
    assert_eq!((&changed["user"]["must_change_password"], &changed["refresh_ttl"]), (&json!(false), &json!("518400")));
    assert!(!opens(story, "/users", &first).await);
    assert_eq!(log_in(given).await.error(), (401, "unauthenticated"));
    let token = text(&refresh(story, "/users", &text(&changed["token"])).await.ok()["token"]);
    assert!(opens(story, "/users", &token).await);
}

#[tokio::test]
async fn a_password_from_staff_opens_nothing_but_its_change() {
    let story = Story::begin().await;
    let (key, _, grace) = with_grace(&story).await;
    let reset = async || {
        let reset = format!("/integration/v1/patients/{}/reset-password?token={key}", grace.uuid);
        assert_eq!(story.post(&reset, json!({"password": "chosen by staff"})).await.status, 204);
    };
    reset().await;
    assert!(!opens(&story, "/health", &grace.health_token).await);
    must_change(&story, "grace@example.org", "chosen by staff").await;
    // In one call, which needs no token in between.
    reset().await;
    let both =
        json!({"email": "grace@example.org", "password": "chosen by staff", "new_password": "chosen by grace again"});
    let changed = story.post("/users/login", both).await.ok();
    assert_eq!(changed["user"]["must_change_password"], false);
    story.post("/health/login", json!({"user_api_token": changed["token"]})).await.ok();
}

#[tokio::test]
async fn a_password_from_an_operator_opens_nothing_but_its_change() {
    let story = Story::begin().await;
    let (key, _, _) = with_grace(&story).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    story
        .platform
        .identity
        .reset_account_password(&ada, Some("chosen by an operator".to_owned()))
        .await
        .expect("reset");
    must_change(&story, "ada@example.org", "chosen by an operator").await;
    // Keys are no logins: programs that hold one go on.
    story.get(&format!("/integration/v1/groups?token={key}")).await.ok();
}

#[tokio::test]
async fn who_has_logged_in_can_choose_another_password() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    let change = async |token: &str, password: &str, new: &str| {
        story.post_as("/users/auth/password", token, json!({"password": password, "new_password": new})).await
    };
    assert_eq!(change("rubbish", PASSWORD, "another long one").await.error(), (401, "unauthenticated"));
    let wrong = change(&grace.users_token, "not the password", "another long one").await;
    assert_eq!(wrong.error(), (422, "invalid"));
    assert_eq!(wrong.body["errors"], json!({"password": ["is not the present password"]}));
    let changed = change(&grace.users_token, PASSWORD, "another long one").await.ok();
    assert_eq!(changed["user"]["uuid"], grace.uuid);
    assert!(!opens(&story, "/users", &grace.users_token).await && !opens(&story, "/health", &grace.health_token).await);
    assert!(opens(&story, "/users", &text(&changed["token"])).await);
    assert_eq!(log_in(&story, PASSWORD).await.error(), (401, "unauthenticated"));

    // An account too.
    let ada = json!({"email": "ada@example.org", "password": PASSWORD});
    let token = text(&story.post("/users/login", ada).await.ok()["token"]);
    change(&token, PASSWORD, "yet another one").await.ok();
    assert!(!opens(&story, "/users", &token).await);
    // Guessing here is slowed as well.
    let token = text(&changed["token"]);
    for _ in 0..4 {
        assert_eq!(change(&token, "not the password", "another long one").await.error(), (422, "invalid"));
    }
    assert_eq!(change(&token, "not the password", "another long one").await.error(), (422, "invalid"));
    assert_eq!(change(&token, "another long one", "one that fits").await.error(), (429, "too_many_requests"));
}

#[tokio::test]
async fn a_health_token_ends_with_what_it_rests_on() {
    let story = Story::begin().await;
    let (_, group, grace) = with_grace(&story).await;
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let short = NewApiKey { expires_ms: Some(story.now_ms() + 5 * MINUTE_MS), ..NewApiKey::default() };
    let (_, short_key) = story.platform.identity.create_api_key(&account, short).await.expect("a key");
    let ask = async |key: &str| {
        let path = format!("/integration/v1/patients/{}/health-token?token={key}", grace.uuid);
        text(&story.get(&path).await.ok()["token"])
    };
    let token = ask(&short_key).await;
    story.pass_ms(5 * MINUTE_MS - 1);
    assert!(opens(&story, "/health", &token).await);
    story.pass_ms(1);
    assert!(!opens(&story, "/health", &token).await, "it ends when the key does");

    let (key, api_key) = story.platform.identity.create_api_key(&account, NewApiKey::default()).await.expect("a key");
    let token = ask(&api_key).await;
    story.platform.identity.revoke_api_key(&key.id).await.expect("revoked");
    assert!(!opens(&story, "/health", &token).await);

    let (_, ada_key) = story.platform.identity.create_api_key(&account, NewApiKey::default()).await.expect("a key");
    let bob_key = story.key_of("bob@example.org", Role::Hcp).await;
    let bob = story.platform.identity.account_by_email("bob@example.org").await.expect("an account");
    let other_group = story.group(&ada_key).await;
    let integration = |path: &str| format!("/integration/v1{path}?token={ada_key}");
    let send = async |method: &str, path: String| {
        let request = axum::http::Request::builder().method(method).uri(path).body(axum::body::Body::empty());
        assert_eq!(story.send(request.expect("a request")).await.status, 204, "{method}");
    };
    let join = async || {
        story
            .platform
            .core
            .users()
            .add_member(&bob.uuid, &GroupCode::new(group.as_str()), story.now_ms())
            .await
            .expect("a member")
    };
    join().await;
    let token = ask(&bob_key).await;
    send("DELETE", integration(&format!("/groups/{group}/hcps/{}", bob.uuid))).await;
    assert!(!opens(&story, "/health", &token).await, "it ends with the membership");
    join().await;
    let token = ask(&bob_key).await;
    send("PUT", integration(&format!("/groups/{other_group}/patients/{}", grace.uuid))).await;
    assert!(opens(&story, "/health", &token).await);
    send("DELETE", integration(&format!("/groups/{group}/patients/{}", grace.uuid))).await;
    assert!(!opens(&story, "/health", &token).await, "it ends with the attachment");
    send("PUT", integration(&format!("/groups/{group}/patients/{}", grace.uuid))).await;
    let token = ask(&bob_key).await;
    story.platform.identity.disable_account(&bob).await.expect("disabled");
    assert!(!opens(&story, "/health", &token).await);
    assert!(opens(&story, "/health", &grace.health_token).await, "the own token is none of them");
}

#[tokio::test]
async fn devices_are_shown_to_anyone_who_may_read() {
    let story = Story::begin().await;
    let (key, _, grace) = with_grace(&story).await;
    let body = json!({"device": {"serial_number": "B1", "device_type": "band", "battery_level": 80}, "data": {}});
    story.post_as("/health/v1/sync", &grace.health_token, body).await.ok();
    let devices = async |token: &str| {
        let request = axum::http::Request::get("/integration/v1/user-devices").header("x-health-token", token);
        story.send(request.body(axum::body::Body::empty()).expect("a request")).await
    };
    let path = format!("/integration/v1/patients/{}/health-token?token={key}", grace.uuid);
    let reader = text(&story.get(&path).await.ok()["token"]);
    let expected = json!([{"serial_number": "B1", "device_type": "band", "battery_level": 80,
        "updated_at": "2025-11-20T00:53:20.000Z"}]);
    for token in [&grace.health_token, &reader] {
        assert_eq!(devices(token).await.ok(), expected);
    }
    // The header alone counts: not Bearer, not an API key, not a token of the other cloud.
    assert_eq!(
        story.get_as("/integration/v1/user-devices", &grace.health_token).await.error(),
        (401, "unauthenticated")
    );
    for token in ["", "rubbish", &key, &grace.users_token] {
        assert_eq!(devices(token).await.error(), (401, "unauthenticated"));
    }
    story.post_as("/health/auth/logout", &grace.health_token, Value::Null).await;
    assert_eq!(devices(&grace.health_token).await.error(), (401, "unauthenticated"));
    story.pass_ms(60 * MINUTE_MS);
    assert_eq!(devices(&reader).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_retired_key_verifies_while_its_tokens_can_be_refreshed() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    let kids = async || {
        let keys = story.get("/users/.well-known/jwks.json").await.ok();
        keys["keys"].as_array().expect("keys").iter().map(|key| text(&key["kid"])).collect::<Vec<_>>()
    };
    let before = kids().await;
    let new = story.platform.identity.rotate_signing_key(Cloud::Users).await.expect("a key").to_string();
    story.pass_ms(518_400 * MINUTE_MS - 1);
    story.platform.identity.tidy_identity().await.expect("tidied");
    assert_eq!(kids().await.len(), 2);
    let token = text(&refresh(&story, "/users", &grace.users_token).await.ok()["token"]);
    story.pass_ms(61 * MINUTE_MS);
    story.platform.identity.tidy_identity().await.expect("tidied");
    story.pass_ms(MINUTE_MS);
    assert_eq!(kids().await, std::slice::from_ref(&new));
    assert_ne!(before, [new]);
    assert_eq!(refresh(&story, "/users", &grace.users_token).await.error(), (401, "unauthenticated"));
    assert_eq!(refresh(&story, "/users", &token).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_token_that_was_verified_before_ends_with_its_key() {
    let story = Story::begin().await;
    let (_, _, grace) = with_grace(&story).await;
    for (cloud, path, token) in
        [(Cloud::Users, "/users", &grace.users_token), (Cloud::Health, "/health", &grace.health_token)]
    {
        assert!(opens(&story, path, token).await && opens(&story, path, token).await, "{path}");
        let (signed, signature) = token.rsplit_once('.').expect("a signature");
        let other = if signature.starts_with('A') { "B" } else { "A" };
        assert!(!opens(&story, path, &format!("{signed}.{other}{}", &signature[1..])).await, "{path}");
        story.platform.identity.rotate_signing_key(cloud).await.expect("a key");
        assert!(opens(&story, path, token).await, "{path}: its key still verifies");
        let core = &story.platform.core;
        match cloud {
            Cloud::Users => core.users().purge_signing_keys(i64::MAX).await.expect("purged"),
            Cloud::Health => core.health().purge_signing_keys(i64::MAX).await.expect("purged"),
        };
        // Keys are those of a minute ago at most.
        story.pass_ms(MINUTE_MS);
        assert!(!opens(&story, path, token).await, "{path}");
    }
}

#[tokio::test]
async fn logging_out_with_an_expired_token_ends_the_login() {
    for (cloud, other) in [("/users", "/health"), ("/health", "/health")] {
        let story = Story::begin().await;
        let (_, _, grace) = with_grace(&story).await;
        let token = if cloud == "/users" { &grace.users_token } else { &grace.health_token };
        story.pass_ms(61 * 60_000);
        assert!(!opens(&story, cloud, token).await, "the token has expired");
        let out = story.post_as(&format!("{cloud}/auth/logout"), token, Value::Null).await;
        assert_eq!(out.status.as_u16(), 204, "{cloud}");
        assert_eq!(refresh(&story, other, &grace.health_token).await.error(), (401, "unauthenticated"), "{cloud}");
        let again = story.post_as(&format!("{cloud}/auth/logout"), token, Value::Null).await;
        assert_eq!(again.error(), (401, "unauthenticated"), "{cloud}");
    }
}
