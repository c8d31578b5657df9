//! What ends the tokens of an application: giving them back, and whatever they rest on.

use serde_json::{Value, json};

use crate::browser::{Browser, location, parameter, ticket};
use crate::common::PASSWORD;
use crate::scene::{CHALLENGE, Client, EMAIL, HOUR_MS, Scene, address, error};
use store::ClientId;

fn access(tokens: &Value) -> &str {
    tokens["access_token"].as_str().expect("a token")
}

fn refresh(tokens: &Value) -> &str {
    tokens["refresh_token"].as_str().expect("a token")
}

#[tokio::test]
async fn either_token_given_back_ends_the_family() {
    let scene = Scene::begin().await;
    for public in [true, false] {
        let client = scene.client("Diary", public).await;
        let other = scene.client("Other", public).await;
        for which in [access, refresh] {
            let tokens = scene.tokens(&client, "").await;
            let token = which(&tokens);
            let not_yours = scene.call("revoke", &other, &[("token", token)]).await;
            assert_eq!(error(&not_yours), (400, "invalid_grant"));
            assert!(scene.opens(access(&tokens)).await);
            let fields = [("token", token), ("token_type_hint", "nonsense")];
            let done = scene.call("revoke", &client, &fields).await;
            assert_eq!((done.status.as_u16(), &done.body), (200, &Value::Null));
            assert!(!scene.opens(access(&tokens)).await);
            assert_eq!(error(&scene.refresh(&client, refresh(&tokens)).await), (400, "invalid_grant"));
            assert_eq!(scene.call("revoke", &client, &fields).await.status, 200, "twice is no error");
        }
        assert_eq!(scene.call("revoke", &client, &[("token", "rubbish")]).await.status, 200);
        assert_eq!(error(&scene.call("revoke", &client, &[]).await), (400, "invalid_request"));
    }
}

#[tokio::test]
async fn a_client_learns_of_its_own_tokens() {
    let scene = Scene::begin().await;
    let (client, other) = (scene.client("Diary", false).await, scene.client("Other", false).await);
    let tokens = scene.tokens(&client, "patient.read patient.sync").await;
    let ask = async |client: &Client, token: &str| scene.call("introspect", client, &[("token", token)]).await.ok();
    let now_s = scene.story.now_ms() / 1000;
    let of_access = ask(&client, access(&tokens)).await;
    let expected = json!({
        "active": true, "scope": "patient.read patient.sync", "client_id": client.id, "token_type": "Bearer",
        "exp": now_s + 3600, "iat": now_s, "sub": scene.grace.uuid, "aud": "health",
        "iss": "http://127.0.0.1:8080/health", "jti": of_access["jti"],
    });
    assert_eq!(of_access, expected);
    let of_refresh = ask(&client, refresh(&tokens)).await;
    assert_eq!((&of_refresh["active"], &of_refresh["exp"]), (&json!(true), &json!(now_s + 518_400 * 60)));

    let nothing = json!({"active": false});
    for token in [access(&tokens), refresh(&tokens)] {
        assert_eq!(ask(&other, token).await, nothing, "another client's");
    }
    // A patient's own token is nobody's client's.
    for token in ["rubbish", scene.grace.health_token.as_str(), scene.grace.users_token.as_str()] {
        assert_eq!(ask(&client, token).await, nothing);
    }
    let next = scene.refresh(&client, refresh(&tokens)).await.ok();
    assert_eq!(ask(&client, refresh(&tokens)).await, nothing, "it was used");
    scene.story.pass_ms(HOUR_MS);
    assert_eq!(ask(&client, access(&next)).await, nothing, "it has expired");
    let public = scene.client("Phone", true).await;
    let refused = scene.call("introspect", &public, &[("token", "x")]).await;
    assert_eq!(error(&refused), (401, "invalid_client"));
}

