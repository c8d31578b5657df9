//! Rules from JSON and to it.

use serde_json::{Value, json};

use super::scene::*;
use crate::alarms::*;

fn study(rule: &Value) -> Result<Vec<Rule>, Faults> {
    read_profile(&json!({ "rules": [rule] })).map(|profile| profile.rules)
}

/// A rule of a study with some fields in addition.
fn spo2(more: &Value) -> Value {
    let mut rule = json!({ "id": "a", "signal": "spo2", "below": 90, "priority": "high" });
    rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rule
}

/// Fields with faults, each with the first one.
fn faults<T: std::fmt::Debug>(read: Result<T, Faults>) -> Vec<(String, String)> {
    read.unwrap_err().into_iter().map(|(field, faults)| (field, faults.join(", "))).collect()
}

#[test]
fn rule_with_all_fields_is_read_and_written_alike() {
    let rule = json!({
        "id": "low-spo2", "name": "Low saturation", "signal": "spo2", "below": 88.5, "above": 100.0, "for_s": 60,
        "clear_below": 91.0, "clear_above": 99.5, "clear_for_s": 120, "min_quality": 3, "priority": "low",
        "enabled": false,
    });
    let read = study(&rule).unwrap();
    assert_eq!(serde_json::to_value(&read[0]).unwrap(), rule);
    assert_eq!(serde_json::from_value::<Rule>(rule).unwrap(), read[0]);
}

#[test]
fn what_is_left_out_or_null_has_its_default() {
    let expected = Rule { id: "a".to_owned(), ..below_90(0) };
    let expected = [expected];
    assert_eq!(study(&spo2(&json!({}))).unwrap(), expected);
    let nulls = json!({ "above": null, "for_s": null, "name": null, "min_quality": null, "enabled": null });
    assert_eq!(study(&spo2(&nulls)).unwrap(), expected);
    let written = serde_json::to_value(&expected[0]).unwrap();
    assert_eq!(study(&written).unwrap(), expected, "what was written is read again");
}

#[test]
fn thresholds_of_today_are_rules_of_priority_medium() {
    // As store::Alarm writes them.
    let stored = json!([
        { "vital": "heart_rate", "below": 40.0, "above": 130.0, "for_s": 300 },
        { "vital": "spo2", "below": 92.0, "above": null, "for_s": 0 },
        { "vital": "heart_rate", "below": null, "above": 150.0, "for_s": 0 },
        { "signal": "news_score", "above": 4 },
    ]);
    let rules = read_patient_rules(&stored, "alarms").unwrap();
    let shown: Vec<_> = rules.iter().map(|rule| (&*rule.id, rule.below, rule.above, rule.for_s)).collect();
    let expected = [
        ("patient_heart_rate", Some(40.0), Some(130.0), 300),
        ("patient_spo2", Some(92.0), None, 0),
        ("patient_heart_rate_2", None, Some(150.0), 0),
        ("patient_news_score", None, Some(4.0), 0),
    ];
    assert_eq!(shown, expected);
    assert!(rules.iter().all(|rule| rule.priority == Priority::Medium && rule.enabled && rule.min_quality == 2));
}

#[test]
fn each_fault_is_named_by_its_field() {
    let several = json!({
        "id": "Low SpO2", "name": " ", "signal": "mood", "below": "90", "for_s": 1.5, "clear_for_s": 90_000,
        "min_quality": 5, "priority": "urgent", "enabled": 1, "belwo": 3,
    });
    let found = faults(study(&several));
    let fields: Vec<&str> = found.iter().map(|(field, _)| field.trim_start_matches("rules.0.")).collect();
    let expected =
        ["below", "belwo", "clear_for_s", "enabled", "for_s", "id", "min_quality", "name", "priority", "signal"];
    assert_eq!(fields, expected);
    assert_eq!(faults(study(&json!({}))).len(), 3, "id, signal and priority are required");
}

#[test]
fn thresholds_have_an_order_and_clear_thresholds_their_side() {
    for (more, field, fault) in [
        (json!({ "below": null }), "below", "or above is required"),
        (json!({ "above": 90 }), "below", "must be less than above"),
        (json!({ "below": -1 }), "below", "must be 0 to 1000"),
        (json!({ "above": 1000.5 }), "above", "must be 0 to 1000"),
        (json!({ "clear_below": 89.9 }), "clear_below", "must be at least below"),
        (json!({ "above": 100, "clear_below": 100.5 }), "clear_below", "must be at most above"),
        (json!({ "clear_above": 95 }), "clear_above", "needs above"),
        (json!({ "above": 100, "clear_above": 100.5 }), "clear_above", "must be at most above"),
        (json!({ "above": 100, "clear_above": 89.5 }), "clear_above", "must be at least below"),
        (json!({ "below": null, "above": 95, "clear_below": 91 }), "clear_below", "needs below"),
        (json!({ "for_s": 86_401 }), "for_s", "must be 0 to 86400"),
        (json!({ "min_quality": 2.5 }), "min_quality", "must be an integer"),
    ] {
        assert_eq!(faults(study(&spo2(&more))), [(format!("rules.0.{field}"), fault.to_owned())], "{more}");
    }
    for more in [
        json!({ "clear_below": 90 }),
        json!({ "above": 100, "clear_below": 100, "clear_above": 90 }),
        json!({ "for_s": 86_400.0 }),
    ] {
        assert!(study(&spo2(&more)).is_ok(), "{more}");
    }
}

