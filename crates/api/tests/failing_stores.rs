//! One database that fails: what needs it is refused as passing, stores nothing, and what does not need it goes on.

mod common;

use common::Story;
use serde_json::json;
use store::Role;

const DAY: &str = "2025-11-19";

#[tokio::test]
async fn without_the_health_database_people_are_served_and_samples_refused_as_passing() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({})).await;
    story.platform.core.health().close().await.expect("closed");

    let row = json!({"activity": {"timestamp": [common::START_MS], "bpm": [60]}});
    let sync = json!({"time_zone": "UTC", "data": row});
    let refused = story.post_as("/health/v1/sync", &grace.health_token, sync).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let summary = format!("/integration/v1/patients/{}/summary/{DAY}?token={key}", grace.uuid);
    assert_eq!(story.get(&summary).await.status, 503);
    // Who people are lies in the other database.
    story.get(&format!("/integration/v1/groups?token={key}")).await.ok();
    assert_eq!(story.get("/readyz").await.status, 503);
}

#[tokio::test]
async fn without_the_users_database_bracelets_go_on_and_researchers_are_refused_as_passing() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({})).await;
    story.platform.core.users().close().await.expect("closed");

    let row = json!({"activity": {"timestamp": [common::START_MS], "bpm": [60]}});
    let sync = json!({"time_zone": "UTC", "data": row});
    let receipt = story.post_as("/health/v1/sync", &grace.health_token, sync).await.ok();
    assert_eq!(receipt["types"]["activity"]["stored"], 1, "{receipt}");
    assert_eq!(story.get(&format!("/integration/v1/groups?token={key}")).await.status, 503);
    let own = format!("/health/user-summaries?date_from={DAY}&date_to={DAY}");
    story.get_as(&own, &grace.health_token).await.ok();
}
