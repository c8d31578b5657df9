//! The security log: what is written to it, and who reads it.

use api::ClientAddress;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::Role;

use crate::browser::Browser;
use crate::common::{Answer, PASSWORD, Story, text};
use crate::totp::{STEP_MS, TOTP, code};

const LOG: &str = "/integration/v1/security/events";
const MINUTE_MS: i64 = 60_000;
const HERE: &str = "192.0.2.7";

async fn from_here(story: &Story, method: &str, path: &str, token: &str, body: Value) -> Answer {
    let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let mut request = request.header("content-type", "application/json").body(body).expect("a request");
    request.extensions_mut().insert(ClientAddress(Some(HERE.parse().expect("an address"))));
    story.send(request).await
}

async fn log_in(story: &Story, email: &str, password: &str) -> Answer {
    from_here(story, "POST", "/users/login", "", json!({"email": email, "password": password})).await
}

/// Events of a type, without their times.
async fn events(story: &Story, root: &str, event_type: &str) -> Vec<Value> {
    let answer = story.get_as(&format!("{LOG}?event_type={event_type}"), root).await.ok();
    let mut events = answer["events"].as_array().expect("a list").clone();
    for event in &mut events {
        assert_eq!(event["type"], event_type);
        assert!(text(&event["time"]).starts_with("2025-11-20T"), "{event}");
    }
    events
}

#[tokio::test]
async fn logins_are_written_down_without_names() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    let before = events(&story, &root, "login_succeeded").await.len();

    log_in(&story, "ada@example.org", PASSWORD).await.ok();
    log_in(&story, "grace@example.org", PASSWORD).await.ok();
    let good = events(&story, &root, "login_succeeded").await.split_off(before);
    let who = |event: &Value| (event["actor"].clone(), event["actor_role"].clone(), event["address"].clone());
    let expected = [(json!(ada.as_str()), "researcher"), (json!(grace.uuid), "patient")];
    assert_eq!(good.iter().map(who).collect::<Vec<_>>(), expected.map(|(id, role)| (id, json!(role), json!(HERE))));
    assert!(good.iter().all(|event| event["detail"] == "users" && event["count"] == 1), "{good:?}");

    for email in ["grace@example.org", "nobody@example.org", "Nobody@example.org ", "somebody@example.org"] {
        assert_eq!(log_in(&story, email, "not the password").await.error(), (401, "unauthenticated"), "{email}");
    }
    let failed = events(&story, &root, "login_failed").await;
    assert_eq!(failed.len(), 3, "the same name again is counted and comes later: {failed:?}");
    assert_eq!((&failed[0]["subject"], &failed[0]["name_hash"]), (&json!(grace.uuid), &Value::Null));
    assert!(failed.iter().all(|event| event["actor"].is_null() && event["address"] == HERE), "{failed:?}");
    let (nobody, somebody) = (text(&failed[1]["name_hash"]), text(&failed[2]["name_hash"]));
    assert!(nobody.len() == 32 && somebody.len() == 32 && nobody != somebody, "{failed:?}");
    assert!(failed[1..].iter().all(|event| event["subject"].is_null()));
    let all = story.get_as(LOG, &root).await.ok().to_string();
    assert!(!all.contains("example.org"), "{all}");

    story.pass_ms(MINUTE_MS);
    assert_eq!(log_in(&story, "another@example.org", "not the password").await.error(), (401, "unauthenticated"));
    let counted = events(&story, &root, "login_failed").await.split_off(3);
    assert_eq!(counted.len(), 2);
    let again = counted.iter().find(|event| event["name_hash"] == nobody).expect("the one that came again");
    assert_eq!(again["count"], 1, "as often as it came again");
}

