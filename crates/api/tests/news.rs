//! Latest values, the NEWS entry, and the settings that a person makes for it.

#[path = "news/bands.rs"]
mod bands;
mod common;
#[path = "news/latest.rs"]
mod latest;

use common::{Enrolled, START_MS, Story, text};
use serde_json::{Value, json};
use store::{GroupCode, PatientId, Role};

const MINUTE_MS: i64 = 60_000;

struct Study {
    story: Story,
    key: String,
    group: String,
    patient: Enrolled,
}

impl Study {
    async fn begin() -> Self {
        let story = Story::begin().await;
        let key = story.key_of("ada@example.org", Role::Researcher).await;
        let group = story.group(&key).await;
        let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
        Study { story, key, group, patient }
    }

    fn path(&self, what: &str) -> String {
        format!("/integration/v1/patients/{}/{what}?token={}", self.patient.uuid, self.key)
    }

    async fn news(&self) -> Value {
        self.story.get(&self.path("latest-news-score")).await.ok()
    }

    /// Times and totals of the stored entries, in the order of time.
    async fn entries(&self) -> Vec<(i64, Option<u8>)> {
        let patient = PatientId::new(self.patient.uuid.as_str());
        let stored = self.story.platform.core.health().news_between(&patient, 0, i64::MAX).await.expect("entries");
        stored.iter().map(|entry| (entry.time_ms, entry.total)).collect()
    }

    async fn latest_values(&self) -> Value {
        let path = format!("/integration/v1/groups/{}/patients?token={}&with_latest_values=1", self.group, self.key);
        self.story.get(&path).await.ok()[0]["latest_values"].clone()
    }
}

/// Returns a row with every vital sign, each in the band that scores 0.
fn healthy_row(time_ms: i64) -> Value {
    json!({"activity": {"timestamp": [time_ms], "bpm": [72], "bpm_q": [4], "respiration_rate": [16], "spo2": [97],
        "core_temp": [37.1], "nibp_systolic_combine": [124], "nibp_diastolic_combine": [81], "wearing": [4]}})
}

#[tokio::test]
async fn a_row_with_everything_is_scored() {
    let study = Study::begin().await;
    assert_eq!(study.story.get(&study.path("latest-news-score")).await.error(), (404, "no_news_score"));
    assert_eq!(study.latest_values().await, json!({}));

    let taken_ms = START_MS - MINUTE_MS;
    study.story.sync(&study.patient, healthy_row(taken_ms)).await;
    study.story.pass_ms(20_999);
    let entry = json!({
        "timestamp": taken_ms, "value": 0,
        "score_heart_rate": 0, "score_respiration_rate": 0, "score_spo2": 0, "score_temperature": 0,
        "score_blood_pressure": 0, "score_oxygen": 0, "score_consciousness": 0,
        "heart_rate": 72.0, "respiration_rate": 16.0, "spo2": 97.0, "temperature": 37.1, "blood_pressure": 124.0,
        "heart_rate_timestamp": taken_ms, "respiration_rate_timestamp": taken_ms, "spo2_timestamp": taken_ms,
        "temperature_timestamp": taken_ms, "blood_pressure_timestamp": taken_ms,
        "movement_level": null, "age_s": 80, "assumed": ["spo2_scale", "oxygen", "consciousness"], "missing": [],
    });
    assert_eq!(study.news().await, entry);
    let latest = json!({
        "heart_rate": 72.0, "respiration_rate": 16.0, "temperature": 37.1, "spo2": 97.0, "nibp_systolic": 124.0,
        "nibp_diastolic": 81.0, "news_score": 0,
        "heart_rate_timestamp": taken_ms, "respiration_rate_timestamp": taken_ms, "temperature_timestamp": taken_ms,
        "spo2_timestamp": taken_ms, "nibp_diastolic_timestamp": taken_ms, "nibp_systolic_timestamp": taken_ms,
        "news_score_timestamp": taken_ms,
    });
    assert_eq!(study.latest_values().await, latest);

    let path = format!("/integration/v1/groups/{}/patients?token={}", study.group, study.key);
    assert!(study.story.get(&path).await.ok()[0].get("latest_values").is_none());
}

