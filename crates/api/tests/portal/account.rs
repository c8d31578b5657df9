//! One's own account: password, keys, and what an operator does to it.

use platform::{NewAccount, SubscriptionStart};
use serde_json::{Value, json};
use store::Role;

use crate::browser::Browser;
use crate::common::{PASSWORD, Story, text};

const NEW: &str = "another long password";

#[tokio::test]
async fn a_new_password_ends_the_other_sessions() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let other = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let login = story.post("/users/login", json!({"email": "ada@example.org", "password": PASSWORD})).await.ok();
    let path = "/portal/api/account/password";
    for (current, new, field) in [
        ("wrong horse", NEW, "current"),
        (PASSWORD, "short", "new"),
        (PASSWORD, PASSWORD, "new"),
        (PASSWORD, "ada@example.org", "new"),
        (PASSWORD, "Password123", "new"),
    ] {
        let answer = browser.ask(&story, "PUT", path, json!({"current": current, "new": new})).await;
        assert!(answer.body["errors"][field].is_array(), "{}", answer.body);
        assert_eq!(answer.error(), (422, "invalid"));
    }
    browser.ask(&story, "PUT", path, json!({"current": PASSWORD, "new": NEW})).await.done();
    browser.get(&story, "/portal/session").await.ok();
    assert_eq!(other.get(&story, "/portal/session").await.error(), (401, "session_expired"));
    assert_eq!(story.get_as("/users/me", &text(&login["token"])).await.status, 401);
    Browser::sign_in(&story, json!({"email": "ada@example.org", "password": NEW})).await;
}

#[tokio::test]
async fn a_password_that_an_operator_chose_is_changed_first() {
    let story = Story::begin().await;
    let (before, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let chosen = story.platform.identity.reset_account_password(&ada, None).await.expect("a password");
    assert_eq!(before.get(&story, "/portal/session").await.error(), (401, "session_expired"));
    let browser = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": chosen})).await;
    assert_eq!(browser.get(&story, "/portal/session").await.ok()["must_change_password"], true);
    let answer = browser.ask(&story, "GET", "/integration/v1/groups", Value::Null).await;
    assert_eq!(answer.error(), (403, "password_change_required"));
    for (method, path) in [("POST", "keys"), ("GET", "keys"), ("GET", "sessions"), ("GET", "account"), ("POST", "totp")]
    {
        let body = if method == "POST" { json!({"name": "a"}) } else { Value::Null };
        let answer = browser.ask(&story, method, &format!("/portal/api/{path}"), body).await;
        assert_eq!(answer.error(), (403, "password_change_required"), "{method} {path}");
    }
    let change = json!({"current": chosen, "new": NEW});
    browser.ask(&story, "PUT", "/portal/api/account/password", change).await.done();
    assert_eq!(browser.get(&story, "/portal/session").await.ok()["must_change_password"], false);
    browser.ask(&story, "GET", "/integration/v1/groups", Value::Null).await.ok();
}

#[tokio::test]
async fn a_disabled_account_is_out_at_once() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    story.platform.identity.disable_account(&ada).await.expect("disabled");
    assert_eq!(browser.get(&story, "/portal/session").await.error(), (401, "session_expired"));
    let answer = story.post("/portal/session", json!({"email": "ada@example.org", "password": PASSWORD})).await;
    assert_eq!(answer.error(), (401, "invalid_credentials"));
}

#[tokio::test]
async fn a_subscription_is_shown_as_it_is() {
    let story = Story::begin().await;
    let account = NewAccount {
        email: "ada@example.org".to_owned(),
        role: Role::Researcher,
        first_name: Some("Ada".to_owned()),
        last_name: None,
        password: Some(PASSWORD.to_owned()),
        subscription: SubscriptionStart::None,
    };
    story.platform.identity.create_account(account).await.expect("an account");
    let browser = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let account = browser.get(&story, "/portal/api/account").await.ok();
    assert_eq!(account["first_name"], "Ada");
    assert_eq!((&account["has_subscription"], &account["subscription_until"]), (&json!(false), &Value::Null));
    story.platform.identity.set_subscription("ada@example.org", Some(story.now_ms() + 1)).await.expect("set");
    let account = browser.get(&story, "/portal/api/account").await.ok();
    assert_eq!(
        (&account["has_subscription"], &account["subscription_until"]),
        (&json!(true), &json!("2025-11-20T00:53:20.001Z"))
    );
}

