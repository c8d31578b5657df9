//! From an empty service to a patient's data: an account, a group, a voucher, the logins, the health-token.

mod common;

use common::{PASSWORD, START_MS, Story, text};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use store::Role;

#[tokio::test]
async fn a_study_is_created_and_listed() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    assert_eq!(story.get(&format!("/integration/v1/groups?token={key}")).await.ok(), json!([]));

    let body = json!({"name": "Sleep", "description": "of nurses"});
    let created = story.post(&format!("/integration/v1/groups?token={key}"), body).await.ok();
    assert_json_snapshot!(created);
    let code = text(&created["code"]);
    assert!(code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_uppercase()));
    assert!(text(&created["hcpCode"]).starts_with(&format!("HCP-{code}-")));

    // The key is taken from all three places.
    let expected = json!([created]);
    assert_eq!(story.get(&format!("/integration/v1/groups?token={key}")).await.ok(), expected);
    assert_eq!(story.get_as("/integration/v1/groups", &key).await.ok(), expected);
    let request = axum::http::Request::get("/integration/v1/groups").header("x-api-key", &key);
    let answer = story.send(request.body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("referrer-policy"), "no-referrer");
    assert_eq!(answer.header("x-request-id").len(), 16);
    assert_eq!(answer.ok(), expected);
}

#[tokio::test]
async fn a_patient_goes_from_voucher_to_health_cloud() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;

    let created = story.post(&format!("/integration/v1/groups/{group}/patients?token={key}"), Value::Null).await.ok();
    assert_json_snapshot!(created);
    let code = text(&created["code"]);
    let check = format!("/integration/v1/check-voucher-code/{code}?token={key}");
    assert_json_snapshot!(story.get(&check).await.ok());
    let unknown = story.get(&format!("/integration/v1/check-voucher-code/NOTTHERE?token={key}")).await.ok();
    assert_eq!(unknown, json!({"exists": false}));

    let activation = json!({
        "code": code.to_lowercase(), "password": PASSWORD, "email": "Grace@Example.org", "first_name": "Grace",
        "birthday": "1966-12-09", "gender": "female", "height": 165.5, "weight": 61, "skin_color": 2,
        "country": "Switzerland", "time_zone": "Europe/Zurich", "agreement_to_terms_of_use": true,
    });
    let mut activated = story.post("/users/activate", activation.clone()).await.ok();
    activated["token"] = "a token".into();
    assert_json_snapshot!(activated);
    assert_eq!(story.get(&check).await.ok()["state"], "confirmed");
    assert_eq!(story.post("/users/activate", activation).await.error(), (409, "voucher_used"));

    let by_code = story.post("/users/login", json!({"code": code, "password": PASSWORD})).await.ok();
    let by_email = story.post("/users/login", json!({"email": " grace@example.ORG", "password": PASSWORD})).await.ok();
    assert_eq!(by_code["user"], by_email["user"]);
    assert_eq!(by_code["user"], activated["user"]);

    let mut health = story.post("/health/login", json!({"user_api_token": by_email["token"]})).await.ok();
    let health_token = text(&health["token"]);
    health["token"] = "a token".into();
    assert_json_snapshot!(health);

    let request = axum::http::Request::get("/integration/v1/user-devices").header("x-health-token", &health_token);
    let devices = story.send(request.body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!(devices.ok(), json!([]));
}

