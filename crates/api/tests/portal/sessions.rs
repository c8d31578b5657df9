//! The life of a session: how it begins, what keeps it open, what ends it, and what others cannot do with it.

use serde_json::{Value, json};
use store::Role;

use crate::browser::{Browser, pair_and_attributes};
use crate::common::{PASSWORD, START_MS, Story, text};

const MINUTE_MS: i64 = 60_000;
const SESSION: &str = "/portal/session";
const PEEK: &str = "/portal/session?peek=1";

#[tokio::test]
async fn signing_in_answers_who_it_is_and_sets_a_cookie_that_scripts_cannot_read() {
    let story = Story::begin().await;
    story.key_of("ada@example.org", Role::Researcher).await;
    let answer = story.post(SESSION, json!({"email": " Ada@example.org", "password": PASSWORD})).await;
    let cookie = answer.header("set-cookie").to_owned();
    let (pair, attributes) = pair_and_attributes(&cookie);
    assert!(pair.strip_prefix("pulseward_session=").is_some_and(|value| value.len() == 43), "{pair}");
    assert_eq!(attributes, ["HttpOnly", "Path=/", "SameSite=Strict"], "http, as the address of this story");
    assert_eq!(answer.header("cache-control"), "no-store");
    let session = answer.ok();
    assert_eq!(session["account"]["email"], "ada@example.org");
    assert_eq!(session["account"]["role"], "researcher");
    assert_eq!(session["account"]["has_subscription"], true);
    assert_eq!(session["account"]["subscription_until"], "2025-12-20T00:53:20.000Z");
    assert_eq!((&session["idle_s"], &session["ends_at"]), (&json!(900), &json!("2025-11-20T12:53:20.000Z")));
    assert_eq!((&session["must_change_password"], &session["totp"]), (&json!(false), &json!(false)));
    assert!(!pair.contains(session["csrf_token"].as_str().expect("a token")));

    let browser = Browser { cookie: pair.to_owned(), csrf: text(&session["csrf_token"]) };
    assert_eq!(browser.get(&story, SESSION).await.ok(), session);
    let own = format!("/integration/v1/patients/audit/logs?from={START_MS}&to={START_MS}");
    let entries = browser.ask(&story, "GET", &own, Value::Null).await.ok();
    assert_eq!(entries[0]["action_type"], "USER_LOGIN", "{entries}");
}

