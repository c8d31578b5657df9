//! 2.6: elements of slot arrays.

use serde_json::{Value, json};

use crate::common::Enrolled;
use crate::scene::{MIDNIGHT_MS, MINUTE_MS, Scene, minutes};
use crate::table::Kind::{Boolean, EpochMs, HourMinute, Integer, Number};
use crate::table::{Field, Table, always, or_null};

/// What elements with flags begin with.
const FLAGS_AND_TIME: [Field; 5] = [
    always("is_wearing", Boolean),
    always("is_charging", Boolean),
    always("is_low_battery", Boolean),
    always("timestamp", EpochMs),
    always("date", HourMinute),
];

/// Five minutes on the wrist from 10:00, and one more row half an hour later, from an empty bracelet that charges.
fn worn_and_charging(columns: Value) -> Value {
    let mut times = minutes(600, 5);
    times.extend(minutes(630, 1));
    let mut activity = columns;
    activity["timestamp"] = json!(times);
    activity["wearing"] = json!([4, 4, 4, 4, 4, 0]);
    activity["charging"] = json!([0, 0, 0, 0, 0, 1]);
    activity["battery"] = json!([80, 80, 80, 80, 80, 15]);
    json!({ "activity": activity })
}

fn on_the_wrist(values: Value) -> Value {
    element(
        values,
        json!({"is_wearing": true, "is_charging": false, "is_low_battery": false,
        "timestamp": MIDNIGHT_MS + 600 * MINUTE_MS, "date": "10:00"}),
    )
}

fn on_the_charger(values: Value) -> Value {
    element(
        values,
        json!({"is_wearing": false, "is_charging": true, "is_low_battery": true,
        "timestamp": MIDNIGHT_MS + 630 * MINUTE_MS, "date": "10:30"}),
    )
}

fn element(values: Value, mut stem: Value) -> Value {
    let Value::Object(values) = values else { panic!("no object: {values}") };
    for (name, value) in values {
        stem[name] = value;
    }
    stem
}

/// Checks the elements of arrays of a section, each of which has these and no others.
async fn check_elements(
    scene: &Scene,
    patient: &Enrolled,
    section: &str,
    (arrays, mut table): (&[&str], Table),
    expected: &Value,
) {
    let found = scene.section_with_slots(patient, section).await;
    for array in arrays {
        assert_eq!(&found[array], expected, "{array}");
        for element in found[array].as_array().expect("an array") {
            table.check(element);
        }
    }
}

fn with_flags(fields: &[Field]) -> Table {
    Table::of(&[&FLAGS_AND_TIME, fields].concat())
}

#[tokio::test]
async fn table_2_6_slots_of_activity() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut table =
        Table::of(&[always("timestamp", EpochMs), always("date", HourMinute), or_null("step_count", Integer)]);
    scene.story.sync(&grace, worn_and_charging(json!({"last_steps": [1, 2, 3, 4, 5, null]}))).await;
    let found = scene.section_with_slots(&grace, "activity").await;
    let expected = json!([
        {"timestamp": MIDNIGHT_MS + 600 * MINUTE_MS, "date": "10:00", "step_count": 15},
        {"timestamp": MIDNIGHT_MS + 630 * MINUTE_MS, "date": "10:30", "step_count": null},
    ]);
    // Of thirty minutes, and under two names: ours.
    for array in ["slots_five_minutes", "slots_thirty_minutes", "slots"] {
        assert_eq!(found[array], expected, "{array}");
    }
    for element in found["slots_five_minutes"].as_array().expect("slots") {
        table.check(element);
    }
}

#[tokio::test]
async fn table_2_6_slots_of_respiration_rate() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let rows = json!({"respiration_rate": [15, 15, 16, 16, 16, 17], "resp_q": [3, 3, 3, 4, 4, 4]});
    scene.story.sync(&grace, worn_and_charging(rows)).await;
    let expected = json!([
        on_the_wrist(json!({"respiration_rate": 15.6, "quality": 3})),
        on_the_charger(json!({"respiration_rate": null, "quality": null})),
    ]);
    let table = with_flags(&[or_null("respiration_rate", Number), or_null("quality", Number)]);
    let arrays: &[&str] = &["slots_five_minutes", "slots_thirty_minutes"];
    check_elements(&scene, &grace, "respiration_rate", (arrays, table), &expected).await;
}

