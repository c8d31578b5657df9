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

/// Minutes of a night that begins at [`NIGHT_MS`], from 00:00 to 00:30 UTC.
const AWAKE: std::ops::Range<i64> = 120..150;

/// Heart rates of a minute each: 35 while awake, 50 otherwise.
fn rates_low_awake() -> Value {
    let minutes: Vec<i64> = (0..8 * 60).collect();
    let rates: Vec<i64> = minutes.iter().map(|minute| if AWAKE.contains(minute) { 35 } else { 50 }).collect();
    let times: Vec<i64> = minutes.iter().map(|minute| NIGHT_MS + minute * MINUTE_MS).collect();
    json!({"timestamp": times, "bpm": rates, "wearing": 4})
}

/// Returns the resting heart rate of the night of a patient who has sent some data and heart rates.
async fn resting_heart_rate_with(data_type: &str, data: Value) -> Value {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"time_zone": "UTC"})).await;
    story.sync(&grace, json!({data_type: data, "activity": rates_low_awake()})).await;
    let path = format!("/integration/v1/patients/{}/summary/{DAY}?token={key}&types=extra", grace.uuid);
    story.get(&path).await.ok()["extra"]["night"]["resting_heart_rate"].clone()
}

#[tokio::test]
async fn time_awake_by_movement_is_no_part_of_the_resting_heart_rate_of_the_night() {
    // A second each: the arm is still but for half an hour in which it turns every five seconds.
    let turns = |second: i64| AWAKE.contains(&(second / 60)) && (second / 5) % 2 == 0;
    let axes: Vec<[i32; 2]> = (0..8 * 3600).map(|second| if turns(second) { [512, 0] } else { [0, 512] }).collect();
    let axis = |at: usize| axes.iter().map(|axes| axes[at]).collect::<Vec<i32>>();
    let acc = json!([{"start": NIGHT_MS, "rate_hz": 1, "accX": axis(0), "accY": 0, "accZ": axis(1)}]);
    assert_eq!(resting_heart_rate_with("acc", acc).await, json!(50.0));
}

#[tokio::test]
async fn gap_in_the_stages_is_no_part_of_the_resting_heart_rate_of_the_night() {
    // Half an hour without rows ends no session.
    let epochs = (0..16 * 60).filter(|epoch| !AWAKE.contains(&(epoch / 2)));
    let times: Vec<i64> = epochs.map(|epoch| NIGHT_MS + epoch * MINUTE_MS / 2).collect();
    let stages = json!({"timestamp": times, "sleep_state": 2});
    assert_eq!(resting_heart_rate_with("sleep", stages).await, json!(50.0));
}

#[tokio::test]
async fn stages_that_come_once_a_minute_cover_their_windows() {
    let minutes = (0..8 * 60).filter(|minute| !AWAKE.contains(minute));
    let times: Vec<i64> = minutes.map(|minute| NIGHT_MS + minute * MINUTE_MS).collect();
    let stages = json!({"timestamp": times, "sleep_state": 2});
    assert_eq!(resting_heart_rate_with("sleep", stages).await, json!(50.0));
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
