//! Daily summaries, from a sync to the answers of both clouds.

mod common;
#[path = "summaries/documented.rs"]
mod documented;
#[path = "summaries/pages.rs"]
mod pages;
#[path = "summaries/zones.rs"]
mod zones;

use common::{Enrolled, Story, text};
use serde_json::{Value, json};
use store::Role;

/// 2025-11-20T00:00 in Zurich, ms.
const MIDNIGHT_MS: i64 = 1_763_593_200_000;
const MINUTE_MS: i64 = 60_000;
const SECTIONS: [&str; 11] = [
    "activity",
    "service_sleep",
    "heart_rate",
    "non_invasive_blood_pressure",
    "recovery",
    "respiration_rate",
    "sleep",
    "spo2",
    "stress",
    "stress_continuous",
    "temperature",
];

struct Study {
    story: Story,
    key: String,
    group: String,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        Study { story, key, group }
    }

    async fn patient(&self) -> Enrolled {
        let profile = json!({"birthday": "1985-11-20", "gender": "female", "height": 170, "weight": 65,
            "time_zone": "Europe/Zurich"});
        self.story.pass_ms(1);
        self.story.patient(&self.key, &self.group, profile).await
    }

    fn path(&self, patient: &Enrolled, date: &str, query: &str) -> String {
        format!("/integration/v1/patients/{}/summary/{date}?token={}{query}", patient.uuid, self.key)
    }

    fn group_path(&self, query: &str) -> String {
        format!("/integration/v1/groups/{}/summaries?token={}{query}", self.group, self.key)
    }
}

/// Five minutes on the wrist and one row half an hour later, when nothing could be measured.
fn half_an_hour() -> Value {
    let times: Vec<i64> = [0, 1, 2, 3, 4, 30].iter().map(|minute| MIDNIGHT_MS + minute * MINUTE_MS).collect();
    json!({
        "activity": {
            "timestamp": times,
            "bpm": [60, 62, 64, 66, 68, 0],
            "bpm_q": [4, 4, 4, 3, 3, 4],
            "last_steps": [10, 10, 10, 10, 10, 0],
            "respiration_rate": [16, 16, 16, 16, 17, 0],
            "spo2": [97, 97, 98, 98, 97, 0],
            "wearing": [4, 4, 4, 4, 4, 4],
            "battery": [80, 80, 80, 80, 80, 10],
            "nibp_systolic_combine": [120, null, null, null, null, null],
            "nibp_diastolic_combine": [80, null, null, null, null, null],
            "energy_exp": [1000, 1000, 1000, 1000, 1000, null],
        },
        "temperature": {
            "timestamp": [MIDNIGHT_MS, MIDNIGHT_MS + MINUTE_MS],
            "temp_sk1": [33.1, 33.2],
            "temp_sk2": [null, 34.0],
        },
    })
}

fn day_of_half_an_hour() -> Value {
    json!({
        "date": "2025-11-20",
        "activity": {
            "date": "2025-11-20", "total_steps": 50, "daily_percent": 0.5, "distance": 35.1, "calories": 5.94,
            "workouts": 0, "active_minutes": 0, "move_every_hour": 0, "total_glasses": 0, "avg_gait_asymmetry": null,
            "avg_gait_speed": null, "avg_gait_var": null,
        },
        "service_sleep": {},
        "heart_rate": {
            "date": "2025-11-20", "avg_daily_heart_rate": 64.0, "max_daily_heart_rate": 68,
            "rest_daily_heart_rate": null, "daily_percent": 0.3, "all_time": 300, "max_time": 0,
            "performance_time": 0, "endurance_time": 0, "fat_burn_time": 0, "warm_up_time": 0, "rest_time": 300,
        },
        "non_invasive_blood_pressure": {
            "date": "2025-11-20", "daily_average_systolic_pressure": 120.0, "daily_average_diastolic_pressure": 80.0,
            "sleeping_average_systolic_pressure": null, "sleeping_average_diastolic_pressure": null,
            "awaken_average_systolic_pressure": null, "awaken_average_diastolic_pressure": null,
        },
        "recovery": {},
        "respiration_rate": {
            "date": "2025-11-20", "avg_respiration_rate": 16.2, "start_timestamp": MIDNIGHT_MS,
            "end_timestamp": MIDNIGHT_MS + 5 * MINUTE_MS,
        },
        "sleep": {},
        "spo2": {
            "date": "2025-11-20", "avg_spo2": 97.4, "start_timestamp": MIDNIGHT_MS,
            "end_timestamp": MIDNIGHT_MS + 5 * MINUTE_MS,
        },
        "stress": {},
        "stress_continuous": {},
        "temperature": {
            "date": "2025-11-20", "avg_temp_sk1": 33.15, "avg_temp_sk2": 34.0, "max_temp_sk1": 33.2,
            "max_temp_sk2": 34.0, "start_timestamp": MIDNIGHT_MS, "end_timestamp": MIDNIGHT_MS + 5 * MINUTE_MS,
        },
    })
}

