//! What a change takes away: a field that is null, and a name of blanks.

use serde_json::{Value, json};

use super::bodies::{begin, documented};
use crate::common::study::wrong_fields;
use crate::common::{PASSWORD, text};

/// Returns the fields of a schema that null takes away, and those that it does not.
fn removable(schema: &str) -> (Vec<String>, Vec<String>) {
    let document: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).expect("JSON");
    let fields = document["components"]["schemas"][schema]["properties"].as_object().cloned().expect("fields");
    let is_nullable = |field: &Value| field.to_string().contains("\"null\"");
    let (removable, kept): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, field)| is_nullable(field));
    let names = |fields: Vec<(String, Value)>| fields.into_iter().map(|(name, _)| name).collect();
    (names(removable), names(kept))
}

#[tokio::test]
async fn null_takes_away_whatever_the_document_has_as_nullable() {
    let (study, _) = begin().await;
    let integration = |path: &str| format!("/integration{path}");
    for (method, path, schema, kept) in [
        ("PATCH", integration("/v1/bracelets/PB-1"), "BraceletChange", &["device_type"][..]),
        ("PATCH", integration(&study.of_group("")), "StudyChange", &["name"]),
        ("PUT", integration(&study.of_group("/settings")), "StudySettingsChange", &[]),
        ("PATCH", integration(&study.of_grace("")), "PatientFilingChange", &[]),
        ("PUT", integration(&study.of_grace("/profile")), "ProfileChange", &[]),
        ("PUT", integration(&study.of_grace("/news-settings")), "NewsSettingsChange", &[]),
    ] {
        let send = async |body: Value| study.story.ask(method, &path, &study.key, body).await;
        let (removable, not_removable) = removable(schema);
        assert_eq!(not_removable, kept, "{schema}");
        for name in not_removable {
            let refused = send(json!({ name.as_str(): null })).await;
            assert_eq!(refused.body["errors"], json!({ name.as_str(): ["cannot be taken away"] }), "{schema}");
        }
        let examples: serde_json::Map<String, Value> = documented(schema).into_iter().collect();
        send(Value::Object(examples)).await.ok();
        let nulls = removable.iter().map(|name| (name.clone(), Value::Null)).collect();
        let after = send(Value::Object(nulls)).await.ok();
        let fresh = match schema {
            "BraceletChange" => json!({"firmware_version": null}),
            "StudyChange" => json!({"description": ""}),
            "StudySettingsChange" => {
                json!({"activity_goal_steps": 10000, "max_heart_rate_rule": "fox", "retention": {}})
            }
            "NewsSettingsChange" => {
                json!({"spo2_scale": 1, "oxygen": false, "consciousness": "A",
                    "assumed": ["spo2_scale", "oxygen", "consciousness"]})
            }
            _ => removable.iter().map(|name| (name.clone(), Value::Null)).collect(),
        };
        for (name, value) in fresh.as_object().expect("fields") {
            assert_eq!(&after[name], value, "{schema} {name}");
        }
        assert_eq!(send(json!({"no_such": null})).await.error().0, 422, "{schema}");
    }
    let entries = study.log_as(&study.key).await;
    let filed = entries.iter().rfind(|entry| entry["action_type"] == "PATIENT_UPDATE").expect("an entry");
    assert!(filed["details"].to_string().contains("oxygen"), "{filed}");
    let details: Vec<String> = entries.iter().map(|entry| entry["details"].to_string()).collect();
    for names in [r#"["external_patient_id","customer_tag","time_zone"]"#, r#""firmware_version":null"#] {
        assert!(details.iter().any(|one| one.contains(names)), "{names}: {details:?}");
    }
}

