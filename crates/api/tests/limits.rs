//! How much may be asked of the service: the rate limit, load that is refused before it costs memory, and what is
//! counted of it all.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping

#[path = "limits/callers.rs"]
mod callers;
mod common;
#[path = "limits/owners.rs"]
mod owners;

use std::task::Poll;

use api::{ClientAddress, Limits, metrics_text};
use axum::body::{Body, Bytes};
use axum::http::Request;
use common::{Answer, START_MS, Story, text};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use store::Role;

fn limited(per_minute: u32) -> Limits {
    Limits { requests_per_minute: Some(per_minute), ..Limits::default() }
}

fn rate(answer: &Answer) -> (u16, &str, &str) {
    (answer.status.as_u16(), answer.header("x-ratelimit-limit"), answer.header("x-ratelimit-remaining"))
}

async fn get_from(story: &Story, path: &str, address: &str) -> Answer {
    let mut request = Request::get(path).body(Body::empty()).unwrap();
    request.extensions_mut().insert(ClientAddress(Some(address.parse().unwrap())));
    story.send(request).await
}

#[tokio::test]
async fn each_key_has_its_own_minute() {
    let story = Story::begin_with(limited(4)).await;
    let (rita, omar) = (
        story.key_of("rita@study.example", Role::Researcher).await,
        story.key_of("omar@study.example", Role::Researcher).await,
    );
    let groups = |key: &str| format!("/integration/v1/groups?token={key}");
    for remaining in ["3", "2", "1", "0"] {
        assert_eq!(rate(&story.get(&groups(&rita)).await), (200, "4", remaining));
    }
    let refused = story.get(&groups(&rita)).await;
    assert_eq!(refused.error(), (429, "too_many_requests"));
    assert_eq!(rate(&refused), (429, "4", "0"));
    assert_eq!(refused.header("retry-after"), "60");
    assert!(!refused.header("x-request-id").is_empty());
    assert_eq!(story.get_as("/integration/v1/groups", &rita).await.error().0, 429, "in a header it is the same key");
    assert_eq!(story.get(&groups(&omar)).await.status, 200);
    story.pass_ms(59_999);
    assert_eq!(story.get(&groups(&rita)).await.header("retry-after"), "1");
    story.pass_ms(1);
    assert_eq!(rate(&story.get(&groups(&rita)).await), (200, "4", "3"));
}

#[tokio::test]
async fn who_shows_no_valid_credential_is_counted_by_address() {
    let story = Story::begin_with(limited(3)).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    for (path, status) in [("/integration/v1/groups?token=guess", 401), ("/nothing/here", 404), ("/openapi.json", 200)]
    {
        assert_eq!(get_from(&story, path, "192.0.2.1").await.status, status, "{path}");
    }
    for path in ["/openapi.json", "/integration/v1/groups?token=another", "/nothing"] {
        assert_eq!(get_from(&story, path, "192.0.2.1").await.error(), (429, "too_many_requests"), "{path}");
    }
    for probe in ["/livez", "/readyz"] {
        assert_eq!(get_from(&story, probe, "192.0.2.1").await.status, 200, "{probe}");
    }
    assert_eq!(get_from(&story, "/openapi.json", "192.0.2.2").await.status, 200);
    let path = format!("/integration/v1/groups?token={key}");
    for _ in 0..3 {
        assert_eq!(get_from(&story, &path, "192.0.2.2").await.status, 200);
    }
    let rest = get_from(&story, "/openapi.json", "192.0.2.2").await;
    assert_eq!(rate(&rest), (200, "3", "1"), "requests with a valid key are not the address's");
}

#[tokio::test]
async fn without_a_limit_no_header_speaks_of_one() {
    let story = Story::begin().await;
    assert_eq!(rate(&story.get("/openapi.json").await), (200, "", ""));
}

fn rows(count: i64) -> Value {
    let times: Vec<i64> = (0..count).map(|row| START_MS - 1000 * row).collect();
    json!({"data": {"temperature": {"timestamp": times, "temp_sk1": 33.1}}})
}

