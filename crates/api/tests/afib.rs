//! Atrial-fibrillation records: the export, the strip, and who may have them.

mod common;

use axum::http::StatusCode;
use common::{Enrolled, START_MS, Story, text};
use serde_json::{Value, json};
use store::Role;

/// 2025-11-19T10:00Z.
const HOUR_MS: i64 = 1_763_546_400_000;

/// Beats whose intervals jump about, from a time on; answers the time of the last.
fn irregular(start_ms: i64, beats: i64) -> (Value, i64) {
    let (mut time_ms, mut times, mut intervals) = (start_ms, Vec::new(), Vec::new());
    for beat in 0..beats {
        let interval = 450 + (beat * 7919 + beat * beat * 31) % 601;
        time_ms += interval;
        times.push(time_ms);
        intervals.push(interval);
    }
    (json!({"timestamp": times, "rr": intervals, "quality": 4}), time_ms)
}

async fn export(story: &Story, key: &str, grace: &Enrolled, range: Value) -> common::Answer {
    story.post(&format!("/integration/v1/create-afib-export/{}?token={key}", grace.uuid), range).await
}

#[tokio::test]
async fn fibrillation_is_exported_and_its_strip_drawn() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({"time_zone": "Europe/Zurich"})).await;
    let (beats, _) = irregular(HOUR_MS, 64 * 3 + 10);
    let activity = json!({"timestamp": [HOUR_MS + 20_000, HOUR_MS + 30_000], "hta": ["low", null], "hta_q": [3, 4]});
    story.sync(&grace, json!({"rr-interval": beats, "activity": activity})).await;

    let range = json!({"timestamp_from": HOUR_MS, "timestamp_to": HOUR_MS + 3_600_000});
    let records = export(&story, &key, &grace, range.clone()).await.ok();
    let records = records.as_array().expect("records").clone();
    assert_eq!(records.len(), 3, "the last ten intervals are no window");
    let first = &records[0];
    assert_eq!(first["user_id"], grace.uuid.as_str());
    assert_eq!(first["timestamp"], HOUR_MS + 450);
    assert_eq!((&first["classification"], &first["af_detected"]), (&json!("AF"), &json!(true)));
    assert_eq!(
        (&first["client_date"], &first["af_timestamp"]),
        (&json!("2025-11-19 11:00:00"), &json!("2025-11-19 11:00:00"))
    );
    assert_eq!(
        (&first["created_at"], &first["updated_at"]),
        (&json!("2025-11-20 00:53:20"), &json!("2025-11-20 00:53:20"))
    );
    assert_eq!((&first["good_ibi_number"], &first["good_quality_probability"]), (&json!(64), &json!(1.0)));
    assert_eq!((&first["hta"], &first["hta_q"]), (&json!("low"), &json!(3)));
    assert_eq!((&first["lf"], &first["lf_confidence"]), (&Value::Null, &Value::Null));
    assert_eq!((&records[2]["hta"], &records[2]["hta_q"]), (&Value::Null, &Value::Null));
    let sum =
        first["afb_probability"].as_f64().expect("a number") + first["nsr_probability"].as_f64().expect("a number");
    assert!((sum - 1.0).abs() < 1e-9);
    let avnn = first["avnn"].as_f64().expect("a number");
    assert!((first["heart_rate"].as_f64().expect("a number") - 60_000.0 / avnn).abs() < 1e-3);
    assert_eq!(first["has_image_file"], true);

    let log = format!("/integration/v1/patients/audit/logs?token={key}&from=0&to={}", story.now_ms());
    let log = story.get(&format!("{log}&action_type=PATIENT_API_EXPORT")).await.ok();
    assert_eq!(log.as_array().map(Vec::len), Some(1));
    assert_eq!(log[0]["primary_entity_id"], grace.uuid.as_str());
    assert_eq!(log[0]["primary_entity_type"], "patient.id");
    assert_eq!(log[0]["secondary_entity_type"], "hcp_admin.id");

    let strip = format!("/integration{}?token={key}", text(&first["image_url"]));
    let (status, svg) = story.bytes_of(&strip, "", "*/*").await;
    assert_eq!(status, StatusCode::OK);
    let svg = String::from_utf8(svg.to_vec()).expect("text");
    assert!(svg.starts_with("<svg") && svg.contains("AF, not a diagnosis"));
    assert_eq!(svg.matches("<circle").count(), 64);

    // Ends are included; a millisecond later the window is not.
    let from = |from_ms: i64| json!({"timestamp_from": from_ms, "timestamp_to": from_ms + 1});
    assert_eq!(export(&story, &key, &grace, from(HOUR_MS + 450)).await.ok().as_array().map(Vec::len), Some(1));
    assert_eq!(export(&story, &key, &grace, from(HOUR_MS + 451)).await.ok(), json!([]));

    // A beat that comes late at the beginning of the hour shifts its windows; another hour keeps its records.
    let (beats, _) = irregular(HOUR_MS + 2 * 3_600_000, 64);
    story.sync(&grace, json!({"rr-interval": beats})).await;
    story.pass_ms(60_000);
    story.sync(&grace, json!({"rr-interval": {"timestamp": [HOUR_MS + 1], "rr": 700}})).await;
    let whole = json!({"timestamp_from": HOUR_MS, "timestamp_to": HOUR_MS + 4 * 3_600_000});
    let shifted = export(&story, &key, &grace, whole).await.ok();
    let times: Vec<i64> =
        shifted.as_array().expect("records").iter().filter_map(|record| record["timestamp"].as_i64()).collect();
    assert_eq!((times.len(), times[0], times[3]), (4, HOUR_MS + 1, HOUR_MS + 2 * 3_600_000 + 450));
    assert_eq!(shifted[0]["created_at"], "2025-11-20 00:54:20");
    assert_eq!(shifted[3]["updated_at"], "2025-11-20 00:53:20");
    let gone = format!("/integration{}?token={key}", text(&first["image_url"]));
    assert_eq!(story.get(&gone).await.error(), (404, "afib_record_not_found"));
}

