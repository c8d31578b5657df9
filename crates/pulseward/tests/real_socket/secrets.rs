//! No credential and nothing personal reaches the log, whatever is asked of it and whatever goes wrong.

use std::fs::File;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{admin, pulseward};

const EMAIL: &str = "Rosalind.Quennell@study.example";
const PATIENT_EMAIL: &str = "Thaddeus.Oxenbury@home.example";
const PASSWORD: &str = "staff-Password-7381";
const PATIENT_PASSWORD: &str = "patient-Password-2946";
const WRONG_PASSWORD: &str = "wrong-Password-5512";
const WRONG_TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJub2JvZHkifQ.bm90LWEtc2lnbmF0dXJl";
const WRONG_KEY: &str = "pwk_not-a-key-but-somebody-may-have-meant-one";

#[tokio::test]
async fn no_secret_reaches_the_text_log() {
    the_whole_story("text").await;
}

#[tokio::test]
async fn no_secret_reaches_the_json_log() {
    the_whole_story("json").await;
}

async fn the_whole_story(format: &str) {
    let folder = tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let mut service = start(&data, &log, format);
    let url = listening(&mut service, &log).await;
    let mut reported = Reported::default();
    enrolment(&mut reported, &data, &url).await;
    let end = std::process::Command::new("kill").args(["-TERM", &service.id().to_string()]).status().unwrap();
    assert!(end.success());
    assert_eq!(service.wait().unwrap().code(), Some(0));

    let said = std::fs::read_to_string(&log).unwrap();
    // The log is there and has requests in it: the search below means something.
    for expected in ["/users/login", "/health/v1/sync", "POST"] {
        assert!(said.contains(expected), "the log says nothing of {expected}");
    }
    let said = said.to_lowercase();
    for (what, secret) in &reported.secrets {
        assert!(secret.len() > 3, "{what} is too short to look for");
        assert!(!said.contains(&secret.to_lowercase()), "the log holds {what}: {secret}");
    }
}

fn start(data: &Path, log: &Path, format: &str) -> Child {
    let file = File::create(log).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--log-format", format];
    let mut command = pulseward(&[&serve[..], &["--data", data.to_str().unwrap()]].concat());
    command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap()
}

