//! 2.6: the sections that follow from nights and from the days before.

use serde_json::{Value, json};

use crate::scene::{DAY, DAY_MS, HOUR_MS, MIDNIGHT_MS, MINUTE_MS, Scene, minutes};
use crate::table::Kind::{Date, Integer, Null, Number, WithOffset};
use crate::table::{Field, Table, always, assert_fields, or_null};

/// 22:00 of the evening before, ms.
const EVENING_MS: i64 = MIDNIGHT_MS - 2 * HOUR_MS;

/// Returns the fields of a night but for its stages, whose kind differs.
fn night_fields(stage: impl Fn(&'static str) -> Field) -> Vec<Field> {
    vec![
        always("date", Date),
        or_null("heart_rate", Number),
        or_null("heart_rate_quality", Number),
        always("time_to_sleep", Integer),
        always("time_to_wake_up", Integer),
        always("start_session_original_ph", WithOffset),
        always("stop_session_original_ph", WithOffset),
        always("sleep_duration", Integer),
        always("daily_percent", Number),
        always("awake_time", Integer),
        stage("rem_time"),
        stage("light_time"),
        stage("deep_time"),
        always("performance", Number),
        always("tranquility", Number),
        or_null("consistency", Number),
        always("start_date", WithOffset),
        always("end_date", WithOffset),
    ]
}

/// Ten minutes awake, four hours of light sleep, two deep, two of REM, five minutes awake: epochs of thirty seconds.
fn stages(evening_ms: i64) -> Value {
    let mut states = vec![0; 20];
    states.extend([1; 480]);
    states.extend([2; 240]);
    states.extend([3; 240]);
    states.extend([0; 10]);
    let times: Vec<i64> = (0..states.len() as i64).map(|epoch| evening_ms + epoch * 30_000).collect();
    json!({"timestamp": times, "sleep_state": states})
}

#[tokio::test]
async fn table_2_6_sleep() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&night_fields(|name| always(name, Integer)));
    let (grace, other) = (scene.patient().await, scene.stranger().await);
    for night in 0..3 {
        scene.story.sync(&grace, json!({"sleep": stages(EVENING_MS - night * DAY_MS)})).await;
    }
    scene.story.sync(&grace, json!({"activity": {"timestamp": minutes(0, 360), "bpm": 52, "bpm_q": 3}})).await;
    let night = scene.section(&grace, "sleep").await;
    table.check(&night);
    let expected = json!({
        "date": DAY, "heart_rate": 52.0, "heart_rate_quality": 3.0, "time_to_sleep": 600, "time_to_wake_up": 300,
        "start_session_original_ph": "2025-11-18T22:00:00+01:00",
        "stop_session_original_ph": "2025-11-19T06:15:00+01:00", "sleep_duration": 8 * 3600, "daily_percent": 100.0,
        "awake_time": 900, "rem_time": 7200, "light_time": 14_400, "deep_time": 7200, "performance": 100.0,
        "tranquility": 100.0, "consistency": 100.0, "start_date": "2025-11-18T22:10:00+01:00",
        "end_date": "2025-11-19T06:10:00+01:00",
    });
    assert_eq!(night, expected);

    scene.story.sync(&other, json!({"sleep": stages(EVENING_MS)})).await;
    let alone = scene.section(&other, "sleep").await;
    table.check(&alone);
    assert_fields(&alone, &json!({"heart_rate": null, "heart_rate_quality": null, "consistency": null}));
}

/// Its contents are not shown: by decisions 5 the fields of `sleep`, and movement reports no stages.
#[tokio::test]
async fn table_2_6_service_sleep() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[]).and_ours(&night_fields(|name| always(name, Null)));
    let grace = scene.patient().await;
    // A second each: an hour in which the wrist turns every five of them, six hours still, another hour of turning.
    let turning = (0..3600).map(|second| if (second / 5) % 2 == 0 { [512, 0] } else { [0, 512] });
    let seconds: Vec<[i32; 2]> = turning.clone().chain((0..6 * 3600).map(|_| [0, 512])).chain(turning).collect();
    let axis = |at: usize| seconds.iter().map(|axes| axes[at]).collect::<Vec<i32>>();
    let acc = json!([{"start": EVENING_MS, "rate_hz": 1, "accX": axis(0), "accY": 0, "accZ": axis(1)}]);
    scene.story.sync(&grace, json!({ "acc": acc })).await;
    let night = scene.section(&grace, "service_sleep").await;
    table.check(&night);
    let asleep_s = night["sleep_duration"].as_i64().expect("seconds");
    assert!((asleep_s - 6 * 3600).abs() <= 300, "{night}");
    assert_fields(&night, &json!({"date": DAY, "consistency": null, "heart_rate": null}));
}

