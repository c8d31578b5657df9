//! Examples made of schemas, of what their fields state.

use serde_json::{Map, Value, json};

/// Depth to which schemas are followed. None of ours refers to itself.
const DEEPEST: usize = 12;

/// Returns an example of a schema.
pub(super) fn of(schema: &Value, schemas: &Value) -> Value {
    example(schema, schemas, 0)
}

/// Returns what a schema itself states to be usual; an example can be null.
pub(super) fn stated(schema: &Value) -> Option<&Value> {
    let list = |name: &str| schema.get(name).and_then(|list| list.get(0));
    let one = schema.get("example").or_else(|| list("examples"));
    one.or_else(|| schema.get("const")).or_else(|| schema.get("default")).or_else(|| list("enum"))
}

fn example(schema: &Value, schemas: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(stated) = stated(schema) {
        return stated.clone();
    }
    if let Some(referred) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return example(&schemas[referred], schemas, depth + 1);
    }
    for choice in ["oneOf", "anyOf"] {
        let options = schema[choice].as_array().into_iter().flatten();
        if let Some(option) = options.into_iter().find(|option| option["type"] != "null") {
            return example(option, schemas, depth + 1);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut whole = Map::new();
        for part in parts {
            whole.extend(example(part, schemas, depth + 1).as_object().cloned().unwrap_or_default());
        }
        return Value::Object(whole);
    }
    match type_of(schema) {
        "object" => object(schema, schemas, depth),
        "array" => json!([example(&schema["items"], schemas, depth + 1)]),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}

/// Returns the type, without the null that it may be as well.
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
        object.insert(name.clone(), example(property, schemas, depth + 1));
    }
    let others = &schema["additionalProperties"];
    if let (true, Some(key)) = (others.is_object(), stated(&schema["propertyNames"]).and_then(Value::as_str)) {
        object.insert(key.to_owned(), example(others, schemas, depth + 1));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_every_field_of_its_schema() {
        let schemas = json!({"Inner": {"type": "object", "properties": {"email": {"type": ["string", "null"], "example": "rita@study.example"}}}});
        let schema = json!({"type": "object", "properties": {
            "uuid": {"type": ["string", "null"], "example": null},
            "many": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}},
            "either": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Inner"}]},
            "stated": {"type": "integer", "example": 42},
            "kind": {"type": "string", "enum": ["fox", "tanaka"]}}});
        let expected = json!({
            "uuid": null,
            "many": [{"email": "rita@study.example"}],
            "either": {"email": "rita@study.example"},
            "stated": 42,
            "kind": "fox"});
        assert_eq!(of(&schema, &schemas), expected);
    }
}