#[tokio::test]
async fn vouchers_that_activate_nobody_are_written_down_without_the_voucher() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    let unused = story.post_as(&format!("/integration/v1/groups/{group}/patients"), &key, Value::Null).await.ok();
    let activate = async |code: &str| {
        let body = json!({"code": code, "password": "a password of an hour", "email": "mallory@example.org"});
        from_here(&story, "POST", "/users/activate", "", body).await
    };
    for _ in 0..2 {
        assert_eq!(activate("NOBODYS1").await.error(), (404, "voucher_not_found"));
    }
    assert_eq!(activate("nobodys2 ").await.error(), (404, "voucher_not_found"));
    assert_eq!(activate(&grace.code).await.error(), (409, "voucher_used"));
    story.pass_ms(91 * 24 * 60 * MINUTE_MS);
    assert_eq!(activate(&text(&unused["code"])).await.error(), (409, "voucher_expired"));

    let all = story.get_as(&format!("{LOG}?event_type=activation_failed"), &root).await.ok();
    let all = all["events"].as_array().expect("a list");
    let shown: Vec<(&Value, &Value, &Value)> =
        all.iter().map(|event| (&event["subject"], &event["detail"], &event["count"])).collect();
    let (one, none) = (json!(1), Value::Null);
    let (used, expired) = (json!(grace.uuid), unused["uuid"].clone());
    let (used_why, expired_why) = (json!("used"), json!("expired"));
    let mut expected = vec![(&none, &none, &one), (&none, &none, &one), (&used, &used_why, &one)];
    // The second try of the same voucher, once its minute was over.
    expected.extend([(&none, &none, &one), (&expired, &expired_why, &one)]);
    assert_eq!(shown, expected);
    let hashes: Vec<String> = all[..2].iter().map(|event| text(&event["name_hash"])).collect();
    assert!(hashes[0] != hashes[1] && hashes.iter().all(|hash| hash.len() == 32), "{hashes:?}");
    assert!(all.iter().all(|event| event["actor"].is_null() && event["address"] == HERE), "{all:?}");
    let written = story.get_as(LOG, &root).await.ok().to_string().to_uppercase();
    for secret in ["NOBODYS", &grace.code, &text(&unused["code"]), "EXAMPLE.ORG", "PASSWORD OF AN HOUR"] {
        assert!(!written.contains(secret), "{secret}: {written}");
    }
}

#[tokio::test]
async fn refused_api_keys_are_written_down_without_the_key() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let identity = &story.platform.identity;
    let account = identity.account_by_email("ada@example.org").await.expect("an account");
    let id = identity.api_keys(&account).await.expect("keys")[0].id.clone();
    let groups = async |key: &str| from_here(&story, "GET", "/integration/v1/groups", key, Value::Null).await;
    groups(&key).await.ok();
    for guess in 0..20 {
        assert_eq!(groups(&format!("pwk_guess{guess}")).await.error(), (401, "unauthenticated"));
    }
    let board = from_here(&story, "GET", "/portal/api/groups/JYVPQ/board", "pwk_guess", Value::Null).await;
    assert_eq!(board.error(), (401, "unauthenticated"));
    identity.revoke_api_key(&id).await.expect("revoked");
    for _ in 0..3 {
        assert_eq!(groups(&key).await.error(), (401, "unauthenticated"));
    }
    let parts = |event: &Value| (event["detail"].clone(), event["subject"].clone(), event["count"].clone());
    let refused = events(&story, &root, "api_key_refused").await;
    let first = [(json!("unknown"), Value::Null, json!(1)), (json!("revoked"), json!(id.as_str()), json!(1))];
    assert_eq!(refused.iter().map(parts).collect::<Vec<_>>(), first);
    assert!(refused.iter().all(|event| event["address"] == HERE && event["actor"].is_null()), "{refused:?}");
    story.pass_ms(MINUTE_MS);
    identity.disable_account(&account).await.expect("disabled");
    assert_eq!(groups("pwk_again").await.error(), (401, "unauthenticated"));
    let mut counted: Vec<_> = events(&story, &root, "api_key_refused").await[2..].iter().map(parts).collect();
    counted.sort_by_key(|(detail, _, count)| (detail.to_string(), std::cmp::Reverse(count.as_i64())));
    let again = [
        (json!("revoked"), json!(id.as_str()), json!(2)),
        (json!("unknown"), Value::Null, json!(20)),
        (json!("unknown"), Value::Null, json!(1)),
    ];
    assert_eq!(counted, again, "the same within a minute is counted");
    let all = story.get_as(LOG, &root).await.ok().to_string();
    assert!(!all.contains("pwk_"), "{all}");
}

