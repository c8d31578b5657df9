//! Local days: of zones off the hour, of a traveller, and on both sides of midnight.

use serde_json::{Value, json};

use crate::common::{Enrolled, text};
use crate::{MINUTE_MS, Study};

const HOUR_MS: i64 = 60 * MINUTE_MS;

async fn sync(study: &Study, patient: &Enrolled, zone: &str, times: &[i64]) {
    let bpm: Vec<i64> = (0..times.len() as i64).map(|at| 60 + at % 100).collect();
    let body = json!({"time_zone": zone, "data": {"activity": {"timestamp": times, "bpm": bpm, "last_steps": 10}}});
    study.story.post_as("/health/v1/sync", &patient.health_token, body).await.ok();
    study.story.derive().await;
}

async fn day(study: &Study, patient: &Enrolled, date: &str) -> Value {
    study.story.get(&study.path(patient, date, "&include_slots=1&types=heart_rate,activity")).await.ok()
}

/// Labels and times of the slots of a list.
fn slots(list: &Value) -> Vec<(String, i64)> {
    let slots = list.as_array().expect("slots");
    slots.iter().map(|slot| (text(&slot["date"]), slot["timestamp"].as_i64().expect("ms"))).collect()
}

#[tokio::test]
async fn slots_of_zones_off_the_hour_begin_at_their_own_midnight() {
    // Each zone with its midnight of 20 November 2025.
    for (zone, midnight_ms) in [
        ("Asia/Kathmandu", 1_763_576_100_000),
        ("Asia/Kolkata", 1_763_577_000_000),
        ("Australia/Adelaide", 1_763_559_000_000),
        ("America/St_Johns", 1_763_609_400_000),
        ("Pacific/Chatham", 1_763_547_300_000),
        ("UTC", 1_763_596_800_000),
    ] {
        let study = Study::begin().await;
        study.story.pass_ms(24 * HOUR_MS);
        let patient = study.patient().await;
        let times = [-1, 0, 7 * MINUTE_MS, 35 * MINUTE_MS, 24 * HOUR_MS - 1, 24 * HOUR_MS].map(|ms| midnight_ms + ms);
        sync(&study, &patient, zone, &times).await;
        let found = day(&study, &patient, "2025-11-20").await;
        let at = |label: &str, minute: i64| (label.to_owned(), midnight_ms + minute * MINUTE_MS);
        let five = [at("00:00", 0), at("00:05", 5), at("00:35", 35), at("23:55", 24 * 60 - 5)];
        assert_eq!(slots(&found["heart_rate"]["slots"]), five, "{zone}");
        let thirty = [at("00:00", 0), at("00:30", 30), at("23:30", 24 * 60 - 30)];
        assert_eq!(slots(&found["heart_rate"]["slots_thirty_minutes"]), thirty, "{zone}");
        assert_eq!(found["activity"]["total_steps"], 40, "{zone}");
        for (date, label, steps) in [("2025-11-19", "23:55", 10), ("2025-11-21", "00:00", 10)] {
            let other = day(&study, &patient, date).await;
            assert_eq!(other["activity"]["total_steps"], steps, "{zone} {date}");
            assert_eq!(slots(&other["heart_rate"]["slots"])[0].0, label, "{zone} {date}");
        }
    }
}

/// Clocks change at a quarter to three there, within a half hour.
#[tokio::test]
async fn half_hours_of_the_chatham_islands_have_a_time_each_on_days_of_change() {
    for (date, midnight_ms, hours) in [("2025-04-06", 1_743_848_100_000_i64, 25), ("2025-09-28", 1_758_971_700_000, 23)]
    {
        let study = Study::begin().await;
        let patient = study.patient().await;
        let times: Vec<i64> = (0..hours * 12).map(|window| midnight_ms + window * 5 * MINUTE_MS).collect();
        sync(&study, &patient, "Pacific/Chatham", &times).await;
        let found = day(&study, &patient, date).await;
        assert_eq!(slots(&found["heart_rate"]["slots"]).len() as i64, hours * 12, "{date}");
        let starts: Vec<i64> =
            slots(&found["heart_rate"]["slots_thirty_minutes"]).into_iter().map(|(_, start)| start).collect();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{date}: {starts:?}");
        // The half hour of the change is longer or shorter; none is lost.
        assert!((hours * 2..=hours * 2 + 1).contains(&(starts.len() as i64)), "{date}: {}", starts.len());
        assert_eq!(found["activity"]["total_steps"], hours * 120, "{date}");
    }
}

#[tokio::test]
async fn half_hours_at_a_border_have_a_time_each() {
    let study = Study::begin().await;
    study.story.pass_ms(24 * HOUR_MS);
    let patient = study.patient().await;
    let ten_ms = 1_763_632_800_000;
    for (minute, zone) in [(0, "Asia/Kathmandu"), (5, "Asia/Kolkata"), (10, "Asia/Kathmandu")] {
        sync(&study, &patient, zone, &[ten_ms + minute * MINUTE_MS]).await;
    }
    let found = day(&study, &patient, "2025-11-20").await;
    let thirty = slots(&found["heart_rate"]["slots_thirty_minutes"]);
    assert_eq!(thirty, [("15:30".to_owned(), ten_ms - 15 * MINUTE_MS), ("15:30".to_owned(), ten_ms)]);
}