#[tokio::test]
async fn table_2_6_slots_of_spo2() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let rows = json!({"spo2": [97, 97, 98, 98, 97, 99], "spo2_q": [4, 4, 4, 4, 4, 4]});
    scene.story.sync(&grace, worn_and_charging(rows)).await;
    let expected = json!([
        on_the_wrist(json!({"spo2": 97.4, "spo2_q": 4})),
        on_the_charger(json!({"spo2": null, "spo2_q": null})),
    ]);
    let table = with_flags(&[or_null("spo2", Number), or_null("spo2_q", Number)]);
    let arrays: &[&str] = &["slots_five_minutes", "slots_thirty_minutes"];
    check_elements(&scene, &grace, "spo2", (arrays, table), &expected).await;
}

#[tokio::test]
async fn table_2_6_slots_of_temperature() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut data = worn_and_charging(json!({}));
    let times = [minutes(600, 2), minutes(630, 1)].concat();
    data["temperature"] = json!({"timestamp": times, "temp_sk1": [33.1, 33.2, 25.0], "temp_sk2": [34.0, 34.1, 24.0]});
    scene.story.sync(&grace, data).await;
    let expected = json!([
        on_the_wrist(json!({"temp_sk1": 33.15, "temp_sk2": 34.05})),
        on_the_charger(json!({"temp_sk1": null, "temp_sk2": null})),
    ]);
    let table = with_flags(&[or_null("temp_sk1", Number), or_null("temp_sk2", Number)]);
    let arrays: &[&str] = &["slots_five_minutes", "slots_thirty_minutes"];
    check_elements(&scene, &grace, "temperature", (arrays, table), &expected).await;
}

/// Their shape is not shown: that of decisions 5.
#[tokio::test]
async fn table_2_6_slots_of_heart_rate() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let rows = json!({"bpm": [60, 61, 62, 63, 64, 65], "bpm_q": [4, 4, 4, 4, 4, 4]});
    scene.story.sync(&grace, worn_and_charging(rows)).await;
    let expected =
        json!([on_the_wrist(json!({"bpm": 62, "bpm_q": 4})), on_the_charger(json!({"bpm": null, "bpm_q": null}))]);
    let table = with_flags(&[or_null("bpm", Number), or_null("bpm_q", Number)]);
    let arrays: &[&str] = &["slots", "slots_thirty_minutes"];
    check_elements(&scene, &grace, "heart_rate", (arrays, table), &expected).await;
}

#[tokio::test]
async fn table_2_6_slots_of_non_invasive_blood_pressure() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let times = [minutes(600, 2), minutes(1410, 1), minutes(700, 1)].concat();
    let rows = json!({"timestamp": times, "nibp_systolic": [120, 122, 118, null],
        "nibp_diastolic": [80, 81, null, 75]});
    scene.story.sync(&grace, json!({ "activity": rows })).await;
    let slot = |minute: i64, [from, to]: [&str; 2], [systolic, diastolic]: [Value; 2]| {
        let start_ms = MIDNIGHT_MS + minute * MINUTE_MS;
        json!({"systolic_pressure_combine": systolic, "diastolic_pressure_combine": diastolic,
            "start_timestamp": start_ms, "end_timestamp": start_ms + 30 * MINUTE_MS, "start_date": from, "end_date": to})
    };
    let expected = json!([
        slot(600, ["10:00", "10:30"], [json!(121), json!(80.5)]),
        slot(690, ["11:30", "12:00"], [Value::Null, json!(75)]),
        slot(1410, ["23:30", "00:00"], [json!(118), Value::Null]),
    ]);
    let table = Table::of(&[
        or_null("systolic_pressure_combine", Number),
        or_null("diastolic_pressure_combine", Number),
        always("start_timestamp", EpochMs),
        always("end_timestamp", EpochMs),
        always("start_date", HourMinute),
        always("end_date", HourMinute),
    ]);
    check_elements(&scene, &grace, "non_invasive_blood_pressure", (&["slots"], table), &expected).await;
}