/// Returns the slot of the five minutes on the wrist, or the one half an hour later in which nothing could be measured.
fn slot(is_later: bool, values: &Value) -> Value {
    let timestamp = MIDNIGHT_MS + if is_later { 30 * MINUTE_MS } else { 0 };
    let mut slot = json!({"is_wearing": true, "is_charging": false, "is_low_battery": is_later,
        "timestamp": timestamp, "date": if is_later { "00:30" } else { "00:00" }});
    for (name, value) in values.as_object().expect("an object") {
        slot[name] = value.clone();
    }
    slot
}

fn empty_day(date: &str) -> Value {
    let mut day = json!({ "date": date });
    for section in SECTIONS {
        day[section] = json!({});
    }
    day
}

#[tokio::test]
async fn a_sync_becomes_a_summary() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.story.sync(&grace, half_an_hour()).await;

    let plain = study.story.get(&study.path(&grace, "2025-11-20", "")).await;
    assert_eq!(plain.header("content-type"), "application/json");
    assert_eq!(plain.ok(), day_of_half_an_hour());

    let mut expected = day_of_half_an_hour();
    let steps = json!([{"timestamp": MIDNIGHT_MS, "date": "00:00", "step_count": 50},
        {"timestamp": MIDNIGHT_MS + 30 * MINUTE_MS, "date": "00:30", "step_count": 0}]);
    for name in ["slots", "slots_five_minutes", "slots_thirty_minutes"] {
        expected["activity"][name] = steps.clone();
    }
    let pairs = [
        ("heart_rate", json!({"bpm": 64, "bpm_q": 4}), json!({"bpm": null, "bpm_q": null})),
        (
            "respiration_rate",
            json!({"respiration_rate": 16.2, "quality": null}),
            json!({"respiration_rate": null, "quality": null}),
        ),
        ("spo2", json!({"spo2": 97.4, "spo2_q": null}), json!({"spo2": null, "spo2_q": null})),
    ];
    for (section, first, later) in pairs {
        let slots = json!([slot(false, &first), slot(true, &later)]);
        let five_minutes = if section == "heart_rate" { "slots" } else { "slots_five_minutes" };
        expected[section][five_minutes] = slots.clone();
        expected[section]["slots_thirty_minutes"] = slots;
    }
    let skin = json!([slot(false, &json!({"temp_sk1": 33.15, "temp_sk2": 34}))]);
    expected["temperature"]["slots_five_minutes"] = skin.clone();
    expected["temperature"]["slots_thirty_minutes"] = skin;
    expected["non_invasive_blood_pressure"]["slots"] = json!([{"systolic_pressure_combine": 120,
        "diastolic_pressure_combine": 80, "start_timestamp": MIDNIGHT_MS,
        "end_timestamp": MIDNIGHT_MS + 30 * MINUTE_MS, "start_date": "00:00", "end_date": "00:30"}]);
    assert_eq!(study.story.get(&study.path(&grace, "2025-11-20", "&include_slots=1")).await.ok(), expected);

    let other_day = study.story.get(&study.path(&grace, "2025-11-19", "&include_slots=1")).await.ok();
    assert_eq!(other_day, empty_day("2025-11-19"));
}

#[tokio::test]
async fn only_the_sections_asked_for_are_shown() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.story.sync(&grace, half_an_hour()).await;
    let whole = day_of_half_an_hour();
    let expected = json!({"date": "2025-11-20", "spo2": whole["spo2"], "sleep": {}});
    for query in [
        "&types=spo2,sleep",
        "&types[]=spo2&types[]=sleep",
        "&types%5B%5D=sleep&types%5B%5D=spo2",
        "&types[0]=spo2&types[1]=sleep",
        "&types=spo2&types=sleep",
    ] {
        assert_eq!(study.story.get(&study.path(&grace, "2025-11-20", query)).await.ok(), expected, "{query}");
    }
    let unknown = study.story.get(&study.path(&grace, "2025-11-20", "&types[]=spo2&types[]=mood")).await;
    assert_eq!(unknown.error(), (422, "invalid"));
    let known = "activity, service_sleep, heart_rate, non_invasive_blood_pressure, recovery, respiration_rate, sleep, spo2, \
        stress, stress_continuous, temperature or extra";
    assert_eq!(unknown.body["errors"], json!({"types": [format!("unknown: mood; must be {known}")]}));
    for date in ["2025-11-31", "2025-2-3", "today", "20251120", "2025-11-20T00:00:00Z"] {
        let wrong = study.story.get(&study.path(&grace, date, "")).await;
        assert_eq!(wrong.error(), (422, "invalid"), "{date}");
        assert!(wrong.body["errors"]["date"].is_array(), "{date}");
    }
    let flag = study.story.get(&study.path(&grace, "2025-11-20", "&include_slots=yes")).await;
    assert_eq!(flag.error(), (400, "malformed_parameter"));
}

