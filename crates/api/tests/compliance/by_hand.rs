//! Counts and percentages that a person can count along.

use serde_json::{Value, json};

use crate::common::{START_MS, text};
use crate::{HOUR_MS, MIDNIGHT_MS, MINUTE_MS, Study};

const DAY_MS: i64 = 24 * HOUR_MS;

/// Returns a study on 21 November, whose patient has just logged in.
async fn a_day_later() -> Study {
    let study = Study::begin().await;
    study.story.pass_ms(DAY_MS);
    let group = text(&study.story.get(&format!("/integration/v1/groups?token={}", study.key)).await.ok()[0]["code"]);
    let patient = study.story.patient(&study.key, &group, json!({"time_zone": "Europe/Zurich"})).await;
    Study { patient, ..study }
}

/// Counts of 20 November.
async fn counts(study: &Study) -> Value {
    study.get("raw-data-compliance/2025-11-20").await.ok()
}

#[tokio::test]
async fn percentage_is_of_five_minute_slots_with_one_decimal() {
    let study = a_day_later().await;
    let percent = async || study.get("compliance/2025-11-20").await.ok()["compliance"].as_f64().expect("a number");
    let mut slots = 0;
    for (until, expected) in [(1, 0.3), (2, 0.7), (3, 1.0), (72, 25.0), (144, 50.0), (287, 99.7), (288, 100.0)] {
        // Twice in each slot, which counts once.
        let times: Vec<i64> = (slots..until)
            .flat_map(|slot| [MIDNIGHT_MS + slot * 5 * MINUTE_MS, MIDNIGHT_MS + (slot + 1) * 5 * MINUTE_MS - 1])
            .collect();
        study.story.sync(&study.patient, json!({"activity": {"timestamp": times, "bpm": 60}})).await;
        slots = until;
        assert!((percent().await - expected).abs() < 1e-9, "{until} slots: {}", percent().await);
    }
    // More of the same changes nothing, and neither does a row off the day by a millisecond.
    let edges = [MIDNIGHT_MS - 1, MIDNIGHT_MS + DAY_MS];
    study.story.sync(&study.patient, json!({"activity": {"timestamp": edges, "bpm": 60}})).await;
    assert!((percent().await - 100.0).abs() < 1e-9);
}

#[tokio::test]
async fn slots_without_a_heart_rate_do_not_count() {
    let study = a_day_later().await;
    let at = |slot: i64| MIDNIGHT_MS + slot * 5 * MINUTE_MS;
    let rows = json!([
        {"timestamp": at(0), "bpm": 0},
        {"timestamp": at(1), "bpm": null, "spo2": 97},
        {"timestamp": at(2), "last_steps": 40},
        {"timestamp": at(3), "bpm": 60, "bpm_q": 0},
        {"timestamp": at(4), "bpm": 60, "wearing": 0},
    ]);
    study.story.sync(&study.patient, json!({ "activity": rows })).await;
    // The slots of rows 3 and 4: quality and wear do not matter for what has reached the cloud.
    assert_eq!(study.get("compliance/2025-11-20").await.ok()["compliance"], 0.7);
    assert_eq!(counts(&study).await["summary_data_heart_rate_slots"], 2);
    assert_eq!(counts(&study).await["raw_data_activity"], 5);
}

#[tokio::test]
async fn rows_are_counted_once_however_often_they_are_sent() {
    let study = Study::begin().await;
    let at = |second: i64| MIDNIGHT_MS + second * 1000;
    let beats = |times: Vec<i64>, interval: i64| json!({"rr-interval": {"timestamp": times, "rr": interval}});
    let expect = async |rows: i64| {
        assert_eq!(counts(&study).await, json!({ "raw_data_rr_interval": rows }));
    };
    study.story.sync(&study.patient, beats((0..10).map(at).collect(), 800)).await;
    expect(10).await;
    study.story.sync(&study.patient, beats((0..10).map(at).collect(), 800)).await;
    expect(10).await;
    study.story.sync(&study.patient, beats((5..15).rev().map(at).collect(), 800)).await;
    expect(15).await;
    // Another value at the same time replaces the row.
    study.story.sync(&study.patient, beats(vec![at(3)], 700)).await;
    expect(15).await;
    // A rejected row is none.
    study.story.sync(&study.patient, beats(vec![at(20)], 60_001)).await;
    expect(15).await;
}

