//! Alarms, settings of NEWS and bracelets at their limits.

use serde_json::{Value, json};

use crate::common::study::{Study, wrong_fields};
use crate::common::text;

#[tokio::test]
async fn alarms_take_thresholds_up_to_their_limits() {
    let study = Study::begin().await;
    let path = study.of_grace("/alarms");
    let put = async |alarms: Value| study.ask("PUT", &path, json!({ "alarms": alarms })).await;
    let vitals =
        ["heart_rate", "respiration_rate", "temperature", "spo2", "nibp_systolic", "nibp_diastolic", "news_score"];
    let alarm = |vital: &str| json!({"vital": vital, "below": 0.0, "above": 1000.0, "for_s": 86_400});
    let all: Vec<Value> = vitals.into_iter().map(alarm).collect();
    assert_eq!(put(json!(all)).await.ok(), json!({ "alarms": all }));
    let most: Vec<Value> = (0..50).map(|number| json!({"vital": "spo2", "below": number, "for_s": number})).collect();
    let kept = put(json!(most)).await.ok();
    let order: Vec<i64> =
        kept["alarms"].as_array().expect("alarms").iter().map(|alarm| alarm["for_s"].as_i64().expect("s")).collect();
    assert_eq!(order, (0..50).collect::<Vec<i64>>(), "alarms keep their order");
    let one_too_many: Vec<Value> = (0..51).map(|_| json!({"vital": "spo2", "below": 90})).collect();
    assert_eq!(wrong_fields(&put(json!(one_too_many)).await), ["alarms"]);
    for (alarm, field) in [
        (json!({"vital": "heart_rate", "above": 1000.001}), "above"),
        (json!({"vital": "heart_rate", "below": -0.001}), "below"),
        (json!({"vital": "heart_rate", "below": 80, "above": 80}), "below"),
        (json!({"vital": "heart_rate", "above": 130, "for_s": 86_401}), "for_s"),
        (json!({"vital": "heart_rate", "above": 130, "for_s": -1}), "for_s"),
        (json!({"vital": "heart_rate", "above": 130, "for_s": 0.5}), "for_s"),
        (json!({"vital": "Heart_rate", "above": 130}), "vital"),
        (json!({"above": 130}), "vital"),
    ] {
        let good = json!({"vital": "spo2", "below": 92});
        let refused = put(json!([good, alarm])).await;
        assert_eq!(wrong_fields(&refused), [format!("alarms.1.{field}")], "{alarm}");
    }
    assert_eq!(study.read(&path).await, kept, "a refused list was stored");
}

#[tokio::test]
async fn omitted_parts_of_an_alarm_stay_omitted() {
    let study = Study::begin().await;
    let path = study.of_grace("/alarms");
    let body =
        json!({"alarms": [{"vital": "spo2", "below": 92, "above": null}, {"vital": "temperature", "above": 38.5}]});
    let expected = json!({"alarms": [{"vital": "spo2", "below": 92.0, "for_s": 0},
        {"vital": "temperature", "above": 38.5, "for_s": 0}]});
    assert_eq!(study.ask("PUT", &path, body).await.ok(), expected);
    assert_eq!(study.read(&path).await, expected);
    let hedy = study.story.patient(&study.key, &study.group, Value::Null).await;
    let of_hedy = study.read(&format!("/v1/patients/{}/alarms", hedy.uuid)).await;
    assert_eq!(of_hedy, json!({"alarms": []}), "alarms are those of one patient");
}

#[tokio::test]
async fn news_settings_are_set_one_by_one_and_say_what_was_assumed() {
    let study = Study::begin().await;
    let path = study.of_grace("/news-settings");
    let assumed = |names: &[&str]| json!(names);
    let expect = |scale: u8, oxygen: bool, consciousness: &str, names: &[&str]| json!({"spo2_scale": scale, "oxygen": oxygen, "consciousness": consciousness, "assumed": assumed(names)});
    let all = ["spo2_scale", "oxygen", "consciousness"];
    assert_eq!(study.read(&path).await, expect(1, false, "A", &all));
    for (body, expected) in [
        (json!({"oxygen": false}), expect(1, false, "A", &["spo2_scale", "consciousness"])),
        (json!({"spo2_scale": 2}), expect(2, false, "A", &["consciousness"])),
        (json!({"consciousness": "U"}), expect(2, false, "U", &[])),
        (json!({"spo2_scale": 1, "oxygen": true, "consciousness": "C"}), expect(1, true, "C", &[])),
        (json!({"consciousness": "V"}), expect(1, true, "V", &[])),
        (json!({"consciousness": "P"}), expect(1, true, "P", &[])),
    ] {
        study.story.pass_ms(1000);
        assert_eq!(study.ask("PUT", &path, body.clone()).await.ok(), expected, "{body}");
        assert_eq!(study.read(&path).await, expected, "{body}");
    }
    let before = study.read(&path).await;
    for (body, fields) in [
        (json!({"spo2_scale": 0}), vec!["spo2_scale"]),
        (json!({"spo2_scale": 3}), vec!["spo2_scale"]),
        (json!({"spo2_scale": 256}), vec!["spo2_scale"]),
        (json!({"spo2_scale": "2"}), vec!["spo2_scale"]),
        (json!({"oxygen": 1}), vec!["oxygen"]),
        (json!({"consciousness": "a"}), vec!["consciousness"]),
        (json!({"consciousness": ""}), vec!["consciousness"]),
        (json!({"consciousness": "X", "spo2_scale": 9}), vec!["consciousness", "spo2_scale"]),
        (json!({}), vec!["spo2_scale"]),
    ] {
        assert_eq!(wrong_fields(&study.ask("PUT", &path, body.clone()).await), fields, "{body}");
        assert_eq!(study.read(&path).await, before, "{body}");
    }
}