#[tokio::test]
async fn a_removed_client_is_out_at_once() {
    let scene = Scene::begin().await;
    let (client, other) = (scene.client("Diary", false).await, scene.client("Other", false).await);
    let (tokens, untouched) = (scene.tokens(&client, "").await, scene.tokens(&other, "").await);
    let code = scene.code(&client, "").await;
    let mut browser = Browser::new(&scene.story);
    let login = browser.open(&address(&client, &[])).await;
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;

    let removed_ms =
        scene.story.platform.identity.remove_oauth_client(&ClientId::new(client.id.as_str())).await.expect("removed");
    scene.story.pass_ms(5);
    assert_eq!(
        scene.story.platform.identity.remove_oauth_client(&ClientId::new(client.id.as_str())).await.expect("known"),
        removed_ms
    );
    assert!(!scene.opens(access(&tokens)).await);
    assert_eq!(error(&scene.refresh(&client, refresh(&tokens)).await), (401, "invalid_client"));
    assert_eq!(error(&scene.redeem(&client, &code).await), (401, "invalid_client"));
    assert_eq!(browser.open(&address(&client, &[])).await.status, 400);
    let late = location(&browser.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await);
    assert_eq!(parameter(&late, "error").as_deref(), Some("access_denied"));
    assert!(scene.opens(access(&untouched)).await);
}

#[tokio::test]
async fn a_new_password_ends_tokens_codes_and_open_pages() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    let tokens = scene.tokens(&client, "").await;
    let code = scene.code(&client, "").await;
    let mut browser = Browser::new(&scene.story);
    let asked = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let login = browser.open(&address(&client, &asked)).await;
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;

    let reset = format!("/integration/v1/patients/{}/reset-password?token={}", scene.grace.uuid, scene.key);
    assert_eq!(scene.story.post(&reset, json!({"password": "chosen by staff"})).await.status, 204);
    assert!(!scene.opens(access(&tokens)).await);
    assert_eq!(error(&scene.refresh(&client, refresh(&tokens)).await), (400, "invalid_grant"));
    assert_eq!(error(&scene.redeem(&client, &code).await), (400, "invalid_grant"));
    let late = location(&browser.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await);
    assert_eq!(parameter(&late, "error").as_deref(), Some("access_denied"));
}

#[tokio::test]
async fn logging_out_of_the_users_cloud_leaves_applications_alone() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    let tokens = scene.tokens(&client, "").await;
    scene.story.post_as("/users/auth/logout", &scene.grace.users_token, Value::Null).await;
    assert!(!scene.opens(&scene.grace.health_token).await);
    assert!(scene.opens(access(&tokens)).await);
    // An application can also log out.
    scene.story.post_as("/health/auth/logout", access(&tokens), Value::Null).await;
    assert!(!scene.opens(access(&tokens)).await);
    assert_eq!(error(&scene.refresh(&client, refresh(&tokens)).await), (400, "invalid_grant"));
}