#[tokio::test]
async fn ranges_and_callers_are_checked() {
    let story = Story::begin().await;
    let key = story.key_of("ada@example.org", Role::Researcher).await;
    let practitioner = story.key_of("henry@example.org", Role::Hcp).await;
    let stranger = story.key_of("eve@example.org", Role::Researcher).await;
    let group = story.group(&key).await;
    let grace = story.patient(&key, &group, json!({})).await;
    let day_ms = 86_400_000;
    let range = |from_ms: i64, to_ms: i64| json!({"timestamp_from": from_ms, "timestamp_to": to_ms});
    assert_eq!(export(&story, &key, &grace, range(0, 31 * day_ms)).await.ok(), json!([]));
    for wrong in [range(0, 31 * day_ms + 1), range(1, 0), json!({"timestamp_from": 0}), range(i64::MIN, i64::MAX)] {
        assert_eq!(export(&story, &key, &grace, wrong.clone()).await.error().0, 422, "{wrong}");
    }
    let text = json!({"timestamp_from": "2025-11-20T00:00:00Z", "timestamp_to": 1});
    let refused = export(&story, &key, &grace, text).await;
    let wanted = "must be milliseconds since 1970 (Unix epoch), as an integer";
    assert_eq!(refused.body["errors"], json!({"timestamp_from": [wanted]}));
    // 9999-12-31, as programs write it for "no end".
    let never = 253_402_300_799_999;
    assert_eq!(export(&story, &key, &grace, range(START_MS - 31 * day_ms, never)).await.ok(), json!([]));
    let too_long = range(START_MS - 31 * day_ms - 1, never);
    assert_eq!(export(&story, &key, &grace, too_long).await.error().0, 422, "a part would be left out");
    assert_eq!(export(&story, "pwk_none", &grace, range(0, 1)).await.error().0, 401);
    for other in [&stranger, &practitioner] {
        assert_eq!(export(&story, other, &grace, range(0, 1)).await.error().0, 403);
    }
    let unknown = story.post(&format!("/integration/v1/create-afib-export/nobody?token={key}"), range(0, 1)).await;
    assert_eq!(unknown.error(), (404, "patient_not_found"));
    for id in ["0", "zzzzzzzzzzzzzzzzzzzzzzzz", "00019a9c0000aaaaaaaaaaaa"] {
        let path = format!("/integration/v1/patients/{}/afib/{id}/strip.svg?token={key}", grace.uuid);
        assert_eq!(story.get(&path).await.error(), (404, "afib_record_not_found"), "{id}");
    }
    let path = format!("/integration/v1/patients/{}/afib/0/strip.svg?token={stranger}", grace.uuid);
    assert_eq!(story.get(&path).await.error().0, 403);
}
