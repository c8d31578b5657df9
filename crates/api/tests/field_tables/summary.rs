//! 2.6: the daily summary and its sections of the day. The nights are in `summary_nights.rs`, slots in `slots.rs`.
//!
//! Nulls that the specification does not name are those of `docs/summary-fields.md`.

use serde_json::{Value, json};

use crate::scene::{DAY, MIDNIGHT_MS, MINUTE_MS, Scene, minutes, steady_beats};
use crate::table::Kind::{Date, EpochMs, Integer, Number, Object, Text};
use crate::table::{Field, Table, always, assert_fields, or_null, with_slots};

#[tokio::test]
async fn table_2_6_daily_summary() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        always("activity", Object),
        always("service_sleep", Object),
        always("heart_rate", Object),
        always("non_invasive_blood_pressure", Object),
        always("recovery", Object),
        always("respiration_rate", Object),
        always("sleep", Object),
        always("spo2", Object),
        always("stress", Object),
        always("stress_continuous", Object),
        always("temperature", Object),
    ]);
    let (grace, nobody) = (scene.patient().await, scene.stranger().await);
    scene.story.sync(&grace, json!({"activity": {"timestamp": minutes(600, 1), "bpm": [60]}})).await;

    let of_group = scene.get(&format!("/v1/groups/{}/summaries?date={DAY}", scene.group)).await;
    let keys: Vec<&String> = of_group.as_object().expect("an object").keys().collect();
    let mut uuids = vec![&grace.uuid, &nobody.uuid];
    uuids.sort_unstable();
    assert_eq!(keys, uuids, "keyed by the patients' uuids");
    for (patient, is_measured) in [(&grace, true), (&nobody, false)] {
        let summary = scene.get(&format!("/v1/patients/{}/summary/{DAY}", patient.uuid)).await;
        table.check(&summary);
        assert_eq!(summary, of_group[&patient.uuid]);
        assert_eq!(summary["date"], DAY);
        for (name, section) in summary.as_object().expect("an object").iter().filter(|(name, _)| *name != "date") {
            let has_data = is_measured && ["activity", "heart_rate"].contains(&name.as_str());
            assert_eq!(section != &json!({}), has_data, "{name}");
        }
    }
}

#[tokio::test]
async fn table_2_6_activity() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        or_null("total_steps", Integer),
        or_null("daily_percent", Number),
        or_null("distance", Number),
        or_null("calories", Number),
        always("workouts", Integer),
        always("active_minutes", Integer),
        always("move_every_hour", Integer),
        always("total_glasses", Integer),
        or_null("avg_gait_asymmetry", Number),
        or_null("avg_gait_speed", Number),
        or_null("avg_gait_var", Number),
        with_slots("slots_five_minutes"),
    ])
    .and_ours(&[
        with_slots("slots"),
        with_slots("slots_thirty_minutes"),
        crate::table::when_set("steps_source", Text),
    ]);
    let grace = scene.patient().await;
    let walk = json!({"activity": {"timestamp": minutes(600, 10), "last_steps": 100, "speed": 10, "energy_exp": 1000,
        "gait_asymmetry": 2.5, "gait_speed": 1.2, "gait_var": 3.5}});
    scene.story.sync(&grace, walk).await;
    let walked = scene.section(&grace, "activity").await;
    table.check(&walked);
    // Of 10,000 steps; metres by 1 m/s over ten minutes; kcal of ten times 1,000 cal.
    let expected = json!({"date": DAY, "total_steps": 1000, "daily_percent": 10.0, "distance": 600.0, "calories": 10.0,
        "workouts": 0, "active_minutes": 10, "move_every_hour": 1, "total_glasses": 0, "avg_gait_asymmetry": 2.5,
        "avg_gait_speed": 1.2, "avg_gait_var": 3.5});
    assert_eq!(walked, expected);
    table.check_with_slots(&scene.section_with_slots(&grace, "activity").await);

    let other = scene.stranger().await;
    scene.story.sync(&other, json!({"activity": {"timestamp": minutes(600, 1), "battery": [80]}})).await;
    let nothing = scene.section(&other, "activity").await;
    table.check(&nothing);
    assert_fields(&nothing, &json!({"active_minutes": 0, "move_every_hour": 0}));
}

