//! Uploads that lie about themselves: each is refused as a fault of the sender, and the next request is answered.

mod common;

use axum::body::Body;
use axum::http::Request;
use common::{Answer, Story};
use serde_json::json;
use store::Role;

/// The bytes of a stream of spot measurements; without the byte that chooses the type for the fuzz target.
const STREAM: &[u8] = include_bytes!("../../../fuzz/seeds/sync_arrow/valid-foreign-texts.arrow");

async fn patient(story: &Story) -> String {
    let key = story.key_of("researcher@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    story.patient(&key, &group, json!({})).await.health_token
}

async fn send(story: &Story, token: &str, stream: &[u8]) -> Answer {
    let request = Request::post("/health/v1/sync/tests")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/vnd.apache.arrow.stream");
    story.send(request.body(Body::from(stream.to_vec())).expect("a request")).await
}

#[tokio::test]
async fn a_stream_with_any_byte_changed_is_the_senders_fault_at_worst() {
    let story = Story::begin().await;
    let token = patient(&story).await;
    let stream = &STREAM[1..];
    assert_eq!(send(&story, &token, stream).await.ok()["types"]["tests"]["stored"], 2);
    let mut malformed = 0;
    for at in (0..stream.len()).step_by(5) {
        let mut changed = stream.to_vec();
        changed[at] ^= 0xa5;
        let answer = send(&story, &token, &changed).await;
        assert!(matches!(answer.status.as_u16(), 200 | 400 | 422), "{at}: {answer:?}");
        malformed += u64::from(answer.status == 400 && answer.error() == (400, "malformed_body"));
    }
    assert!(malformed > 50, "{malformed}");
    assert_eq!(send(&story, &token, &stream[..stream.len() / 2]).await.error(), (400, "malformed_body"));
    assert!(send(&story, &token, stream).await.ok()["types"]["tests"]["stored"].is_u64());
}

#[tokio::test]
async fn an_answer_repeats_little_of_a_long_body() {
    let story = Story::begin().await;
    let token = patient(&story).await;
    let column = "x".repeat(1_000_000);
    let body = json!({"data": {"activity": {"timestamp": [1], column: [1]}}});
    let answer = story.post_as("/health/v1/sync", &token, body).await;
    assert_eq!(answer.error(), (422, "invalid"));
    assert!(answer.body.to_string().len() < 2_000);
}
