//! Scripts of an application's page call from a browser, which asks first whether they may (CORS).

use axum::body::Body;
use axum::http::{Method, Request};

use crate::common::Answer;
use crate::scene::Scene;

/// The page of the client that [`Scene::client`] registers.
const PAGE: &str = "https://diary.example";
const SUMMARIES: &str = "/health/user-summaries?date_from=2025-11-20&date_to=2025-11-20";

/// Asks as a browser does before it sends a request with a token.
async fn asks(scene: &Scene, path: &str, origin: &str) -> Answer {
    let request = Request::builder().method(Method::OPTIONS).uri(path).header("origin", origin);
    let request = request
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization");
    scene.story.send(request.body(Body::empty()).expect("a request")).await
}

async fn reads(scene: &Scene, path: &str, origin: &str, token: &str) -> Answer {
    let request = Request::get(path).header("origin", origin).header("authorization", format!("Bearer {token}"));
    scene.story.send(request.body(Body::empty()).expect("a request")).await
}

#[tokio::test]
async fn page_of_a_registered_application_reads_with_its_token() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    let tokens = scene.tokens(&client, "patient.read").await;
    let asked = asks(&scene, SUMMARIES, PAGE).await;
    assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (204, PAGE));
    let (methods, headers) =
        (asked.header("access-control-allow-methods"), asked.header("access-control-allow-headers"));
    assert!(methods.contains("POST") && headers.contains("authorization") && headers.contains("content-encoding"));
    assert_eq!(asked.header("access-control-allow-credentials"), "", "a cookie never comes from another origin");

    let answer = reads(&scene, SUMMARIES, PAGE, tokens["access_token"].as_str().expect("a token")).await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (200, PAGE));
    assert!(answer.header("access-control-expose-headers").contains("x-request-id"));
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    // A page can read why it was refused.
    let refused = reads(&scene, SUMMARIES, PAGE, "no token").await;
    assert_eq!((refused.status.as_u16(), refused.header("access-control-allow-origin")), (401, PAGE));
    for path in ["/health/oauth/token", "/health/v1/sync", "/.well-known/oauth-authorization-server/health"] {
        assert_eq!(asks(&scene, path, PAGE).await.status, 204, "{path}");
    }
}

#[tokio::test]
async fn other_pages_and_other_interfaces_stay_closed() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", true).await;
    for origin in [
        "https://evil.example",
        "https://diary.example.evil.example",
        "https://diary.example:8443",
        "http://diary.example",
        "https://DIARY.example",
        "https://diary.example/",
        // It is registered, and is not https: any program of the person's machine can be there.
        "http://127.0.0.1:7777",
        "null",
        "*",
        "",
    ] {
        let asked = asks(&scene, SUMMARIES, origin).await;
        assert_eq!((asked.status.as_u16(), asked.header("access-control-allow-origin")), (405, ""), "{origin}");
        let answer = reads(&scene, SUMMARIES, origin, &scene.grace.health_token).await;
        assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (200, ""), "{origin}");
        assert!(answer.header("vary").contains("origin"), "{}", answer.header("vary"));
    }
    for path in ["/users/me", "/integration/v1/groups", "/portal/session", "/health/v2/nothing"] {
        let asked = asks(&scene, path, PAGE).await;
        assert_eq!(asked.header("access-control-allow-origin"), "", "{path}");
        assert!(matches!(asked.status.as_u16(), 404 | 405), "{path}: {}", asked.status);
    }
    // Without what makes it a question of CORS it is a method like others.
    let plain = Request::builder().method(Method::OPTIONS).uri(SUMMARIES).header("origin", PAGE);
    assert_eq!(scene.story.send(plain.body(Body::empty()).expect("a request")).await.status, 405);

    assert_eq!(asks(&scene, SUMMARIES, PAGE).await.status, 204);
    let id = store::ClientId::new(client.id.as_str());
    scene.story.platform.identity.remove_oauth_client(&id).await.expect("removed");
    scene.story.pass_ms(5_001);
    assert_eq!(asks(&scene, SUMMARIES, PAGE).await.status, 405, "a removed application is gone within five seconds");
}

/// A refusal before a route is asked is outside of what most layers see.
#[tokio::test]
async fn refusal_for_too_many_requests_is_readable_for_a_page() {
    let scene = Scene::begin_with(api::Limits { requests_per_minute: Some(20), ..api::Limits::default() }).await;
    scene.client("Diary", true).await;
    for _ in 0..40 {
        reads(&scene, SUMMARIES, PAGE, &scene.grace.health_token).await;
    }
    let answer = reads(&scene, SUMMARIES, PAGE, &scene.grace.health_token).await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (429, PAGE));
    assert!(answer.header("access-control-expose-headers").contains("retry-after"));
}
