//! Examples made of schemas: the example that a field states, else a plausible value for its name, else one for its
//! type.

use serde_json::{Map, Value, json};

/// How deep schemas are followed. None of ours refers to itself.
const DEEPEST: usize = 12;

/// An example of a schema.
pub(super) fn of(schema: &Value, schemas: &Value) -> Value {
    example(schema, "", schemas, 0)
}

fn example(schema: &Value, name: &str, schemas: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    for stated in [&schema["example"], &schema["examples"][0], &schema["const"], &schema["default"], &schema["enum"][0]]
    {
        if !stated.is_null() {
            return stated.clone();
        }
    }
    if let Some(referred) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return example(&schemas[referred], name, schemas, depth + 1);
    }
    for choice in ["oneOf", "anyOf"] {
        let options = schema[choice].as_array().into_iter().flatten();
        if let Some(option) = options.into_iter().find(|option| option["type"] != "null") {
            return example(option, name, schemas, depth + 1);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut whole = Map::new();
        for part in parts {
            whole.extend(example(part, name, schemas, depth + 1).as_object().cloned().unwrap_or_default());
        }
        return Value::Object(whole);
    }
    match type_of(schema) {
        "object" => object(schema, schemas, depth),
        "array" if schema["prefixItems"].is_array() => {
            let items = schema["prefixItems"].as_array().into_iter().flatten();
            items.map(|item| example(item, name, schemas, depth + 1)).collect()
        }
        "array" => json!([example(&schema["items"], name.trim_end_matches('s'), schemas, depth + 1)]),
        "string" => text(name, schema["format"].as_str().unwrap_or_default()),
        "integer" => integer(name),
        "number" => number(name),
        "boolean" => json!(true),
        _ => json!({}),
    }
}

/// The type, without the null that it may be as well.
fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        _ if schema["properties"].is_object() => "object",
        _ => "",
    }
}

fn object(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let mut object = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        object.insert(name.clone(), example(property, name, schemas, depth + 1));
    }
    let others = &schema["additionalProperties"];
    if object.is_empty() && others.is_object() {
        let key = schema["propertyNames"]["enum"][0].as_str().or(schema["propertyNames"]["example"].as_str());
        object.insert(key.unwrap_or("activity").to_owned(), example(others, "", schemas, depth + 1));
    }
    Value::Object(object)
}

fn text(name: &str, format: &str) -> Value {
    let by_format = match format {
        "uuid" => Some("80876de9-4e89-449a-9a8f-c1e11f720437"),
        "date" => Some("2025-11-20"),
        "date-time" => Some("2025-11-20T00:53:20.000Z"),
        "email" => Some("rita@study.example"),
        "uri" => Some("https://study.example/"),
        _ => None,
    };
    let text = by_format.unwrap_or(match name {
        "uuid" | "user_id" | "sync_id" | "sub" | "hcp" => "80876de9-4e89-449a-9a8f-c1e11f720437",
        "_id" | "record_id" => "65b1f0c2a4d3e5f60718293a",
        "id" => "YergInqASE",
        "code" | "groupCode" | "group_code" | "customer_tag" | "customer_code" => "JYVPQ",
        "hcpCode" => "HCP-JYVPQ-0h3qfs",
        "name" => "Sleep",
        "description" => "of nurses",
        "email" => "rita@study.example",
        "first_name" => "Rita",
        "last_name" => "Rossi",
        "password" => "correct horse battery",
        "birthday" | "date" | "date_from" | "date_to" => "2025-11-20",
        "gender" => "female",
        "country" => "Switzerland",
        "state" => "confirmed",
        "role" => "researcher",
        "time_zone" => "Europe/Zurich",
        "token" | "user_api_token" | "access_token" | "refresh_token" => {
            "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIuLi4ifQ.c2lnbmF0dXJl"
        }
        "refresh_ttl" => "518400",
        "serial_number" => "PW-000123",
        "device_type" => "bracelet",
        "firmware_version" => "1.4.2",
        "action_type" => "PATIENT_CREATE",
        "start_date" | "end_date" | "created_at" | "updated_at" => "2025-11-20T00:53:20.000Z",
        "external_patient_id" => "K-0042",
        "column" => "bpm",
        "reason" => "is out of range",
        "status" => "ok",
        "url" | "path" | "first_page_url" | "last_page_url" | "next_page_url" | "prev_page_url" => {
            "https://study.example/health/user-summaries?page=1"
        }
        _ => "text",
    });
    json!(text)
}

fn integer(name: &str) -> Value {
    json!(match name {
        "timestamp" | "from" | "to" => 1_763_600_000_000_i64,
        _ if name.ends_with("timestamp") || name.ends_with("_ms") => 1_763_600_000_000,
        "skin_color" | "hair_density" => 2,
        "ttl" => 60,
        _ => 1,
    })
}

fn number(name: &str) -> Value {
    match name {
        "height" => json!(172),
        "weight" => json!(64.5),
        "heart_rate" | "bpm" => json!(61),
        "respiration_rate" => json!(14),
        "spo2" => json!(97),
        "temperature" => json!(36.8),
        _ => json!(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_every_field_of_its_schema() {
        let schemas = json!({"Inner": {"type": "object", "properties": {"email": {"type": ["string", "null"]}}}});
        let schema = json!({"type": "object", "properties": {
            "uuid": {"type": "string"},
            "many": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}},
            "either": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Inner"}]},
            "stated": {"type": "integer", "example": 42},
            "kind": {"type": "string", "enum": ["fox", "tanaka"]}}});
        let expected = json!({
            "uuid": "80876de9-4e89-449a-9a8f-c1e11f720437",
            "many": [{"email": "rita@study.example"}],
            "either": {"email": "rita@study.example"},
            "stated": 42,
            "kind": "fox"});
        assert_eq!(of(&schema, &schemas), expected);
    }
}