#[tokio::test]
async fn table_2_6_heart_rate() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        or_null("avg_daily_heart_rate", Number),
        or_null("max_daily_heart_rate", Number),
        or_null("rest_daily_heart_rate", Number),
        always("daily_percent", Number),
        or_null("all_time", Integer),
        or_null("max_time", Integer),
        or_null("performance_time", Integer),
        or_null("endurance_time", Integer),
        or_null("fat_burn_time", Integer),
        or_null("warm_up_time", Integer),
        or_null("rest_time", Integer),
        with_slots("slots"),
    ])
    .and_ours(&[with_slots("slots_thirty_minutes"), crate::table::when_set("waveform_quality", Object)]);
    let grace = scene.patient().await;
    // Five hours at rest, then five minutes in each zone of somebody whose highest is 220 − 39 = 181.
    let mut bpm = vec![60; 300];
    for rate in [100, 120, 135, 150, 170] {
        bpm.extend([rate; 5]);
    }
    let rows = json!({"activity": {"timestamp": minutes(0, 325), "bpm": bpm, "last_steps": 0, "wearing": 4}});
    scene.story.sync(&grace, rows).await;
    let found = scene.section(&grace, "heart_rate").await;
    table.check(&found);
    let expected = json!({"date": DAY, "avg_daily_heart_rate": 65.77, "max_daily_heart_rate": 170,
        "rest_daily_heart_rate": 60.0, "daily_percent": 22.6, "all_time": 325 * 60, "max_time": 300,
        "performance_time": 300, "endurance_time": 300, "fat_burn_time": 300, "warm_up_time": 300,
        "rest_time": 300 * 60});
    assert_eq!(found, expected);
    table.check_with_slots(&scene.section_with_slots(&grace, "heart_rate").await);

    let other = scene.stranger().await;
    scene.story.sync(&other, json!({"activity": {"timestamp": minutes(600, 1), "bpm": [0]}})).await;
    let nothing = scene.section(&other, "heart_rate").await;
    table.check(&nothing);
    assert_fields(&nothing, &json!({"daily_percent": 0.0}));
}

#[tokio::test]
async fn table_2_6_non_invasive_blood_pressure() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        or_null("daily_average_systolic_pressure", Number),
        or_null("daily_average_diastolic_pressure", Number),
        or_null("sleeping_average_systolic_pressure", Number),
        or_null("sleeping_average_diastolic_pressure", Number),
        or_null("awaken_average_systolic_pressure", Number),
        or_null("awaken_average_diastolic_pressure", Number),
        with_slots("slots"),
    ]);
    let grace = scene.patient().await;
    let at = |minute: i64| MIDNIGHT_MS + minute * MINUTE_MS;
    let epochs: Vec<i64> = (0..480).map(|epoch| at(60) + epoch * 30_000).collect();
    let data = json!({
        "sleep": {"timestamp": epochs, "sleep_state": 1},
        "activity": {"timestamp": [at(180), at(720), at(725)], "nibp_systolic": [110, 128, 132],
            "nibp_diastolic": [70, 78, 82]},
    });
    scene.story.sync(&grace, data).await;
    let found = scene.section(&grace, "non_invasive_blood_pressure").await;
    table.check(&found);
    let expected = json!({"date": DAY, "daily_average_systolic_pressure": 120.0,
        "daily_average_diastolic_pressure": 75.0, "sleeping_average_systolic_pressure": 110.0,
        "sleeping_average_diastolic_pressure": 70.0, "awaken_average_systolic_pressure": 130.0,
        "awaken_average_diastolic_pressure": 80.0});
    assert_eq!(found, expected);
    table.check_with_slots(&scene.section_with_slots(&grace, "non_invasive_blood_pressure").await);

    for half in ["nibp_systolic", "nibp_diastolic"] {
        let other = scene.stranger().await;
        scene.story.sync(&other, json!({"activity": {"timestamp": minutes(600, 1), half: [90]}})).await;
        table.check(&scene.section(&other, "non_invasive_blood_pressure").await);
    }
}