#[tokio::test]
async fn the_list_shows_what_is_asked_for() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"first_name": "Grace", "height": 165})).await;
    story.pass_ms(1);
    story.post(&format!("/integration/v1/groups/{group}/patients?token={key}"), Value::Null).await.ok();
    let list = |query: &str| format!("/integration/v1/groups/{group}/patients?token={key}{query}");

    assert_json_snapshot!(story.get(&list("")).await.ok());

    let named = json!([
        {"uuid": grace.uuid, "first_name": "Grace", "height": 165.0},
        {"uuid": story.get(&list("")).await.ok()[1]["uuid"]},
    ]);
    for query in [
        "&fields[]=first_name&fields[]=height",
        "&fields%5B%5D=first_name&fields%5B%5D=height",
        "&fields=first_name&fields=height",
        "&fields=first_name,height",
        "&fields[0]=first_name&fields[1]=height",
        "&fields[]=uuid&fields[]=first_name&fields[]=height&fields[]=email",
    ] {
        assert_eq!(story.get(&list(query)).await.ok(), named, "{query}");
    }
    let unknown = story.get(&list("&fields[]=shoe_size")).await;
    assert_eq!(unknown.error(), (422, "invalid"));
    let reason = unknown.body["errors"]["fields"][0].as_str().expect("a reason");
    assert!(reason.starts_with("unknown: shoe_size; must be _id, uuid, first_name, "), "{reason}");
    assert_eq!(story.get(&list("&with_latest_values=maybe")).await.error(), (400, "malformed_parameter"));
}

#[tokio::test]
async fn a_health_token_names_who_acts_and_ends_with_its_key() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;

    let path = format!("/integration/v1/patients/{}/health-token?token={key}", grace.uuid);
    let token = text(&story.get(&path).await.ok()["token"]);
    let account = story.platform.identity.account_by_email("ada@example.org").await.expect("an account");
    let claims = claims(&token);
    assert_eq!(claims["sub"], grace.uuid);
    assert_eq!(claims["act"], json!({"sub": account.uuid}));
    assert_eq!(claims["scope"], "patient.read");
    assert_eq!(claims["exp"], json!(START_MS / 1000 + 3600));

    let caller = story.platform.identity.health_caller(&token).await.expect("a caller");
    assert_eq!((caller.patient().as_str(), caller.actor()), (grace.uuid.as_str(), Some(&account.uuid)));
    assert!(caller.require("patient.sync").is_err());

    let key_id = story.platform.identity.api_keys(&account).await.expect("keys")[0].id.clone();
    story.platform.identity.revoke_api_key(&key_id).await.expect("revoked");
    assert!(story.platform.identity.health_caller(&token).await.is_err());
    assert!(story.platform.identity.health_caller(&grace.health_token).await.is_ok());
    assert_eq!(story.get(&path).await.error(), (401, "unauthenticated"));
}

#[tokio::test]
async fn staff_resets_a_password_and_every_token_ends() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, Value::Null).await;
    let path = format!("/integration/v1/patients/{}/reset-password?token={key}", grace.uuid);

    assert_eq!(story.post(&path, json!({})).await.body["errors"], json!({"password": ["is required"]}));
    assert_eq!(story.post(&path, json!({"password": "short"})).await.error(), (422, "invalid"));
    let done = story.post(&path, json!({"password": "another long one"})).await;
    assert_eq!((done.status.as_u16(), done.body), (204, Value::Null));

    assert_eq!(story.get_as("/users/me", &grace.users_token).await.error(), (401, "unauthenticated"));
    assert!(story.platform.identity.health_caller(&grace.health_token).await.is_err());
    let old = story.post("/users/login", json!({"code": grace.code, "password": PASSWORD})).await;
    assert_eq!(old.error(), (401, "unauthenticated"));
    let new = story.post("/users/login", json!({"code": grace.code, "password": "another long one"})).await.ok();
    assert_eq!(new["user"]["must_change_password"], true);

    let created = story.post(&format!("/integration/v1/groups/{group}/patients?token={key}"), Value::Null).await.ok();
    let path = format!("/integration/v1/patients/{}/reset-password?token={key}", text(&created["uuid"]));
    assert_eq!(story.post(&path, json!({"password": PASSWORD})).await.error(), (409, "patient_not_confirmed"));
}

/// Returns what a token says, without checking its signature.
fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let middle = token.split('.').nth(1).expect("three parts");
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(middle).expect("base64");
    serde_json::from_slice(&bytes).expect("JSON")
}
