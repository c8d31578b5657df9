//! Traces of the built program as a collector gets them. Needs the feature `otlp`.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by stopping
#![allow(clippy::disallowed_methods, reason = "a client of the service, outside the runtime seam")]

mod collector;
#[allow(dead_code)] // other tests use the rest
#[path = "../real_socket/harness.rs"]
mod harness;

use std::time::{Duration, Instant};

use collector::{Collector, Span};
use harness::{Researcher, Service, run};
use serde_json::json;
use tempfile::tempdir;

/// OTLP's numbers of kinds of spans.
const INTERNAL: u64 = 1;
const SERVER: u64 = 2;

fn named<'spans>(spans: &'spans [Span], name: &str) -> &'spans Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} in {spans:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_of_store_operations_arrive_below_their_request_and_job() {
    let collector = Collector::start().await;
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--otlp-url", &collector.url, "--log", "warn"]);
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let body = json!({"data": {"activity": {"timestamp": [1_763_600_000_000_i64], "bpm": [60]}}});
    assert_eq!(researcher.sync(&patient, &body).await.unwrap().0, 200);
    let summary = format!("/integration/v1/patients/{}/summary/2025-11-20?types=heart_rate", patient.uuid);
    let deadline = Instant::now() + Duration::from_mins(1);
    while researcher.get(&summary, None).await.1["heart_rate"]["max_daily_heart_rate"] != json!(60) {
        assert!(Instant::now() < deadline, "the row is not derived from");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));

    // What was left at the end has been sent before it.
    let spans = collector.spans();
    let sync = named(&spans, "POST /health/v1/sync");
    assert_eq!((sync.kind, sync.parent.as_str()), (SERVER, ""));
    for (key, value) in
        [("http.request.method", "POST"), ("http.route", "/health/v1/sync"), ("http.response.status_code", "200")]
    {
        assert_eq!(sync.attributes.get(key).map(String::as_str), Some(value), "{sync:?}");
    }
    let stored = named(&spans, "sync.store_sync");
    assert_eq!((&stored.trace, &stored.parent, stored.kind), (&sync.trace, &sync.id, INTERNAL));
    assert_eq!(stored.attributes["db.namespace"], "health");
    let start = named(&spans, "inputs.derivation_start");
    let above = |span: &Span| spans.iter().find(|above| above.id == span.parent && above.trace == span.trace).unwrap();
    let derive = above(start);
    assert_eq!((derive.name.as_str(), above(derive).name.as_str()), ("derive", "job derive"));
    assert!(
        spans
            .iter()
            .filter(|span| span.parent.is_empty())
            .all(|span| { span.name.starts_with("job ") || span.attributes.contains_key("http.route") })
    );
    for secret in [&patient.uuid, &patient.code, &patient.token, &researcher.key, "rita", "study.example"] {
        assert!(!collector.has_bytes(secret), "{secret}");
    }
    assert!(collector.has_bytes("service.name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn service_whose_collector_is_away_answers_and_ends() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let data = tempdir().unwrap();
    let service = Service::start_with(data.path(), &["--otlp-url", &format!("http://{nobody}")]);
    let answer = reqwest::get(format!("{}/readyz", service.url)).await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    service.signal("-TERM");
    assert_eq!(service.wait().code(), Some(0));
}

#[test]
fn address_that_is_none_is_wrong_usage_and_is_not_repeated() {
    let data = tempdir().unwrap();
    let options = ["serve", "--data", data.path().to_str().unwrap(), "--otlp-url", "me:secret@collector"];
    let ended = run(&options);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said, "error: --otlp-url must be an address such as http://127.0.0.1:4318\n");
}
