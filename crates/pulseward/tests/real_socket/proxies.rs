//! The proxies whose configuration is in `deploy/proxies`, in front of the service: what it needs of them reaches it.

mod program;

use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tempfile::tempdir;

use self::program::{CADDY, HAPROXY, NGINX, Program, Proxy};
use crate::harness::{Patient, Researcher, Service};

/// Rows of a sync that is larger than the megabyte of nginx's default: a day by the second.
const ROWS: i64 = 86_400;
const SYNC_BYTES: usize = 2_600_000;
/// 2025-11-20T00:00:00Z.
const FIRST_MS: i64 = 1_763_596_800_000;
/// Far longer than a proxy takes that does not wait for more to pass on.
const AT_ONCE: Duration = Duration::from_secs(20);
const REQUESTS_A_MINUTE: u32 = 1000;

fn client() -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, 2)
}

/// Sends a sync of some megabytes and reads it back as a stream; both have to come through whole.
async fn a_day_passes(proxy: &Proxy, patient: &Patient) {
    let times: Vec<i64> = (0..ROWS).map(|second| FIRST_MS + second * 1_000).collect();
    let degrees = |low: i64| (0..ROWS).map(|second| (low + second % 99) as f64 / 100.0).collect::<Vec<f64>>();
    let rows =
        json!({"timestamp": times, "temp_sk1": degrees(3_301), "temp_sk2": degrees(3_401), "temp_amb": degrees(2_101)});
    let body = json!({"data": {"temperature": rows}}).to_string();
    assert!(body.len() > SYNC_BYTES, "{}", body.len());
    let http = proxy.client(client());
    let sync = http.post(proxy.url("/health/v1/sync")).bearer_auth(&patient.token).body(body);
    let answer = sync.header("content-type", "application/json").send().await.unwrap();
    let status = answer.status().as_u16();
    let receipt: Value = answer.json().await.unwrap();
    assert_eq!((status, &receipt["types"]["temperature"]["stored"]), (200, &json!(ROWS)), "{receipt}");
    let range = "from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T23:59:59Z";
    let read = http.get(proxy.url(&format!("/health/v2/raw-metrics/temperature?{range}"))).bearer_auth(&patient.token);
    let read: Value = read.send().await.unwrap().json().await.unwrap();
    assert_eq!(read.as_array().map(Vec::len), Some(ROWS as usize), "{:.200}", read.to_string());
}

/// Follows a board while a sync comes in: what is little passes at once, too.
async fn a_board_is_followed(proxy: &Proxy, researcher: &Researcher, patient: &Patient) {
    let http = proxy.client(client());
    let path = format!("/portal/api/groups/{}/board/events", researcher.group);
    let mut events = http.get(proxy.url(&path)).header("X-Api-Key", &researcher.key).send().await.unwrap();
    assert_eq!(events.status(), 200);
    let first = tokio::time::timeout(AT_ONCE, events.chunk()).await.expect("the first bytes").unwrap();
    assert!(first.is_some_and(|bytes| bytes.starts_with(b": listening")));
    let body = json!({"data": {"activity": {"timestamp": [FIRST_MS], "bpm": [61]}}});
    let sync = http.post(proxy.url("/health/v1/sync")).bearer_auth(&patient.token).json(&body);
    assert_eq!(sync.send().await.unwrap().status(), 200);
    // Rows of what happened before may come first.
    let followed = async {
        let mut text = String::new();
        while !text.contains(r#""heart_rate":{"value":61.0,"#) {
            text.push_str(std::str::from_utf8(&events.chunk().await.unwrap().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(AT_ONCE, followed).await.expect("the row");
}

/// Reads what is left to a client in a minute; `forged` is what the client says of its address itself.
async fn remaining(proxy: &Proxy, address: Ipv4Addr, forged: &str) -> u32 {
    let request = proxy.client(address).get(proxy.url("/openapi.json")).header("X-Forwarded-For", forged);
    let answer: Response = request.send().await.unwrap();
    answer.headers()["x-ratelimit-remaining"].to_str().unwrap().parse().unwrap()
}

/// The limit by address shows which one the service takes for the client's.
async fn the_client_is_known_by_its_own_address(proxy: &Proxy) {
    // Nobody has called from there, so that its minute begins here.
    let fresh = Ipv4Addr::new(127, 0, 0, 4);
    let before = remaining(proxy, fresh, "198.51.100.1").await;
    let after = remaining(proxy, fresh, "198.51.100.2").await;
    assert_eq!(after, before - 1, "whatever it says of itself");
    let listed = remaining(proxy, fresh, "198.51.100.3, 127.0.0.1").await;
    assert_eq!(listed, before - 2, "also where it names the proxy");
    let another = remaining(proxy, Ipv4Addr::new(127, 0, 0, 3), "127.0.0.2").await;
    assert_eq!(another, REQUESTS_A_MINUTE - 1, "another client has a minute of its own");
}

/// The service refuses before it has the body, and the proxy passes on why.
async fn a_refusal_says_why(proxy: &Proxy) {
    let upload = proxy.client(client()).post(proxy.url("/health/v1/sync")).bearer_auth("nobody");
    let answer = upload.body(vec![b' '; 4 << 20]).send().await.unwrap();
    assert_eq!(answer.status(), 401);
    let policies: Vec<_> = answer.headers().get_all("strict-transport-security").iter().collect();
    assert_eq!(policies, ["max-age=31536000"]);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "unauthenticated", "{body}");
}

async fn what_the_service_needs_passes(program: &Program) {
    let data = tempdir().unwrap();
    let rate = REQUESTS_A_MINUTE.to_string();
    let public = ["--behind-proxy", "--public-url", "https://study.example", "--trusted-proxies", "127.0.0.1"];
    let service = Service::start_with(data.path(), &[&public[..], &["--rate-limit", &rate]].concat());
    let Some(proxy) = program.start(&service) else { return };
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    a_board_is_followed(&proxy, &researcher, &patient).await;
    a_day_passes(&proxy, &patient).await;
    the_client_is_known_by_its_own_address(&proxy).await;
    a_refusal_says_why(&proxy).await;
}

#[tokio::test]
async fn nginx_passes_what_the_service_needs() {
    what_the_service_needs_passes(&NGINX).await;
}

#[tokio::test]
async fn haproxy_passes_what_the_service_needs() {
    what_the_service_needs_passes(&HAPROXY).await;
}

#[tokio::test]
async fn caddy_passes_what_the_service_needs() {
    what_the_service_needs_passes(&CADDY).await;
}
