//! Keys and OAuth clients, administered while the service runs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;

use crate::harness::{PATIENT_PASSWORD, Researcher, Service, admin, run};
use crate::takeover::shared;

async fn status_of_me(url: &str, token: &str) -> u16 {
    let request = Client::new().get(format!("{url}/users/me")).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

async fn log_in(url: &str) -> String {
    let body = json!({"email": "rita@study.example", "password": "an early password"});
    let answer = Client::new().post(format!("{url}/users/login")).json(&body).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn keys_are_rotated_under_a_running_service() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let store = shared(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let options = [&store[..], &["--public-url", "http://study.example"]].concat();
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let service = Service::start_with(&here, &options);
    let account =
        ["create-account", "--email", "rita@study.example", "--role", "hcp", "--password", "an early password"];
    admin(&here, &[&account[..], &store].concat());
    let before = log_in(&service.url).await;

    let rotated = admin(&here, &[&["rotate-keys"], &store[..]].concat());
    assert_eq!(rotated.as_object().unwrap().len(), 2);
    // Another node knows only the new key to sign with, the running one has yet to hear of it.
    let other = Service::start_with(&there, &options);
    let after = log_in(&other.url).await;
    assert_ne!(kid(&before), kid(&after));
    assert_eq!(kid(&after), rotated["users_kid"]);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    for url in [&service.url, &other.url] {
        for token in [&before, &after] {
            assert_eq!(status_of_me(url, token).await, 200);
        }
        for (cloud, name) in [("users", "users_kid"), ("health", "health_kid")] {
            let keys = reqwest::get(format!("{url}/{cloud}/.well-known/jwks.json")).await.unwrap();
            let keys = keys.json::<Value>().await.unwrap();
            let kids: Vec<_> = keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect();
            assert!(kids.contains(&rotated[name]), "{cloud}: {kids:?}");
            assert_eq!(
                kids.len(),
                if cloud == "users" { 2 } else { 1 },
                "the health cloud had not signed anything yet"
            );
        }
    }
}

#[tokio::test]
async fn an_application_is_granted_access_and_removed() {
    let data = tempdir().unwrap();
    let service = Service::start_named(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let back = "http://127.0.0.1:7777/back";
    let create = ["create-oauth-client", "--name", "Diary", "--redirect-uri", back];
    let policy = ["--privacy-policy-url", "https://diary.example/privacy"];
    let client = admin(data.path(), &[&create[..], &policy].concat());
    let public = admin(data.path(), &[&create[..], &policy, &["--public"]].concat());
    assert_eq!(public.as_object().unwrap().len(), 1, "a public client has no secret: {public}");
    let (id, secret) = (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());

    let http = Client::builder().redirect(Policy::none()).build().unwrap();
    let authorize = format!("{}/health/oauth/authorize", service.url);
    let query = [
        ("response_type", "code"),
        ("client_id", id),
        ("redirect_uri", back),
        ("state", "s"),
        ("scope", "patient.sync"),
    ];
    let page = http.get(&authorize).query(&query).send().await.unwrap();
    let cookie = page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let submit = async |page: Response, fields: &[(&str, &str)]| {
        let ticket = ticket(&page.text().await.unwrap());
        let fields = [&[("ticket", ticket.as_str())], fields].concat();
        http.post(&authorize).header("cookie", &cookie).form(&fields).send().await.unwrap()
    };
    let login = [("action", "login"), ("name", patient.code.as_str()), ("password", PATIENT_PASSWORD)];
    let consent = submit(page, &login).await;
    assert_eq!(consent.status(), 200);
    let answer = submit(consent, &[("action", "allow")]).await;
    assert_eq!(answer.status(), 303);
    let answered = answer.headers()["location"].to_str().unwrap().to_owned();
    let code = answered.split(['?', '&']).find_map(|part| part.strip_prefix("code=")).unwrap().to_owned();
    let fields = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", back)];
    let token_url = format!("{}/health/oauth/token", service.url);
    let tokens = http.post(token_url).basic_auth(id, Some(secret)).form(&fields).send().await.unwrap();
    let tokens = tokens.json::<Value>().await.unwrap();
    let access = tokens["access_token"].as_str().unwrap();
    let sync = async || {
        let request = http.post(format!("{}/health/v1/sync", service.url)).bearer_auth(access);
        request.json(&json!({"data": {}})).send().await.unwrap().status().as_u16()
    };
    assert_eq!(sync().await, 200);

    let listed = admin(data.path(), &["list-oauth-clients"]);
    let names: Vec<_> = listed["oauth_clients"].as_array().unwrap().iter().map(|row| &row["client_id"]).collect();
    assert_eq!(names, [&client["client_id"], &public["client_id"]]);
    assert!(!listed.to_string().contains(secret));
    let removed = admin(data.path(), &["remove-oauth-client", "--id", id]);
    assert!(removed["removed_at"].is_string());
    assert_eq!(sync().await, 401);

    let data = data.path().to_str().unwrap();
    let status = |arguments: &[&str]| {
        let output = run(&[&["admin"], arguments, &["--data", data, "--json"]].concat());
        assert!(output.stdout.is_empty(), "{arguments:?}");
        output.status.code()
    };
    assert_eq!(status(&["remove-oauth-client", "--id", "nobody"]), Some(1));
    assert_eq!(
        status(&["create-oauth-client", "--name", "Diary", "--privacy-policy-url", "https://x.example"]),
        Some(2)
    );
    let bad = ["create-oauth-client", "--name", "Diary", "--redirect-uri", "http://diary.example/back"];
    assert_eq!(status(&[&bad[..], &policy].concat()), Some(1));
}

fn kid(token: &str) -> Value {
    let header = token.split('.').next().unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(header).unwrap();
    serde_json::from_slice::<Value>(&bytes).unwrap()["kid"].clone()
}

fn ticket(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"ticket\" value=\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}
