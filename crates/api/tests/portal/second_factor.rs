//! The second factor with everything else: forms of a code, other accounts, other sessions, a new password.

use serde_json::{Value, json};
use store::{PortalSessionId, Role, TotpConfirmation};

use crate::browser::Browser;
use crate::common::{Answer, PASSWORD, Story, text};
use crate::totp::{STEP_MS, TOTP, code};

const SESSION: &str = "/portal/session";
const RECOVERY: &str = "/portal/api/totp/recovery-codes";
const NEW: &str = "another long password";

/// An account with a second factor, and the browser in which it was set up.
struct Guarded {
    browser: Browser,
    email: &'static str,
    secret: String,
    /// Its recovery codes, as they were shown.
    recovery: Vec<String>,
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(text).collect()
}

impl Guarded {
    async fn set_up(story: &Story, email: &'static str) -> Self {
        let (browser, _) = Browser::of(story, email, Role::Researcher).await;
        let secret = text(&browser.ask(story, "POST", TOTP, Value::Null).await.ok()["secret"]);
        let first = code(&secret, story.now_ms());
        let recovery = strings(&browser.ask(story, "PUT", TOTP, json!({ "code": first })).await.ok()["recovery_codes"]);
        // The code of this step is used up.
        story.pass_ms(STEP_MS);
        Guarded { browser, email, secret, recovery }
    }

    fn code(&self, story: &Story) -> String {
        code(&self.secret, story.now_ms())
    }

    async fn left(&self, story: &Story) -> Value {
        self.browser.get(story, RECOVERY).await.ok()["left"].clone()
    }

    async fn sign_in(&self, story: &Story, password: &str, code: Value) -> Answer {
        story.post(SESSION, json!({"email": self.email, "password": password, "totp": code})).await
    }
}

#[tokio::test]
async fn set_up_is_confirmed_by_six_digits_and_by_nothing_else() {
    let story = Story::begin().await;
    let (browser, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let early = browser.ask(&story, "PUT", TOTP, json!({"code": "123456"})).await;
    assert!(early.status.is_client_error(), "nothing was set up: {early:?}");
    let secret = text(&browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    let good = code(&secret, story.now_ms());
    let shifted = code(&secret, story.now_ms() + 5 * STEP_MS);
    for body in [
        json!({}),
        json!({"code": ""}),
        json!({ "code": shifted }),
        json!({ "code": &good[1..] }),
        json!({ "code": format!("{good}0") }),
        json!({"code": good.parse::<i64>().expect("digits")}),
        json!({"code": null}),
    ] {
        let answer = browser.ask(&story, "PUT", TOTP, body.clone()).await;
        // After five wrong ones there is a wait, for those who guess here as well.
        assert!(matches!(answer.status.as_u16(), 422 | 429), "{body}: {answer:?}");
        assert_eq!(browser.get(&story, SESSION).await.ok()["totp"], false, "{body}");
    }
    story.pass_ms(STEP_MS);
    let now = code(&secret, story.now_ms());
    let in_groups = format!("{} {}", &now[..3], &now[3..]);
    browser.ask(&story, "PUT", TOTP, json!({ "code": in_groups })).await.ok();
    assert_eq!(browser.get(&story, SESSION).await.ok()["totp"], true, "as apps show it, in two groups");
}

#[tokio::test]
async fn code_of_another_account_opens_nothing() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let bea = Guarded::set_up(&story, "bea@example.org").await;
    assert_ne!(ada.secret, bea.secret);
    let answer = ada.sign_in(&story, PASSWORD, json!(bea.code(&story))).await;
    assert_eq!(answer.error(), (401, "invalid_credentials"));
    assert_eq!(bea.sign_in(&story, PASSWORD, json!(bea.code(&story))).await.status, 200, "nobody has used it");
    // One's own factor is removed with one's own password, and nobody else's is.
    bea.browser.ask(&story, "DELETE", TOTP, json!({ "password": PASSWORD })).await.done();
    assert_eq!(ada.sign_in(&story, PASSWORD, Value::Null).await.error(), (401, "totp_required"));
}

#[tokio::test]
async fn right_code_does_not_make_up_for_a_wrong_password() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let good = ada.code(&story);
    for password in ["wrong horse battery", "", NEW] {
        let answer = ada.sign_in(&story, password, json!(good)).await;
        assert!(matches!(answer.status.as_u16(), 401 | 422), "{answer:?}");
        assert_eq!(answer.header("set-cookie"), "");
        assert_ne!(answer.body["code"], "totp_required", "who has no password learns of no second factor");
    }
    let without = ada.sign_in(&story, "wrong horse battery", Value::Null).await;
    assert_eq!(without.error(), (401, "invalid_credentials"));
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(good)).await.status, 200, "the code was not used up by that");
}

