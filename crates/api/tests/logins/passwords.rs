//! Which passwords are not taken, at every entrance; and what asks for the present one.

use platform::{NewAccount, SubscriptionStart};
use serde_json::{Value, json};
use store::Role;

use crate::common::study::{Study, wrong_fields};
use crate::common::{Answer, PASSWORD, Story, text};

const NAMED: [&str; 3] = ["Password123", "Grace.Hopper1", "grace.hopper@example.org"];

fn refused(answer: &Answer, field: &str, password: &str) {
    assert_eq!(wrong_fields(answer), [field], "{password}");
    let reason = answer.body["errors"][field][0].as_str().expect("a reason");
    assert!(reason.starts_with("must not be "), "{password}: {reason}");
}

#[tokio::test]
async fn passwords_that_others_try_first_are_refused_at_every_entrance() {
    let study = Study::begin_with(json!({"email": "grace.hopper@example.org", "last_name": "Hopper"})).await;
    let story = &study.story;
    let twice = format!("{code}-{code}", code = study.grace.code);
    for password in NAMED.into_iter().chain([twice.as_str()]) {
        let login = json!({"code": study.grace.code, "password": PASSWORD, "new_password": password});
        refused(&story.post("/users/login", login).await, "new_password", password);
        let change = json!({"password": PASSWORD, "new_password": password});
        let answer = story.post_as("/users/auth/password", &study.grace.users_token, change).await;
        refused(&answer, "new_password", password);
        let reset = study.ask("POST", &study.of_grace("/reset-password"), json!({"password": password})).await;
        refused(&reset, "password", password);
    }
    let code = study.voucher().await;
    for password in ["qwertyuiop", "Nadia.Comaneci", &format!("{code}{code}")] {
        let activation = json!({"code": code, "password": password, "email": "nadia.comaneci@example.org"});
        refused(&story.post("/users/activate", activation).await, "password", password);
    }
    story.post("/users/login", json!({"code": study.grace.code, "password": PASSWORD})).await.ok();
}

#[tokio::test]
async fn operators_give_accounts_no_such_password_either() {
    let story = Story::begin().await;
    story.key_of("ada.lovelace@example.org", Role::Researcher).await;
    let identity = &story.platform.identity;
    let ada = identity.account_by_email("ada.lovelace@example.org").await.expect("an account");
    for password in ["password123", "adalovelace1815"] {
        let account = NewAccount {
            email: "ada.lovelace@study.example".to_owned(),
            role: Role::Researcher,
            first_name: None,
            last_name: None,
            password: Some(password.to_owned()),
            subscription: SubscriptionStart::None,
        };
        assert!(identity.create_account(account).await.is_err(), "{password}");
        assert!(identity.reset_account_password(&ada, Some(password.to_owned())).await.is_err(), "{password}");
    }
}

#[tokio::test]
async fn another_email_needs_the_present_password() {
    let study = Study::begin_with(json!({"email": "grace@example.org"})).await;
    let change = async |body: Value| study.story.ask("PATCH", "/users/me", &study.grace.users_token, body).await;
    let new = "g.hopper@example.org";
    let missing = change(json!({"email": new})).await;
    assert_eq!(wrong_fields(&missing), ["password"]);
    assert!(text(&missing.body["errors"]["password"][0]).contains("required to change the e-mail"), "{missing:?}");
    assert_eq!(wrong_fields(&change(json!({"email": "g", "country": "US"})).await), ["email", "password"]);
    for _ in 0..5 {
        assert_eq!(wrong_fields(&change(json!({"email": new, "password": "not the password"})).await), ["password"]);
    }
    let slowed = change(json!({"email": new, "password": PASSWORD})).await;
    assert_eq!(slowed.error(), (429, "too_many_requests"), "guesses wait as those of a login do");
    study.story.pass_ms(1000);
    let own = study.story.get_as("/users/me", &study.grace.users_token).await.ok();
    assert_eq!(own["email"], "grace@example.org", "nothing was changed");
    assert_eq!(change(json!({"email": new, "password": PASSWORD})).await.ok()["email"], new);
    study.story.post("/users/login", json!({"email": new, "password": PASSWORD})).await.ok();
    assert_eq!(change(json!({"country": "US"})).await.ok()["country"], "US", "other attributes need none");
}
