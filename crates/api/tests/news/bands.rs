//! Every band of chart 1 of NEWS2 (Royal College of Physicians, 2017), from a row to the answer, at both of its ends.

use serde_json::{Value, json};

use crate::Study;
use crate::common::START_MS;

/// A column, a value, and the sub-score that the chart gives it.
type Case = (&'static str, f64, u8);

const CHART: [Case; 40] = [
    ("respiration_rate", 3.0, 3),
    ("respiration_rate", 8.0, 3),
    ("respiration_rate", 9.0, 1),
    ("respiration_rate", 11.0, 1),
    ("respiration_rate", 12.0, 0),
    ("respiration_rate", 20.0, 0),
    ("respiration_rate", 21.0, 2),
    ("respiration_rate", 24.0, 2),
    ("respiration_rate", 25.0, 3),
    ("respiration_rate", 60.0, 3),
    ("spo2", 80.0, 3),
    ("spo2", 91.0, 3),
    ("spo2", 92.0, 2),
    ("spo2", 93.0, 2),
    ("spo2", 94.0, 1),
    ("spo2", 95.0, 1),
    ("spo2", 96.0, 0),
    ("spo2", 100.0, 0),
    ("nibp_systolic", 70.0, 3),
    ("nibp_systolic", 90.0, 3),
    ("nibp_systolic", 91.0, 2),
    ("nibp_systolic", 100.0, 2),
    ("nibp_systolic", 101.0, 1),
    ("nibp_systolic", 110.0, 1),
    ("nibp_systolic", 111.0, 0),
    ("nibp_systolic", 219.0, 0),
    ("nibp_systolic", 220.0, 3),
    ("bpm", 40.0, 3),
    ("bpm", 41.0, 1),
    ("bpm", 50.0, 1),
    ("bpm", 51.0, 0),
    ("bpm", 90.0, 0),
    ("bpm", 91.0, 1),
    ("bpm", 110.0, 1),
    ("bpm", 111.0, 2),
    ("bpm", 130.0, 2),
    ("bpm", 131.0, 3),
    ("core_temp", 36.0, 1),
    ("core_temp", 38.0, 0),
    ("core_temp", 39.0, 1),
];

/// Bands of the temperature whose ends are tenths, and the second scale of oxygen saturation without and with oxygen.
const TENTHS: [Case; 6] = [
    ("core_temp", 34.0, 3),
    ("core_temp", 35.0, 3),
    ("core_temp", 35.1, 1),
    ("core_temp", 36.1, 0),
    ("core_temp", 38.1, 1),
    ("core_temp", 39.1, 2),
];
const SECOND_SCALE_ON_AIR: [Case; 8] = [
    ("spo2", 83.0, 3),
    ("spo2", 84.0, 2),
    ("spo2", 85.0, 2),
    ("spo2", 86.0, 1),
    ("spo2", 87.0, 1),
    ("spo2", 88.0, 0),
    ("spo2", 92.0, 0),
    ("spo2", 100.0, 0),
];
const SECOND_SCALE_ON_OXYGEN: [Case; 9] = [
    ("spo2", 83.0, 3),
    ("spo2", 85.0, 2),
    ("spo2", 87.0, 1),
    ("spo2", 92.0, 0),
    ("spo2", 93.0, 1),
    ("spo2", 94.0, 1),
    ("spo2", 95.0, 2),
    ("spo2", 96.0, 2),
    ("spo2", 97.0, 3),
];

fn name_of(column: &str) -> &'static str {
    match column {
        "bpm" => "score_heart_rate",
        "respiration_rate" => "score_respiration_rate",
        "spo2" => "score_spo2",
        "core_temp" => "score_temperature",
        _ => "score_blood_pressure",
    }
}

/// Returns a row of somebody well, but for one column.
fn row(time_ms: i64, column: &str, value: f64) -> Value {
    let mut row = json!({"timestamp": time_ms, "bpm": 72, "bpm_q": 4, "respiration_rate": 16, "resp_q": 4, "spo2": 97,
        "spo2_q": 4, "core_temp": 37.0, "nibp_systolic": 124, "nibp_diastolic": 81, "wearing": 4});
    row[column] = json!(value);
    row
}