/// A section of a vital sign: its average, between the first and the last slot that has one.
async fn check_vital(section: &'static str, average: &'static str, columns: Value, expected: Value) {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        or_null(average, Number),
        or_null("start_timestamp", EpochMs),
        or_null("end_timestamp", EpochMs),
        with_slots("slots_five_minutes"),
    ])
    .and_ours(&[with_slots("slots_thirty_minutes")]);
    for (rows, expected) in [(columns, Some(expected)), (json!({section: [0]}), None)] {
        let patient = scene.stranger().await;
        let mut activity = rows;
        let count = activity[section].as_array().expect("values").len() as i64;
        activity["timestamp"] = json!((0..count).map(|row| MIDNIGHT_MS + row * 10 * MINUTE_MS).collect::<Vec<i64>>());
        scene.story.sync(&patient, json!({ "activity": activity })).await;
        let found = scene.section(&patient, section).await;
        table.check(&found);
        table.check_with_slots(&scene.section_with_slots(&patient, section).await);
        let nothing = json!({"date": DAY, average: null, "start_timestamp": null, "end_timestamp": null});
        assert_eq!(found, expected.unwrap_or(nothing));
    }
}

#[tokio::test]
async fn table_2_6_respiration_rate() {
    let expected = json!({"date": DAY, "avg_respiration_rate": 15.25, "start_timestamp": MIDNIGHT_MS,
        "end_timestamp": MIDNIGHT_MS + 15 * MINUTE_MS});
    check_vital("respiration_rate", "avg_respiration_rate", json!({"respiration_rate": [14.5, 16, 0]}), expected).await;
}

#[tokio::test]
async fn table_2_6_spo2() {
    let expected = json!({"date": DAY, "avg_spo2": 96.5, "start_timestamp": MIDNIGHT_MS,
        "end_timestamp": MIDNIGHT_MS + 15 * MINUTE_MS});
    let columns = json!({"spo2": [96, 97, 80], "spo2_q": [4, 2, 1]});
    check_vital("spo2", "avg_spo2", columns, expected).await;
}

/// The fields of stress and of `stress_continuous`.
const STRESS: [Field; 16] = [
    always("date", Date),
    or_null("avg_si", Number),
    or_null("avg_si_n", Number),
    or_null("avg_mrr", Number),
    or_null("avg_sdnn", Number),
    or_null("avg_rmssd", Number),
    or_null("avg_pnn50", Number),
    or_null("avg_vlf", Number),
    or_null("avg_vlf_percent", Number),
    or_null("avg_lf", Number),
    or_null("avg_lf_percent", Number),
    or_null("avg_hf", Number),
    or_null("avg_hf_percent", Number),
    or_null("avg_hrv", Number),
    or_null("avg_mo", Number),
    or_null("avg_amo", Number),
];