#[tokio::test]
async fn a_patient_sees_and_withdraws_what_they_have_allowed() {
    let scene = Scene::begin().await;
    let (diary, phone) = (scene.client("Diary", false).await, scene.client("Phone", true).await);
    let (first, second) = (scene.tokens(&diary, "").await, scene.tokens(&phone, "patient.read patient.sync").await);
    let path = "/users/auth/consents";
    let users = &scene.grace.users_token;
    let listed = scene.story.get_as(path, users).await.ok();
    let expected = json!([
        {"id": listed[0]["id"], "client_name": "Diary", "privacy_policy_url": "https://diary.example/privacy",
            "scope": "patient.read", "created_at": "2025-11-20T00:53:20.000Z"},
        {"id": listed[1]["id"], "client_name": "Phone", "privacy_policy_url": "https://diary.example/privacy",
            "scope": "patient.read patient.sync", "created_at": "2025-11-20T00:53:20.000Z"},
    ]);
    let names = |list: &Value| -> Vec<String> {
        let mut names: Vec<_> =
            list.as_array().expect("a list").iter().map(|row| row["client_name"].to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&listed), names(&expected));
    let diary_row = listed.as_array().expect("a list").iter().find(|row| row["client_name"] == "Diary").expect("it");
    let id = diary_row["id"].as_str().expect("an id");
    let delete = async |id: &str, token: &str| {
        let request =
            axum::http::Request::delete(format!("{path}/{id}")).header("authorization", format!("Bearer {token}"));
        scene.story.send(request.body(axum::body::Body::empty()).expect("a request")).await
    };
    let ada = json!({"email": "ada@example.org", "password": PASSWORD});
    let ada = scene.story.post("/users/login", ada).await.ok();
    assert_eq!(delete(id, ada["token"].as_str().expect("a token")).await.error(), (404, "consent_not_found"));
    assert_eq!(delete(id, users).await.status, 204);
    assert_eq!(delete(id, users).await.error(), (404, "consent_not_found"));
    assert!(!scene.opens(access(&first)).await);
    assert_eq!(error(&scene.refresh(&diary, refresh(&first)).await), (400, "invalid_grant"));
    assert!(scene.opens(access(&second)).await);
    assert_eq!(names(&scene.story.get_as(path, users).await.ok()), ["\"Phone\""]);
    assert_eq!(scene.story.get(path).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn consents_whose_tokens_have_ended_are_not_listed() {
    let scene = Scene::begin().await;
    let (diary, phone) = (scene.client("Diary", false).await, scene.client("Phone", true).await);
    let code = scene.code(&diary, "").await;
    let phone_tokens = scene.tokens(&phone, "").await;
    let listed = async || {
        let list = scene.story.get_as("/users/auth/consents", &scene.grace.users_token).await.ok();
        let names =
            list.as_array().expect("a list").iter().map(|row| row["client_name"].as_str().expect("a name").to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(listed().await, ["Diary", "Phone"], "a code can still be redeemed");
    scene.call("revoke", &phone, &[("token", refresh(&phone_tokens))]).await;
    assert_eq!(listed().await, ["Diary"], "given back");
    let tokens = scene.redeem(&diary, &code).await.ok();
    assert_eq!(listed().await, ["Diary"]);
    assert_eq!(error(&scene.redeem(&diary, &code).await), (400, "invalid_grant"), "a second time");
    assert!(!scene.opens(access(&tokens)).await);
    assert!(listed().await.is_empty(), "a code that comes twice ends its tokens");
}

#[tokio::test]
async fn nothing_is_left_of_a_patient_who_was_erased() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let tokens = scene.tokens(&client, "").await;
    let code = scene.code(&client, "").await;
    let mut browser = Browser::new(&scene.story);
    let login = browser.open(&address(&client, &[])).await;
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;

    let request = axum::http::Request::delete("/users/me")
        .header("authorization", format!("Bearer {}", scene.grace.users_token))
        .body(axum::body::Body::empty());
    assert_eq!(scene.story.send(request.expect("a request")).await.status, 200);
    assert!(!scene.opens(access(&tokens)).await);
    assert_eq!(error(&scene.refresh(&client, refresh(&tokens)).await), (400, "invalid_grant"));
    assert_eq!(error(&scene.redeem(&client, &code).await), (400, "invalid_grant"));
    let late = location(&browser.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await);
    assert_eq!(parameter(&late, "error").as_deref(), Some("access_denied"));
    for (cloud, token) in [("/users", &scene.grace.users_token), ("/health", &scene.grace.health_token)] {
        let answer = scene.story.get_as(&format!("{cloud}/auth/refresh"), token).await;
        assert_eq!(answer.error(), (401, "unauthenticated"), "{cloud}");
    }
    let asked = scene.call("introspect", &client, &[("token", access(&tokens))]).await.ok();
    assert_eq!(asked, json!({"active": false}));
}