async fn listening(service: &mut Child, log: &Path) -> String {
    loop {
        let said = std::fs::read_to_string(log).unwrap();
        let rest = said.split_once("listening on ").map(|(_, rest)| rest);
        if let Some((url, _)) = rest.and_then(|rest| rest.split_once('\n')) {
            return url.to_owned();
        }
        assert!(service.try_wait().unwrap().is_none(), "{said}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What was reported to the service or by it, and may not be in the log.
#[derive(Default)]
struct Reported {
    secrets: Vec<(&'static str, String)>,
}

impl Reported {
    fn note(&mut self, what: &'static str, secret: &Value) -> String {
        let secret = secret.as_str().unwrap_or_else(|| panic!("{what} is no text")).to_owned();
        self.secrets.push((what, secret.clone()));
        // The parts of a token: its claims alone would show whose it is, its signature alone opens nothing.
        for part in secret.split('.').filter(|_| what.ends_with("token")) {
            self.secrets.push((what, part.to_owned()));
        }
        secret
    }
}

async fn enrolment(reported: &mut Reported, data: &Path, url: &str) {
    for (what, secret) in [
        ("an e-mail", EMAIL),
        ("an e-mail", PATIENT_EMAIL),
        ("a name", "Quennell"),
        ("a name", "Rosalind"),
        ("a name", "Thaddeus"),
        ("a name", "Oxenbury"),
        ("a study's name", "Insomnia of lighthouse keepers"),
        ("a password", PASSWORD),
        ("a password", PATIENT_PASSWORD),
        ("a wrong password", WRONG_PASSWORD),
        ("a wrong token", WRONG_TOKEN),
        ("a wrong key", WRONG_KEY),
        ("a note", "fell on the stairs"),
        ("a wrong column", "thaddeus-was-here"),
    ] {
        reported.note(what, &json!(secret));
    }
    let names = ["--first-name", "Rosalind", "--last-name", "Quennell"];
    let account = ["create-account", "--email", EMAIL, "--role", "researcher", "--password", PASSWORD];
    admin(data, &[&account[..], &names].concat());
    let key = admin(data, &["create-api-key", "--account", EMAIL]);
    let key = reported.note("an API key", &key["token"]);
    let caller = Caller { http: Client::new(), url };

    // Staff.
    let body = json!({"email": EMAIL, "password": PASSWORD});
    let login = caller.expect(200, caller.post("/users/login", &body)).await;
    reported.note("a staff token", &login["token"]);
    let wrong = json!({"email": EMAIL, "password": WRONG_PASSWORD});
    caller.expect(401, caller.post("/users/login", &wrong)).await;
    let body = json!({"name": "Insomnia of lighthouse keepers", "description": "Quennell's own"});
    let group = caller.expect(200, caller.post(&format!("/integration/v1/groups?token={key}"), &body)).await;
    let group = group["code"].as_str().unwrap();
    let patients = format!("/integration/v1/groups/{group}/patients");
    let created = caller.expect(200, caller.post(&format!("{patients}?token={key}"), &json!({}))).await;
    let voucher = reported.note("a voucher code", &created["code"]);
    let uuid = created["uuid"].as_str().unwrap();

    // The patient.
    caller.expect(200, caller.get(&format!("/integration/v1/check-voucher-code/{voucher}?token={key}"))).await;
    let profile = json!({"code": voucher, "password": PATIENT_PASSWORD, "email": PATIENT_EMAIL,
        "first_name": "Thaddeus", "last_name": "Oxenbury", "birthday": "1951-03-04"});
    let users = caller.expect(200, caller.post("/users/activate", &profile)).await;
    let users = reported.note("a users token", &users["token"]);
    caller.expect(409, caller.post("/users/activate", &profile)).await;
    let body = json!({"code": voucher, "password": WRONG_PASSWORD});
    caller.expect(401, caller.post("/users/login", &body)).await;
    let body = json!({"email": PATIENT_EMAIL, "password": PATIENT_PASSWORD});
    let again = caller.expect(200, caller.post("/users/login", &body)).await;
    reported.note("a second users token", &again["token"]);
    let health = caller.expect(200, caller.post("/health/login", &json!({"user_api_token": users}))).await;
    let health = reported.note("a health token", &health["token"]);
    caller.expect(401, caller.post("/health/login", &json!({"user_api_token": WRONG_TOKEN}))).await;
    caller.expect(200, caller.get("/users/me").bearer_auth(&users)).await;

    samples(reported, &caller, &key, uuid, &health).await;
    let refreshed = caller.expect(200, caller.get("/users/auth/refresh").bearer_auth(&users)).await;
    let users = reported.note("a refreshed users token", &refreshed["token"]);
    caller.expect(401, caller.get("/health/auth/refresh").bearer_auth(WRONG_TOKEN)).await;
    an_application(reported, data, url).await;

    // Readers, and what they get wrong.
    let path = format!("/integration/v1/patients/{uuid}/health-token");
    let token = caller.expect(200, caller.get(&path).header("X-Api-Key", &key)).await;
    let token = reported.note("a researcher's health token", &token["token"]);
    let day = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T20:00:00Z";
    caller.expect(200, caller.get(&format!("/health/v2/raw-metrics/tests?{day}")).bearer_auth(&token)).await;
    for token in [WRONG_TOKEN, WRONG_KEY, &key, &users] {
        caller.expect(401, caller.get(&format!("/health/v2/raw-metrics/tests?{day}")).bearer_auth(token)).await;
    }
    caller.expect(200, caller.get("/integration/v1/user-devices").header("x-health-token", &health)).await;
    caller.expect(401, caller.get("/integration/v1/user-devices").header("x-health-token", WRONG_TOKEN)).await;
    caller.expect(200, caller.get(&format!("{patients}?token={key}&with_latest_values=1"))).await;
    caller.expect(401, caller.get(&format!("{patients}?token={WRONG_KEY}"))).await;
    caller.expect(404, caller.get(&format!("/integration/v1/nowhere/{voucher}?token={key}"))).await;
    caller.expect(422, caller.get(&format!("{patients}?token={key}&fields[]=thaddeus-was-here"))).await;
    let reset = format!("/integration/v1/patients/{uuid}/reset-password?token={key}");
    caller.expect(204, caller.post(&reset, &json!({"password": "another-Password-9075"}))).await;
    reported.note("a new password", &json!("another-Password-9075"));
    let logs = format!("/integration/v1/patients/audit/logs?token={key}&from=0&to=9999999999999");
    caller.expect(200, caller.get(&logs)).await;
}

/// An application is granted access by the patient, and does well and badly.
async fn an_application(reported: &mut Reported, data: &Path, url: &str) {
    let back = "http://127.0.0.1:7777/back";
    let create = ["create-oauth-client", "--name", "Diary", "--redirect-uri", back];
    let client = admin(data, &[&create[..], &["--privacy-policy-url", "https://diary.example/privacy"]].concat());
    let secret = reported.note("a client secret", &client["client_secret"]);
    let id = client["client_id"].as_str().unwrap();
    let http = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let authorize = format!("{url}/health/oauth/authorize");
    let state = reported.note("a state", &json!("state-of-the-diary"));
    let query = [("response_type", "code"), ("client_id", id), ("redirect_uri", back), ("state", state.as_str())];
    let page = http.get(&authorize).query(&query).send().await.unwrap();
    let cookie = page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    reported.note("a cookie", &json!(cookie.split_once('=').unwrap().1));
    let ticket = |page: &str| {
        let (_, rest) = page.split_once("name=\"ticket\" value=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let submit = async |fields: &[(&str, &str)]| {
        http.post(&authorize).header("cookie", &cookie).form(fields).send().await.unwrap()
    };
    let login = reported.note("a ticket", &json!(ticket(&page.text().await.unwrap())));
    let wrong =
        [("ticket", login.as_str()), ("action", "login"), ("name", PATIENT_EMAIL), ("password", WRONG_PASSWORD)];
    assert_eq!(submit(&wrong).await.status(), 403);
    let right = [&wrong[..3], &[("password", PATIENT_PASSWORD)]].concat();
    let consent = reported.note("a ticket", &json!(ticket(&submit(&right).await.text().await.unwrap())));
    let answer = submit(&[("ticket", consent.as_str()), ("action", "allow")]).await;
    let answered = answer.headers()["location"].to_str().unwrap().to_owned();
    let code = answered.split(['?', '&']).find_map(|part| part.strip_prefix("code=")).unwrap();
    let code = reported.note("a code", &json!(code));
    let token = async |fields: &[(&str, &str)], status: u16| {
        let request = http.post(format!("{url}/health/oauth/token")).basic_auth(id, Some(&secret)).form(fields);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        answer.json::<Value>().await.unwrap()
    };
    let redeem = [("grant_type", "authorization_code"), ("code", code.as_str()), ("redirect_uri", back)];
    let tokens = token(&redeem, 200).await;
    reported.note("an access token", &tokens["access_token"]);
    let refresh = reported.note("a refresh token", &tokens["refresh_token"]);
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
    let next = token(&fields, 200).await;
    reported.note("a refresh token", &next["refresh_token"]);
    // Used twice, both of them: the service warns of it.
    token(&fields, 400).await;
    token(&redeem, 400).await;
}

/// Sends samples, well and badly.
async fn samples(reported: &mut Reported, caller: &Caller<'_>, key: &str, uuid: &str, health: &str) {
    let sync = |body: &Value| caller.post("/health/v1/sync", body).bearer_auth(health);
    let good = json!({
        "device": {"serial_number": "bracelet-of-Oxenbury"},
        "data": {"tests": [{"timestamp": 1_763_600_000_000_i64, "test_type": "heart_rate", "value": 61,
            "note": "fell on the stairs"}]}
    });
    reported.note("a serial number", &json!("bracelet-of-Oxenbury"));
    caller.expect(200, sync(&good)).await;
    caller.expect(422, sync(&json!({"data": {"tests": {"thaddeus-was-here": 1}}}))).await;
    caller.expect(422, sync(&json!({"time_zone": "thaddeus-was-here", "data": {}}))).await;
    let broken = caller.http.post(format!("{}/health/v1/sync", caller.url)).bearer_auth(health);
    let broken = broken.header("content-type", "application/json").body("{\"note\": \"fell on the stairs\"");
    caller.expect(422, broken).await;
    caller.expect(401, caller.post("/health/v1/sync", &good).bearer_auth(WRONG_TOKEN)).await;
    caller.expect(401, caller.post(&format!("/health/v1/sync?token={key}"), &good)).await;
    let summary = format!("/integration/v1/patients/{uuid}/summary/2025-11-20?token={key}");
    caller.expect(200, caller.get(&summary)).await;
}

struct Caller<'test> {
    http: Client,
    url: &'test str,
}

impl Caller<'_> {
    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url))
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).json(body)
    }

    async fn expect(&self, status: u16, request: RequestBuilder) -> Value {
        let answer = request.send().await.unwrap();
        let (found, address) = (answer.status().as_u16(), answer.url().clone());
        let bytes = answer.bytes().await.unwrap();
        assert_eq!(found, status, "{address}: {}", String::from_utf8_lossy(&bytes));
        serde_json::from_slice(&bytes).unwrap_or(Value::Null)
    }
}
