//! Nights, stress and recovery, from syncs to the answers: what the bracelet staged and what follows for other days.

mod common;

use common::{Enrolled, Story};
use serde_json::{Value, json};
use store::Role;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// 2025-10-25T20:00Z: in the night that follows the clocks of Zurich go back.
const EVENING_MS: i64 = 1_761_422_400_000;

struct Study {
    story: Story,
    key: String,
    grace: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let grace = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, grace }
    }

    async fn sync(&self, data: Value) {
        self.story.sync(&self.grace, data).await;
    }

    async fn section(&self, date: &str, section: &str) -> Value {
        let path =
            format!("/integration/v1/patients/{}/summary/{date}?token={}&types={section}", self.grace.uuid, self.key);
        self.story.get(&path).await.ok()[section].clone()
    }
}

/// Returns a row of 30-second epochs.
fn stages(start_ms: i64, states: &[u8]) -> Value {
    let times: Vec<i64> = (0..states.len() as i64).map(|epoch| start_ms + epoch * 30_000).collect();
    json!({"timestamp": times, "sleep_state": states})
}

#[tokio::test]
async fn a_night_across_the_change_of_the_clock() {
    let study = Study::begin().await;
    // Ten minutes awake, ten hours of sleep with half an hour awake in them, five minutes awake.
    let mut states = vec![0; 20];
    states.extend([1; 400]);
    states.extend([2; 300]);
    states.extend([0; 60]);
    states.extend([3; 440]);
    states.extend([0; 10]);
    study.sync(json!({"sleep": stages(EVENING_MS, &states)})).await;
    // A nap of the afternoon before belongs to the same sleep day, and is not the night.
    study.sync(json!({"sleep": stages(EVENING_MS - 6 * HOUR_MS, &[1; 60])})).await;
    let bpm: Vec<i64> = (0..12 * 12).map(|window| if window < 24 { 50 } else { 70 }).collect();
    let times: Vec<i64> = (0..12 * 12).map(|window| EVENING_MS - HOUR_MS + window * 300_000).collect();
    let systolic: Vec<i64> = (0..12 * 12).map(|window| if window < 12 { 140 } else { 110 }).collect();
    study
        .sync(json!({"activity": {"timestamp": times, "bpm": bpm, "bpm_q": 3, "nibp_systolic": systolic,
            "nibp_diastolic": 70}}))
        .await;

    let expected = json!({
        // Within the sleep: eleven windows of 50 and the rest of 70.
        "date": "2025-10-26", "heart_rate": 68.14, "heart_rate_quality": 3.0,
        "time_to_sleep": 600, "time_to_wake_up": 300,
        "start_session_original_ph": "2025-10-25T22:00:00+02:00",
        "stop_session_original_ph": "2025-10-26T07:15:00+01:00",
        "sleep_duration": 1140 * 30, "daily_percent": 100.0, "awake_time": 90 * 30,
        "rem_time": 440 * 30, "light_time": 400 * 30, "deep_time": 300 * 30,
        "performance": 100.0, "tranquility": 86.8, "consistency": null,
        "start_date": "2025-10-25T22:10:00+02:00", "end_date": "2025-10-26T07:10:00+01:00",
    });
    let mut night = study.section("2025-10-26", "sleep").await;
    let heart_rate = night["heart_rate"].take();
    let mut without = expected.clone();
    without["heart_rate"] = Value::Null;
    let tranquility = night["tranquility"].take();
    without["tranquility"] = Value::Null;
    assert_eq!(night, without);
    assert!((68.0..69.0).contains(&heart_rate.as_f64().expect("a rate")), "{heart_rate}");
    // 1,800 s awake of 36,000 between onset and offset, one awakening.
    let expected = 60.0 * (1.0 - 1800.0 / 36_000.0 / 0.25) + 40.0 * (1.0 - 1.0 / (34_200.0 / 3600.0) / 6.0);
    assert!((tranquility.as_f64().expect("a score") - expected).abs() <= 0.05, "{tranquility}");
    assert_eq!(study.section("2025-10-25", "sleep").await, json!({}));
    assert_eq!(study.section("2025-10-27", "sleep").await, json!({}));
    assert_eq!(study.section("2025-10-26", "service_sleep").await, json!({}));

    let evening = study.section("2025-10-25", "non_invasive_blood_pressure").await;
    assert_eq!(evening["awaken_average_systolic_pressure"], 140.0);
    assert_eq!(evening["sleeping_average_systolic_pressure"], 110.0);
    let morning = study.section("2025-10-26", "non_invasive_blood_pressure").await;
    assert_eq!(morning["sleeping_average_systolic_pressure"], 110.0);
}