#[tokio::test]
async fn waveforms_are_counted_by_row_in_all_colours() {
    let study = Study::begin().await;
    let at = |minute: i64| MIDNIGHT_MS + minute * MINUTE_MS;
    let data = json!({
        "ppg1": [{"start": at(0), "rate_hz": 25, "ppg": vec![1; 250], "accx": vec![0; 250]}],
        "ppg2": [
            {"start": at(0), "rate_hz": 64, "metric_id": "0x7e", "led_pd_pos": 6, "value": vec![1; 128]},
            {"start": at(0), "rate_hz": 64, "metric_id": "0x7e", "led_pd_pos": 22, "value": vec![1; 64]},
            {"start": at(0), "rate_hz": 64, "metric_id": "0x7c", "led_pd_pos": 6, "value": vec![1; 32]},
        ],
        "bioz": [{"start": at(1), "rate_hz": 25, "value": vec![5; 50]}],
        "acc": [{"start": at(1), "rate_hz": 32, "accX": vec![1; 320], "accY": vec![2; 320], "accZ": vec![3; 320]}],
        "ecg": [{"start": at(2), "rate_hz": 256, "ecg": vec![0.5; 512]}],
        "tests": {"timestamp": [at(3), at(3)], "test_type": ["blood_pressure_systolic", "blood_pressure_diastolic"],
            "value": [120, 80]},
    });
    study.story.sync(&study.patient, data).await;
    let expected = json!({"raw_data_ppg1": 250, "raw_data_ppg2": 224, "raw_data_bioz": 50, "raw_data_acc": 320,
        "raw_data_ecg": 512, "raw_data_tests": 2});
    assert_eq!(counts(&study).await, expected);
    // Half of a second of the fastest: sample i lies at i/256 s, and both ends are included.
    let part = study.range(at(2), at(2) + 500).await;
    assert_eq!(part, json!({"raw_data_ecg": 129}));
    assert_eq!(study.range(at(2) + 1, at(2) + 3).await, json!({"raw_data_ecg": 1}));
}

#[tokio::test]
async fn local_day_of_half_hour_zones_is_theirs() {
    let study = a_day_later().await;
    // Kathmandu is 5:45 ahead: its 20 November begins at 18:15 of UTC on the 19th.
    let midnight_ms = 1_763_576_100_000;
    let times = [midnight_ms - 1, midnight_ms, midnight_ms + MINUTE_MS, midnight_ms + DAY_MS];
    let body = json!({"time_zone": "Asia/Kathmandu", "data": {"sleep": {"timestamp": times, "sleep_state": 1}}});
    study.story.post_as("/health/v1/sync", &study.patient.health_token, body).await.ok();
    study.story.derive().await;
    for (date, rows) in [("2025-11-19", 1), ("2025-11-20", 2), ("2025-11-21", 1)] {
        let found = study.get(&format!("raw-data-compliance/{date}")).await.ok();
        assert_eq!(found["raw_data_sleep"], rows, "{date}: {found}");
    }
    let utc = study.get("raw-data-compliance/2025-11-19?utc=yes").await.ok();
    assert_eq!(utc["raw_data_sleep"], 3);
    for (value, is_utc) in [("yes", true), ("no", false)] {
        let found = study.get(&format!("raw-data-compliance/2025-11-20?utc={value}")).await.ok();
        assert_eq!(found["raw_data_sleep"], if is_utc { 1 } else { 2 }, "{value}");
    }
}

#[tokio::test]
async fn days_without_data_and_before_the_patient_are_empty() {
    let study = Study::begin().await;
    for date in ["1970-01-01", "2000-02-29", "2025-11-19", "2025-11-20", "2025-11-21", "2099-12-31"] {
        assert_eq!(study.get(&format!("raw-data-compliance/{date}")).await.ok(), json!({}), "{date}");
        let percent = study.get(&format!("compliance/{date}")).await.ok();
        assert_eq!(percent, json!({"date": date, "compliance": 0.0}), "{date}");
    }
    for date in ["2025-00-01", "2025-11-00", "2025-11-31", "20251120", "2025-11-20T00:00:00Z", "tomorrow", "%20"] {
        for path in ["compliance", "raw-data-compliance"] {
            let refused = study.get(&format!("{path}/{date}")).await;
            assert_eq!(refused.error(), (422, "invalid"), "{path}/{date}");
            assert!(refused.body["errors"]["date"].is_array(), "{path}/{date}: {}", refused.body);
        }
    }
}

#[tokio::test]
async fn forty_eight_hours_are_a_range_and_a_millisecond_more_is_none() {
    let study = Study::begin().await;
    let times = [START_MS - 48 * HOUR_MS, START_MS - HOUR_MS, START_MS];
    study.story.sync(&study.patient, json!({"sleep": {"timestamp": times, "sleep_state": 2}})).await;
    let all = study.range(START_MS - 48 * HOUR_MS, START_MS).await;
    assert_eq!(all["raw_data_sleep"], 3);
    assert_eq!(study.range(START_MS - 48 * HOUR_MS + 1, START_MS).await["raw_data_sleep"], 2);
    assert_eq!(study.range(START_MS, START_MS).await["raw_data_sleep"], 1);
    let too_long = format!(
        "raw-data-compliance?utc_date_from={}&utc_date_to={}",
        crate::iso(START_MS - 48 * HOUR_MS - 1),
        crate::iso(START_MS)
    );
    let refused = study.get(&too_long).await;
    assert_eq!(refused.error(), (422, "invalid"));
    assert!(refused.body["errors"]["utc_date_to"].is_array(), "{}", refused.body);
}