#[tokio::test]
async fn credentials_and_resets_are_written_down() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let identity = &story.platform.identity;
    let account = identity.account_by_email("ada@example.org").await.expect("an account");
    let ada = json!(account.uuid.as_str());
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    let of_grace = |what: &str| format!("/integration/v1/patients/{}{what}", grace.uuid);

    story.get_as(&of_grace("/health-token"), &key).await.ok();
    story.post_as(&of_grace("/reset-password"), &key, json!({"password": "chosen by staff"})).await.done();
    for (event_type, actor) in [("health_token_issued", &ada), ("password_reset", &ada)] {
        let [event] = &events(&story, &root, event_type).await[..] else { panic!("one {event_type}") };
        assert_eq!((&event["actor"], &event["subject"]), (actor, &json!(grace.uuid)), "{event_type}");
    }
    let body = json!({"email": "grace@example.org", "password": "chosen by staff", "new_password": "chosen by grace"});
    story.post("/users/login", body).await.ok();
    assert_eq!(events(&story, &root, "password_changed").await[0]["actor"], grace.uuid);

    let keys_before = events(&story, &root, "api_key_created").await.len();
    let made = browser.ask(&story, "POST", "/portal/api/keys", json!({"name": "Notebook"})).await;
    let id = text(&made.body["id"]);
    browser.ask(&story, "DELETE", &format!("/portal/api/keys/{id}"), Value::Null).await.done();
    browser.ask(&story, "DELETE", &format!("/portal/api/keys/{id}"), Value::Null).await.done();
    let created = events(&story, &root, "api_key_created").await.split_off(keys_before);
    let revoked = events(&story, &root, "api_key_revoked").await;
    for list in [&created, &revoked] {
        let [event] = &list[..] else { panic!("one each, also when a key is revoked twice: {list:?}") };
        assert_eq!((&event["actor"], &event["subject"]), (&ada, &json!(id)));
    }

    let secret = text(&browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    let body = json!({"code": code(&secret, story.now_ms())});
    let recovery = browser.ask(&story, "PUT", TOTP, body).await.ok()["recovery_codes"][0].clone();
    story.pass_ms(STEP_MS);
    let sign_in = json!({"email": "ada@example.org", "password": PASSWORD, "totp": "000000"});
    assert_eq!(from_here(&story, "POST", "/portal/session", "", sign_in).await.status, 401);
    let sign_in = json!({"email": "ada@example.org", "password": PASSWORD, "totp": recovery});
    from_here(&story, "POST", "/portal/session", "", sign_in).await.ok();
    browser.ask(&story, "POST", "/portal/api/totp/recovery-codes", json!({"password": PASSWORD})).await.ok();
    browser.ask(&story, "DELETE", TOTP, json!({"password": PASSWORD})).await.done();
    let of_factor = [
        "second_factor_set",
        "second_factor_failed",
        "recovery_code_used",
        "recovery_codes_made",
        "second_factor_removed",
    ];
    for event_type in of_factor {
        let [event] = &events(&story, &root, event_type).await[..] else { panic!("one {event_type}") };
        assert_eq!(event["subject"], ada, "{event_type}");
    }
    let portal = events(&story, &root, "login_succeeded").await.pop().expect("a login");
    assert_eq!((&portal["detail"], &portal["address"], &portal["actor"]), (&json!("portal"), &json!(HERE), &ada));

    identity
        .change_role(&identity.account_by_email("root@example.org").await.expect("root"), Role::Admin)
        .await
        .expect("no change");
    let hal = story.key_of("hal@example.org", Role::Hcp).await;
    let hal_account = identity.account_by_email("hal@example.org").await.expect("an account");
    identity.change_role(&hal_account, Role::Researcher).await.expect("changed");
    identity.reset_account_password(&hal_account, None).await.expect("reset");
    identity.disable_account(&hal_account).await.expect("disabled");
    let disabled = identity.account_by_email("hal@example.org").await.expect("an account");
    identity.disable_account(&disabled).await.expect("disabled already");
    identity.enable_account(&disabled).await.expect("enabled");
    for (event_type, detail) in [
        ("account_created", json!("hcp")),
        ("role_changed", json!("researcher")),
        ("password_reset", Value::Null),
        ("account_disabled", Value::Null),
        ("account_enabled", Value::Null),
    ] {
        let all = events(&story, &root, event_type).await;
        let of_hal: Vec<&Value> = all.iter().filter(|event| event["subject"] == hal_account.uuid.as_str()).collect();
        let [event] = of_hal[..] else { panic!("one {event_type}: {all:?}") };
        assert_eq!((&event["actor_role"], &event["detail"]), (&json!("operator"), &detail), "{event_type}");
    }
    assert_eq!(story.get_as("/integration/v1/groups", &hal).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn what_is_denied_is_written_once_a_minute_with_its_count() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;
    let eve = story.key_of("eve@example.org", Role::Researcher).await;
    let eve_uuid = story.platform.identity.account_by_email("eve@example.org").await.expect("an account").uuid;
    let summary = format!("/integration/v1/patients/{}/summary/2025-11-20", grace.uuid);
    let denied = async |times: usize| {
        for _ in 0..times {
            assert_eq!(from_here(&story, "GET", &summary, &eve, Value::Null).await.error(), (403, "forbidden"));
        }
    };
    denied(50).await;
    let [event] = &events(&story, &root, "access_denied").await[..] else { panic!("one") };
    let expected = (json!(eve_uuid.as_str()), json!("researcher"), json!(HERE), json!(1));
    let found = (&event["actor"], &event["actor_role"], &event["address"], &event["count"]);
    assert_eq!(found, (&expected.0, &expected.1, &expected.2, &expected.3));
    assert_eq!(event["detail"], "GET /integration/v1/patients/{uuid}/summary/{date}", "the route and not the path");
    story.pass_ms(MINUTE_MS);
    denied(1).await;
    let all = events(&story, &root, "access_denied").await;
    assert_eq!(all.iter().map(|event| event["count"].as_i64()).collect::<Vec<_>>(), [Some(1), Some(49), Some(1)]);

    // Nothing of that is on the way of what is allowed, and a credential that is not valid is no refusal of a right.
    story.sync(&grace, json!({"activity": {"timestamp": [story.now_ms()], "bpm": [60]}})).await;
    assert_eq!(story.get_as(&summary, "rubbish").await.error(), (401, "unauthenticated"));
    assert_eq!(events(&story, &root, "access_denied").await.len(), 3);
    // A reader's token is refused as the account that reads.
    let path = format!("/integration/v1/patients/{}/health-token", grace.uuid);
    let reader = text(&story.get_as(&path, &key).await.ok()["token"]);
    assert_eq!(story.post_as("/health/v1/sync", &reader, json!({"data": {}})).await.error(), (403, "forbidden"));
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let last = events(&story, &root, "access_denied").await.pop().expect("an event");
    assert_eq!((&last["actor"], &last["detail"]), (&json!(ada.as_str()), &json!("POST /health/v1/sync")));
}

#[tokio::test]
async fn log_is_read_page_by_page_by_administrators_alone() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let ada = story.key_of("ada@example.org", Role::Researcher).await;
    let read = async |query: &str| story.get_as(&format!("{LOG}?{query}"), &root).await;
    assert_eq!(story.get_as(LOG, &ada).await.error(), (403, "forbidden"));
    assert_eq!(story.get(LOG).await.error(), (401, "unauthenticated"));

    let whole = read("").await.ok();
    assert_eq!(whole["more"], false);
    let whole = whole["events"].as_array().expect("a list").clone();
    assert!(whole.len() >= 5, "accounts, keys, and who was denied: {whole:?}");
    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page = read(&format!("limit=2&after={after}")).await.ok();
        let events = page["events"].as_array().expect("a list").clone();
        paged.extend(events);
        after = text(&page["next"]);
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(paged, whole);
    assert_eq!(read(&format!("after={after}")).await.ok()["events"], json!([]), "nothing is new");
    story.pass_ms(1000);
    log_in(&story, "ada@example.org", PASSWORD).await.ok();
    let new = read(&format!("after={after}")).await.ok();
    assert_eq!(
        (new["events"].as_array().map(Vec::len), &new["events"][0]["type"]),
        (Some(1), &json!("login_succeeded"))
    );
    let now_ms = story.now_ms();
    assert_eq!(read(&format!("from={now_ms}&to={now_ms}")).await.ok()["events"], new["events"]);
    assert_eq!(read(&format!("to={}", now_ms - 1)).await.ok()["events"], json!(whole));

    for (query, field) in [
        ("after=rubbish", "after"),
        ("after=other.1", "after"),
        ("event_type=login", "event_type"),
        ("from=2&to=1", "to"),
    ] {
        let answer = read(query).await;
        assert_eq!(answer.error(), (422, "invalid"), "{query}");
        assert!(answer.body["errors"][field].is_array(), "{query}: {answer:?}");
    }
    assert_eq!(read("limit=x").await.error(), (400, "malformed_parameter"));
}