#[tokio::test]
async fn table_2_6_stress() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&STRESS);
    let (grace, other) = (scene.patient().await, scene.stranger().await);
    let rows = json!({"timestamp": minutes(600, 2), "si": [100, 200], "si_n": [10, 14], "mrr": [800, 900],
        "sdnn": [50, 60], "rmssd": [40, 42], "pnn50": [10, 20], "vlf": [900, 1100], "vlf_percent": [40, 50],
        "lf": [700, 800], "lf_percent": [30, 40], "hf": [300, 400], "hf_percent": [15, 25], "hrv": [55, 65],
        "mo": [0.8, 0.9], "amo": [35, 45]});
    scene.story.sync(&grace, json!({"heart-rate-variability": rows})).await;
    let found = scene.section(&grace, "stress").await;
    table.check(&found);
    let expected = json!({"date": DAY, "avg_si": 150.0, "avg_si_n": 12.0, "avg_mrr": 850.0, "avg_sdnn": 55.0,
        "avg_rmssd": 41.0, "avg_pnn50": 15.0, "avg_vlf": 1000.0, "avg_vlf_percent": 45.0, "avg_lf": 750.0,
        "avg_lf_percent": 35.0, "avg_hf": 350.0, "avg_hf_percent": 20.0, "avg_hrv": 60.0, "avg_mo": 0.85,
        "avg_amo": 40.0});
    assert_eq!(found, expected);

    let empty = json!({"timestamp": minutes(600, 1), "si": [null]});
    scene.story.sync(&other, json!({"heart-rate-variability": empty})).await;
    table.check(&scene.section(&other, "stress").await);
}

#[tokio::test]
async fn table_2_6_stress_continuous() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&STRESS);
    let (grace, other) = (scene.patient().await, scene.stranger().await);
    scene.story.sync(&grace, json!({"rr-interval": steady_beats(MIDNIGHT_MS, 340, [800, 900])})).await;
    let found = scene.section(&grace, "stress_continuous").await;
    table.check(&found);
    // 340 intervals, 800 and 900 by turns: half of them in the bin of 800 to 850 ms, over a range of 0.1 s.
    let si = 50.0 / (2.0 * 0.825 * 0.1);
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let expected = json!({"date": DAY, "avg_si": rounded(si), "avg_si_n": rounded(si.sqrt()), "avg_mrr": 850.0,
        "avg_sdnn": rounded(50.0 * (340.0_f64 / 339.0).sqrt()), "avg_rmssd": 100.0, "avg_pnn50": 100.0,
        "avg_hrv": 100.0, "avg_mo": 0.825, "avg_amo": 50.0});
    assert_fields(&found, &expected);
    let share = |band: &str| found[format!("avg_{band}_percent")].as_f64().expect("a number");
    let sum = share("vlf") + share("lf") + share("hf");
    assert!((sum - 100.0).abs() < 0.01, "{sum} of 100 %");

    scene.story.sync(&other, json!({"rr-interval": {"timestamp": minutes(600, 1), "rr": [800]}})).await;
    table.check(&scene.section(&other, "stress_continuous").await);
}

#[tokio::test]
async fn table_2_6_temperature() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("date", Date),
        or_null("avg_temp_sk1", Number),
        or_null("avg_temp_sk2", Number),
        or_null("max_temp_sk1", Number),
        or_null("max_temp_sk2", Number),
        or_null("start_timestamp", EpochMs),
        or_null("end_timestamp", EpochMs),
        with_slots("slots_five_minutes"),
    ])
    .and_ours(&[with_slots("slots_thirty_minutes")]);
    let (grace, other) = (scene.patient().await, scene.stranger().await);
    let rows = json!({"timestamp": minutes(0, 2), "temp_sk1": [33.1, 33.2], "temp_sk2": [34.0, 34.5]});
    scene.story.sync(&grace, json!({ "temperature": rows })).await;
    let found = scene.section(&grace, "temperature").await;
    table.check(&found);
    let expected = json!({"date": DAY, "avg_temp_sk1": 33.15, "avg_temp_sk2": 34.25, "max_temp_sk1": 33.2,
        "max_temp_sk2": 34.5, "start_timestamp": MIDNIGHT_MS, "end_timestamp": MIDNIGHT_MS + 5 * MINUTE_MS});
    assert_eq!(found, expected);
    table.check_with_slots(&scene.section_with_slots(&grace, "temperature").await);

    scene.story.sync(&other, json!({"temperature": {"timestamp": minutes(0, 1), "temp_amb": [21.5]}})).await;
    table.check(&scene.section(&other, "temperature").await);
}