#[tokio::test]
async fn false_credentials_learn_nothing() {
    let story = Story::begin().await;
    let (_, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    story.patient(&key, &group, json!({"email": "rita@example.org"})).await;
    let mut reported = Vec::new();
    for email in ["ada@example.org", "nobody@example.org", "rita@example.org"] {
        let password = if email == "rita@example.org" { PASSWORD } else { "wrong horse battery" };
        let answer = story.post(SESSION, json!({"email": email, "password": password})).await;
        assert_eq!(answer.error(), (401, "invalid_credentials"), "{email}");
        assert_eq!(answer.header("set-cookie"), "");
        reported.push(answer.body);
    }
    assert!(reported.iter().all(|body| *body == reported[0]));
    assert_eq!(story.post(SESSION, json!({"email": "ada@example.org"})).await.error(), (422, "invalid"));
    assert_eq!(story.get(SESSION).await.error(), (401, "session_expired"));
}

#[tokio::test]
async fn absent_session_is_no_content_where_one_is_optional() {
    let story = Story::begin().await;
    let optional = "/portal/session?optional=1";
    story.get(optional).await.done();
    assert_eq!(story.get("/portal/session?optional=0").await.error(), (401, "session_expired"));
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    assert_eq!(browser.get(&story, optional).await.ok()["account"]["email"], "ada@example.org");
    browser.ask(&story, "DELETE", SESSION, Value::Null).await.done();
    browser.get(&story, optional).await.done();
    assert_eq!(browser.get(&story, SESSION).await.error(), (401, "session_expired"));
}

#[tokio::test]
async fn guessing_is_slowed_together_with_other_logins() {
    let story = Story::begin().await;
    story.key_of("ada@example.org", Role::Researcher).await;
    for path in ["/users/login", SESSION, "/users/login", SESSION, SESSION] {
        let answer = story.post(path, json!({"email": "ada@example.org", "password": "wrong horse battery"})).await;
        assert_eq!(answer.status, 401, "{path}");
    }
    let answer = story.post(SESSION, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    assert_eq!(answer.error(), (429, "too_many_requests"));
    assert_eq!(answer.header("retry-after"), "1");
    story.pass_ms(1000);
    Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
}

#[tokio::test]
async fn a_session_is_locked_when_nobody_uses_it_and_ends_in_any_case() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    story.pass_ms(15 * MINUTE_MS - 1);
    browser.get(&story, PEEK).await.ok();
    browser.get(&story, "/portal/api/account").await.ok();
    story.pass_ms(14 * MINUTE_MS);
    browser.ask(&story, "GET", "/integration/v1/groups", Value::Null).await.ok();
    story.pass_ms(14 * MINUTE_MS);
    for _ in 0..3 {
        browser.get(&story, PEEK).await.ok();
        browser.ask(&story, "GET", "/integration/v1/groups?peek=1", Value::Null).await.ok();
    }
    story.pass_ms(MINUTE_MS);
    assert_eq!(browser.get(&story, PEEK).await.error(), (401, "session_expired"), "asking is no use");
    assert_eq!(browser.get(&story, SESSION).await.error(), (401, "session_expired"));

    let browser = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    for _ in 0..71 {
        story.pass_ms(10 * MINUTE_MS);
        browser.get(&story, SESSION).await.ok();
    }
    story.pass_ms(10 * MINUTE_MS - 1);
    browser.get(&story, SESSION).await.ok();
    story.pass_ms(1);
    assert_eq!(browser.get(&story, SESSION).await.error(), (401, "session_expired"), "twelve hours are over");
}

#[tokio::test]
async fn signing_out_ends_it_for_every_copy_of_the_cookie() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let other = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let answer = browser.ask(&story, "DELETE", SESSION, Value::Null).await;
    let (pair, attributes) = pair_and_attributes(answer.header("set-cookie"));
    assert_eq!(pair, "pulseward_session=");
    assert_eq!(attributes, ["HttpOnly", "Max-Age=0", "Path=/", "SameSite=Strict"]);
    answer.done();
    assert_eq!(browser.get(&story, SESSION).await.error(), (401, "session_expired"));
    assert_eq!(browser.ask(&story, "DELETE", SESSION, Value::Null).await.error(), (401, "session_expired"));
    other.get(&story, SESSION).await.ok();
}

#[tokio::test]
async fn another_site_can_do_nothing_with_the_cookie() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let other = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let group = json!({"name": "Sleep", "description": ""});
    for csrf in ["", "rubbish", &other.csrf, &browser.csrf[1..]] {
        for (method, path, body) in [
            ("DELETE", SESSION, Value::Null),
            ("POST", "/portal/api/keys", json!({"name": "a"})),
            ("PUT", "/portal/api/account/password", json!({"current": PASSWORD, "new": "another long password"})),
            ("GET", "/integration/v1/groups", Value::Null),
            ("POST", "/integration/v1/groups", group.clone()),
        ] {
            let answer = browser.ask_with(&story, method, path, csrf, body).await;
            assert_eq!(answer.error(), (403, "csrf"), "{method} {path} with `{csrf}`");
        }
        browser.ask_with(&story, "GET", "/portal/api/account", csrf, Value::Null).await.ok();
    }
    browser.ask(&story, "POST", "/integration/v1/groups", group).await.ok();
    assert_eq!(
        browser.ask(&story, "GET", "/integration/v1/groups", Value::Null).await.ok().as_array().map(Vec::len),
        Some(1)
    );
}