#[tokio::test]
async fn events_are_kept_as_long_as_they_are_to_be() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let count = async || story.get_as(LOG, &root).await.ok()["events"].as_array().map(Vec::len).unwrap_or_default();
    let before = count().await;
    story.pass_ms(364 * 86_400_000);
    log_in(&story, "root@example.org", PASSWORD).await.ok();
    story.platform.identity.tidy_identity().await.expect("tidied");
    assert_eq!(count().await, before + 1);
    story.pass_ms(2 * 86_400_000);
    story.platform.identity.tidy_identity().await.expect("tidied");
    assert_eq!(count().await, 1, "those of a year ago go");
}

#[tokio::test]
async fn right_password_without_a_code_is_written_down() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let secret = text(&browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    browser.ask(&story, "PUT", TOTP, json!({"code": code(&secret, story.now_ms())})).await.ok();
    let sign_in = json!({"email": "ada@example.org", "password": PASSWORD});
    for _ in 0..3 {
        let answer = from_here(&story, "POST", "/portal/session", "", sign_in.clone()).await;
        assert_eq!(answer.error(), (401, "totp_required"));
    }
    let [event] = &events(&story, &root, "second_factor_asked").await[..] else { panic!("the first at once") };
    assert_eq!(
        (&event["subject"], &event["address"], &event["count"]),
        (&json!(ada.as_str()), &json!(HERE), &json!(1))
    );
    story.pass_ms(MINUTE_MS);
    assert_eq!(from_here(&story, "POST", "/portal/session", "", sign_in).await.status, 401);
    let counts: Vec<Value> =
        events(&story, &root, "second_factor_asked").await.iter().map(|event| event["count"].clone()).collect();
    assert_eq!(counts, [1, 2, 1].map(|count| json!(count)));
}

