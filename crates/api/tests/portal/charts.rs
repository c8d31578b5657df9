//! Series for charts and heat maps of compliance.

use platform::seal::Until;
use serde_json::{Value, json};
use store::{DamageTarget, PatientId, Role};
use vitals::derivation::Output;

use crate::browser::Browser;
use crate::common::{Enrolled, START_MS, Story, text};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// 2025-11-19T00:00 in Zurich, ms.
const MIDNIGHT_MS: i64 = 1_763_506_800_000;

struct Study {
    story: Story,
    browser: Browser,
    group: String,
    patient: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, browser, group, patient }
    }

    async fn get(&self, path: &str) -> crate::common::Answer {
        self.browser.get(&self.story, path).await
    }

    async fn series(&self, query: &str) -> Value {
        self.get(&format!("/portal/api/patients/{}/series?{query}", self.patient.uuid)).await.ok()
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

#[tokio::test]
async fn no_extreme_of_a_day_is_lost_sealed_or_not() {
    let study = Study::begin().await;
    let times: Vec<i64> = (0..1440).map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect();
    // One minute at 190 and one at 38 in a day of 60 to 79; each seventh row has no value.
    let value = |at: usize| match at {
        700 => 190,
        900 => 38,
        _ if at % 7 == 3 => 0,
        _ => 60 + (at * 7 % 20) as i64,
    };
    let bpm: Vec<i64> = (0..1440).map(value).collect();
    study.story.sync(&study.patient, json!({"activity": {"timestamp": times, "bpm": bpm}})).await;
    let (from, to) = (MIDNIGHT_MS, MIDNIGHT_MS + 24 * HOUR_MS - 1);
    let query = format!("from={from}&to={to}&points=48&series[]=activity.bpm");
    for sealed in [false, true] {
        if sealed {
            study.story.pass_ms(40 * 24 * HOUR_MS);
            study.story.platform.upkeep.seal(Until::Finished, |_| {}).await.expect("sealed");
        }
        let browser =
            Browser::sign_in(&study.story, json!({"email": "ada@example.org", "password": crate::common::PASSWORD}))
                .await;
        let path = format!("/portal/api/patients/{}/series?{query}", study.patient.uuid);
        let chart = browser.get(&study.story, &path).await.ok();
        assert_eq!(chart["bucket_ms"], 1_800_000.0);
        let series = &chart["series"][0];
        assert_eq!(
            (&series["type"], &series["column"], &series["unit"]),
            (&json!("activity"), &json!("bpm"), &json!("/min"))
        );
        assert_eq!((&series["channel"], &series["raw"]), (&Value::Null, &json!(false)));
        let (starts, min, max) = (numbers(&series["t"]), numbers(&series["min"]), numbers(&series["max"]));
        assert_eq!(starts.len(), 48);
        for (at, start) in starts.iter().enumerate() {
            let within =
                (0..1440).filter(|row| (times[*row] - *start as i64) / 1_800_000 == 0 && times[*row] >= *start as i64);
            let values: Vec<f64> = within.map(|row| bpm[row] as f64).filter(|bpm| *bpm > 0.0).collect();
            assert_eq!(values.iter().copied().reduce(f64::min), Some(min[at]), "bucket {at}, sealed: {sealed}");
            assert_eq!(values.iter().copied().reduce(f64::max), Some(max[at]), "bucket {at}, sealed: {sealed}");
        }
        assert_eq!((max.iter().copied().fold(0.0, f64::max), min.iter().copied().fold(999.0, f64::min)), (190.0, 38.0));
        assert_eq!(chart["gaps"], json!([]));
    }
}

#[tokio::test]
async fn few_rows_are_shown_as_they_are_and_waveforms_between_milliseconds() {
    let study = Study::begin().await;
    let start = START_MS - 10_000;
    let data = json!({
        "ppg2": [
            {"start": start, "rate_hz": 64, "metric_id": "0x7e", "led_pd_pos": 0, "value": [10, 11, 12, 13, 14]},
            {"start": start, "rate_hz": 64, "metric_id": "0x7c", "led_pd_pos": 1, "value": [20, 21]},
        ],
        "tests": {"timestamp": [start], "test_type": ["weight"], "value": [61.5]},
    });
    study.story.sync(&study.patient, data).await;
    let range = format!("from={start}&to={}", start + 999);
    let chart =
        study.series(&format!("{range}&series[]=ppg2.value.green.0&series[]=tests.value&series[]=activity.bpm")).await;
    let series = chart["series"].as_array().expect("series");
    assert_eq!(series.len(), 2, "what there is nothing of is left out");
    assert_eq!((&series[0]["channel"], &series[0]["raw"]), (&json!("green.0"), &json!(true)));
    assert_eq!(series[0]["min"], json!([10.0, 11.0, 12.0, 13.0, 14.0]));
    assert_eq!(series[0]["max"], series[0]["min"]);
    assert_eq!(series[0]["t"][0], start);
    assert_eq!(series[0]["t"][1], start as f64 + 15.625);
    assert_eq!((&series[1]["channel"], &series[1]["min"]), (&json!("weight"), &json!([61.5])));
    let all = study.series(&format!("{range}&points=4&series=ppg2.value")).await;
    let channels: Vec<&Value> =
        all["series"].as_array().expect("series").iter().map(|series| &series["channel"]).collect();
    assert_eq!(channels, [&json!("red.1"), &json!("green.0")]);
    assert_eq!((&all["bucket_ms"], &all["series"][1]["raw"]), (&json!(250.0), &json!(false)));
    assert_eq!((&all["series"][1]["min"], &all["series"][1]["max"]), (&json!([10.0]), &json!([14.0])));
}

#[tokio::test]
async fn zeros_of_spot_measurements_are_left_out_where_they_mean_no_value() {
    let study = Study::begin().await;
    let times: Vec<i64> = (0..4).map(|row| START_MS + row * 1000).collect();
    let kinds = ["heart_rate", "heart_rate", "other", "other"];
    study
        .story
        .sync(&study.patient, json!({"tests": {"timestamp": times, "test_type": kinds, "value": [61, 0, 0, 2]}}))
        .await;
    let query = format!("from={START_MS}&to={}&series[]=tests.value", START_MS + 9_000);
    let chart = study.series(&query).await;
    let shown: Vec<_> =
        chart["series"].as_array().expect("series").iter().map(|one| (&one["channel"], &one["min"])).collect();
    assert_eq!(shown, [(&json!("heart_rate"), &json!([61.0])), (&json!("other"), &json!([0.0, 2.0]))]);
}

#[tokio::test]
async fn types_beyond_the_specification_s_are_drawn_and_counted() {
    let study = Study::begin().await;
    let start = MIDNIGHT_MS + 13 * HOUR_MS;
    let data = json!({
        "eda": [{"start": start, "rate_hz": 4, "eda": [6.2143, 6.3, null]}],
        "gyro": [{"start": start, "rate_hz": 32, "x": [-3.125, 0], "y": 1, "z": [0.5, 0.25]}],
    });
    study.story.sync(&study.patient, data).await;
    let query = format!("from={start}&to={}&series[]=eda.eda&series[]=gyro.x&series[]=gyro.z", start + 999);
    let chart = study.series(&query).await;
    let series = chart["series"].as_array().expect("series");
    let units: Vec<&Value> = series.iter().map(|series| &series["unit"]).collect();
    assert_eq!(units, [&json!("µS"), &json!("°/s"), &json!("°/s")]);
    assert_eq!(series[0]["max"], json!([6.2143, 6.3]));
    assert_eq!(series[1]["min"], json!([-3.125, 0.0]), "0 is a rotation and not the lack of one");
    let path = format!("/portal/api/patients/{}/compliance?date=2025-11-19", study.patient.uuid);
    let hours = study.get(&path).await.ok();
    let types: Vec<&Value> = hours["types"].as_array().expect("types").iter().map(|one| &one["type"]).collect();
    assert_eq!(types, [&json!("eda"), &json!("gyro")], "{hours}");
}

#[tokio::test]
async fn gaps_have_their_reasons() {
    let study = Study::begin().await;
    let window = |number: i64| MIDNIGHT_MS + number * 5 * MINUTE_MS;
    let data = json!({"activity": {
        "timestamp": [window(0), window(1), window(2), window(3), window(4), window(7)],
        "bpm": [60, 0, 0, 62, 63, 64],
        "wearing": [4, 0, 0, 4, 4, 4],
        "charging": [0, 0, 1, 0, 0, 0],
        "battery": [80, 80, 80, 80, 9, 60]}});
    study.story.sync(&study.patient, data).await;
    let chart = study.series(&format!("from={}&to={}&series[]=activity.bpm", window(0), window(9) - 1)).await;
    let gap = |from: i64, to: i64, reason: &str| json!({"from": window(from), "to": window(to), "reason": reason});
    assert_eq!(
        chart["gaps"],
        json!([gap(1, 2, "not_worn"), gap(2, 3, "charging"), gap(5, 7, "low_battery"), gap(8, 9, "not_synced")])
    );
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let study = Study::begin().await;
    let path = format!("/portal/api/patients/{}/series", study.patient.uuid);
    for (query, error) in [
        ("", (422, "invalid")),
        ("from=0&to=1", (422, "invalid")),
        ("from=0&to=1&series[]=activity.nothing", (422, "invalid")),
        ("from=0&to=1&series[]=activity.hta", (422, "invalid")),
        ("from=2&to=1&series[]=activity.bpm", (422, "invalid")),
        ("from=0&to=99999999999&series[]=activity.bpm", (422, "invalid")),
        ("from=0&to=9223372036854775807&series[]=activity.bpm", (422, "invalid")),
        ("from=0&to=1&points=1&series[]=activity.bpm", (422, "invalid")),
        ("from=0&to=1&points=x&series[]=activity.bpm", (400, "malformed_parameter")),
        ("from=x&to=1&series[]=activity.bpm", (400, "malformed_parameter")),
    ] {
        assert_eq!(study.get(&format!("{path}?{query}")).await.error(), error, "{query}");
    }
    let (eve, _) = Browser::of(&study.story, "eve@example.org", Role::Researcher).await;
    let query = format!("{path}?from=0&to=1&series[]=activity.bpm");
    assert_eq!(eve.get(&study.story, &query).await.error(), (403, "forbidden"));
    let nobody = "/portal/api/patients/00000000-0000-4000-8000-000000000000/series?from=0&to=1&series[]=activity.bpm";
    assert_eq!(study.get(nobody).await.error(), (404, "patient_not_found"));
}

#[tokio::test]
async fn an_end_that_means_no_end_is_taken_where_nothing_is_left_out() {
    /// 9999-12-31T23:59:59.999Z, ms.
    const NEVER_MS: i64 = 253_402_300_799_999;
    const LONGEST_MS: i64 = 400 * 24 * HOUR_MS;
    let study = Study::begin().await;
    study.story.sync(&study.patient, json!({"activity": {"timestamp": [START_MS - MINUTE_MS], "bpm": [61]}})).await;
    let from = START_MS - HOUR_MS;
    let chart = study.series(&format!("from={from}&to={NEVER_MS}&series[]=activity.bpm")).await;
    assert_eq!((&chart["to"], &chart["series"][0]["min"]), (&json!(from + LONGEST_MS), &json!([61.0])));
    let news = format!("/portal/api/patients/{}/news", study.patient.uuid);
    let whole = study.get(&format!("{news}?from={from}&to={}", START_MS + HOUR_MS)).await.ok();
    assert_eq!(whole["entries"].as_array().map(Vec::len), Some(1), "{whole}");
    assert_eq!(study.get(&format!("{news}?from={from}&to={NEVER_MS}")).await.ok(), whole);
    let map = format!("/portal/api/groups/{}/compliance", study.group);
    let days = study.get(&format!("{map}?from=2025-11-18&to=9999-12-31")).await.ok()["days"].clone();
    assert_eq!(days, json!(["2025-11-18", "2025-11-19", "2025-11-20"]));

    let early = START_MS - LONGEST_MS - 1;
    let series = format!("/portal/api/patients/{}/series", study.patient.uuid);
    for path in [
        format!("{series}?from={early}&to={NEVER_MS}&series[]=activity.bpm"),
        format!("{series}?from={NEVER_MS}&to={NEVER_MS}&series[]=activity.bpm"),
        format!("{news}?from={early}&to={NEVER_MS}"),
        format!("{map}?from=2025-08-20&to=9999-12-31"),
    ] {
        assert_eq!(study.get(&path).await.error(), (422, "invalid"), "a part would be left out: {path}");
    }
}

#[tokio::test]
async fn heat_maps_count_as_compliance_does() {
    let study = Study::begin().await;
    let times: Vec<i64> = (0..200).map(|number| MIDNIGHT_MS - 3 * HOUR_MS + number * 7 * MINUTE_MS).collect();
    let bpm: Vec<i64> = (0..200).map(|number| if number % 5 == 0 { 0 } else { 60 }).collect();
    study.story.sync(&study.patient, json!({"activity": {"timestamp": times, "bpm": bpm},
        "acc": [{"start": MIDNIGHT_MS + 90 * MINUTE_MS, "rate_hz": 32, "accX": [1, 2, 3], "accY": [0, 0, 0], "accZ": [9, 9, 9]}]})).await;
    let path = format!("/portal/api/groups/{}/compliance?from=2025-11-17&to=2025-11-21", study.group);
    let map = study.get(&path).await.ok();
    let days = ["2025-11-17", "2025-11-18", "2025-11-19", "2025-11-20", "2025-11-21"];
    assert_eq!(map["days"], json!(days));
    let row = &map["patients"][0];
    assert_eq!(row["uuid"], study.patient.uuid);
    for (at, day) in days.iter().enumerate().skip(1).take(3) {
        let path = format!("/integration/v1/patients/{}/compliance/{day}", study.patient.uuid);
        let counted = study.browser.ask(&study.story, "GET", &path, Value::Null).await.ok();
        assert_eq!(row["percent"][at], counted["compliance"], "{day}");
    }
    assert_eq!((&row["percent"][0], &row["percent"][4]), (&Value::Null, &Value::Null), "not there yet, and tomorrow");
    assert_eq!((&row["expected"][2], &row["expected"][4]), (&json!(288), &json!(0)));

    for day in ["2025-11-18", "2025-11-19"] {
        let by_hour =
            study.get(&format!("/portal/api/patients/{}/compliance?date={day}", study.patient.uuid)).await.ok();
        assert_eq!(by_hour["hours"], 24);
        let path = format!("/integration/v1/patients/{}/raw-data-compliance/{day}", study.patient.uuid);
        let counted = study.browser.ask(&study.story, "GET", &path, Value::Null).await.ok();
        for of_type in by_hour["types"].as_array().expect("types") {
            let received: f64 = numbers(&of_type["received"]).iter().sum();
            let name = of_type["type"].as_str().expect("a name");
            let expected = counted[format!("raw_data_{name}")].as_f64().unwrap_or(0.0);
            assert!((received - expected).abs() < 0.5, "{day} {name}: {received} and {expected}");
        }
    }
    let by_hour =
        study.get(&format!("/portal/api/patients/{}/compliance?date=2025-11-19", study.patient.uuid)).await.ok();
    let acc = by_hour["types"].as_array().expect("types").iter().find(|of_type| of_type["type"] == "acc");
    assert_eq!(acc.expect("acc")["received"][1], 3, "an hour and a half after midnight");
    for query in ["", "?from=2025-11-20&to=2025-11-19", "?from=2025-01-01&to=2025-11-19", "?from=x&to=2025-11-19"] {
        let path = format!("/portal/api/groups/{}/compliance{query}", study.group);
        assert_eq!(study.get(&path).await.error(), (422, "invalid"), "{query}");
    }
}

/// Of four patients each is damaged elsewhere but one, whose days are as before. The board marks who has no row to be read.
#[tokio::test]
async fn damaged_patients_are_marked_on_the_heat_map_and_the_others_are_whole() {
    let story = Story::begin().await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let mut uuids = Vec::new();
    for name in ["Cells", "Body", "Row", "Sound"] {
        let patient = story.patient(&key, &group, json!({"first_name": name})).await;
        story.sync(&patient, json!({"activity": {"timestamp": [MIDNIGHT_MS + 12 * HOUR_MS], "bpm": 61}})).await;
        uuids.push(PatientId::new(patient.uuid));
        // The map is in the order in which they joined.
        story.pass_ms(1);
    }
    let path = format!("/portal/api/groups/{group}/compliance?from=2025-11-18&to=2025-11-19");
    let sound = browser.get(&story, &path).await.ok();
    assert_eq!(sound["patients"][3]["received"], json!([0, 1]), "{sound}");

    let health = story.platform.core.health();
    health.damage(&uuids[0], DamageTarget::Derived(Output::Slots)).await.expect("damaged");
    health.damage(&uuids[1], DamageTarget::Profile).await.expect("damaged");
    story.platform.core.users().damage(&uuids[2]).await.expect("damaged");
    let map = browser.get(&story, &path).await.ok();
    assert_eq!(map["patients"][3], sound["patients"][3]);
    for (at, name) in ["Cells", "Body", uuids[2].as_str()].into_iter().enumerate() {
        let expected = json!({"uuid": uuids[at], "name": name, "percent": [null, null], "received": [0, 0],
            "expected": [0, 0], "unreadable": true});
        assert_eq!(map["patients"][at], expected);
    }
    let board = browser.get(&story, &format!("/portal/api/groups/{group}/board")).await.ok();
    let marks: Vec<&Value> = board["patients"].as_array().expect("rows").iter().map(|row| &row["unreadable"]).collect();
    assert_eq!(marks[2..], [&json!(true), &Value::Null], "{board}");
    assert_eq!(board["patients"][2]["name"], json!(uuids[2]));
}

#[tokio::test]
async fn unused_vouchers_are_no_patients_of_the_heat_map() {
    let study = Study::begin().await;
    let patients = format!("/integration/v1/groups/{}/patients", study.group);
    let created = study.browser.ask(&study.story, "POST", &patients, Value::Null).await.ok();
    let path = format!("/portal/api/groups/{}/compliance?from=2025-11-17&to=2025-11-21", study.group);
    let map = study.get(&path).await.ok();
    assert_eq!(map["patients"].as_array().expect("rows").len(), 1, "{map}");
    assert!(!map.to_string().contains(&text(&created["code"])), "{map}");
    assert_eq!(map["patients"][0]["uuid"], study.patient.uuid);
}