#[test]
fn fields_that_a_signal_does_not_use_are_refused() {
    for (signal, more, field) in [
        ("news_part", json!({ "above": 2 }), "above"),
        ("afib", json!({ "clear_below": 2 }), "clear_below"),
        ("news_score", json!({ "above": 4, "min_quality": 3 }), "min_quality"),
        ("no_data", json!({ "for_s": 600, "below": 2 }), "below"),
        ("no_data", json!({}), "for_s"),
        ("not_worn", json!({ "for_s": 600, "clear_for_s": 2 }), "clear_for_s"),
        ("battery", json!({}), "below"),
        ("battery", json!({ "below": 15, "above": 80 }), "above"),
    ] {
        let mut rule = json!({ "id": "a", "signal": signal, "priority": "low" });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = faults(study(&rule));
        assert_eq!(found.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), [format!("rules.0.{field}")]);
    }
    for (signal, more) in [
        ("news_part", json!({})),
        ("afib", json!({ "for_s": 300, "clear_for_s": 300 })),
        ("no_data", json!({ "for_s": 1800 })),
        ("not_worn", json!({ "for_s": 1800 })),
        ("battery", json!({ "below": 16 })),
    ] {
        let mut rule = json!({ "id": "a", "signal": signal, "priority": "low" });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let read = study(&rule).unwrap();
        assert_eq!(study(&serde_json::to_value(&read[0]).unwrap()).unwrap(), read);
    }
}

#[test]
fn identifiers_are_unique_and_that_of_the_builtin_rule_is_taken() {
    let profile = json!({ "rules": [spo2(&json!({})), spo2(&json!({})), spo2(&json!({ "id": "news2" }))] });
    let expected = [("rules.1.id", "is that of an earlier rule"), ("rules.2.id", "is that of the built-in rule")];
    assert_eq!(faults(read_profile(&profile)), expected.map(|(field, fault)| (field.to_owned(), fault.to_owned())));
    let of_patient = json!([spo2(&json!({ "id": "news2" }))]);
    assert!(read_patient_rules(&of_patient, "alarms").is_ok(), "a patient may have another in its place");
    let two_names = json!([{ "signal": "spo2", "vital": "heart_rate", "below": 90 }]);
    let found = faults(read_patient_rules(&two_names, "alarms"));
    assert_eq!(found[0].0, "alarms.0.vital");
    assert_eq!(faults(study(&spo2(&json!({ "vital": "spo2" }))))[0].0, "rules.0.vital", "not in profiles");
}

#[test]
fn builtin_profile_is_switched_by_name() {
    let builtin =
        |value: &Value| read_profile(&json!({ "builtin": value, "escalation": [] })).map(|profile| profile.builtin);
    assert_eq!(builtin(&json!("news2")), Ok(Some(Builtin::News2)));
    assert_eq!(builtin(&Value::Null), Ok(None));
    assert_eq!(faults(builtin(&json!("mews")))[0].0, "builtin");
    let profile = Profile { builtin: Some(Builtin::News2), rules: vec![below_90(0)] };
    let written = serde_json::to_value(&profile).unwrap();
    assert_eq!(read_profile(&written), Ok(profile.clone()));
    assert_eq!(serde_json::from_value::<Profile>(written).unwrap(), profile);
}

#[test]
fn what_is_no_list_of_objects_is_named() {
    assert_eq!(faults(read_profile(&json!([])))[0].0, "body");
    assert_eq!(faults(read_profile(&json!({ "rules": {} })))[0].0, "rules");
    assert_eq!(faults(read_patient_rules(&json!([1, null]), "alarms")).len(), 2);
    let many: Vec<Value> = (0..51).map(|number| spo2(&json!({ "id": format!("a{number}") }))).collect();
    let found = faults(read_profile(&json!({ "rules": many })));
    assert_eq!(found, [("rules".to_owned(), "must be at most 50".to_owned())]);
    assert!(read_profile(&json!({ "rules": many[..50] })).is_ok());
}

#[test]
fn names_of_endings_are_those_of_json() {
    for ending in [Ending::Cleared, Ending::NotJudged, Ending::RuleRemoved, Ending::RuleChanged] {
        assert_eq!(serde_json::to_value(ending).unwrap(), ending.name());
    }
}

#[test]
fn episodes_and_judgements_are_stored_as_json() {
    let samples = [value(1, 88.0), unknown(2, Reason::NotWorn), value(3, 87.5), value(4, 95.0), value(5, 88.0)];
    let span = always(below_90(0));
    let mut judgement = Judgement::default();
    let ended = judgement.judge(&span, &samples);
    let read: Judgement = serde_json::from_str(&serde_json::to_string(&judgement).unwrap()).unwrap();
    assert_eq!(read, judgement);
    let expected = json!({
        "id": { "rule": "spo2", "rule_version_ms": 0, "start_ms": 60_000 },
        "opened_ms": 60_000,
        "end": [240_000, "cleared"],
        "extreme": [87.5, 180_000],
        "levels": [{ "time_ms": 60_000, "level": 1 }],
        "unknown": [{ "from_ms": 120_000, "to_ms": 180_000, "reason": "not_worn" }],
    });
    assert_eq!(serde_json::to_value(&ended[0]).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Episode>(expected).unwrap(), ended[0]);
}