#[tokio::test]
async fn texts_of_a_bracelet_have_limits() {
    let study = Study::begin().await;
    let register = async |body: Value| study.ask("POST", "/v1/bracelets", body).await;
    let longest = "ö".repeat(100);
    let body = json!({"serial_number": longest, "device_type": longest, "firmware_version": longest});
    let bracelet = register(body).await.ok();
    assert_eq!(bracelet["serial_number"], longest);
    assert_eq!(text(&bracelet["id"]).len(), 24);
    for (body, fields) in [
        (json!({"serial_number": "x".repeat(101), "device_type": "wrist"}), vec!["serial_number"]),
        (json!({"serial_number": "", "device_type": ""}), vec!["device_type", "serial_number"]),
        (json!({"serial_number": " 1", "device_type": "wrist "}), vec!["device_type", "serial_number"]),
        (json!({"serial_number": "1\t2", "device_type": "wrist"}), vec!["serial_number"]),
        (json!({"serial_number": "1", "device_type": "wrist", "firmware_version": ""}), vec!["firmware_version"]),
        (json!({"serial_number": 1, "device_type": "wrist"}), vec!["serial_number"]),
        (json!({"device_type": "wrist"}), vec!["serial_number"]),
        (json!({}), vec!["device_type", "serial_number"]),
    ] {
        assert_eq!(wrong_fields(&register(body.clone()).await), fields, "{body}");
    }
    assert_eq!(study.read("/v1/bracelets").await, json!([bracelet]), "a refused bracelet was registered");
}

#[tokio::test]
async fn bracelets_are_listed_in_the_order_of_their_registration() {
    let study = Study::begin().await;
    for serial_number in ["C", "A", "B"] {
        study.story.pass_ms(1);
        let body = json!({"serial_number": serial_number, "device_type": "wrist", "firmware_version": null});
        let bracelet = study.ask("POST", "/v1/bracelets", body).await.ok();
        assert!(bracelet.get("firmware_version").is_none() && bracelet.get("patient_uuid").is_none(), "{bracelet}");
    }
    study.ask("PUT", &study.of_grace("/bracelets/A"), Value::Null).await.done();
    let listed = study.read("/v1/bracelets").await;
    let listed: Vec<Value> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|bracelet| json!([bracelet["serial_number"], bracelet["patient_uuid"]]))
        .collect();
    assert_eq!(listed, [json!(["C", null]), json!(["A", study.grace.uuid]), json!(["B", null])]);
}

#[tokio::test]
async fn serial_numbers_in_paths_are_decoded_and_matched_exactly() {
    let study = Study::begin().await;
    let serial_number = "Ä/1 %20?#";
    let encoded = "%C3%84%2F1%20%2520%3F%23";
    let body = json!({"serial_number": serial_number, "device_type": "wrist"});
    study.ask("POST", "/v1/bracelets", body).await.ok();
    let change = json!({"firmware_version": "2"});
    let changed = study.ask("PATCH", &format!("/v1/bracelets/{encoded}"), change.clone()).await.ok();
    assert_eq!((&changed["serial_number"], &changed["firmware_version"]), (&json!(serial_number), &json!("2")));
    for other in ["%C3%A4%2F1%20%2520%3F%23", "%C3%84%2F1%20%20%3F%23", "1"] {
        let missing = study.ask("PATCH", &format!("/v1/bracelets/{other}"), change.clone()).await;
        assert_eq!(missing.error(), (404, "bracelet_not_found"), "{other}");
    }
    study.ask("PUT", &study.of_grace(&format!("/bracelets/{encoded}")), Value::Null).await.done();
    assert_eq!(study.row().await["device"]["serial_number"], serial_number);
}