#[tokio::test]
async fn what_is_missing_is_named_and_no_partial_sum_is_shown() {
    let study = Study::begin().await;
    let first_ms = START_MS - 40 * MINUTE_MS;
    study.story.sync(&study.patient, healthy_row(first_ms)).await;
    assert_eq!(study.news().await["value"], 0);
    // Half an hour on, a fast pulse, a poor saturation, and a skin that is no body temperature.
    let later_ms = first_ms + 31 * MINUTE_MS;
    let data = json!({
        "activity": {"timestamp": [later_ms], "bpm": [112], "spo2": [80], "spo2_q": [1], "respiration_rate": [0]},
        "temperature": {"timestamp": [later_ms], "temp_sk1": [39.5]},
    });
    study.story.sync(&study.patient, data).await;
    let news = study.news().await;
    assert_eq!((&news["timestamp"], &news["value"]), (&json!(later_ms), &Value::Null));
    assert_eq!((&news["score_heart_rate"], &news["heart_rate"]), (&json!(2), &json!(112.0)));
    assert_eq!(news["score_blood_pressure"], 0);
    for parameter in ["respiration_rate", "temperature"] {
        assert_eq!(news[format!("score_{parameter}")], Value::Null, "{parameter}");
        assert_eq!(news[format!("{parameter}_timestamp")], first_ms, "{parameter}");
    }
    let spo2 = ["score_spo2", "spo2", "spo2_timestamp"].map(|field| &news[field]);
    assert_eq!(spo2, [&Value::Null; 3], "neither the poor value nor the old one, which another sensor must replace");
    assert_eq!((&news["temperature"], &news["age_s"]), (&json!(37.1), &json!(9 * 60)));
    let stale = |parameter| json!({"parameter": parameter, "reason": "stale", "age_s": 40 * 60});
    let poor = json!({"parameter": "spo2", "reason": "low_quality", "age_s": 9 * 60});
    assert_eq!(news["missing"], json!([stale("respiration_rate"), poor, stale("temperature")]));
    let latest = study.latest_values().await;
    assert!(latest.get("news_score").is_none() && latest.get("news_score_timestamp").is_none());
    assert_eq!((&latest["heart_rate"], &latest["temperature"]), (&json!(112.0), &json!(37.1)));

    // A spot measurement of each completes the score.
    let spot_ms = later_ms + MINUTE_MS;
    let tests = json!({"tests": {"timestamp": [spot_ms, spot_ms, spot_ms],
        "test_type": ["respiration_rate", "spo2", "temperature"], "value": [22, 93, 38.5], "unit": ["/min", "%", "°C"]}});
    study.story.sync(&study.patient, tests).await;
    let news = study.news().await;
    assert_eq!((&news["value"], &news["missing"]), (&json!(2 + 2 + 2 + 1), &json!([])));
    assert_eq!(study.latest_values().await["news_score"], 7);
}

#[tokio::test]
async fn poor_measurement_is_the_reason_however_long_ago_it_was() {
    let study = Study::begin().await;
    let poor_ms = START_MS - 14 * 60 * MINUTE_MS;
    let poor = |time_ms: i64| json!({"activity": {"timestamp": [time_ms], "bpm": [70], "bpm_q": [1]}});
    let heart_rate = async || {
        let news = study.news().await;
        let missing = news["missing"].as_array().expect("a list");
        missing.iter().find(|part| part["parameter"] == "heart_rate").cloned().unwrap_or_default()
    };
    let named = |reason: &str, age_s: i64| json!({"parameter": "heart_rate", "reason": reason, "age_s": age_s});
    study.story.sync(&study.patient, poor(poor_ms)).await;
    assert_eq!(heart_rate().await, named("low_quality", 14 * 3600));
    let spo2_ms = poor_ms + 13 * 60 * MINUTE_MS;
    study.story.sync(&study.patient, json!({"activity": {"timestamp": [spo2_ms], "spo2": [97]}})).await;
    assert_eq!(heart_rate().await, named("low_quality", 14 * 3600), "beyond the twelve hours of an entry");
    assert_eq!(study.latest_values().await, json!({"spo2": 97.0, "spo2_timestamp": spo2_ms}), "no latest value");
    // The reason is what was measured last.
    let valid = |time_ms: i64| json!({"activity": {"timestamp": [time_ms], "bpm": [70], "bpm_q": [4]}});
    study.story.sync(&study.patient, valid(poor_ms - MINUTE_MS)).await;
    assert_eq!(heart_rate().await, named("low_quality", 14 * 3600));
    study.story.sync(&study.patient, valid(poor_ms + MINUTE_MS)).await;
    assert_eq!(heart_rate().await, named("stale", 14 * 3600 - 60));
    // What was poor and is good now was never poor: an earlier poor one is looked for again.
    study.story.sync(&study.patient, poor(poor_ms + 20 * MINUTE_MS)).await;
    assert_eq!(heart_rate().await, named("low_quality", 14 * 3600 - 20 * 60));
    study.story.sync(&study.patient, json!({"activity": {"timestamp": [poor_ms + 20 * MINUTE_MS], "bpm": [0]}})).await;
    assert_eq!(heart_rate().await, named("stale", 14 * 3600 - 60));
}

