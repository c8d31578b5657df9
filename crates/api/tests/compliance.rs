//! Compliance: counts that are exact at every edge.

#[path = "compliance/by_hand.rs"]
mod by_hand;
mod common;

use common::{Enrolled, START_MS, Story, text};
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use store::Role;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// 2025-11-20T00:00 in Zurich, ms.
const MIDNIGHT_MS: i64 = 1_763_593_200_000;

struct Study {
    story: Story,
    key: String,
    patient: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, patient }
    }

    async fn get(&self, path: &str) -> common::Answer {
        let joint = if path.contains('?') { '&' } else { '?' };
        self.story.get(&format!("/integration/v1/patients/{}/{path}{joint}token={}", self.patient.uuid, self.key)).await
    }

    async fn range(&self, from_ms: i64, to_ms: i64) -> Value {
        let path = format!("raw-data-compliance?utc_date_from={}&utc_date_to={}", iso(from_ms), iso(to_ms));
        self.get(&path).await.ok()
    }
}

fn iso(time_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(time_ms).expect("a time");
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[tokio::test]
async fn a_day_is_counted_by_type() {
    let study = Study::begin().await;
    assert_eq!(study.get("raw-data-compliance/2025-11-20").await.ok(), json!({}));
    let at = |minute: i64| MIDNIGHT_MS + minute * MINUTE_MS;
    let data = json!({
        // Two slots of five minutes in one of thirty, and one that is off the wrist.
        "activity": {"timestamp": [at(-1), at(0), at(1), at(7), at(40)], "bpm": [60, 61, 62, 63, 0],
            "spo2": [97, 97, null, null, 0], "respiration_rate": [null, null, null, null, 14]},
        "rr-interval": {"timestamp": [at(0), at(0) + 800, at(60)], "rr": [800, 810, 790]},
        "heart-rate-variability": {"timestamp": [at(5)], "rmssd": [30]},
        "sleep": {"timestamp": [at(30), at(30) + 30_000], "sleep_state": [1, 2]},
        "temperature": {"timestamp": [at(0), at(29), at(31)], "temp_sk1": [33.1, 33.2, null]},
        "acc": [{"start": at(3), "rate_hz": 32, "accX": [1, 2, 3, 4], "accY": [0, 0, 0, 0], "accZ": [512, 512, 512, 512]}],
        "ppg2": [
            {"start": at(3), "rate_hz": 128, "metric_id": "0x7e", "led_pd_pos": 6, "value": [1, 2, 3]},
            {"start": at(3), "rate_hz": 128, "metric_id": "0x7c", "led_pd_pos": 6, "value": [1, 2]},
        ],
        "tests": {"timestamp": [at(9)], "test_type": ["weight"], "value": [61.5], "unit": ["kg"]},
    });
    study.story.sync(&study.patient, data).await;

    let local = json!({
        "raw_data_activity": 4, "raw_data_rr_interval": 3, "raw_data_hrv": 1, "raw_data_sleep": 2,
        "raw_data_temperature": 3, "raw_data_acc": 4, "raw_data_ppg2": 5, "raw_data_tests": 1,
        "summary_data_activity_slots": 2, "summary_data_heart_rate_slots": 2,
        "summary_data_respiration_rate_slots": 1, "summary_data_sleep_slots": 2, "summary_data_spo2_slots": 1,
        "summary_data_temperature_slots": 1,
    });
    assert_eq!(study.get("raw-data-compliance/2025-11-20").await.ok(), local);
    assert_eq!(study.get("raw-data-compliance/2025-11-20?utc=no").await.ok(), local);
    let of_one_row = json!({"raw_data_activity": 1, "summary_data_activity_slots": 1,
        "summary_data_heart_rate_slots": 1, "summary_data_spo2_slots": 1});
    assert_eq!(study.get("raw-data-compliance/2025-11-19").await.ok(), of_one_row);

    // In Zurich it is an hour later: the day of UTC ends at at(60).
    let utc = study.get("raw-data-compliance/2025-11-20?utc=yes").await.ok();
    assert_eq!(utc, json!({"raw_data_rr_interval": 1}));
    let mut before = local.clone();
    before["raw_data_activity"] = json!(5);
    before["raw_data_rr_interval"] = json!(2);
    before["summary_data_activity_slots"] = json!(3);
    before["summary_data_heart_rate_slots"] = json!(3);
    before["summary_data_spo2_slots"] = json!(2);
    assert_eq!(study.get("raw-data-compliance/2025-11-19?utc=yes").await.ok(), before);
    assert_eq!(study.range(at(60) - 24 * HOUR_MS, at(60) - 1).await, before);

    // A slot counts when its start lies in the range, whatever the range cuts off its rows.
    let part = study.range(at(1), at(30)).await;
    assert_eq!(part["summary_data_heart_rate_slots"], 1);
    assert_eq!(part["summary_data_activity_slots"], 1);
    assert_eq!(part["raw_data_activity"], 2);
    assert_eq!(part["raw_data_sleep"], 1);
}

#[tokio::test]
async fn a_range_is_exact_to_the_millisecond() {
    let study = Study::begin().await;
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(11);
    // Beats around edges of quarters and anywhere, at most one a millisecond; their times have fractions.
    let mut times_ms: Vec<i64> = (0..600)
        .map(|_| {
            let quarter_ms = MIDNIGHT_MS + random.random_range(-8..8) * 15 * MINUTE_MS;
            let far_ms = if random.random_bool(0.5) { 3 } else { 10 * MINUTE_MS };
            (quarter_ms + random.random_range(-far_ms..far_ms)).min(START_MS)
        })
        .collect();
    times_ms.sort_unstable();
    times_ms.dedup();
    let timestamps: Vec<f64> = times_ms.iter().map(|time_ms| *time_ms as f64 + 0.75).collect();
    let intervals = vec![800; timestamps.len()];
    study.story.sync(&study.patient, json!({"rr-interval": {"timestamp": timestamps, "rr": intervals}})).await;

    for round in 0..120 {
        let mut ends: [i64; 2] = std::array::from_fn(|_| match random.random_range(0..3) {
            0 => times_ms[random.random_range(0..times_ms.len())] + random.random_range(-1..=1),
            1 => MIDNIGHT_MS + random.random_range(-9..9) * 15 * MINUTE_MS - random.random_range(0..=1),
            _ => MIDNIGHT_MS + random.random_range(-3 * HOUR_MS..3 * HOUR_MS),
        });
        ends.sort_unstable();
        let [from_ms, to_ms] = ends;
        let expected = times_ms.iter().filter(|time_ms| (from_ms..=to_ms).contains(*time_ms)).count();
        let expected = if expected == 0 { json!({}) } else { json!({"raw_data_rr_interval": expected}) };
        assert_eq!(study.range(from_ms, to_ms).await, expected, "round {round}: {} to {}", iso(from_ms), iso(to_ms));
    }
}

#[tokio::test]
async fn ranges_that_cannot_be_are_refused() {
    let study = Study::begin().await;
    let (from, to) = ("utc_date_from=2025-11-18T00:00:00.000Z", "utc_date_to=2025-11-20T00:00:00.000Z");
    assert_eq!(study.get(&format!("raw-data-compliance?{from}&{to}")).await.ok(), json!({}));
    let never = "utc_date_to=9999-12-31T23:59:59.999Z";
    let since = |time_ms| format!("utc_date_from={}", iso(time_ms));
    let longest_ms = 48 * 3_600_000;
    let open = study.get(&format!("raw-data-compliance?{}&{never}", since(START_MS - longest_ms))).await;
    assert_eq!(open.ok(), json!({}));
    for (query, field) in [
        (format!("{}&{never}", since(START_MS - longest_ms - 1)), "utc_date_to"),
        (from.to_owned(), "utc_date_to"),
        (to.to_owned(), "utc_date_from"),
        (format!("{from}&utc_date_to=2025-11-20T00:00:00.001Z"), "utc_date_to"),
        (format!("{from}&utc_date_to=2025-11-17T23:59:59.999Z"), "utc_date_to"),
        (format!("{from}&utc_date_to=2025-11-19"), "utc_date_to"),
        (format!("{from}&utc_date_to=2025-11-19T00:00:00.000%2B01:00"), "utc_date_to"),
        (format!("utc_date_from=2025-11-31T00:00:00.000Z&{to}"), "utc_date_from"),
    ] {
        let answer = study.get(&format!("raw-data-compliance?{query}")).await;
        assert_eq!(answer.error(), (422, "invalid"), "{query}");
        assert!(answer.body["errors"][field].is_array(), "{query}: {}", answer.body);
    }
    for path in ["raw-data-compliance/2025-02-29", "compliance/2025-02-29", "compliance/now"] {
        assert_eq!(study.get(path).await.error(), (422, "invalid"), "{path}");
    }
    assert_eq!(study.get("raw-data-compliance/2025-11-20?utc=maybe").await.error(), (400, "malformed_parameter"));

    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    for path in [
        "raw-data-compliance/2025-11-20".to_owned(),
        format!("raw-data-compliance?{from}&{to}"),
        "compliance/2025-11-20".to_owned(),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        for (uuid, key, answer) in [
            (study.patient.uuid.as_str(), bob.as_str(), (403, "forbidden")),
            ("nobody", bob.as_str(), (404, "patient_not_found")),
            (study.patient.uuid.as_str(), "pwk_wrong", (401, "unauthenticated")),
        ] {
            let path = format!("/integration/v1/patients/{uuid}/{path}{joint}token={key}");
            assert_eq!(study.story.get(&path).await.error(), answer, "{path}");
        }
    }
}

#[tokio::test]
async fn the_compliance_of_today_counts_what_has_elapsed() {
    let study = Study::begin().await;
    // It is 01:53:20 in Zurich: 22 slots of five minutes have elapsed.
    assert_eq!(study.get("compliance/2025-11-20").await.ok(), json!({"date": "2025-11-20", "compliance": 0.0}));
    let times: Vec<i64> = (0..11).map(|slot| MIDNIGHT_MS + slot * 10 * MINUTE_MS).collect();
    let mut bpm = vec![60; 11];
    bpm[3] = 0;
    let poor = vec![1; 11];
    study.story.sync(&study.patient, json!({"activity": {"timestamp": times, "bpm": bpm, "bpm_q": poor}})).await;
    // Ten of them have a heart rate, of whatever quality.
    assert_eq!(study.get("compliance/2025-11-20").await.ok()["compliance"], 45.5);
    study.story.pass_ms(24 * HOUR_MS);
    assert_eq!(study.get("compliance/2025-11-20").await.ok()["compliance"], 3.5);
    assert_eq!(study.get("compliance/2025-11-21").await.ok()["compliance"], 0.0);
    assert_eq!(study.get("compliance/2025-11-22").await.ok()["compliance"], 0.0);
}

#[tokio::test]
async fn a_day_that_was_skipped_has_no_slots_to_fill() {
    let study = Study::begin().await;
    let group = text(&study.story.get(&format!("/integration/v1/groups?token={}", study.key)).await.ok()[0]["code"]);
    // Samoa went over the date line: after 29 December 2011 came the 31st.
    let patient = study.story.patient(&study.key, &group, json!({"time_zone": "Pacific/Apia"})).await;
    let study = Study { patient, ..study };
    let noon_ms = jiff::Timestamp::from_second(1_325_246_400).expect("a time").as_millisecond();
    let data = json!({"activity": {"timestamp": [noon_ms], "bpm": [60]}});
    let body = json!({"time_zone": "UTC", "data": data});
    study.story.post_as("/health/v1/sync", &study.patient.health_token, body).await.ok();
    study.story.derive().await;
    let compliance = study.get("compliance/2011-12-30").await.ok();
    assert_eq!(compliance, json!({"date": "2011-12-30", "compliance": 0.0}));
    let summary = study.get("summary/2011-12-30?types=heart_rate").await.ok();
    assert_eq!(summary["heart_rate"]["daily_percent"], 0.0, "{summary}");
}
