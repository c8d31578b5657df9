//! 2.7 to 2.10: compliance counts, exports, AF records and the audit log.

use serde_json::{Value, json};

use crate::common::{START_MS, text};
use crate::scene::{DAY, HOUR_MS, MIDNIGHT_MS, MINUTE_MS, Scene, minutes, steady_beats};
use crate::table::Kind::{Boolean, EpochMs, Integer, Number, Object, PlainSeconds, RecordId, Text, Uuid};
use crate::table::{Table, always, assert_fields, or_null, when_set};

#[tokio::test]
async fn table_2_7_compliance_counts() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut table = Table::of(&[
        when_set("raw_data_activity", Integer),
        when_set("raw_data_hrv", Integer),
        when_set("raw_data_rr_interval", Integer),
        when_set("raw_data_sleep", Integer),
        when_set("raw_data_temperature", Integer),
        when_set("raw_data_acc", Integer),
        when_set("raw_data_ppg2", Integer),
        when_set("summary_data_activity_slots", Integer),
        when_set("summary_data_heart_rate_slots", Integer),
        when_set("summary_data_respiration_rate_slots", Integer),
        when_set("summary_data_sleep_slots", Integer),
        when_set("summary_data_spo2_slots", Integer),
        when_set("summary_data_stress_slots", Integer),
        when_set("summary_data_temperature_slots", Integer),
    ])
    .and_ours(&[
        when_set("raw_data_ppg1", Integer),
        when_set("raw_data_bioz", Integer),
        when_set("raw_data_ecg", Integer),
        when_set("raw_data_tests", Integer),
    ]);
    let of_day = format!("/v1/patients/{}/raw-data-compliance/{DAY}", grace.uuid);
    let nothing = scene.get(&of_day).await;
    table.check(&nothing);
    assert_eq!(nothing, json!({}), "types without data are left out");

    let at = |minute: i64| MIDNIGHT_MS + minute * MINUTE_MS;
    let data = json!({
        "activity": {"timestamp": [at(120), at(127), at(160)], "bpm": [60, 61, 62], "spo2": [97, 97, 98],
            "respiration_rate": [14, 15, 14]},
        "heart-rate-variability": {"timestamp": [at(121)], "rmssd": [40]},
        "rr-interval": steady_beats(at(120), 340, [800, 900]),
        "sleep": {"timestamp": minutes(120, 2), "sleep_state": [1, 2]},
        "temperature": {"timestamp": [at(122)], "temp_sk1": [33.1]},
        "acc": [{"start": at(123), "rate_hz": 32, "accX": [1, 2, 3, 4], "accY": 0, "accZ": 512}],
        "ppg1": [{"start": at(123), "rate_hz": 25, "ppg": [1, 2]}],
        "ppg2": [{"start": at(123), "rate_hz": 128, "metric_id": "0x7e", "led_pd_pos": 6, "value": [1, 2, 3]},
            {"start": at(123), "rate_hz": 128, "metric_id": "0x7c", "led_pd_pos": 6, "value": [1, 2]}],
        "bioz": [{"start": at(123), "rate_hz": 25, "value": [1, 2]}],
        "ecg": [{"start": at(123), "rate_hz": 256, "ecg": [0.1, 0.2, 0.3]}],
        "tests": {"timestamp": [at(124)], "test_type": ["weight"], "value": [61.5]},
    });
    scene.story.sync(&grace, data).await;
    let expected = json!({
        "raw_data_activity": 3, "raw_data_hrv": 1, "raw_data_rr_interval": 340, "raw_data_sleep": 2,
        "raw_data_temperature": 1, "raw_data_acc": 4, "raw_data_ppg1": 2, "raw_data_ppg2": 5, "raw_data_bioz": 2,
        "raw_data_ecg": 3, "raw_data_tests": 1, "summary_data_activity_slots": 2, "summary_data_heart_rate_slots": 3,
        "summary_data_respiration_rate_slots": 2, "summary_data_sleep_slots": 2, "summary_data_spo2_slots": 2,
        "summary_data_stress_slots": 1, "summary_data_temperature_slots": 1,
    });
    let range = "utc_date_from=2025-11-18T23:00:00.000Z&utc_date_to=2025-11-19T22:59:59.999Z";
    let of_range = format!("/v1/patients/{}/raw-data-compliance?{range}", grace.uuid);
    for path in [of_day.clone(), of_range, format!("{of_day}?utc=yes")] {
        let counted = scene.get(&path).await;
        table.check(&counted);
        assert_eq!(counted, expected, "{path}");
    }
}