#[tokio::test]
async fn an_upload_that_does_not_fit_is_refused_and_nothing_of_it_is_stored() {
    let limits = Limits { upload_memory_bytes: 64 << 10, ..Limits::default() };
    let story = Story::begin_with(limits).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let large = rows(6000).to_string();
    assert!(large.len() > 64 << 10);
    let send = async |body: Body, encoding: &str| {
        let request = Request::post("/health/v1/sync").header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", patient.health_token));
        story.send(request.header("content-encoding", encoding).body(body).unwrap()).await
    };
    let pieces: Vec<_> =
        large.as_bytes().chunks(1000).map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece))).collect();
    let packed = zstd::encode_all(large.as_bytes(), 1).unwrap();
    assert!(packed.len() < 32 << 10);
    let announced = send(Body::from(large.clone()), "identity").await;
    let unannounced = send(Body::from_stream(futures::stream::iter(pieces)), "identity").await;
    let packed = send(Body::from(packed), "zstd").await;
    for refused in [announced, unannounced, packed] {
        assert_eq!(refused.error(), (503, "overloaded"));
        assert_eq!(refused.header("retry-after"), "2");
    }
    let small = send(Body::from(rows(10).to_string()), "identity").await.ok();
    assert_eq!(small["types"]["temperature"]["stored"], 10, "nothing was stored before, and the room is free again");
    let counted = metrics_text(&story.state).await;
    assert!(counted.contains("\npulseward_upload_memory_bytes 0\n"), "{counted}");
    for database in ["users", "health"] {
        let lag = format!("\npulseward_event_lag_seconds{{database=\"{database}\"}} 0\n");
        assert!(counted.contains(&lag), "{counted}");
    }
}