/// Checks cases one after the other, each a second after the one before, so that each becomes the newest entry.
async fn check(study: &Study, begin_ms: i64, cases: &[Case], more: u8) {
    for (at, (column, value, expected)) in cases.iter().enumerate() {
        let time_ms = begin_ms + at as i64 * 1000;
        // Two values may score alike, and an entry is kept where something changes: a row of 180 first makes a change.
        study.story.sync(&study.patient, json!({"activity": [row(time_ms - 500, "bpm", 180.0)]})).await;
        study.story.sync(&study.patient, json!({"activity": [row(time_ms, column, *value)]})).await;
        let entry = study.news().await;
        assert_eq!(entry["timestamp"], time_ms, "{column} {value}");
        assert_eq!(entry[name_of(column)], *expected, "{column} {value}: {entry}");
        let others = ["heart_rate", "respiration_rate", "spo2", "temperature", "blood_pressure"];
        let sum: u64 = others.iter().map(|name| entry[format!("score_{name}")].as_u64().expect("a score")).sum::<u64>();
        assert_eq!(entry["value"], sum + u64::from(more), "{column} {value}: {entry}");
    }
}

#[tokio::test]
async fn first_scale_scores_as_the_chart() {
    let study = Study::begin().await;
    check(&study, START_MS - 600_000, &CHART, 0).await;
    check(&study, START_MS - 60_000, &TENTHS, 0).await;
}

#[tokio::test]
async fn second_scale_scores_as_the_chart_without_and_with_oxygen() {
    let study = Study::begin().await;
    let put = async |settings: Value| {
        study.story.ask("PUT", &study.path("news-settings"), "", settings).await.ok();
    };
    put(json!({"spo2_scale": 2})).await;
    study.story.pass_ms(60_000);
    check(&study, study.story.now_ms() - 50_000, &SECOND_SCALE_ON_AIR, 0).await;
    put(json!({"oxygen": true})).await;
    study.story.pass_ms(60_000);
    check(&study, study.story.now_ms() - 50_000, &SECOND_SCALE_ON_OXYGEN, 2).await;
    put(json!({"spo2_scale": 1, "oxygen": true, "consciousness": "V"})).await;
    study.story.pass_ms(60_000);
    check(&study, study.story.now_ms() - 50_000, &[("spo2", 96.0, 0), ("spo2", 91.0, 3)], 5).await;
}

#[tokio::test]
async fn poor_measurements_and_zeros_are_no_part_of_a_score() {
    let study = Study::begin().await;
    let time_ms = START_MS - 60_990;
    for (at, (column, value, quality, missing)) in [
        ("bpm", 72, Some(("bpm_q", 1)), true),
        ("bpm", 72, Some(("bpm_q", 2)), false),
        ("bpm", 0, None, true),
        ("spo2", 97, Some(("spo2_q", 0)), true),
        ("spo2", 0, None, true),
        ("respiration_rate", 16, Some(("resp_q", 1)), true),
        ("respiration_rate", 0, None, true),
    ]
    .into_iter()
    .enumerate()
    {
        // Each on a patient of its own, so that nothing measured before is in.
        let patient = study.story.patient(&study.key, &study.group, Value::Null).await;
        let mut row = row(time_ms + at as i64, column, f64::from(value));
        if let Some((name, quality)) = quality {
            row[name] = json!(quality);
        }
        study.story.sync(&patient, json!({"activity": [row.clone()]})).await;
        let path = format!("/integration/v1/patients/{}/latest-news-score?token={}", patient.uuid, study.key);
        let entry = study.story.get(&path).await.ok();
        assert_eq!(entry[name_of(column)].is_null(), missing, "{row}: {entry}");
        assert_eq!(entry["value"].is_null(), missing, "{row}: {entry}");
        // A zero says that nothing was measured; a poor quality that something was, and when.
        let parameter = name_of(column).trim_start_matches("score_");
        let reason = match (quality, missing) {
            (Some(_), true) => json!([{"parameter": parameter, "reason": "low_quality", "age_s": 60}]),
            (None, true) => json!([{"parameter": parameter, "reason": "missing", "age_s": null}]),
            _ => json!([]),
        };
        assert_eq!(entry["missing"], reason, "{row}");
        assert_eq!(entry[parameter].is_null(), missing, "a poor value is not shown: {entry}");
    }
}