#[tokio::test]
async fn table_2_8_export_job() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut table = Table::of(&[always("id", RecordId), always("status", Text), when_set("downloadUrl", Text)])
        .and_ours(&[when_set("error", Text)]);
    scene.story.sync(&grace, json!({"activity": {"timestamp": minutes(600, 1), "bpm": [60]}})).await;
    let body = json!({"client_date_from": "2025-11-19T00:00:00.000", "client_date_to": "2025-11-19T23:59:59.999",
        "types": ["activity"]});
    let created = scene.post(&format!("/v1/create-export/{}/activity", grace.uuid), body).await;
    table.check(&created);
    assert_eq!(created["status"], "in_progress");
    let status = format!("/v1/export/{}", text(&created["id"]));
    let waiting = scene.get(&status).await;
    table.check(&waiting);
    assert_eq!(waiting, created);

    scene.story.jobs(&["export"]).await;
    let done = scene.get(&status).await;
    table.check(&done);
    assert_fields(&done, &json!({"id": created["id"], "status": "done"}));
    let url = text(&done["downloadUrl"]);
    let path = url.strip_prefix("http://127.0.0.1:8080").expect("an absolute address");
    let (status, archive) = scene.story.bytes_of(path, "", "*/*").await;
    assert_eq!((status.as_u16(), &archive[..4]), (200, &b"PK\x03\x04"[..]), "a ZIP archive, without a credential");
}

#[tokio::test]
async fn table_2_9_afib_record() {
    let scene = Scene::begin().await;
    let grace = scene.patient().await;
    let mut table = Table::of(&[
        always("_id", RecordId),
        always("user_id", Uuid),
        always("timestamp", EpochMs),
        always("classification", Text),
        always("afb_probability", Number),
        always("final_probability", Number),
        always("good_quality_probability", Number),
        always("client_date", PlainSeconds),
        always("created_at", PlainSeconds),
        always("updated_at", PlainSeconds),
        always("has_image_file", Boolean),
        or_null("af_detected", Boolean),
        or_null("af_timestamp", PlainSeconds),
        or_null("avnn", Number),
        // Can be null by the specification; there are always so many, be it none.
        always("good_ibi_number", Integer),
        or_null("heart_rate", Number),
        or_null("hta", Text),
        or_null("hta_q", Number),
        or_null("lf", Number),
        or_null("lf_confidence", Number),
        or_null("nsr_probability", Number),
        or_null("pnn50", Number),
        or_null("rmssd", Number),
        or_null("sdnn", Number),
    ])
    .and_ours(&[always("image_url", Text)]);
    let export = async |from_ms: i64, to_ms: i64| {
        let body = json!({"timestamp_from": from_ms, "timestamp_to": to_ms});
        scene.post(&format!("/v1/create-afib-export/{}", grace.uuid), body).await
    };
    assert_eq!(export(MIDNIGHT_MS, START_MS).await, json!([]));

    // Three windows each of a heart that fibrillates, of one that is slow and even, and of intervals that are no good.
    let (mut time_ms, mut times, mut intervals) = (MIDNIGHT_MS + 10 * HOUR_MS, Vec::new(), Vec::new());
    for beat in 0..192 {
        let interval = 450 + (beat * 7919 + beat * beat * 31) % 601;
        time_ms += interval;
        times.push(time_ms);
        intervals.push(interval);
    }
    let fibrillating = json!({"timestamp": times, "rr": intervals, "quality": 4});
    let even_ms = MIDNIGHT_MS + 12 * HOUR_MS;
    let mut poor = steady_beats(MIDNIGHT_MS + 14 * HOUR_MS, 192, [800, 800]);
    poor["quality"] = json!(0);
    let activity = json!({"timestamp": [even_ms + 20_000], "hta": ["low"], "hta_q": [3]});
    let data =
        json!({"rr-interval": [fibrillating, steady_beats(even_ms, 192, [1940, 1960]), poor], "activity": activity});
    scene.story.sync(&grace, data).await;
    let records = export(MIDNIGHT_MS, START_MS).await;
    let records = records.as_array().expect("records");
    let classes: Vec<&Value> = records.iter().map(|record| &record["classification"]).collect();
    assert_eq!(classes, ["AF", "AF", "AF", "NSR", "NSR", "NSR", "UNC", "UNC", "UNC"]);
    for record in records {
        table.check(record);
        for name in ["afb_probability", "final_probability", "good_quality_probability"] {
            assert!((0.0..=1.0).contains(&record[name].as_f64().expect("a number")), "{record}");
        }
    }
    let expected = json!({"user_id": grace.uuid, "af_detected": true, "af_timestamp": "2025-11-19 10:00:00",
        "client_date": "2025-11-19 10:00:00", "created_at": "2025-11-20 00:53:20", "has_image_file": true,
        "good_ibi_number": 64, "lf": null});
    assert_fields(&records[0], &expected);
    // 1,940 and 1,960 ms by turns: 32 of each.
    let sdnn = (10.0 * (64.0_f64 / 63.0).sqrt() * 1000.0).round() / 1000.0;
    let expected = json!({"timestamp": even_ms + 1940, "af_detected": false, "af_timestamp": null, "avnn": 1950.0,
        "heart_rate": 30.769, "sdnn": sdnn, "rmssd": 20.0, "pnn50": 0.0, "hta": "low", "hta_q": 3,
        "lf_confidence": 1.0, "good_quality_probability": 1.0, "nsr_probability":
            1.0 - records[3]["afb_probability"].as_f64().expect("a number")});
    assert_fields(&records[3], &expected);
    let expected = json!({"af_detected": null, "good_ibi_number": 0, "avnn": null, "heart_rate": null,
        "afb_probability": 0.0, "nsr_probability": null, "hta": null});
    assert_fields(&records[7], &expected);
}