#[tokio::test]
async fn acceleration_says_how_much_the_patient_moved() {
    let study = Study::begin().await;
    let taken_ms = START_MS - MINUTE_MS;
    study.story.sync(&study.patient, healthy_row(taken_ms)).await;
    let rest = vec![0; 320];
    let shaking: Vec<i32> = (0..320).map(|row| if row % 2 == 0 { 512 } else { 640 }).collect();
    let acc =
        json!({"acc": [{"start": taken_ms - 10_000, "rate_hz": 32, "accX": rest, "accY": rest, "accZ": shaking}]});
    study.story.sync(&study.patient, acc).await;
    // 512 counts are one g, so that lengths of 512 and 640 deviate from their mean by an eighth of a g.
    assert_eq!(study.news().await["movement_level"], 3);
}

#[tokio::test]
async fn settings_hold_from_when_they_are_set() {
    let study = Study::begin().await;
    let path = study.path("news-settings");
    let defaults = json!({"spo2_scale": 1, "oxygen": false, "consciousness": "A",
        "assumed": ["spo2_scale", "oxygen", "consciousness"]});
    assert_eq!(study.story.get(&path).await.ok(), defaults);

    // The row of a bracelet whose clock is two minutes ahead is scored before the setting is made that is valid then.
    let before_ms = START_MS - MINUTE_MS;
    let ahead_ms = START_MS + 2 * MINUTE_MS;
    study.story.sync(&study.patient, healthy_row(before_ms)).await;
    study.story.sync(&study.patient, healthy_row(ahead_ms)).await;
    assert_eq!(study.news().await["value"], 0);
    study.story.pass_ms(MINUTE_MS);
    let changed = study.story.put(&path, json!({"oxygen": true})).await.ok();
    let expected = json!({"spo2_scale": 1, "oxygen": true, "consciousness": "A",
        "assumed": ["spo2_scale", "consciousness"]});
    assert_eq!(changed, expected);
    assert_eq!(study.story.get(&path).await.ok(), expected);
    study.story.derive().await;
    let news = study.news().await;
    assert_eq!((&news["timestamp"], &news["value"]), (&json!(ahead_ms), &json!(2)));
    assert_eq!((&news["score_oxygen"], &news["assumed"]), (&json!(2), &json!(["spo2_scale", "consciousness"])));
    let totals = study.entries().await;
    // The change makes an entry of its own. The row ahead changes nothing more, and is there as the newest.
    assert_eq!(totals, [(before_ms, Some(0)), (START_MS + MINUTE_MS, Some(2)), (ahead_ms, Some(2))]);

    // A second change of the same millisecond adds to the first; a later measurement is scored with both.
    let both = study.story.put(&path, json!({"spo2_scale": 2, "consciousness": "V"})).await.ok();
    assert_eq!(both, json!({"spo2_scale": 2, "oxygen": true, "consciousness": "V", "assumed": []}));
    study.story.pass_ms(10 * MINUTE_MS);
    study.story.sync(&study.patient, healthy_row(study.story.now_ms())).await;
    let news = study.news().await;
    // On the second scale, 97 % with oxygen scores 3, because too much oxygen is given.
    assert_eq!((&news["score_spo2"], &news["score_consciousness"]), (&json!(3), &json!(3)));
    assert_eq!((&news["value"], &news["assumed"]), (&json!(8), &json!([])));

    let log = format!(
        "/integration/v1/patients/audit/logs?token={}&from={START_MS}&to={}&action_type=PATIENT_UPDATE",
        study.key,
        study.story.now_ms()
    );
    let log = study.story.get(&log).await.ok();
    let details: Vec<&Value> = log.as_array().expect("entries").iter().map(|entry| &entry["details"]).collect();
    assert_eq!(
        details,
        [
            &json!({"news_settings": {"oxygen": true}}),
            &json!({"news_settings": {"spo2_scale": 2, "consciousness": "V"}}),
        ]
    );
    assert_eq!(text(&log[0]["primary_entity_id"]), study.patient.uuid);
    assert_eq!(log[0]["timestamp"], START_MS + MINUTE_MS);
}