#[tokio::test]
async fn patients_take_their_own_attributes_away_and_can_still_log_in() {
    let (study, voucher) = begin().await;
    let me = async |body: Value| study.story.ask("PATCH", "/users/me", &study.grace.users_token, body).await;
    let login = async |name: &str, value: &str| {
        study.story.post("/users/login", json!({name: value, "password": PASSWORD})).await
    };
    let attributes = json!({"email": "grace@example.org", "password": PASSWORD, "first_name": "Grace", "gender": "female",
        "birthday": "1980-01-31", "height": 170, "weight": 60, "skin_color": 2, "hair_density": 3, "country": "Chile",
        "time_zone": "America/Santiago", "agreement_to_terms_of_use": true});
    me(attributes.clone()).await.ok();
    login("email", "grace@example.org").await.ok();
    // As with another address: with a token alone nobody takes the patient's address away.
    let refused = me(json!({"email": null})).await;
    assert_eq!(wrong_fields(&refused), ["password"]);
    assert_eq!(wrong_fields(&me(json!({"password": PASSWORD})).await).len(), 1);
    let mut nulls = attributes;
    nulls.as_object_mut().expect("fields").values_mut().for_each(|value| *value = Value::Null);
    nulls["password"] = json!(PASSWORD);
    let after = me(nulls).await.ok();
    for name in ["email", "first_name", "gender", "birthday", "country", "time_zone", "agreement_to_terms_of_use"] {
        assert_eq!(after[name], Value::Null, "{name}");
    }
    assert_eq!(login("email", "grace@example.org").await.error(), (401, "unauthenticated"));
    login("code", &study.grace.code).await.ok();
    // At activation null is absent.
    let nobody = json!({"code": voucher, "password": PASSWORD, "email": null, "weight": null, "first_name": null});
    let activated = study.story.post("/users/activate", nobody).await.ok();
    assert_eq!(activated["user"]["first_name"], Value::Null);
    let rows = study.read(&study.of_group("/patients")).await;
    assert!(rows.as_array().expect("rows").iter().all(|row| row.get("weight").is_none()), "{rows}");
}

#[tokio::test]
async fn blanks_that_nobody_sees_are_no_name() {
    let (study, voucher) = begin().await;
    for blank in ["\u{feff}", " \u{2003}\t"] {
        let names = json!({"first_name": blank, "last_name": blank});
        let login = json!({"email": "ada@example.org", "password": PASSWORD});
        let of_account = text(&study.story.post("/users/login", login).await.ok()["token"]);
        for token in [&of_account, &study.grace.users_token] {
            study.story.ask("PATCH", "/users/me", token, json!({"first_name": "A", "last_name": "B"})).await.ok();
            let after = study.story.ask("PATCH", "/users/me", token, names.clone()).await.ok();
            for name in ["first_name", "last_name"] {
                assert!(after[name] == Value::Null || after[name] == "", "{blank:?}: {after}");
            }
        }
        study.ask("PUT", &study.of_grace("/profile"), json!({"first_name": "A", "last_name": "B"})).await.ok();
        let after = study.ask("PUT", &study.of_grace("/profile"), names).await.ok();
        assert_eq!((&after["first_name"], &after["last_name"]), (&Value::Null, &Value::Null), "{blank:?}");
    }
    let activation = json!({"code": voucher, "password": PASSWORD, "first_name": "\u{feff}", "country": "\u{feff}"});
    let activated = study.story.post("/users/activate", activation).await.ok();
    assert_eq!((&activated["user"]["first_name"], &activated["user"]["country"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn zone_that_staff_takes_away_is_shown_no_more() {
    let (study, _) = begin().await;
    let list = study.of_group("/patients?fields[]=time_zone");
    let zone = async || {
        let rows = study.read(&list).await;
        let mut rows = rows.as_array().expect("rows").iter();
        rows.find(|row| row["uuid"] == json!(study.grace.uuid)).expect("a row")["time_zone"].clone()
    };
    study.ask("PATCH", &study.of_grace(""), json!({"time_zone": "Asia/Tokyo"})).await.ok();
    assert_eq!(zone().await, "Asia/Tokyo");
    study.ask("PATCH", &study.of_grace(""), json!({"time_zone": null})).await.ok();
    assert_eq!(zone().await, Value::Null);
    let me = study.story.get_as("/users/me", &study.grace.users_token).await.ok();
    assert_eq!(me["time_zone"], Value::Null);
}