#[tokio::test]
async fn rows_that_say_nothing_of_battery_and_charging_do_not_outvote_those_that_do() {
    let study = Study::begin().await;
    study.story.pass_ms(24 * HOUR_MS);
    let patient = study.patient().await;
    let ten_ms = 1_763_632_800_000;
    let times: Vec<i64> = (0..5).map(|minute| ten_ms + minute * MINUTE_MS).collect();
    let only_first = |value: i64| json!([value, null, null, null, null]);
    let rows = json!({"timestamp": times, "bpm": 60, "charging": only_first(1), "battery": only_first(9)});
    study.story.sync(&patient, json!({ "activity": rows })).await;
    let slot = day(&study, &patient, "2025-11-20").await["heart_rate"]["slots"][0].clone();
    assert_eq!((&slot["is_charging"], &slot["is_low_battery"]), (&json!(true), &json!(true)), "{slot}");
}

#[tokio::test]
async fn traveller_has_rows_on_the_local_day_of_each_place() {
    let study = Study::begin().await;
    study.story.pass_ms(24 * HOUR_MS);
    let patient = study.patient().await;
    // 20 November, 04:00 of UTC: five in the morning in Zurich, eleven in the evening before in New York.
    let four_ms = 1_763_611_200_000;
    sync(&study, &patient, "Europe/Zurich", &[four_ms]).await;
    sync(&study, &patient, "America/New_York", &[four_ms + MINUTE_MS]).await;
    let morning = day(&study, &patient, "2025-11-20").await;
    assert_eq!(slots(&morning["heart_rate"]["slots"]), [("05:00".to_owned(), four_ms)]);
    let evening = day(&study, &patient, "2025-11-19").await;
    assert_eq!(slots(&evening["heart_rate"]["slots"]), [("23:00".to_owned(), four_ms)]);
    assert_eq!((&morning["activity"]["total_steps"], &evening["activity"]["total_steps"]), (&json!(10), &json!(10)));
}

#[tokio::test]
async fn zone_of_the_patient_counts_where_a_sync_names_none() {
    let study = Study::begin().await;
    let patient = study.patient().await;
    let midnight_in_tokyo_ms = 1_763_564_400_000;
    let send = async |patient: &Enrolled, time_ms: i64| {
        study.story.sync(patient, json!({"activity": {"timestamp": [time_ms], "bpm": 60}})).await;
    };
    send(&patient, midnight_in_tokyo_ms).await;
    assert_eq!(slots(&day(&study, &patient, "2025-11-19").await["heart_rate"]["slots"])[0].0, "16:00");
    let token = &patient.users_token;
    study.story.ask("PATCH", "/users/me", token, json!({"time_zone": "Asia/Tokyo"})).await.ok();
    send(&patient, midnight_in_tokyo_ms + 5 * MINUTE_MS).await;
    let tokyo = day(&study, &patient, "2025-11-20").await;
    assert_eq!(slots(&tokyo["heart_rate"]["slots"])[0].0, "00:05", "rows from now on");
    let zurich = day(&study, &patient, "2025-11-19").await;
    assert_eq!(slots(&zurich["heart_rate"]["slots"]).len(), 1, "rows before keep the zone that they were stored with");
    // Who never said where they live is taken to be in UTC.
    let unknown = study.story.patient(&study.key, &study.group, Value::Null).await;
    send(&unknown, midnight_in_tokyo_ms).await;
    assert_eq!(slots(&day(&study, &unknown, "2025-11-19").await["heart_rate"]["slots"])[0].0, "15:00");
}

#[tokio::test]
async fn group_shows_each_patient_the_same_date_in_their_own_zone() {
    let study = Study::begin().await;
    study.story.pass_ms(24 * HOUR_MS);
    // Half past ten in the evening of the 19th in UTC.
    let time_ms = 1_763_591_400_000;
    let mut expected = Vec::new();
    for (zone, date) in [("UTC", "2025-11-19"), ("Asia/Tokyo", "2025-11-20"), ("America/Los_Angeles", "2025-11-19")] {
        let patient = study.patient().await;
        sync(&study, &patient, zone, &[time_ms]).await;
        expected.push((patient.uuid, date));
    }
    for date in ["2025-11-19", "2025-11-20"] {
        let found = study.story.get(&study.group_path(&format!("&date={date}"))).await.ok();
        for (uuid, of_date) in &expected {
            let has_steps = found[uuid]["activity"]["total_steps"] == 10;
            assert_eq!(has_steps, *of_date == date, "{uuid} {date}: {}", found[uuid]);
            assert_eq!(found[uuid]["date"], date);
        }
    }
}

#[tokio::test]
async fn unknown_zone_refuses_the_whole_sync() {
    let study = Study::begin().await;
    let patient = study.patient().await;
    for zone in [json!("Europe/Atlantis"), json!(""), json!("+01:00"), json!(1), json!(["UTC"])] {
        let body =
            json!({"time_zone": zone, "data": {"sleep": {"timestamp": [1_763_590_000_000_i64], "sleep_state": 1}}});
        let refused = study.story.post_as("/health/v1/sync", &patient.health_token, body).await;
        assert_eq!(refused.error(), (422, "invalid"), "{zone}");
        assert!(refused.body["errors"]["time_zone"].is_array(), "{zone}: {}", refused.body);
    }
    let counts =
        format!("/integration/v1/patients/{}/raw-data-compliance/2025-11-19?token={}", patient.uuid, study.key);
    assert_eq!(study.story.get(&counts).await.ok(), json!({}));
}