#[tokio::test]
async fn stages_around_the_clock_are_no_endless_session() {
    let study = Study::begin().await;
    for day in 0..3 {
        let midnight_ms = EVENING_MS + 2 * HOUR_MS + day * DAY_MS;
        let mut states = vec![0; 16 * 120];
        states.extend([1; 8 * 120]);
        study.sync(json!({"sleep": stages(midnight_ms - 18 * HOUR_MS, &states)})).await;
    }
    for (date, consistency) in [("2025-10-26", false), ("2025-10-27", false), ("2025-10-28", true)] {
        let night = study.section(date, "sleep").await;
        assert_eq!(night["sleep_duration"], 8 * 3600, "{date}");
        assert_eq!((&night["time_to_sleep"], &night["awake_time"]), (&json!(0), &json!(0)), "{date}");
        assert_eq!(!night["consistency"].is_null(), consistency, "{date}");
    }
}

#[tokio::test]
async fn recovery_follows_when_an_earlier_day_comes_late() {
    let study = Study::begin().await;
    let day = |number: i64, bpm: i64, rmssd: f64| {
        let start_ms = EVENING_MS + number * DAY_MS;
        let times: Vec<i64> = (0..60).map(|window| start_ms - 9 * HOUR_MS + window * 300_000).collect();
        json!({"activity": {"timestamp": times, "bpm": bpm, "last_steps": 0},
            "heart-rate-variability": {"timestamp": [start_ms - HOUR_MS], "rmssd": rmssd, "mo": 0.825},
            "temperature": {"timestamp": [start_ms - HOUR_MS], "temp_sk1": 33.5}})
    };
    study.sync(day(9, 60, 40.0)).await;
    assert_eq!(study.section("2025-11-03", "recovery").await, json!({}), "nothing to compare with");
    assert_eq!(study.section("2025-11-03", "stress").await["avg_mo"], 0.825);
    for number in [3, 0, 8, 1, 2, 5, 4, 6] {
        study.sync(day(number, 60 + number % 2, 30.0 + number as f64)).await;
    }
    let recovery = study.section("2025-11-03", "recovery").await;
    assert_eq!(recovery["avg_rmssd_today"], 40.0);
    // 0 to 6 and 8.
    assert_eq!(recovery["avg_rmssd_past_60_days"], 33.625);
    assert_eq!(recovery["resting_bpm_past_60_days"], 60.38);
    assert_eq!(recovery["avg_rmssd_past_7_days"], json!(34.667), "days 2 to 6 and 8");
    assert_eq!((&recovery["age_gender_factor"], &recovery["sleep_score"]), (&json!(1.0), &Value::Null));
    assert_eq!(
        (&recovery["temperature_deviation"], &recovery["temperature_deviation_factor"]),
        (&json!(0.0), &json!(1.0))
    );
    assert_eq!(recovery["avg_hrv_delta"], 18.96);
    let value = recovery["value"].as_u64().expect("a value");
    assert!((70..=100).contains(&value), "{value}");
    // A value that changes afterwards changes what is compared with it.
    study.sync(json!({"heart-rate-variability": {"timestamp": [EVENING_MS - HOUR_MS], "rmssd": 38.0}})).await;
    assert_eq!(study.section("2025-11-03", "recovery").await["avg_rmssd_past_60_days"], 34.625);
}

#[tokio::test]
async fn what_makes_no_sense_is_null_and_nothing_breaks() {
    let study = Study::begin().await;
    let times: Vec<i64> = (0..300).map(|beat| EVENING_MS + beat * 7).collect();
    study
        .sync(json!({
            "rr-interval": {"timestamp": times, "rr": 0.001, "quality": 4},
            "sleep": {"timestamp": [EVENING_MS], "sleep_state": 1},
            "heart-rate-variability": {"timestamp": [EVENING_MS], "si": null},
            "ecg": {"timestamp": [EVENING_MS, EVENING_MS + 4], "ecg": [0.0, 1000.0]},
            "acc": {"timestamp": [EVENING_MS], "accX": 4096, "accY": -4096, "accZ": 0},
            "ppg1": {"timestamp": [EVENING_MS], "ppg": 1},
        }))
        .await;
    for (section, field) in [("stress_continuous", "avg_si"), ("stress", "avg_si"), ("stress", "avg_rmssd")] {
        assert_eq!(study.section("2025-10-25", section).await[field], Value::Null, "{section}");
    }
    let night = study.section("2025-10-26", "sleep").await;
    assert_eq!((&night["sleep_duration"], &night["heart_rate"]), (&json!(30), &Value::Null));
    let check = &study.section("2025-10-25", "heart_rate").await["waveform_quality"];
    assert_eq!(check["ecg"]["pieces"], 1);
    assert_eq!((&check["ecg"]["heart_rate"], &check["ppg"]["heart_rate"]), (&Value::Null, &Value::Null));
    assert_eq!(study.section("2025-10-25", "activity").await, json!({}));
    assert_eq!(study.section("2025-10-25", "recovery").await, json!({}));
}
