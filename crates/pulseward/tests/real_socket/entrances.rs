//! The ways in: host names, proxies, roles, the rate limit, metrics.

use reqwest::Client;
use reqwest::header::HOST;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::harness::{Researcher, Service, run};

/// A request to a service under another name, as one whose name resolves here would send it.
async fn named(service: &Service, host: &str, path: &str, key: &str) -> (u16, Value) {
    let request = Client::new().get(format!("{}{path}", service.url)).header(HOST, host).header("X-Api-Key", key);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
}

#[tokio::test]
async fn each_cloud_is_at_the_root_of_its_names() {
    let data = tempdir().unwrap();
    let names = ["--hosts-integration", "api.example,old-api.example", "--hosts-users", "users.example"];
    let more = ["--hosts-health", "health.example", "--public-url", "https://study.example"];
    let service = Service::start_with(data.path(), &[&names[..], &more].concat());
    let researcher = Researcher::new(data.path(), &service.url).await;
    for host in ["api.example", "old-api.example", "OLD-API.example:443"] {
        let (status, groups) = named(&service, host, "/v1/groups", &researcher.key).await;
        assert_eq!((status, groups[0]["code"].as_str()), (200, Some(&researcher.group[..])), "{host}");
        assert_eq!(named(&service, host, "/integration/v1/groups", &researcher.key).await.0, 404, "{host}");
        assert_eq!(named(&service, host, "/readyz", "").await.0, 200, "{host}");
    }
    assert_eq!(named(&service, "elsewhere.example", "/v1/groups", &researcher.key).await.0, 404);
    assert_eq!(named(&service, "elsewhere.example", "/integration/v1/groups", &researcher.key).await.0, 200);

    let http = Client::new();
    let post = async |host: &str, path: &str, body: Value| -> Value {
        let request = http.post(format!("{}{path}", service.url)).header(HOST, host).json(&body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{host}{path}");
        answer.json().await.unwrap()
    };
    let path = format!("/integration/v1/groups/{}/patients", researcher.group);
    let (_, created) = researcher.post(&path, None, &json!({})).await;
    let activation = json!({"code": created["code"], "password": "a password for tests"});
    let users = post("users.example", "/activate", activation).await;
    let health = post("health.example", "/login", json!({"user_api_token": users["token"]})).await;
    let token = health["token"].as_str().unwrap();
    let request = http.get(format!("{}/user-summaries?date_from=2025-11-20&date_to=2025-11-21", service.url));
    // The host is made up, and the addresses in the answer are not.
    let page: Value =
        request.header(HOST, "health.example:1").bearer_auth(token).send().await.unwrap().json().await.unwrap();
    assert_eq!(page["path"], "https://health.example/user-summaries");
    let shared = http.get(format!("{}/health/user-summaries?date_from=2025-11-20&date_to=2025-11-21", service.url));
    let page: Value =
        shared.header(HOST, "evil.example").bearer_auth(token).send().await.unwrap().json().await.unwrap();
    assert_eq!(page["path"], "https://health.example/user-summaries");
}

#[test]
fn names_that_cannot_be_are_refused_at_the_start() {
    let data = tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    for (options, said) in [
        (["--hosts-users", "a.example", "--hosts-health", "a.example"], "two clouds"),
        (["--hosts-users", "https://a.example", "--rate-limit", "off"], "not a host name"),
        (["--trusted-proxies", "10.0.0.0/40", "--rate-limit", "off"], "--trusted-proxies"),
        (["--upload-memory-mib", "100", "--rate-limit", "off"], "at least 544"),
        (["--rate-limit", "0", "--roles", "users"], "--rate-limit"),
        (["--roles", "cook", "--rate-limit", "off"], "--roles"),
    ] {
        let output = run(&[&["serve", "--data", data, "--listen", "127.0.0.1:0"], &options[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(said), "{options:?}: {error}");
    }
}

/// What is left in a minute for anyone who seems to be calling.
async fn remaining(service: &Service, forwarded_for: &str) -> u32 {
    let request = Client::new().get(format!("{}/openapi.json", service.url)).header("X-Forwarded-For", forwarded_for);
    let answer = request.send().await.unwrap();
    answer.headers()["x-ratelimit-remaining"].to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn only_trusted_proxies_name_the_client() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--rate-limit", "100"]);
    assert_eq!(remaining(&service, "198.51.100.1").await, 99);
    assert_eq!(remaining(&service, "198.51.100.2").await, 98, "nobody is believed");

    let data = tempdir().unwrap();
    let trusted = ["--rate-limit", "100", "--trusted-proxies", "127.0.0.0/8,10.0.0.0/8"];
    let service = Service::start_with(data.path(), &trusted);
    assert_eq!(remaining(&service, "198.51.100.1").await, 99);
    assert_eq!(remaining(&service, "198.51.100.2").await, 99);
    assert_eq!(remaining(&service, "198.51.100.3, 198.51.100.1, 10.1.1.1").await, 98, "what the client wrote itself");
}

#[tokio::test]
async fn answers_keep_browsers_on_https_where_the_public_address_is_https() {
    for (public_url, expected) in [
        ("http://study.example", None),
        ("https://study.example", Some("max-age=31536000")),
        ("HTTPS://study.example", Some("max-age=31536000")),
    ] {
        let data = tempdir().unwrap();
        let service = Service::start_with(data.path(), &["--public-url", public_url]);
        for (path, status) in [("/", 200), ("/livez", 200), ("/docs/", 200), ("/users/me", 401), ("/nowhere", 404)] {
            let answer = reqwest::get(format!("{}{path}", service.url)).await.unwrap();
            let policy = answer.headers().get("strict-transport-security").map(|value| value.to_str().unwrap());
            assert_eq!((answer.status().as_u16(), policy), (status, expected), "{public_url} {path}");
        }
        // Refused before any route is looked for.
        let refused = service.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").to_lowercase();
        assert!(refused.starts_with("http/1.1 400"), "{refused}");
        assert_eq!(refused.contains("strict-transport-security: "), expected.is_some(), "{refused}");
    }
}

#[tokio::test]
async fn the_general_limit_is_180_a_minute() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--rate-limit", "180"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    // Making the group was the first request of the minute.
    for asked in 2..=180 {
        assert_eq!(researcher.get("/integration/v1/groups", None).await.0, 200, "{asked}");
    }
    let (status, body) = researcher.get("/integration/v1/groups", None).await;
    assert_eq!((status, &body["code"]), (429, &json!("too_many_requests")));
    let simulate = ["simulate", "--url", &service.url, "--token", &researcher.key, "--patients", "1", "--json"];
    let mut fleet = crate::harness::pulseward(&simulate).stdout(std::process::Stdio::null()).spawn().unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert!(fleet.try_wait().unwrap().is_none(), "the fleet waits for its minute and does not give up");
    fleet.kill().unwrap();
    fleet.wait().unwrap();
}

#[tokio::test]
async fn a_node_serves_the_clouds_of_its_roles() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--roles", "users,worker"]);
    let status = async |path: &str| reqwest::get(format!("{}{path}", service.url)).await.unwrap().status().as_u16();
    assert_eq!(status("/users/.well-known/jwks.json").await, 200);
    for elsewhere in ["/health/.well-known/jwks.json", "/integration/v1/groups"] {
        assert_eq!(status(elsewhere).await, 404, "{elsewhere}");
    }
    for everywhere in ["/livez", "/readyz", "/openapi.json"] {
        assert_eq!(status(everywhere).await, 200, "{everywhere}");
    }
}

#[tokio::test]
async fn samples_wait_for_a_node_that_works() {
    let data = tempdir().unwrap();
    let named = ["--public-url", "http://study.example", "--roles"];
    let service = Service::start_with(data.path(), &[&named[..], &["integration,users,health"]].concat());
    let mut researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "last_steps": [7], "wearing": 4}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let path = format!("/integration/v1/patients/{}/summary/2025-11-20", patient.uuid);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(researcher.get(&path, None).await.1["activity"], json!({}), "nobody works");
    service.kill();
    let service = Service::start_with(data.path(), &[&named[..], &["integration,worker"]].concat());
    researcher.at(&service.url);
    loop {
        let (status, day) = researcher.get(&path, None).await;
        assert_eq!(status, 200);
        if day["activity"]["total_steps"] == 7 {
            break;
        }
        // The test runner ends a wait without end.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn metrics_have_a_listener_of_their_own() {
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--metrics-listen", "127.0.0.1:0"]);
    let said = service.said.iter().find_map(|line| line.strip_prefix("metrics on "));
    let metrics = said.unwrap().to_owned();
    let researcher = Researcher::new(data.path(), &service.url).await;
    researcher.get("/integration/v1/groups", None).await;
    let answer = reqwest::get(&metrics).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.unwrap();
    let line = "pulseward_requests_total{method=\"GET\",route=\"/integration/v1/groups\",status=\"200\"} 1";
    assert!(text.lines().any(|found| found == line), "{text}");
    let memory = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes ")).unwrap();
    assert!(memory.parse::<u64>().unwrap() > 1 << 20);
    assert!(!text.contains(&researcher.key) && !text.contains("pwk_"));
    assert_eq!(reqwest::get(format!("{}/metrics", service.url)).await.unwrap().status(), 404);
}