#[tokio::test]
async fn a_key_is_used_before_the_cookie_and_opens_no_page() {
    let story = Story::begin().await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let answer = browser.ask(&story, "GET", "/integration/v1/groups?token=rubbish", Value::Null).await;
    assert_eq!(answer.error(), (401, "unauthenticated"));
    let answer = browser.ask_with(&story, "GET", &format!("/integration/v1/groups?token={key}"), "", Value::Null).await;
    answer.ok();
    assert_eq!(story.get_as("/portal/api/account", &key).await.error(), (401, "session_expired"));
    let twice = Browser { cookie: format!("{}; {}", browser.cookie, browser.cookie), ..browser };
    assert_eq!(twice.get(&story, SESSION).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn a_display_on_a_wall_reads_all_day_and_nothing_else() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = text(
        &browser.ask(&story, "POST", "/integration/v1/groups", json!({"name": "S", "description": ""})).await.ok()["code"],
    );
    let wall = json!({"email": "ada@example.org", "password": PASSWORD, "wall_display": true});
    let wall = Browser::sign_in(&story, wall).await;
    assert_eq!(wall.get(&story, SESSION).await.ok()["idle_s"], Value::Null);
    for (method, path, body) in [
        ("POST", "/integration/v1/groups".to_owned(), json!({"name": "T", "description": ""})),
        ("POST", format!("/integration/v1/groups/{group}/patients"), Value::Null),
        ("POST", "/portal/api/keys".to_owned(), json!({"name": "a"})),
        ("POST", "/portal/api/totp".to_owned(), Value::Null),
    ] {
        assert_eq!(wall.ask(&story, method, &path, body).await.error(), (403, "view_only"), "{method} {path}");
    }
    // Anyone who walks past can read it, and a code is all that an activation needs.
    let patients = format!("/integration/v1/groups/{group}/patients");
    let voucher = browser.ask(&story, "POST", &patients, Value::Null).await.ok();
    for fields in ["", "?fields[]=code"] {
        let read =
            async |reader: &Browser| reader.ask(&story, "GET", &format!("{patients}{fields}"), Value::Null).await.ok();
        assert_eq!(read(&browser).await[0]["code"], voucher["code"]);
        assert_eq!(read(&wall).await[0].get("code"), None);
    }
    story.pass_ms(12 * 60 * MINUTE_MS - 1);
    wall.ask(&story, "GET", "/integration/v1/groups", Value::Null).await.ok();
    assert_eq!(browser.get(&story, SESSION).await.error(), (401, "session_expired"));
    story.pass_ms(1);
    assert_eq!(wall.get(&story, SESSION).await.error(), (401, "session_expired"));
}

#[tokio::test]
async fn a_display_on_a_wall_can_be_signed_out() {
    let story = Story::begin().await;
    Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let wall = json!({"email": "ada@example.org", "password": PASSWORD, "wall_display": true});
    let wall = Browser::sign_in(&story, wall).await;
    assert_eq!(wall.ask_with(&story, "DELETE", SESSION, "", Value::Null).await.error(), (403, "csrf"));
    wall.ask(&story, "DELETE", SESSION, Value::Null).await.done();
    assert_eq!(wall.get(&story, SESSION).await.error(), (401, "session_expired"));
}

#[tokio::test]
async fn one_sees_and_ends_ones_own_sessions() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let (eve, _) = Browser::of(&story, "eve@example.org", Role::Researcher).await;
    story.pass_ms(MINUTE_MS);
    let other = Browser::sign_in(&story, json!({"email": "ada@example.org", "password": PASSWORD})).await;
    let list = browser.get(&story, "/portal/api/sessions").await.ok();
    let list = list.as_array().expect("a list");
    let current: Vec<bool> = list.iter().map(|session| session["current"].as_bool().expect("a flag")).collect();
    assert_eq!(current, [true, false]);
    assert_eq!(list[0]["last_seen_at"], "2025-11-20T00:54:20.000Z", "asking for the list was a use");
    let id = text(&list[1]["id"]);
    let path = format!("/portal/api/sessions/{id}");
    assert_eq!(eve.ask(&story, "DELETE", &path, Value::Null).await.error(), (404, "session_not_found"));
    browser.ask(&story, "DELETE", &path, Value::Null).await.done();
    assert_eq!(other.get(&story, SESSION).await.error(), (401, "session_expired"));
    assert_eq!(browser.get(&story, "/portal/api/sessions").await.ok().as_array().map(Vec::len), Some(1));
}
