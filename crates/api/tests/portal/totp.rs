//! The second factor, with an app of our own that knows the secret and the time.

use serde_json::{Value, json};
use store::Role;

use crate::browser::Browser;
use crate::common::{PASSWORD, Story, text};
pub use crate::totp_code::{STEP_MS, code};

pub const TOTP: &str = "/portal/api/totp";

async fn sign_in(story: &Story, code: Option<&str>) -> (u16, String) {
    let mut body = json!({"email": "ada@example.org", "password": PASSWORD});
    if let Some(code) = code {
        body["totp"] = json!(code);
    }
    let answer = story.post("/portal/session", body).await;
    (answer.status.as_u16(), answer.body["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_second_factor_is_asked_for_once_it_is_confirmed_and_a_code_works_once() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let first = browser.ask(&story, "POST", TOTP, Value::Null).await.ok();
    let made = browser.ask(&story, "POST", TOTP, Value::Null).await.ok();
    assert_ne!(first["secret"], made["secret"]);
    let secret = text(&made["secret"]);
    assert_eq!(secret.len(), 32);
    let url = format!("otpauth://totp/Pulseward:ada@example.org?secret={secret}&issuer=Pulseward");
    assert_eq!(made["otpauth_url"], url);
    assert_eq!(sign_in(&story, None).await.0, 200, "not before a first code");

    let credentials = json!({"email": "ada@example.org", "password": PASSWORD});
    let token = text(&story.post("/users/login", credentials.clone()).await.ok()["token"]);
    let elsewhere = Browser::sign_in(&story, credentials.clone()).await;
    let now = || code(&secret, story.now_ms());
    let old = code(&text(&first["secret"]), story.now_ms());
    let answer = browser.ask(&story, "PUT", TOTP, json!({"code": old})).await;
    assert_eq!(answer.error(), (422, "invalid"), "of the secret that was replaced");
    browser.ask(&story, "PUT", TOTP, json!({"code": now()})).await.ok();
    assert_eq!(browser.get(&story, "/portal/session").await.ok()["totp"], true);
    assert_eq!(elsewhere.get(&story, "/portal/session").await.status, 401, "signed in without a code");
    assert_eq!(story.get_as("/users/me", &token).await.status, 401, "signed in without a code");
    assert_eq!(browser.ask(&story, "POST", TOTP, Value::Null).await.error(), (409, "totp_is_set"));

    assert_eq!(sign_in(&story, None).await, (401, "totp_required".to_owned()));
    // Tokens of the Users Cloud change passwords and erase accounts, and its login asks for no code.
    for body in [
        json!({"email": "ada@example.org", "password": PASSWORD}),
        json!({"email": "ada@example.org", "password": PASSWORD, "new_password": "another long password"}),
    ] {
        assert_eq!(story.post("/users/login", body).await.error(), (403, "forbidden"));
    }
    let refused = (401, "invalid_credentials".to_owned());
    assert_eq!(sign_in(&story, Some(&now())).await, refused, "the code that confirmed it");
    story.pass_ms(STEP_MS);
    let used = now();
    assert_eq!(sign_in(&story, Some(&used)).await.0, 200);
    assert_eq!(sign_in(&story, Some(&used)).await, refused);
    story.pass_ms(2 * STEP_MS);
    assert_eq!(sign_in(&story, Some(&used)).await, refused);

    let wrong = browser.ask(&story, "DELETE", TOTP, json!({"password": "wrong horse battery"})).await;
    assert_eq!(wrong.error(), (422, "invalid"));
    browser.ask(&story, "DELETE", TOTP, json!({"password": PASSWORD})).await.done();
    assert_eq!(sign_in(&story, None).await.0, 200);
    let answer = browser.ask(&story, "DELETE", TOTP, json!({"password": PASSWORD})).await;
    assert_eq!(answer.error(), (404, "second_factor_not_found"));
}

#[tokio::test]
async fn clocks_may_differ_by_a_step_and_no_more() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let secret = text(&browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    browser.ask(&story, "PUT", TOTP, json!({"code": code(&secret, story.now_ms())})).await.ok();
    story.pass_ms(10 * STEP_MS);
    for (steps, status) in [(-2, 401), (2, 401), (-1, 200), (1, 200)] {
        let given = code(&secret, story.now_ms() + steps * STEP_MS);
        assert_eq!(sign_in(&story, Some(&given)).await.0, status, "{steps}");
    }
    let passed_over = code(&secret, story.now_ms());
    assert_eq!(sign_in(&story, Some(&passed_over)).await.0, 401, "a later one was used");
}

#[tokio::test]
async fn guessing_codes_is_slowed_although_the_password_is_right() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let secret = text(&browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    browser.ask(&story, "PUT", TOTP, json!({"code": code(&secret, story.now_ms())})).await.ok();
    story.pass_ms(STEP_MS);
    for _ in 0..5 {
        assert_eq!(sign_in(&story, Some("no code")).await.0, 401);
    }
    assert_eq!(sign_in(&story, Some(&code(&secret, story.now_ms()))).await, (429, "too_many_requests".to_owned()));
    story.pass_ms(1000);
    assert_eq!(sign_in(&story, Some(&code(&secret, story.now_ms()))).await.0, 200);
}