#[tokio::test]
async fn new_password_leaves_the_second_factor_and_ends_the_other_browsers() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let signed_in = ada.sign_in(&story, PASSWORD, json!(ada.code(&story))).await;
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let other = Browser { cookie, csrf: text(&signed_in.ok()["csrf_token"]) };
    other.get(&story, SESSION).await.ok();
    let change = json!({"current": PASSWORD, "new": NEW});
    ada.browser.ask(&story, "PUT", "/portal/api/account/password", change).await.done();
    assert_eq!(other.get(&story, SESSION).await.error(), (401, "session_expired"));
    assert_eq!(ada.browser.get(&story, SESSION).await.ok()["totp"], true);
    story.pass_ms(STEP_MS);
    assert_eq!(ada.sign_in(&story, NEW, Value::Null).await.error(), (401, "totp_required"));
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(ada.code(&story))).await.error(), (401, "invalid_credentials"));
    assert_eq!(ada.sign_in(&story, NEW, json!(ada.code(&story))).await.status, 200);
}

#[tokio::test]
async fn removed_factor_is_gone_and_a_later_one_has_another_secret() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    ada.browser.ask(&story, "DELETE", TOTP, json!({ "password": PASSWORD })).await.done();
    assert_eq!(ada.browser.get(&story, SESSION).await.ok()["totp"], false);
    let stale = ada.code(&story);
    let answer = ada.browser.ask(&story, "PUT", TOTP, json!({ "code": stale })).await;
    assert!(answer.status.is_client_error(), "an old app confirms nothing: {answer:?}");
    let secret = text(&ada.browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    assert_ne!(secret, ada.secret);
    story.pass_ms(STEP_MS);
    let answer = ada.browser.ask(&story, "PUT", TOTP, json!({"code": ada.code(&story)})).await;
    assert_eq!(answer.error(), (422, "invalid"));
    let fresh = code(&secret, story.now_ms());
    ada.browser.ask(&story, "PUT", TOTP, json!({ "code": fresh })).await.ok();
}

#[tokio::test]
async fn one_browser_is_locked_while_another_is_used() {
    let story = Story::begin().await;
    let (first, _) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let credentials = json!({"email": "ada@example.org", "password": PASSWORD});
    let second = Browser::sign_in(&story, credentials.clone()).await;
    for _ in 0..3 {
        story.pass_ms(5 * 60_000);
        second.get(&story, SESSION).await.ok();
    }
    assert_eq!(first.get(&story, SESSION).await.error(), (401, "session_expired"));
    let listed = second.get(&story, "/portal/api/sessions").await.ok();
    let current: Vec<bool> =
        listed.as_array().expect("a list").iter().filter_map(|session| session["current"].as_bool()).collect();
    assert_eq!(current, [true], "one that is locked is no session any more");
    // The token of one browser's pages is of no use with the cookie of another.
    let third = Browser::sign_in(&story, credentials).await;
    let mixed = Browser { cookie: third.cookie.clone(), csrf: second.csrf.clone() };
    assert_eq!(mixed.ask(&story, "DELETE", SESSION, Value::Null).await.error(), (403, "csrf"));
    third.get(&story, SESSION).await.ok();
}

/// As after a restore without the master key: what is sealed was sealed with another one.
#[tokio::test]
async fn factor_that_the_master_key_does_not_open_says_what_to_do() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let users = story.platform.core.users();
    assert!(users.remove_totp(&account).await.expect("removed"));
    assert!(users.put_totp(&account, vec![7; 60]).await.expect("put"));
    let sessions = ada.browser.get(&story, "/portal/api/sessions").await.ok();
    let kept_session = PortalSessionId::new(text(&sessions[0]["id"]));
    let shown = TotpConfirmation { step: 1, recovery_codes: Vec::new(), kept_session };
    assert!(users.confirm_totp(&account, shown, story.now_ms()).await.expect("confirmed"));
    for _ in 0..3 {
        let answer = ada.sign_in(&story, PASSWORD, json!(ada.code(&story))).await;
        assert_eq!(answer.error(), (409, "second_factor_unreadable"));
        assert!(text(&answer.body["message"]).contains("admin remove-second-factor"), "{answer:?}");
        story.pass_ms(STEP_MS);
    }
    let wrong = ada.sign_in(&story, "wrong horse battery", json!("123456")).await;
    assert_eq!(wrong.error(), (401, "invalid_credentials"), "who has no password learns nothing");
    // Recovery codes need no master key.
    let new = ada.browser.ask(&story, "POST", RECOVERY, json!({ "password": PASSWORD })).await.ok();
    assert_eq!(ada.sign_in(&story, PASSWORD, new["recovery_codes"][0].clone()).await.status, 200);
    assert!(users.remove_totp(&account).await.expect("removed"));
    assert_eq!(ada.sign_in(&story, PASSWORD, Value::Null).await.status, 200);
}