#[tokio::test]
async fn change_of_oxygen_or_consciousness_is_scored_at_once_with_what_is_valid() {
    let study = Study::begin().await;
    let path = study.path("news-settings");
    // Nothing was measured: a setting alone makes no score.
    study.story.put(&path, json!({"oxygen": false})).await.ok();
    study.story.derive().await;
    assert_eq!(study.story.get(&study.path("latest-news-score")).await.error(), (404, "no_news_score"));

    study.story.sync(&study.patient, healthy_row(START_MS)).await;
    study.story.pass_ms(10 * MINUTE_MS);
    study.story.put(&path, json!({"oxygen": true})).await.ok();
    study.story.derive().await;
    let news = study.news().await;
    assert_eq!((&news["timestamp"], &news["value"]), (&json!(START_MS + 10 * MINUTE_MS), &json!(2)));
    assert_eq!((&news["score_oxygen"], &news["heart_rate_timestamp"]), (&json!(2), &json!(START_MS)));
    assert_eq!(study.latest_values().await["news_score"], 2);

    study.story.pass_ms(10 * MINUTE_MS);
    study.story.put(&path, json!({"oxygen": false, "consciousness": "V"})).await.ok();
    study.story.derive().await;
    let news = study.news().await;
    assert_eq!((&news["timestamp"], &news["value"]), (&json!(START_MS + 20 * MINUTE_MS), &json!(3)));

    // The same again changes no score; the same rows in another order make the same entries.
    let before = study.entries().await;
    study.story.sync(&study.patient, healthy_row(START_MS + 15 * MINUTE_MS)).await;
    study.story.sync(&study.patient, healthy_row(START_MS - 15 * MINUTE_MS)).await;
    let entries = study.entries().await;
    let first = (START_MS - 15 * MINUTE_MS, Some(0));
    assert_eq!(entries, [&[first], &before[1..]].concat(), "late rows leave the entries of the changes as they are");
    let again = study.story.platform.data.recompute(None, |_, _| {}).await.expect("recomputed");
    assert_eq!((again.differences, study.entries().await), (0, entries.clone()));

    // Half a day on nothing is valid any more.
    study.story.pass_ms(13 * 60 * MINUTE_MS);
    study.story.put(&path, json!({"consciousness": "A"})).await.ok();
    study.story.derive().await;
    assert_eq!(study.entries().await, entries);
}

