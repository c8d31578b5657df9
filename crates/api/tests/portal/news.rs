//! The history of NEWS, as the charts of a patient read it.

use serde_json::json;
use store::Role;

use crate::browser::Browser;
use crate::common::{START_MS, Story};

const MINUTE_MS: i64 = 60_000;
/// As early as one may ask for together with the present.
const EARLY_MS: i64 = START_MS - 400 * 1440 * MINUTE_MS;

#[tokio::test]
async fn the_history_begins_with_what_held_before() {
    let story = Story::begin().await;
    let (browser, key) = Browser::of(&story, "ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let patient = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
    let path = format!("/portal/api/patients/{}/news", patient.uuid);
    let history =
        async |from_ms: i64, to_ms: i64| browser.get(&story, &format!("{path}?from={from_ms}&to={to_ms}")).await.ok();
    assert_eq!(history(EARLY_MS, START_MS).await, json!({"time_zone": "Europe/Zurich", "entries": []}));

    // Well, the same again, then a fast pulse; the second changes nothing and is no entry.
    let minutes = [50, 40, 30];
    let times: Vec<i64> = minutes.iter().map(|minute| START_MS - minute * MINUTE_MS).collect();
    let data = json!({"activity": {"timestamp": times, "bpm": [72, 73, 112], "bpm_q": 4, "respiration_rate": 16,
        "spo2": 97, "core_temp": 37.1, "nibp_systolic_combine": 124, "nibp_diastolic_combine": 81, "wearing": 4}});
    story.sync(&patient, data).await;
    let entry = |at: usize, value: i64| {
        json!({"timestamp": times[at], "value": value, "score_respiration_rate": 0, "score_spo2": 0, "score_oxygen": 0,
            "score_blood_pressure": 0, "score_heart_rate": value, "score_consciousness": 0, "score_temperature": 0})
    };
    let whole = history(EARLY_MS, START_MS).await;
    assert_eq!(whole["entries"], json!([entry(0, 0), entry(2, 2)]));
    assert_eq!(history(times[2], times[2]).await, whole, "both ends are included, and what held before is there");
    assert_eq!(history(times[0] + 1, times[2] - 1).await["entries"], json!([entry(0, 0)]));
    assert_eq!(history(EARLY_MS, times[0] - 1).await["entries"], json!([]));

    for (query, error) in [
        ("", (422, "invalid")),
        ("?from=2&to=1", (422, "invalid")),
        ("?from=0&to=99999999999", (422, "invalid")),
        ("?from=-1&to=1", (422, "invalid")),
        ("?from=x&to=1", (400, "malformed_parameter")),
    ] {
        assert_eq!(browser.get(&story, &format!("{path}{query}")).await.error(), error, "{query}");
    }
    let (eve, _) = Browser::of(&story, "eve@example.org", Role::Researcher).await;
    assert_eq!(eve.get(&story, &format!("{path}?from=0&to=1")).await.error(), (403, "forbidden"));
    let nobody = "/portal/api/patients/00000000-0000-4000-8000-000000000000/news?from=0&to=1";
    assert_eq!(browser.get(&story, nobody).await.error(), (404, "patient_not_found"));
    let anonymous = story.get(&format!("{path}?from=0&to=1")).await;
    assert_eq!(anonymous.status, 401);
}