#[tokio::test]
async fn recovery_code_signs_in_once_in_the_place_of_the_six_digits() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let bea = Guarded::set_up(&story, "bea@example.org").await;
    assert_eq!((ada.recovery.len(), ada.left(&story).await), (10, json!(10)));
    let all: std::collections::BTreeSet<&String> = ada.recovery.iter().chain(&bea.recovery).collect();
    assert_eq!(all.len(), 20, "no code is made twice");
    assert!(ada.recovery.iter().all(|code| code.len() == 19 && code.split('-').count() == 4), "{:?}", ada.recovery);

    let first = json!(ada.recovery[0]);
    assert_eq!(ada.sign_in(&story, "wrong horse battery", first.clone()).await.error(), (401, "invalid_credentials"));
    assert_eq!(bea.sign_in(&story, PASSWORD, first.clone()).await.error(), (401, "invalid_credentials"), "of another");
    assert_eq!(ada.sign_in(&story, PASSWORD, first.clone()).await.status, 200, "nothing before has used it up");
    assert_eq!(ada.left(&story).await, json!(9));
    assert_eq!(ada.sign_in(&story, PASSWORD, first).await.error(), (401, "invalid_credentials"), "once");
    let typed = ada.recovery[1].to_uppercase().replace('-', " ");
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(typed)).await.status, 200, "however it is typed");
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(ada.code(&story))).await.status, 200, "the app goes on");
    assert_eq!((ada.left(&story).await, bea.left(&story).await), (json!(8), json!(10)));

    // Nothing shows them again, and the store has only hashes of them.
    for path in [SESSION, RECOVERY, "/portal/api/account"] {
        assert!(!ada.browser.get(&story, path).await.ok().to_string().contains(&ada.recovery[2]), "{path}");
    }
}

#[tokio::test]
async fn new_recovery_codes_take_the_place_of_the_old_ones() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    let renew = async |password: &str| ada.browser.ask(&story, "POST", RECOVERY, json!({ "password": password })).await;
    let wrong = renew("not the password").await;
    assert_eq!(wrong.body["errors"], json!({"password": ["is not the present password"]}));
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(ada.recovery[0])).await.status, 200, "nothing was changed");
    let new = strings(&renew(PASSWORD).await.ok()["recovery_codes"]);
    assert_eq!((new.len(), ada.left(&story).await), (10, json!(10)));
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(ada.recovery[1])).await.error(), (401, "invalid_credentials"));
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(new[1])).await.status, 200);

    // They go with the second factor, and a later one has codes of its own.
    ada.browser.ask(&story, "DELETE", TOTP, json!({ "password": PASSWORD })).await.done();
    assert_eq!(renew(PASSWORD).await.error(), (404, "second_factor_not_found"));
    assert_eq!(ada.browser.get(&story, RECOVERY).await.error(), (404, "second_factor_not_found"));
    let secret = text(&ada.browser.ask(&story, "POST", TOTP, Value::Null).await.ok()["secret"]);
    story.pass_ms(STEP_MS);
    let confirmed = ada.browser.ask(&story, "PUT", TOTP, json!({"code": code(&secret, story.now_ms())})).await.ok();
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(new[2])).await.error(), (401, "invalid_credentials"));
    let newest = strings(&confirmed["recovery_codes"]);
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(newest[0])).await.status, 200);
}

#[tokio::test]
async fn wrong_recovery_codes_wait_like_wrong_codes_of_the_app() {
    let story = Story::begin().await;
    let ada = Guarded::set_up(&story, "ada@example.org").await;
    for guess in 0..5 {
        let code = if guess % 2 == 0 { json!("aaaa-bbbb-cccc-dddd") } else { json!("000000") };
        assert_eq!(ada.sign_in(&story, PASSWORD, code).await.error(), (401, "invalid_credentials"), "{guess}");
    }
    for code in [json!(ada.recovery[0]), json!(ada.code(&story))] {
        assert_eq!(ada.sign_in(&story, PASSWORD, code).await.error(), (429, "too_many_requests"), "one count for both");
    }
    story.pass_ms(STEP_MS);
    assert_eq!(ada.sign_in(&story, PASSWORD, json!(ada.recovery[0])).await.status, 200, "and none was used up");
}