#[tokio::test]
async fn settings_are_checked_and_a_practitioner_may_change_them() {
    let study = Study::begin().await;
    let path = study.path("news-settings");
    for (body, field) in [
        (json!({}), "spo2_scale"),
        (json!({"spo2_scale": 3}), "spo2_scale"),
        (json!({"spo2_scale": "1"}), "spo2_scale"),
        (json!({"oxygen": 1}), "oxygen"),
        (json!({"consciousness": "awake"}), "consciousness"),
    ] {
        let answer = study.story.put(&path, body.clone()).await;
        assert_eq!(answer.error(), (422, "invalid"), "{body}");
        assert!(answer.body["errors"][field].is_array(), "{body}");
    }
    let hcp = study.story.key_of("hcp@example.org", Role::Hcp).await;
    let bob = study.story.key_of("bob@example.org", Role::Researcher).await;
    let of = |uuid: &str, what: &str, key: &str| format!("/integration/v1/patients/{uuid}/{what}?token={key}");
    let uuid = &study.patient.uuid;
    for what in ["news-settings", "latest-news-score"] {
        assert_eq!(study.story.get(&of(uuid, what, &bob)).await.error(), (403, "forbidden"));
        assert_eq!(study.story.get(&of("nobody", what, &bob)).await.error(), (404, "patient_not_found"));
    }
    let oxygen = json!({"oxygen": true});
    let put = study.story.put(&of(uuid, "news-settings", &hcp), oxygen.clone()).await;
    assert_eq!(put.error(), (403, "forbidden"));
    let account = study.story.platform.identity.account_by_email("hcp@example.org").await.expect("an account");
    study
        .story
        .platform
        .core
        .users()
        .add_member(&account.uuid, &GroupCode::new(study.group.as_str()), START_MS)
        .await
        .expect("a member");
    assert_eq!(study.story.put(&of(uuid, "news-settings", &hcp), oxygen).await.ok()["oxygen"], true);
}

#[tokio::test]
async fn what_was_measured_long_ago_is_stale_and_not_missing() {
    let study = Study::begin().await;
    let old_ms = START_MS - 3 * 24 * 60 * MINUTE_MS;
    let data = json!({"activity": {"timestamp": [old_ms], "bpm": [70], "spo2": [96], "nibp_systolic": [120]}});
    study.story.sync(&study.patient, data).await;
    let now_ms = START_MS - MINUTE_MS;
    study.story.sync(&study.patient, json!({"activity": {"timestamp": [now_ms], "bpm": [72]}})).await;
    study.story.pass_ms(MINUTE_MS);
    let news = study.news().await;
    assert_eq!((&news["timestamp"], &news["age_s"], &news["heart_rate"]), (&json!(now_ms), &json!(120), &json!(72.0)));
    // Every age counts to the time of the request, like that of the entry.
    let stale_s = (START_MS + MINUTE_MS - old_ms) / 1000;
    let stale = |parameter| json!({"parameter": parameter, "reason": "stale", "age_s": stale_s});
    let never = |parameter| json!({"parameter": parameter, "reason": "missing", "age_s": null});
    let missing = json!([never("respiration_rate"), stale("spo2"), stale("blood_pressure"), never("temperature")]);
    assert_eq!(news["missing"], missing);
    assert_eq!(
        (&news["spo2"], &news["spo2_timestamp"], &news["score_spo2"]),
        (&json!(96.0), &json!(old_ms), &Value::Null)
    );
    assert_eq!(news["value"], Value::Null);
}

#[tokio::test]
async fn each_half_of_a_pressure_has_its_own_time() {
    let study = Study::begin().await;
    let (first_ms, later_ms) = (START_MS - 10 * MINUTE_MS, START_MS - MINUTE_MS);
    study.story.sync(&study.patient, healthy_row(first_ms)).await;
    let alone = json!({"tests": {"timestamp": [later_ms], "test_type": "blood_pressure_systolic", "value": [141]}});
    study.story.sync(&study.patient, alone).await;
    let latest = study.latest_values().await;
    assert_eq!((&latest["nibp_systolic"], &latest["nibp_systolic_timestamp"]), (&json!(141.0), &json!(later_ms)));
    assert_eq!((&latest["nibp_diastolic"], &latest["nibp_diastolic_timestamp"]), (&json!(81.0), &json!(first_ms)));
}

#[tokio::test]
async fn latest_values_may_be_named_and_come_only_when_asked_for() {
    let study = Study::begin().await;
    study.story.sync(&study.patient, healthy_row(START_MS - MINUTE_MS)).await;
    let list = format!("/integration/v1/groups/{}/patients?token={}", study.group, study.key);
    let row = async |query: &str| study.story.get(&format!("{list}&{query}")).await.ok()[0].clone();
    assert_eq!(row("fields[]=latest_values").await, json!({"uuid": study.patient.uuid}));
    for query in ["fields[]=latest_values&with_latest_values=1", "fields[]=uuid&with_latest_values=1"] {
        assert_eq!(row(query).await["latest_values"]["heart_rate"], 72.0, "{query}");
    }
}