#[tokio::test]
async fn wrong_present_passwords_are_written_down_and_slowed() {
    let story = Story::begin().await;
    let root = story.key_of("root@example.org", Role::Admin).await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let ada = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"email": "grace@example.org"})).await;
    let wrong = "not the password";
    let change = json!({"password": wrong, "new_password": "another long password"});
    let of_grace = [
        ("PATCH", "/users/me", json!({"email": "other@example.org", "password": wrong})),
        ("POST", "/users/auth/password", change),
    ];
    for (method, path, body) in &of_grace {
        let answer = from_here(&story, method, path, &grace.users_token, body.clone()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{path}: {answer:?}");
    }
    let of_ada = [
        ("PUT", "/portal/api/account/password", json!({"current": wrong, "new": "another long password"})),
        ("DELETE", TOTP, json!({"password": wrong})),
        ("POST", "/portal/api/totp/recovery-codes", json!({"password": wrong})),
    ];
    for (method, path, body) in &of_ada {
        let answer = browser.ask(&story, method, path, body.clone()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{path}: {answer:?}");
    }
    story.pass_ms(MINUTE_MS);
    // Whose password it is and where from, at once and counted after the minute.
    assert_eq!(log_in(&story, "nobody@example.org", wrong).await.status, 401);
    let failed = events(&story, &root, "login_failed").await;
    let of = |subject: &str| {
        let of_subject = failed.iter().filter(|event| event["subject"] == subject);
        of_subject
            .map(|event| {
                assert_eq!(event["detail"], "present_password", "{event}");
                event["count"].as_i64().unwrap_or_default()
            })
            .sum::<i64>()
    };
    assert_eq!((of(&grace.uuid), of(ada.as_str())), (2, 3), "{failed:?}");
    assert!(failed.iter().any(|event| event["subject"] == *grace.uuid && event["address"] == HERE), "{failed:?}");
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let (method, path, body) = &of_grace[1];
        statuses.push(from_here(&story, method, path, &grace.users_token, body.clone()).await.status.as_u16());
    }
    assert_eq!(statuses, [422, 422, 422, 429, 429, 429], "five are free");
}
