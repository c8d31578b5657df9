//! One valid login, whatever it does with all its tokens, leaves the most of everything to others.

use std::task::Poll;

use api::Limits;
use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::{Value, json};
use store::Role;

use crate::common::{Answer, PASSWORD, Story, text};
use crate::{get_from, login_from, rows};

const REQUESTS_AT_ONCE: usize = 16;

fn few() -> Limits {
    Limits { requests_at_once: REQUESTS_AT_ONCE, ..Limits::default() }
}

/// A sync of which so much comes at once, and then nothing.
async fn slow_sync(story: &Story, token: &str, bytes: usize) -> Answer {
    let piece = Ok::<_, std::io::Error>(Bytes::from(" ".repeat(bytes)));
    let body = Body::from_stream(futures::stream::iter([piece]).chain(futures::stream::pending()));
    let request = Request::post("/health/v1/sync").header("content-type", "application/json");
    story.send(request.header("authorization", format!("Bearer {token}")).body(body).unwrap()).await
}

/// What is answered to slow syncs at once.
async fn answered<F: Future<Output = Answer>>(waiting: &mut FuturesUnordered<F>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for _ in 0..4 * waiting.len() {
        if let Poll::Ready(Some(answer)) = futures::poll!(waiting.next()) {
            answers.push(answer);
        }
        runtime::yield_now().await;
    }
    answers
}

#[tokio::test]
async fn slow_uploads_of_one_login_leave_places_to_all_others() {
    let story = Story::begin_with(few()).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let attacker = story.patient(&key, &group, json!({})).await;
    let other = story.patient(&key, &group, json!({})).await;
    // Several logins of one patient are one owner.
    let mut tokens = vec![attacker.health_token.clone()];
    for _ in 0..3 {
        let login = json!({"code": attacker.code, "password": PASSWORD});
        let users_token = text(&story.post("/users/login", login).await.ok()["token"]);
        let login = story.post("/health/login", json!({"user_api_token": users_token})).await.ok();
        tokens.push(text(&login["token"]));
    }
    let mut waiting = FuturesUnordered::new();
    // Each is ahead of the least rate for a minute.
    let slow = |at: usize| Box::pin(slow_sync(&story, &tokens[at % tokens.len()], 60 << 10));
    waiting.extend((0..4 * REQUESTS_AT_ONCE).map(slow));
    let refused = answered(&mut waiting).await;
    assert!(refused.iter().all(|answer| answer.error() == (503, "overloaded")), "{refused:?}");
    assert_eq!(waiting.len(), REQUESTS_AT_ONCE / 4, "a quarter while nobody else asks");
    let path = format!("/integration/v1/groups?token={key}");
    for address in ["192.0.2.1", "192.0.2.9"] {
        assert_eq!(get_from(&story, &path, address).await.status, 200, "{address}");
    }
    story.post_as("/health/v1/sync", &other.health_token, rows(3)).await.ok();
    assert_eq!(login_from(&story, "192.0.2.9").await, 401);
    assert_eq!(slow_sync(&story, &tokens[0], 1).await.error(), (503, "overloaded"));
}

#[tokio::test]
async fn upload_whose_client_has_gone_makes_room_for_the_same_patient() {
    let story = Story::begin_with(few()).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let token = story.patient(&key, &group, json!({})).await.health_token;
    let mut waiting = FuturesUnordered::new();
    waiting.extend((0..REQUESTS_AT_ONCE / 4).map(|_| Box::pin(slow_sync(&story, &token, 1))));
    assert_eq!(answered(&mut waiting).await.len(), 0);
    runtime::sleep(std::time::Duration::from_secs(2)).await;
    let summaries = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";
    assert_eq!(story.get_as(summaries, &token).await.status, 200);
    let given_up = answered(&mut waiting).await;
    assert_eq!(given_up.iter().map(Answer::error).collect::<Vec<_>>(), [(408, "timeout")]);
}

#[tokio::test]
async fn boards_of_one_account_leave_streams_to_others() {
    let story = Story::begin_with(few()).await;
    let (rita, omar) = (
        story.key_of("rita@study.example", Role::Researcher).await,
        story.key_of("omar@study.example", Role::Researcher).await,
    );
    let open = async |key: &str, group: &str| {
        let path = format!("/portal/api/groups/{group}/board/events?token={key}");
        story.open(Request::get(path).body(Body::empty()).unwrap()).await
    };
    let (group, other) = (story.group(&rita).await, story.group(&omar).await);
    let mut streams = Vec::new();
    for _ in 0..REQUESTS_AT_ONCE {
        streams.push(open(&rita, &group).await);
    }
    let opened = streams.iter().filter(|stream| stream.status() == 200).count();
    assert_eq!(opened, REQUESTS_AT_ONCE / 8, "a quarter of the streams, which are half of the requests");
    assert!(streams.iter().all(|stream| [200, 503].contains(&stream.status().as_u16())));
    assert_eq!(open(&omar, &other).await.status(), 200);
    drop(streams);
    assert_eq!(open(&rita, &group).await.status(), 200);
}

#[tokio::test]
async fn halves_of_uploads_of_one_login_leave_memory_to_others() {
    let story = Story::begin_with(Limits { upload_memory_bytes: 1 << 20, ..Limits::default() }).await;
    let key = story.key_of("rita@study.example", Role::Researcher).await;
    let group = story.group(&key).await;
    let attacker = story.patient(&key, &group, json!({})).await;
    let other = story.patient(&key, &group, json!({})).await;
    let sync: Value = rows(1000);
    let mut waiting = FuturesUnordered::new();
    waiting.extend((0..64).map(|_| Box::pin(slow_sync(&story, &attacker.health_token, 60 << 10))));
    let refused = answered(&mut waiting).await;
    assert!(refused.iter().all(|answer| answer.error() == (503, "overloaded")), "{refused:?}");
    assert!(waiting.len() <= 4, "{} of 60 KiB in a quarter of 1 MiB", waiting.len());
    story.post_as("/health/v1/sync", &other.health_token, sync).await.ok();
}
