//! Answers of summaries are what the OpenAPI document says of them: nothing is there that it does not describe.

use serde_json::{Value, json};

use crate::{Study, half_an_hour};

/// Returns what of a value is not as its schema says; the keywords are those that schemas of summaries have.
fn faults(value: &Value, schema: &Value, schemas: &Value, place: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return faults(value, &schemas[name], schemas, place);
    }
    let mut found = Vec::new();
    let mut note = |what: &str| found.push(format!("{place} {what}: {value}"));
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    let is_of_kind = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("another type: {other}"),
    };
    if !kinds.iter().any(is_of_kind) {
        note("is of another type");
    }
    if let Some(number) = value.as_f64() {
        let is_low = schema["minimum"].as_f64().is_some_and(|lowest| number < lowest);
        if is_low || schema["maximum"].as_f64().is_some_and(|highest| number > highest) {
            note("is out of range");
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            note(&format!("lacks {name}"));
        }
    }
    for (at, element) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(element, &schema["items"], schemas, &format!("{place}[{at}]")));
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        match (schema["properties"].get(name), schema["additionalProperties"].is_object()) {
            (Some(property), _) => found.extend(faults(member, property, schemas, &place)),
            (None, true) => found.extend(faults(member, &schema["additionalProperties"], schemas, &place)),
            (None, false) => found.push(format!("{place} is not documented")),
        }
    }
    found
}

#[tokio::test]
async fn every_field_of_a_summary_is_documented() {
    let study = Study::begin().await;
    let patient = study.patient().await;
    study.story.sync(&patient, half_an_hour()).await;
    let document = api::document();
    let schema = |path: &str| {
        document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    let form = "&include_slots=1&include_extra=1";
    let range = format!("date_from=2025-11-19&date_to=2025-11-20{form}");
    let days = study.story.get_as(&format!("/health/user-summaries?{range}"), &patient.health_token).await.ok();
    let answers = [
        (
            "/integration/v1/patients/{uuid}/summary/{date}",
            study.story.get(&study.path(&patient, "2025-11-20", form)).await.ok(),
        ),
        (
            "/integration/v1/groups/{group_code}/summaries",
            study.story.get(&study.group_path(&format!("&date=2025-11-20{form}"))).await.ok(),
        ),
        ("/health/user-summaries", days),
    ];
    for (path, answer) in answers {
        assert_eq!(faults(&answer, &schema(path), &document["components"]["schemas"], path), Vec::<String>::new());
    }
}

#[test]
fn what_is_not_as_documented_is_found() {
    let schemas = api::document()["components"]["schemas"].clone();
    let wrong = json!({"date": 7, "spo2": {"avg_spo2": 101, "mood": 1}, "heart_rate": {"slots": [{"bpm": "x"}]}});
    let found = faults(&wrong, &json!({"$ref": "#/components/schemas/DailySummary"}), &schemas, "day");
    for place in
        ["day.date is", "day.spo2.avg_spo2 is out", "day.spo2.mood is not", "day.heart_rate.slots[0] lacks is_wearing"]
    {
        assert!(found.iter().any(|fault| fault.starts_with(place)), "{place}: {found:#?}");
    }
}
