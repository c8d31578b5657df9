//! Latest values: the newest valid measurement of each vital sign, whatever came when.

use serde_json::{Value, json};

use crate::Study;
use crate::common::START_MS;

const MINUTE_MS: i64 = 60_000;

fn at(minute: i64) -> i64 {
    START_MS + minute * MINUTE_MS
}

async fn value(study: &Study, name: &str) -> Value {
    let latest = study.latest_values().await;
    json!([latest[name], latest[format!("{name}_timestamp")]])
}

#[tokio::test]
async fn older_rows_that_come_later_change_nothing() {
    let study = Study::begin().await;
    let send = async |minute: i64, bpm: i64| {
        let row = json!({"timestamp": at(minute), "bpm": bpm, "bpm_q": 4});
        study.story.sync(&study.patient, json!({"activity": [row]})).await;
    };
    send(-10, 60).await;
    assert_eq!(value(&study, "heart_rate").await, json!([60.0, at(-10)]));
    send(-20, 50).await;
    assert_eq!(value(&study, "heart_rate").await, json!([60.0, at(-10)]));
    send(-5, 70).await;
    assert_eq!(value(&study, "heart_rate").await, json!([70.0, at(-5)]));
    // The same time again: the later arrival wins.
    send(-5, 71).await;
    assert_eq!(value(&study, "heart_rate").await, json!([71.0, at(-5)]));
    // A zero in its place is no value, so that the one before is the newest again.
    send(-5, 0).await;
    assert_eq!(value(&study, "heart_rate").await, json!([60.0, at(-10)]));
}

#[tokio::test]
async fn each_sign_has_its_own_newest_row() {
    let study = Study::begin().await;
    let rows = json!([
        {"timestamp": at(-9), "bpm": 61, "spo2": 96, "respiration_rate": 14, "core_temp": 36.8, "nibp_systolic": 119,
            "nibp_diastolic": 78},
        {"timestamp": at(-8), "bpm": 62, "spo2": null, "respiration_rate": 15},
        {"timestamp": at(-7), "bpm": 0, "spo2": 0, "core_temp": 37.1},
        {"timestamp": at(-6), "nibp_systolic": 0, "nibp_diastolic": 80},
    ]);
    study.story.sync(&study.patient, json!({ "activity": rows })).await;
    for (name, expected) in [
        ("heart_rate", json!([62.0, at(-8)])),
        ("spo2", json!([96.0, at(-9)])),
        ("respiration_rate", json!([15.0, at(-8)])),
        ("temperature", json!([37.1, at(-7)])),
        ("nibp_systolic", json!([119.0, at(-9)])),
        ("nibp_diastolic", json!([80.0, at(-6)])),
    ] {
        assert_eq!(value(&study, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn spot_measurements_feed_the_same_values_when_they_are_newer() {
    let study = Study::begin().await;
    let row = json!({"timestamp": at(-10), "bpm": 60, "bpm_q": 4, "core_temp": 36.5, "spo2": 97});
    let spots = json!([
        {"timestamp": at(-9), "test_type": "heart_rate", "value": 66},
        {"timestamp": at(-11), "test_type": "spo2", "value": 90},
        {"timestamp": at(-8), "test_type": "temperature", "value": 38.4, "unit": "°C"},
        {"timestamp": at(-7), "test_type": "blood_pressure_systolic", "value": 131},
        {"timestamp": at(-7), "test_type": "blood_pressure_diastolic", "value": 84},
        {"timestamp": at(-6), "test_type": "respiration_rate", "value": 17},
        {"timestamp": at(-5), "test_type": "weight", "value": 61.5},
        {"timestamp": at(-5), "test_type": "other", "value": 5},
    ]);
    study.story.sync(&study.patient, json!({"activity": [row], "tests": spots})).await;
    for (name, expected) in [
        ("heart_rate", json!([66.0, at(-9)])),
        ("spo2", json!([97.0, at(-10)])),
        ("temperature", json!([38.4, at(-8)])),
        ("nibp_systolic", json!([131.0, at(-7)])),
        ("nibp_diastolic", json!([84.0, at(-7)])),
        ("respiration_rate", json!([17.0, at(-6)])),
    ] {
        assert_eq!(value(&study, name).await, expected, "{name}");
    }
    let latest = study.latest_values().await;
    assert!(latest.get("weight").is_none() && latest.get("other").is_none(), "{latest}");
}

#[tokio::test]
async fn skin_temperature_is_no_body_temperature() {
    let study = Study::begin().await;
    let skin =
        json!({"temperature": {"timestamp": [at(-1)], "temp_sk1": [33.4], "temp_sk2": [33.1], "temp_amb": [21]}});
    study.story.sync(&study.patient, skin).await;
    assert_eq!(study.latest_values().await, json!({}));
}

#[tokio::test]
async fn rows_ahead_of_the_clock_count_when_their_time_has_come() {
    let study = Study::begin().await;
    let rows = json!([
        {"timestamp": at(0), "bpm": 60, "bpm_q": 4},
        {"timestamp": at(5), "bpm": 65, "bpm_q": 4},
        {"timestamp": at(6), "bpm": 70, "bpm_q": 4},
    ]);
    study.story.sync(&study.patient, json!({ "activity": rows })).await;
    assert_eq!(value(&study, "heart_rate").await, json!([65.0, at(5)]), "five minutes ahead are let through");
    study.story.pass_ms(10 * MINUTE_MS);
    study.story.derive().await;
    assert_eq!(value(&study, "heart_rate").await, json!([70.0, at(6)]));
}

#[tokio::test]
async fn lists_without_the_flag_and_patients_without_data_have_no_values() {
    let study = Study::begin().await;
    let row = json!({"timestamp": at(-1), "bpm": 60});
    study.story.sync(&study.patient, json!({"activity": [row]})).await;
    study
        .story
        .post(&format!("/integration/v1/groups/{}/patients?token={}", study.group, study.key), Value::Null)
        .await;
    let list = async |query: &str| {
        let path = format!("/integration/v1/groups/{}/patients?token={}{query}", study.group, study.key);
        study.story.get(&path).await.ok().as_array().expect("a list").clone()
    };
    for query in ["", "&with_latest_values=0", "&with_latest_values=false", "&with_latest_values="] {
        assert!(list(query).await.iter().all(|row| row.get("latest_values").is_none()), "{query}");
    }
    for query in ["&with_latest_values=1", "&with_latest_values=true", "&with_latest_values=1&fields[]=state"] {
        let rows = list(query).await;
        let of = |state: &str| {
            let row = rows.iter().find(|row| row["state"] == state).expect("a row");
            row["latest_values"].clone()
        };
        assert_eq!(of("confirmed"), json!({"heart_rate": 60.0, "heart_rate_timestamp": at(-1)}), "{query}");
        assert_eq!(of("pre_created"), json!({}), "{query}");
    }
}