#[tokio::test]
async fn keys_are_made_shown_once_used_and_revoked() {
    let story = Story::begin().await;
    let (browser, first) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let (mine, other) = (story.group(&first).await, story.group(&first).await);
    let body = json!({"name": " nightly ", "groups": [mine], "expires_at": "2025-11-21T00:00:00Z"});
    let created = browser.ask(&story, "POST", "/portal/api/keys", body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let key = text(&created.body["key"]);
    assert_eq!(created.body["prefix"], key[..10]);
    assert_eq!((&created.body["name"], &created.body["groups"]), (&json!("nightly"), &json!([mine])));
    assert_eq!(created.body["expires_at"], "2025-11-21T00:00:00.000Z");
    let patients = |group: &str| format!("/integration/v1/groups/{group}/patients");
    story.get_as(&patients(&mine), &key).await.ok();
    assert_eq!(story.get_as(&patients(&other), &key).await.error(), (403, "forbidden"));

    let list = browser.get(&story, "/portal/api/keys").await.ok();
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    assert!(list[1]["key"].is_null(), "shown once");
    assert_eq!((&list[0]["groups"], &list[1]["groups"]), (&json!([]), &json!([mine])));
    assert_eq!((&list[0]["is_scoped"], &list[1]["is_scoped"]), (&json!(false), &json!(true)));
    let path = format!("/portal/api/keys/{}", text(&created.body["id"]));
    let (eve, _) = Browser::of(&story, "eve@example.org", Role::Researcher).await;
    assert_eq!(eve.ask(&story, "DELETE", &path, Value::Null).await.error(), (404, "api_key_not_found"));
    story.get_as(&patients(&mine), &key).await.ok();
    browser.ask(&story, "DELETE", &path, Value::Null).await.done();
    assert_eq!(story.get_as(&patients(&mine), &key).await.error(), (401, "unauthenticated"));
    let list = browser.get(&story, "/portal/api/keys").await.ok();
    assert_eq!(list[1]["revoked_at"], "2025-11-20T00:53:20.000Z");
}

#[tokio::test]
async fn a_key_reaches_no_further_than_its_owner() {
    let story = Story::begin().await;
    let (_, ada) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let (eve, _) = Browser::of(&story, "eve@example.org", Role::Researcher).await;
    let group = story.group(&ada).await;
    for (body, error) in [
        (json!({"name": "a", "groups": [group]}), (403, "forbidden")),
        (json!({"name": "a", "groups": ["NOONE"]}), (404, "group_not_found")),
        (json!({"name": " "}), (422, "invalid")),
        (json!({}), (422, "invalid")),
        (json!({"name": "a", "expires_at": "tomorrow"}), (422, "invalid")),
        (json!({"name": "a", "expires_at": "2025-11-20T00:53:20Z"}), (422, "invalid")),
        (json!({"name": "a", "groups": "x"}), (422, "invalid")),
    ] {
        let answer = eve.ask(&story, "POST", "/portal/api/keys", body.clone()).await;
        assert_eq!(answer.error(), error, "{body}");
    }
    assert_eq!(eve.get(&story, "/portal/api/keys").await.ok().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn administrators_set_up_oauth_clients() {
    let story = Story::begin().await;
    let (root, _) = Browser::of(&story, "root@example.org", Role::Admin).await;
    let (ada, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let body = json!({"name": "Diary", "redirect_uris": ["https://diary.example/back"],
        "privacy_policy_url": "https://diary.example/privacy"});
    let path = "/portal/api/clients";
    assert_eq!(ada.ask(&story, "POST", path, body.clone()).await.error(), (403, "forbidden"));
    assert_eq!(ada.get(&story, path).await.error(), (403, "forbidden"));
    let created = root.ask(&story, "POST", path, body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    assert!(text(&created.body["client_secret"]).starts_with("pws_"));
    let list = root.get(&story, path).await.ok();
    assert_eq!(list[0]["redirect_uris"], json!(["https://diary.example/back"]));
    assert!(list[0]["client_secret"].is_null());
    let wrong = json!({"name": "", "redirect_uris": ["ftp://x"], "privacy_policy_url": "x"});
    assert_eq!(root.ask(&story, "POST", path, wrong).await.error(), (422, "invalid"));
    let client = format!("{path}/{}", text(&created.body["client_id"]));
    assert_eq!(ada.ask(&story, "DELETE", &client, Value::Null).await.error(), (403, "forbidden"));
    root.ask(&story, "DELETE", &client, Value::Null).await.done();
    assert_eq!(root.get(&story, path).await.ok()[0]["removed_at"], "2025-11-20T00:53:20.000Z");
    let nobody = format!("{path}/000000000000000000000000");
    assert_eq!(root.ask(&story, "DELETE", &nobody, Value::Null).await.error(), (404, "client_not_found"));
}

#[tokio::test]
async fn exports_under_the_cookie_are_distinguished_in_the_log() {
    let story = Story::begin().await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, Value::Null).await;
    let path = format!("/integration/v1/create-export/{}/activity", patient.uuid);
    let range = json!({"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000"});
    let begun = browser.ask(&story, "POST", &path, range).await.ok();
    let status = format!("/integration/v1/export/{}", text(&begun["id"]));
    browser.ask(&story, "GET", &status, Value::Null).await.ok();
    let (from, to) = (story.now_ms() - 1, story.now_ms() + 1);
    let logs = format!("/integration/v1/patients/audit/logs?from={from}&to={to}&action_type=PATIENT_PORTAL_EXPORT");
    let entries = browser.ask(&story, "GET", &logs, Value::Null).await.ok();
    assert_eq!(entries.as_array().map(Vec::len), Some(1), "{entries}");
    assert_eq!(entries[0]["primary_entity_id"], patient.uuid);
}

#[tokio::test]
async fn a_health_token_asked_for_on_a_page_ends_with_the_account() {
    let story = Story::begin().await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, Value::Null).await;
    let path = format!("/integration/v1/patients/{}/health-token", patient.uuid);
    let token = text(&browser.ask(&story, "GET", &path, Value::Null).await.ok()["token"]);
    let reading = "/health/user-summaries?date_from=2025-11-19&date_to=2025-11-20";
    story.get_as(reading, &token).await.ok();
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    story.platform.identity.disable_account(&ada).await.expect("disabled");
    assert_eq!(story.get_as(reading, &token).await.status, 401);
}
