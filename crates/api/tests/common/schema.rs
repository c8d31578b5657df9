//! Values held against schemas of the OpenAPI document.

use serde_json::Value;

/// Returns what of a value is not as its schema says, with its place.
pub fn faults(value: &Value, schema: &Value, schemas: &Value, place: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return faults(value, &schemas[name], schemas, place);
    }
    let mut found = Vec::new();
    let mut note = |what: &str| found.push(format!("{place} {what}: {value}"));
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of_kind(value, kind)) {
        note("is of another type");
    }
    if let Some(number) = value.as_f64() {
        let is_low = schema["minimum"].as_f64().is_some_and(|lowest| number < lowest);
        if is_low || schema["maximum"].as_f64().is_some_and(|highest| number > highest) {
            note("is out of range");
        }
    }
    if schema["enum"].as_array().is_some_and(|names| !value.is_null() && !names.contains(value)) {
        note("is none of the names");
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(name).is_none() {
            note(&format!("lacks {name}"));
        }
    }
    for choice in ["oneOf", "anyOf"] {
        let options: Vec<Vec<String>> = schema[choice]
            .as_array()
            .map(|options| options.iter().map(|option| faults(value, option, schemas, place)).collect())
            .unwrap_or_default();
        if !options.is_empty() && options.iter().all(|faults| !faults.is_empty()) {
            found.extend(options.into_iter().min_by_key(Vec::len).unwrap_or_default());
        }
    }
    for (at, element) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(element, &schema["items"], schemas, &format!("{place}[{at}]")));
    }
    found.extend(faults_of_members(value, schema, schemas, place));
    found
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("another type: {other}"),
    }
}

/// Returns what is wrong of the members of an object, and those that no part of its schema names.
fn faults_of_members(value: &Value, schema: &Value, schemas: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let parts = whole(schema, schemas);
    let names_members =
        parts.iter().any(|part| part["properties"].is_object() || part["additionalProperties"].is_object());
    for (name, member) in value.as_object().into_iter().flatten().filter(|_| names_members) {
        let place = format!("{place}.{name}");
        let property = parts.iter().find_map(|part| part["properties"].get(name));
        let others = parts.iter().map(|part| &part["additionalProperties"]).find(|others| others.is_object());
        match property.or(others) {
            Some(schema) => found.extend(faults(member, schema, schemas, &place)),
            None => found.push(format!("{place} is not documented")),
        }
    }
    for part in parts.iter().skip(1) {
        for name in part["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if value.get(name).is_none() {
                found.push(format!("{place} lacks {name}"));
            }
        }
    }
    found
}

/// Returns a schema and all that it consists of.
fn whole<'schema>(schema: &'schema Value, schemas: &'schema Value) -> Vec<&'schema Value> {
    let schema = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map_or(schema, |name| &schemas[name]);
    let parts = schema["allOf"].as_array().into_iter().flatten();
    [schema].into_iter().chain(parts.flat_map(|part| whole(part, schemas))).collect()
}
