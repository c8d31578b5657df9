//! The pages around the clouds, and their events from another process and at the end.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use tempfile::tempdir;
use testkit::Postgres;

use crate::harness::{Patient, Researcher, Service, admin};
use crate::takeover::shared;

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// Signs in an account that is made for it; answers the cookie with its attributes.
pub async fn sign_in(data: &Path, url: &str, email: &str) -> String {
    sign_in_with(data, &[], url, email).await
}

/// The same on a store that more options name.
async fn sign_in_with(data: &Path, store: &[&str], url: &str, email: &str) -> String {
    let account = admin(data, &[&["create-account", "--email", email, "--role", "researcher"], store].concat());
    let body = json!({"email": email, "password": account["password"]});
    let answer = Client::new().post(format!("{url}/portal/session")).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.headers()["set-cookie"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_pages_are_around_the_clouds_and_the_cookie_is_secure_on_https() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--public-url", "https://study.example", "--behind-proxy"]);
    let client = Client::new();
    let get =
        async |path: &str| client.get(format!("{}{path}", service.url)).header("accept", BROWSER).send().await.unwrap();
    for path in ["/", "/studies/JYVPQ", "/settings"] {
        let page = get(path).await;
        assert_eq!((page.status().as_u16(), &page.headers()["cache-control"]), (200, &"no-cache".parse().unwrap()));
        assert!(
            page.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"),
            "{path}"
        );
    }
    for (path, status) in
        [("/integration/v1/groups", 401), ("/health/nothing", 404), ("/livez", 200), ("/portal/session", 401)]
    {
        let answer = get(path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert!(answer.headers()["content-type"].to_str().unwrap().ends_with("json"), "{path}");
    }
    let cookie = sign_in(data.path(), &service.url, "ada@study.example").await;
    // Browsers take a name like this from https alone, and for this host alone.
    assert!(cookie.starts_with("__Host-pulseward_session="), "{cookie}");
    let mut attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
    attributes.sort_unstable();
    assert_eq!(attributes, ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]);
}

#[tokio::test]
async fn a_node_without_the_role_has_no_pages() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--roles", "integration,users,health"]);
    for path in ["/", "/portal/session", "/portal/api/account"] {
        let request = Client::new().get(format!("{}{path}", service.url)).header("accept", BROWSER);
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}

/// The board's events as they come.
async fn listen(service: &Service, cookie: &str, group: &str) -> Response {
    let request = Client::new().get(format!("{}/portal/api/groups/{group}/board/events", service.url));
    let answer = request.header("cookie", cookie).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer
}

/// The next row of the stream.
async fn next_row(events: &mut Response) -> Value {
    let mut text = String::new();
    loop {
        // Far longer than anything takes, so that a test that fails ends.
        let piece = tokio::time::timeout(Duration::from_mins(1), events.chunk()).await.unwrap().unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
        let data = text.split("\n\n").filter(|event| event.contains("event: row")).find_map(|event| {
            let line = event.lines().find_map(|line| line.strip_prefix("data: "))?;
            serde_json::from_str(line).ok()
        });
        if let Some(row) = data {
            return row;
        }
    }
}

/// A researcher of a study with a patient, and a session of theirs.
async fn study(data: &Path, store: &[&str], service: &Service) -> (Researcher, Patient, String) {
    let researcher = Researcher::new_with(data, store, &service.url).await;
    let patient = researcher.enrol().await;
    let cookie = sign_in_with(data, store, &service.url, "ada@study.example").await;
    let path = format!("/integration/v1/groups/{}/hcps", researcher.group);
    let (status, added) = researcher.post(&path, None, &json!({"email": "ada@study.example"})).await;
    assert_eq!(status, 200, "{added}");
    (researcher, patient, cookie.split(';').next().unwrap().to_owned())
}

#[tokio::test]
async fn what_another_process_stores_reaches_the_board_and_a_stop_ends_it() {
    let (Some(users), Some(health)) = (Postgres::start(), Postgres::start()) else { return };
    let folder = tempdir().unwrap();
    let store = shared(folder.path(), &users, &health);
    let store: Vec<&str> = store.iter().map(String::as_str).collect();
    let options = [&store[..], &["--public-url", "http://study.example"]].concat();
    let folders = [folder.path().join("here"), folder.path().join("there")];
    let [here, there] = folders.each_ref().map(|data| Service::start_with(data, &options));
    let (mut researcher, patient, cookie) = study(&folders[0], &store, &here).await;
    let mut events = listen(&here, &cookie, &researcher.group).await;
    researcher.at(&there.url);
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "bpm": [61]}}});
    let (status, _) = researcher.sync(&patient, &body).await.unwrap();
    assert_eq!(status, 200);
    let row = next_row(&mut events).await;
    assert_eq!((&row["uuid"], &row["heart_rate"]["value"]), (&json!(patient.uuid), &json!(61.0)));

    here.signal("-TERM");
    // The stream ends in order, and does not hold the service up.
    while let Some(piece) = events.chunk().await.unwrap() {
        drop(piece);
    }
    assert_eq!(here.wait().code(), Some(0));
}