#[tokio::test]
async fn a_group_s_summaries_list_every_patient() {
    let study = Study::begin().await;
    assert_eq!(study.story.get(&study.group_path("&date=2025-11-20")).await.ok(), json!({}));

    let grace = study.patient().await;
    study.story.sync(&grace, half_an_hour()).await;
    let mut uuids = vec![grace.uuid.clone()];
    let enrol = format!("/integration/v1/groups/{}/patients?token={}", study.group, study.key);
    // More than are read at once.
    for _ in 0..140 {
        uuids.push(text(&study.story.post(&enrol, Value::Null).await.ok()["uuid"]));
    }
    let last = study.patient().await;
    study.story.sync(&last, half_an_hour()).await;
    uuids.push(last.uuid.clone());

    for (query, with_slots) in [("", false), ("&include_slots=0", false), ("&include_slots=1", true)] {
        let found = study.story.get(&study.group_path(&format!("&date=2025-11-20{query}"))).await.ok();
        let found = found.as_object().expect("an object");
        assert_eq!(found.len(), uuids.len());
        for uuid in &uuids[1..141] {
            assert_eq!(found[uuid], empty_day("2025-11-20"));
        }
        let slots = if with_slots { "&include_slots=1" } else { "" };
        let alone = study.story.get(&study.path(&grace, "2025-11-20", slots)).await.ok();
        assert_eq!(found[&grace.uuid], alone);
        assert_eq!(found[&last.uuid], alone);
    }
    assert_eq!(study.story.get(&study.group_path("")).await.error(), (422, "invalid"));
    assert_eq!(study.story.get(&study.group_path("&date=yesterday")).await.error(), (422, "invalid"));
    assert_eq!(study.story.get(&study.group_path("&date=2025-11-20&include_slots=2")).await.error().0, 400);
}

#[tokio::test]
async fn nobody_else_reads_a_summary() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let uuid = &grace.uuid;
    let today = "2025-11-20";
    for (path, answer) in [
        (format!("/integration/v1/patients/{uuid}/summary/{today}?token={bob}"), (403, "forbidden")),
        (format!("/integration/v1/patients/nobody/summary/{today}?token={bob}"), (404, "patient_not_found")),
        (format!("/integration/v1/patients/{uuid}/summary/{today}"), (401, "unauthenticated")),
        (format!("/integration/v1/groups/{}/summaries?date={today}&token={bob}", study.group), (403, "forbidden")),
        (format!("/integration/v1/groups/ZZZZZ/summaries?date={today}&token={bob}"), (404, "group_not_found")),
        (format!("/health/user-summaries?date_from={today}&date_to={today}"), (401, "unauthenticated")),
    ] {
        assert_eq!(study.story.get(&path).await.error(), answer, "{path}");
    }
}