/// Beyond the acting user, the two entities and the code, its fields are those of decisions 5.
#[tokio::test]
async fn table_2_10_audit_log_entry() {
    let scene = Scene::begin().await;
    let mut table = Table::of(&[
        always("user_id", Uuid),
        always("primary_entity_id", Text),
        or_null("secondary_entity_id", Text),
        always("action_type", Text),
    ])
    .and_ours(&[
        always("id", Text),
        always("timestamp", EpochMs),
        always("user_role", Text),
        always("primary_entity_type", Text),
        or_null("secondary_entity_type", Text),
        or_null("details", Object),
    ]);
    let log = format!("/v1/patients/audit/logs?from={START_MS}&to={}", START_MS + 1);
    let ada = scene.story.platform.identity.account_by_email("ada@example.org").await.expect("an account").uuid;
    let group_id = text(&scene.get("/v1/groups").await[0]["id"]);
    let grace = scene.patient().await;
    scene.story.pass_ms(1);
    let path = format!("/integration/v1/groups/{}/settings?token={}", scene.group, scene.key);
    scene.story.put(&path, json!({"activity_goal_steps": 8000})).await.ok();
    scene.story.pass_ms(1);
    let entries = scene.get(&log).await;
    let entries = entries.as_array().expect("entries");
    assert_eq!(entries.len(), 4);
    for entry in entries {
        table.check(entry);
        assert_fields(entry, &json!({"user_id": ada, "user_role": "researcher"}));
    }
    let created = json!({"action_type": "GROUP_CREATE", "timestamp": START_MS, "primary_entity_id": group_id,
        "primary_entity_type": "group.id", "secondary_entity_id": null, "secondary_entity_type": null});
    assert_fields(&entries[0], &created);
    let attached = json!({"action_type": "PATIENT_ATTACH_GROUP", "primary_entity_id": grace.uuid,
        "primary_entity_type": "patient.id", "secondary_entity_id": group_id, "secondary_entity_type": "group.id"});
    assert_fields(&entries[2], &attached);
    let set = json!({"action_type": "GROUP_SETTINGS_CHANGE", "timestamp": START_MS + 1,
        "details": {"settings": {"activity_goal_steps": 8000}}});
    assert_fields(&entries[3], &set);
    let one = scene.get(&format!("{log}&action_type=GROUP_SETTINGS_CHANGE")).await;
    assert_eq!(one, json!([entries[3]]));
}
