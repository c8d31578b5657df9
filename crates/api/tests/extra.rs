//! Figures of a day beyond the specification: from a night's rows to the answers of three routes.

mod common;

use common::{Enrolled, Story};
use serde_json::{Value, json};
use store::Role;

/// 2025-11-18T22:00Z.
const NIGHT_MS: i64 = 1_763_503_200_000;
const MINUTE_MS: i64 = 60_000;
const DAY: &str = "2025-11-19";

/// Eight hours asleep but for half an hour awake after two hours; heart rates of 50, but 40 to 44 in five windows, and
/// lower ones awake and before the night.
async fn sleep(story: &Story, patient: &Enrolled) {
    let epochs: Vec<i64> = (0..16 * 60).map(|epoch| NIGHT_MS + epoch * MINUTE_MS / 2).collect();
    let is_awake = |time_ms: &i64| (120..150).contains(&((time_ms - NIGHT_MS) / MINUTE_MS));
    let stages: Vec<i64> = epochs.iter().map(|time_ms| if is_awake(time_ms) { 0 } else { 2 }).collect();
    let minutes: Vec<i64> = (-60..9 * 60).map(|minute| NIGHT_MS + minute * MINUTE_MS).collect();
    let rate = |time_ms: &i64| match (time_ms - NIGHT_MS).div_euclid(5 * MINUTE_MS) {
        // The bed is read in, and the time awake.
        ..0 | 24..30 => 35,
        window @ 60..65 => window - 20,
        _ => 50,
    };
    let rates: Vec<i64> = minutes.iter().map(rate).collect();
    let data = json!({
        "sleep": {"timestamp": epochs, "sleep_state": stages},
        "activity": {"timestamp": minutes, "bpm": rates, "wearing": 4},
    });
    story.sync(patient, data).await;
}

#[tokio::test]
async fn resting_heart_rate_of_the_night_is_the_median_of_the_five_lowest_windows_asleep() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let empty = story.patient(&key, &group, json!({})).await;
    sleep(&story, &grace).await;

    let of_patient =
        |uuid: &str, query: &str| format!("/integration/v1/patients/{uuid}/summary/{DAY}?token={key}{query}");
    let extra = json!({"night": {"resting_heart_rate": 42.0}});
    for query in ["&include_extra=1", "&types[]=extra", "&types=spo2,extra"] {
        let day = story.get(&of_patient(&grace.uuid, query)).await.ok();
        assert_eq!(day["extra"], extra, "{query}: {day}");
        assert_eq!(day.get("activity").is_some(), query.starts_with("&include"), "{query}");
    }
    let unknown = story.get(&of_patient(&empty.uuid, "&include_extra=1")).await.ok();
    assert_eq!(unknown["extra"], json!({"night": {"resting_heart_rate": null}}));
    for path in [of_patient(&grace.uuid, ""), of_patient(&grace.uuid, "&include_slots=1&include_extra=0")] {
        assert_eq!(story.get(&path).await.ok().get("extra"), None, "the specification's answers stay as they are");
    }

    let group = format!("/integration/v1/groups/{group}/summaries?date={DAY}&include_extra=1&token={key}");
    assert_eq!(story.get(&group).await.ok()[&grace.uuid]["extra"], extra);
    let own = format!("/health/user-summaries?date_from={DAY}&date_to={DAY}&types=spo2,extra");
    let own = story.get_as(&own, &grace.health_token).await.ok();
    assert_eq!(own["data"][0]["extra"], extra);
    let address = own["first_page_url"].as_str().expect("an address");
    assert!(address.contains("types=spo2,extra"), "{address}");

    let found = story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed");
    assert_eq!(found.differences, 0);
}

#[tokio::test]
async fn night_without_five_windows_of_heart_rate_has_no_resting_heart_rate() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    let epochs: Vec<i64> = (0..16 * 60).map(|epoch| NIGHT_MS + epoch * MINUTE_MS / 2).collect();
    let minutes: Vec<i64> = (60..80).map(|minute| NIGHT_MS + minute * MINUTE_MS).collect();
    let data = json!({
        "sleep": {"timestamp": epochs, "sleep_state": 2},
        "activity": {"timestamp": minutes, "bpm": 50, "wearing": 4},
    });
    story.sync(&grace, data).await;
    let path = format!("/integration/v1/patients/{}/summary/{DAY}?token={key}&types=extra", grace.uuid);
    assert_eq!(story.get(&path).await.ok()["extra"]["night"]["resting_heart_rate"], Value::Null);
}