#[tokio::test]
async fn an_upload_whose_rows_would_never_fit_is_too_large_and_says_what_to_do() {
    let limits = Limits {
        upload_memory_bytes: 1 << 20,
        sync_bytes: 300 << 10,
        sync_expanded_bytes: 300 << 10,
        ..Limits::default()
    };
    let story = Story::begin_with(limits).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({})).await;
    let zeros = vec!["0"; 140_000].join(",");
    let body: Value = serde_json::from_str(&format!(r#"{{"data": {{"ppg1": {{"ppg": [{zeros}]}}}}}}"#)).unwrap();
    let refused = story.post_as("/health/v1/sync", &patient.health_token, body).await;
    assert!(refused.status == 413 || refused.status == 422, "{refused:?}");
    let block = format!(r#"{{"data": {{"ppg1": [{{"start": {START_MS}, "rate_hz": 25, "ppg": [{zeros}]}}]}}}}"#);
    let body: Value = serde_json::from_str(&block).unwrap();
    let refused = story.post_as("/health/v1/sync", &patient.health_token, body).await;
    assert_eq!(refused.error(), (413, "too_large"));
    assert!(text(&refused.body["message"]).contains("several"), "{refused:?}");
    assert_eq!(refused.header("retry-after"), "");
    let counted = metrics_text(&story.state).await;
    assert!(counted.contains("\npulseward_upload_memory_bytes 0\n"), "{counted}");
}

/// A login from an address whose body does not come.
async fn slow_login(story: &Story, path: &str, address: &str) -> Answer {
    let body = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let mut request = Request::post(path).header("content-type", "application/json").body(body).unwrap();
    request.extensions_mut().insert(ClientAddress(Some(address.parse().unwrap())));
    story.send(request).await
}

/// What has been answered to some slow logins, which has to be that they were given up.
async fn answered<F: Future<Output = Answer>>(waiting: &mut FuturesUnordered<F>) -> Vec<Answer> {
    let mut answers = Vec::new();
    // It looks at each once before it lets others go on.
    for _ in 0..4 * waiting.len() {
        if let Poll::Ready(Some(answer)) = futures::poll!(waiting.next()) {
            assert_eq!(answer.error(), (408, "timeout"));
            answers.push(answer);
        }
        runtime::yield_now().await;
    }
    answers
}

async fn login_from(story: &Story, address: &str) -> u16 {
    let body = json!({"email": "nobody@study.example", "password": "a wrong password"});
    let mut request = Request::post("/users/login").header("content-type", "application/json");
    request = request.extension(ClientAddress(Some(address.parse().unwrap())));
    story.send(request.body(Body::from(body.to_string())).unwrap()).await.status.as_u16()
}

#[tokio::test]
async fn stranger_and_credential_have_a_place_while_slow_bodies_hold_all_others() {
    let story = Story::begin_with(Limits { requests_at_once: 16, ..Limits::default() }).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let addresses: Vec<String> = (1..=8).map(|host| format!("192.0.2.{host}")).collect();
    let mut waiting = FuturesUnordered::new();
    waiting.extend(addresses.iter().map(|address| Box::pin(slow_login(&story, "/users/login", address))));
    // Sixteen places, a quarter for bodies of strangers: half of these were given up for the other half.
    let given_up = answered(&mut waiting).await;
    assert_eq!(given_up.len(), 4);
    assert!(given_up.iter().all(|answer| answer.header("connection") == "close"), "{given_up:?}");
    let path = format!("/integration/v1/groups?token={key}");
    for address in ["192.0.2.1", "192.0.2.9"] {
        assert_eq!(get_from(&story, &path, address).await.status, 200, "{address}: not known until now, or known");
        assert_eq!(get_from(&story, "/openapi.json", address).await.status, 200, "{address}");
    }
    assert_eq!(login_from(&story, "192.0.2.9").await, 401);
    assert_eq!((answered(&mut waiting).await.len(), waiting.len()), (1, 3), "one place was needed");
}

#[tokio::test]
async fn credential_that_a_route_does_not_check_gives_its_body_no_place_of_its_own() {
    let story = Story::begin_with(Limits { requests_at_once: 16, ..Limits::default() }).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    assert_eq!(get_from(&story, &format!("/integration/v1/groups?token={key}"), "192.0.2.1").await.status, 200);
    let path = format!("/users/login?token={key}");
    let mut waiting = FuturesUnordered::new();
    waiting.extend((0..16).map(|_| Box::pin(slow_login(&story, &path, "192.0.2.1"))));
    assert_eq!(answered(&mut waiting).await.len(), 14);
    assert_eq!(waiting.len(), 2, "as many as its address may have");
}

#[tokio::test]
async fn more_requests_than_can_be_answered_at_once_are_refused_but_probes_are_not() {
    let story = Story::begin_with(Limits { requests_at_once: 0, ..limited(100) }).await;
    let refused = story.get("/openapi.json").await;
    assert_eq!(refused.error(), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), "2");
    assert_eq!(rate(&refused), (503, "100", "99"));
    assert_eq!(story.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn metrics_count_routes_and_rows_and_show_no_secret() {
    let story = Story::begin().await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"first_name": "Thaddeus"})).await;
    let receipt = story.post_as("/health/v1/sync", &patient.health_token, rows(7)).await.ok();
    assert!(!text(&receipt["sync_id"]).is_empty());
    story.get(&format!("/integration/v1/check-voucher-code/{}?token={key}", patient.code)).await.ok();
    story.get("/integration/v1/groups?token=pwk_guess").await;
    story.get(&format!("/{}/x", patient.code)).await;
    let counted = metrics_text(&story.state).await;
    for line in [
        "pulseward_requests_total{method=\"POST\",route=\"/health/v1/sync\",status=\"200\"} 1",
        "pulseward_requests_total{method=\"GET\",route=\"/integration/v1/groups\",status=\"401\"} 1",
        "pulseward_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 1",
        "pulseward_syncs_total 1",
        "pulseward_sync_rows_total{type=\"temperature\",outcome=\"stored\"} 7",
        "pulseward_fold_queue_patients 1",
        "pulseward_requests_under_way 0",
        "pulseward_request_duration_seconds_count{route=\"/health/v1/sync\"} 1",
        "pulseward_store_operation_duration_seconds_count{database=\"health\",operation=\"sync.store_sync\"} 1",
        "pulseward_store_connections_limit{database=\"users\"} 4",
        "pulseward_store_connections_in_use{database=\"health\"} 0",
        "pulseward_store_writer_queue{database=\"health\"} 0",
        "pulseward_ready 1",
        "pulseward_jobs_put_aside{kind=\"seal\"} 0",
    ] {
        assert!(counted.lines().any(|found| found == line), "{line}\n{counted}");
    }
    for secret in [&key[..], &patient.code, &patient.uuid, "Thaddeus", "rita", "pwk_", &group] {
        assert!(!counted.contains(secret), "{secret}");
    }
}
