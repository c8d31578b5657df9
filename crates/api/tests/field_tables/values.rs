//! 2.4 and 2.5: the newest values of a patient and their newest NEWS score.

use serde_json::json;

use crate::common::START_MS;
use crate::scene::{MINUTE_MS, Scene};
use crate::table::Kind::{EpochMs, Integer, List, Number};
use crate::table::{Table, always, assert_fields, or_null, when_set};

#[tokio::test]
async fn table_2_4_latest_values() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut table = Table::of(&[
        when_set("heart_rate", Number),
        when_set("respiration_rate", Number),
        when_set("temperature", Number),
        when_set("spo2", Number),
        when_set("nibp_systolic", Number),
        when_set("nibp_diastolic", Number),
        when_set("news_score", Number),
        when_set("heart_rate_timestamp", EpochMs),
        when_set("respiration_rate_timestamp", EpochMs),
        when_set("temperature_timestamp", EpochMs),
        when_set("spo2_timestamp", EpochMs),
        when_set("nibp_diastolic_timestamp", EpochMs),
        when_set("nibp_systolic_timestamp", EpochMs),
    ])
    .and_ours(&[when_set("news_score_timestamp", EpochMs)]);
    let list = format!("/v1/groups/{}/patients", scene.group);
    let latest = async || scene.get(&format!("{list}?with_latest_values=1")).await[0]["latest_values"].clone();
    table.check(&latest().await);
    assert_eq!(latest().await, json!({}), "nothing was ever measured");

    let (first_ms, spot_ms) = (START_MS - 3 * MINUTE_MS, START_MS - 2 * MINUTE_MS);
    let data = json!({
        "activity": {"timestamp": [first_ms], "bpm": [72], "bpm_q": [4], "respiration_rate": [16], "spo2": [97],
            "nibp_systolic": [124], "nibp_diastolic": [81]},
        // A temperature of the skin, which is no body temperature and must not be shown as one.
        "temperature": {"timestamp": [first_ms + MINUTE_MS], "temp_sk1": [33.5]},
        "tests": {"timestamp": [spot_ms], "test_type": ["temperature"], "value": [37.4]},
    });
    scene.story.sync(&grace, data).await;
    let whole = latest().await;
    table.check(&whole);
    let expected = json!({
        "heart_rate": 72.0, "respiration_rate": 16.0, "temperature": 37.4, "spo2": 97.0, "nibp_systolic": 124.0,
        "nibp_diastolic": 81.0, "news_score": 0, "heart_rate_timestamp": first_ms,
        "respiration_rate_timestamp": first_ms, "temperature_timestamp": spot_ms, "spo2_timestamp": first_ms,
        "nibp_diastolic_timestamp": first_ms, "nibp_systolic_timestamp": first_ms, "news_score_timestamp": spot_ms,
    });
    assert_eq!(whole, expected);
    for query in ["", "?with_latest_values=0"] {
        assert!(scene.get(&format!("{list}{query}")).await[0].get("latest_values").is_none(), "not asked for");
    }
}

#[tokio::test]
async fn table_2_5_news_score() {
    let scene = Scene::begin().await;
    // Null is an addition to the specification: a missing measurement has no score, and a partial sum is no NEWS score.
    let mut table = Table::of(&[
        always("timestamp", EpochMs),
        or_null("value", Number),
        or_null("score_heart_rate", Number),
        or_null("score_respiration_rate", Number),
        or_null("score_spo2", Number),
        or_null("score_temperature", Number),
        or_null("score_blood_pressure", Number),
        or_null("heart_rate", Number),
        or_null("respiration_rate", Number),
        or_null("spo2", Number),
        or_null("temperature", Number),
        or_null("blood_pressure", Number),
        or_null("movement_level", Number),
    ])
    .and_ours(&[
        always("age_s", Integer),
        always("score_oxygen", Integer),
        always("score_consciousness", Integer),
        always("assumed", List),
        always("missing", List),
        or_null("heart_rate_timestamp", EpochMs),
        or_null("respiration_rate_timestamp", EpochMs),
        or_null("spo2_timestamp", EpochMs),
        or_null("temperature_timestamp", EpochMs),
        or_null("blood_pressure_timestamp", EpochMs),
    ]);
    let grace = scene.patient().await;
    let path = format!("/integration/v1/patients/{}/latest-news-score?token={}", grace.uuid, scene.key);
    assert_eq!(scene.story.get(&path).await.error(), (404, "no_news_score"));

    let taken_ms = START_MS - 2 * MINUTE_MS;
    let still = vec![0; 320];
    let data = json!({
        "activity": {"timestamp": [taken_ms], "bpm": [112], "respiration_rate": [22], "spo2": [93], "core_temp": [38.5],
            "nibp_systolic": [95], "nibp_diastolic": [60]},
        "acc": [{"start": taken_ms - 10_000, "rate_hz": 32, "accX": still, "accY": still, "accZ": 512}],
    });
    scene.story.sync(&grace, data).await;
    let scored = scene.story.get(&path).await.ok();
    table.check(&scored);
    // Bands of the published chart: pulse 111 to 130, respiration 21 to 24, SpO2 92 to 93, temperature 38.1 to 39.0,
    // systolic pressure 91 to 100.
    let expected = json!({
        "timestamp": taken_ms, "value": 2 + 2 + 2 + 1 + 2, "score_heart_rate": 2, "score_respiration_rate": 2,
        "score_spo2": 2, "score_temperature": 1, "score_blood_pressure": 2, "heart_rate": 112.0,
        "respiration_rate": 22.0, "spo2": 93.0, "temperature": 38.5, "blood_pressure": 95.0, "movement_level": 0,
        "age_s": 120, "score_oxygen": 0, "score_consciousness": 0, "missing": [],
        "assumed": ["spo2_scale", "oxygen", "consciousness"],
    });
    assert_fields(&scored, &expected);

    // Null for what was not measured: one patient has only a heart rate, the other has none.
    for data in [json!({"bpm": [70]}), json!({"spo2": [97], "respiration_rate": [14]})] {
        let other = scene.stranger().await;
        let mut activity = data;
        activity["timestamp"] = json!([taken_ms]);
        scene.story.sync(&other, json!({"activity": activity})).await;
        let path = format!("/v1/patients/{}/latest-news-score", other.uuid);
        let partial = scene.get(&path).await;
        table.check(&partial);
        assert_eq!(partial["value"].as_i64(), None, "{partial}");
    }
}