#[tokio::test]
async fn user_summaries_come_page_by_page() {
    let study = Study::begin().await;
    let grace = study.patient().await;
    study.story.sync(&grace, half_an_hour()).await;
    let token = format!("/integration/v1/patients/{}/health-token?token={}", grace.uuid, study.key);
    let of_researcher = text(&study.story.get(&token).await.ok()["token"]);
    let page = |query: &str| format!("/health/user-summaries?date_from=2025-11-10&date_to=2025-11-21{query}");
    let url = |page: i64| {
        format!(
            "http://127.0.0.1:8080/health/user-summaries?date_from=2025-11-10&date_to=2025-11-21&include_slots=0\
             &per_page=10&page={page}"
        )
    };

    let second = study.story.get_as(&page("&page=2"), &grace.health_token).await.ok();
    let expected = json!({
        "data": [day_of_half_an_hour(), empty_day("2025-11-21")],
        "current_page": 2, "per_page": 10, "last_page": 2, "total": 12, "from": 11, "to": 12,
        "path": "http://127.0.0.1:8080/health/user-summaries",
        "first_page_url": url(1), "last_page_url": url(2), "next_page_url": null, "prev_page_url": url(1),
    });
    assert_eq!(second, expected);
    assert_eq!(study.story.get_as(&page("&page=2"), &of_researcher).await.ok(), expected);

    for query in ["", "&page=1", "&page=0"] {
        let first = study.story.get_as(&page(query), &grace.health_token).await.ok();
        let dates: Vec<String> = first["data"].as_array().expect("days").iter().map(|day| text(&day["date"])).collect();
        let expected: Vec<String> = (10..20).map(|day| format!("2025-11-{day}")).collect();
        assert_eq!(dates, expected);
        assert_eq!(first["next_page_url"], url(2));
        assert_eq!(first["prev_page_url"], Value::Null);
    }
    let beyond = study.story.get_as(&page("&page=3"), &grace.health_token).await.ok();
    assert_eq!((&beyond["data"], &beyond["from"], &beyond["to"]), (&json!([]), &Value::Null, &Value::Null));
    assert_eq!((&beyond["prev_page_url"], &beyond["total"]), (&json!(url(2)), &json!(12)));

    let chosen = "&per_page=12&types[]=spo2&include_slots=1";
    let all = study.story.get_as(&page(chosen), &grace.health_token).await.ok();
    assert_eq!(all["data"].as_array().map(Vec::len), Some(12));
    assert_eq!(all["data"][0], json!({"date": "2025-11-10", "spo2": {}}));
    assert_eq!(all["data"][10]["spo2"]["slots_five_minutes"].as_array().map(Vec::len), Some(2));
    let address = text(&all["first_page_url"]);
    assert!(address.ends_with("&include_slots=1&per_page=12&types=spo2&page=1"), "{address}");
    let path = address.strip_prefix("http://127.0.0.1:8080").expect("our address");
    assert_eq!(study.story.get_as(path, &grace.health_token).await.ok(), all);

    for (query, answer) in [
        ("date_from=2025-11-10", (422, "invalid")),
        ("date_to=2025-11-10", (422, "invalid")),
        ("date_from=2025-11-10&date_to=2025-11-09", (422, "invalid")),
        ("date_from=2000-01-01&date_to=2025-11-09", (422, "invalid")),
        ("date_from=2025-11-10&date_to=soon", (422, "invalid")),
        ("date_from=2025-11-10&date_to=2025-11-10&types=mood", (422, "invalid")),
        ("date_from=2025-11-10&date_to=2025-11-10&page=x", (400, "malformed_parameter")),
        ("date_from=2025-11-10&date_to=2025-11-10&per_page=x", (400, "malformed_parameter")),
    ] {
        let path = format!("/health/user-summaries?{query}");
        assert_eq!(study.story.get_as(&path, &grace.health_token).await.error(), answer, "{query}");
    }
}

/// A heart rate of every five minutes between two local midnights, ms.
async fn days_of_heart_rate(study: &Study, patient: &Enrolled, from_ms: i64, to_ms: i64) {
    let times: Vec<i64> = (from_ms..to_ms).step_by(300_000).collect();
    let bpm = vec![60; times.len()];
    study.story.sync(patient, json!({"activity": {"timestamp": times, "bpm": bpm}})).await;
}

#[tokio::test]
async fn days_of_a_clock_change_have_other_numbers_of_slots() {
    const HOUR_MS: i64 = 3_600_000;
    for (date, midnight_ms, hours) in [
        ("2026-03-29", 1_774_738_800_000, 23),
        ("2026-10-25", 1_792_879_200_000, 25),
        ("2026-10-26", 1_792_969_200_000, 24),
    ] {
        let study = Study::begin().await;
        study.story.pass_ms(midnight_ms + 40 * HOUR_MS - study.story.now_ms());
        let grace = study.patient().await;
        // From an hour before the day to an hour after it.
        let (from_ms, to_ms) = (midnight_ms - HOUR_MS, midnight_ms + (hours + 1) * HOUR_MS);
        days_of_heart_rate(&study, &grace, from_ms, to_ms).await;
        let query = "&include_slots=1&types=heart_rate";
        let section = study.story.get(&study.path(&grace, date, query)).await.ok()["heart_rate"].clone();
        assert_eq!(section["daily_percent"], 100.0, "{date}");
        let slots = section["slots"].as_array().expect("slots");
        assert_eq!(slots.len() as i64, hours * 12, "{date}");
        assert_eq!((&slots[0]["date"], &slots[0]["timestamp"]), (&json!("00:00"), &json!(midnight_ms)));
        assert_eq!(slots[slots.len() - 1]["date"], "23:55");
        let at_half_past_two = slots.iter().filter(|slot| slot["date"] == "02:30").count() as i64;
        assert_eq!(at_half_past_two, hours - 23, "{date}");
        assert_eq!(section["slots_thirty_minutes"].as_array().map(Vec::len), Some(hours as usize * 2), "{date}");

        let path = format!("/integration/v1/patients/{}/compliance/{date}?token={}", grace.uuid, study.key);
        assert_eq!(study.story.get(&path).await.ok(), json!({"date": date, "compliance": 100.0}));
    }
}