#[tokio::test]
async fn table_2_6_recovery() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        always("value", Number),
        always("avg_rmssd_past_60_days", Number),
        always("avg_rmssd_today", Number),
        always("resting_bpm_today", Number),
        always("resting_bpm_past_60_days", Number),
        always("age_gender_factor", Number),
        // Nullable by the specification.
        or_null("resting_bpm_delta", Number),
        or_null("recovery_rhr_score", Number),
        or_null("avg_hrv_delta", Number),
        or_null("avg_hrv_delta_factor", Number),
        or_null("recovery_hrv_score", Number),
        or_null("temperature_deviation", Number),
        or_null("temperature_deviation_factor", Number),
        or_null("avg_temperature_today", Number),
        or_null("avg_temperature_past_7_days", Number),
        or_null("avg_rmssd_past_7_days", Number),
        or_null("sleep_score", Number),
    ]);
    // Five hours of rest from nine o'clock, and what the night measured.
    let day = |before: i64, rmssd: i64| {
        let midnight_ms = MIDNIGHT_MS - before * DAY_MS;
        let times: Vec<i64> = (0..60).map(|slot| midnight_ms + 9 * HOUR_MS + slot * 5 * MINUTE_MS).collect();
        json!({"activity": {"timestamp": times, "bpm": 60, "last_steps": 0},
            "heart-rate-variability": {"timestamp": [midnight_ms + 3 * HOUR_MS], "rmssd": [rmssd]}})
    };
    let temperature = |before: i64, celsius: f64| {
        let at_three_ms = MIDNIGHT_MS - before * DAY_MS + 3 * HOUR_MS;
        json!({"temperature": {"timestamp": [at_three_ms], "temp_sk1": [celsius]}})
    };
    let (grace, other) = (scene.patient().await, scene.stranger().await);
    for before in 1..=8 {
        scene.story.sync(&grace, day(before, 40)).await;
        scene.story.sync(&grace, temperature(before, 33.5)).await;
    }
    scene.story.sync(&grace, day(0, 44)).await;
    scene.story.sync(&grace, temperature(0, 33.9)).await;
    scene.story.sync(&grace, json!({"sleep": stages(EVENING_MS)})).await;
    let found = scene.section(&grace, "recovery").await;
    table.check(&found);
    // The past never changed, so its spread is taken as 1 % of it: 44 is far above, 60 is in the middle.
    let expected = json!({
        "date": DAY, "value": 91, "avg_rmssd_past_60_days": 40.0, "avg_rmssd_today": 44.0, "resting_bpm_today": 60.0,
        "resting_bpm_past_60_days": 60.0, "age_gender_factor": 1.0, "resting_bpm_delta": 0.0,
        "recovery_rhr_score": 70.0, "avg_hrv_delta": 10.0, "avg_hrv_delta_factor": 1.1, "recovery_hrv_score": 100.0,
        "temperature_deviation": 0.4, "temperature_deviation_factor": 1.0, "avg_temperature_today": 33.9,
        "avg_temperature_past_7_days": 33.5, "avg_rmssd_past_7_days": 40.0, "sleep_score": 100.0,
    });
    assert_eq!(found, expected);

    scene.story.sync(&other, day(1, 40)).await;
    scene.story.sync(&other, day(0, 44)).await;
    let young = scene.section(&other, "recovery").await;
    table.check(&young);
    assert_fields(&young, &json!({"value": 70, "age_gender_factor": 1.0}));
}
