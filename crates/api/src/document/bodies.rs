//! What the document states of bodies beyond single fields: characters of texts, and which fields go together.
//!
//! Both are keywords of JSON Schema that clients from generators pass over, so that bodies stay plain objects to them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::body::WITHOUT_NUL;

/// Extension by which a field states a pattern that is a constant, of which the derived schema takes none.
const PATTERN: &str = "x-pattern";
/// Keywords that say which texts fit.
const LIMITING: [&str; 4] = ["pattern", "format", "enum", "const"];
/// An upload, whose schema is made of the data types. A wrong value of it rejects a row and not the body.
const UPLOAD: &str = "Sync";

/// A field that changes nothing by itself: it goes along with another.
const ALONG: &str = "password";

/// Changes, which have to name at least one field. Null names it too, and takes away.
const CHANGES: [&str; 7] = [
    "BraceletChange",
    "NewsSettingsChange",
    "OwnProfileChange",
    "PatientFilingChange",
    "ProfileChange",
    "StudyChange",
    "StudySettingsChange",
];

/// Bodies of the interface specification: what they do not name is ignored. All others of JSON are closed.
const OPEN: [&str; 6] =
    ["AfRecordRange", "ExportRequest", "LoginRequest", "NewPassword", "StudyRequest", "TokenExchange"];

/// Returns whether a body has fields that are ignored where there are not such.
pub(super) fn is_open(body: &Value) -> bool {
    json_body(body).is_some_and(|name| OPEN.contains(&name))
}

/// Returns the name of the schema of a JSON body.
fn json_body(body: &Value) -> Option<&str> {
    body["content"]["application/json"]["schema"]["$ref"].as_str()?.rsplit('/').next()
}

/// Completes the schemas of bodies.
pub(super) fn complete(paths: &Value, schemas: &mut Map<String, Value>) {
    for name in names(paths, schemas) {
        if let Some(schema) = schemas.get_mut(&name) {
            complete_texts(schema);
        }
    }
    for name in CHANGES {
        let goes_along = fields_of(name, schemas).contains_key(ALONG);
        add(name, at_least_one(Some(ALONG).filter(|_| goes_along)), schemas);
    }
    // One of the two limits, or both.
    add("Alarm", json!({"if": {"properties": {"above": {"type": "null"}}}, "then": needs("below", "number")}), schemas);
    close(paths, schemas);
    add("LoginRequest", one_of_two("email", "code"), schemas);
    add("TokenRequest", by_grant(), schemas);
}

/// States of bodies, and of the objects in their lists, that they have no other fields.
///
/// What a body consists of becomes its own: a closed object cannot be composed of others, each of which would refuse the
/// fields of the rest.
fn close(paths: &Value, schemas: &mut Map<String, Value>) {
    let operations = paths.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_object);
    let bodies = operations.flat_map(Map::values).filter_map(|operation| json_body(&operation["requestBody"]));
    let mut closed: BTreeSet<String> =
        bodies.filter(|name| *name != UPLOAD && !OPEN.contains(name)).map(str::to_owned).collect();
    let in_lists = |name: &String| -> Vec<String> {
        let fields = fields_of(name, schemas).into_iter().map(|(_, field)| field);
        fields.flat_map(|field| references(&field["items"])).collect()
    };
    let elements: Vec<String> = closed.iter().flat_map(in_lists).collect();
    closed.extend(elements);
    for name in closed {
        let (fields, required) = (fields_of(&name, schemas), required_of(&name, schemas));
        let Some(Value::Object(schema)) = schemas.get_mut(&name) else { continue };
        if schema.remove("allOf").is_some() {
            schema.extend([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(fields))]);
            if !required.is_empty() {
                schema.insert("required".to_owned(), json!(required));
            }
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    // What nothing consists of any more.
    let is_used = |name: &str, schemas: &Map<String, Value>| {
        let others = schemas.iter().filter(|(other, _)| *other != name);
        references(paths).iter().any(|used| used == name)
            || others.flat_map(|(_, schema)| references(schema)).any(|used| used == name)
    };
    for part in PARTS {
        if !is_used(part, schemas) {
            schemas.remove(part);
        }
    }
}

/// Schemas that bodies consist of and that nothing else refers to, the outer ones first.
const PARTS: [&str; 2] = ["OwnAttributes", "PersonalAttributes"];

/// Returns the names of the fields that a schema and those that it consists of require.
fn required_of(name: &str, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let Some(schema) = schemas.get(name) else { return BTreeSet::new() };
    let mut required = BTreeSet::new();
    for part in schema["allOf"].as_array().into_iter().flatten().chain([schema]) {
        if let Some(referred) = part["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            required.extend(required_of(referred, schemas));
        }
        required.extend(part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    required
}

fn add(name: &str, rule: Value, schemas: &mut Map<String, Value>) {
    if let (Some(Value::Object(schema)), Value::Object(rule)) = (schemas.get_mut(name), rule) {
        schema.extend(rule);
    }
}

/// Returns the names of the schemas that bodies consist of, without the one of uploads.
fn names(paths: &Value, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let operations = paths.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_object);
    let bodies = operations.flat_map(Map::values).map(|operation| &operation["requestBody"]);
    let mut left = bodies.flat_map(references).filter(|name| name != UPLOAD).collect::<Vec<_>>();
    let mut found = BTreeSet::new();
    while let Some(name) = left.pop() {
        left.extend(schemas.get(&name).into_iter().flat_map(references).filter(|name| !found.contains(name)));
        found.insert(name);
    }
    found
}

/// Returns the names of the schemas that a value refers to.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            own.map(str::to_owned).into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(parts) => parts.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// States of every text in a schema which characters it has, where the field says nothing of its own.
fn complete_texts(schema: &mut Value) {
    let is_text = is_of(schema, "string");
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(pattern) = fields.remove(PATTERN) {
        fields.insert("pattern".to_owned(), pattern);
    }
    if is_text && !LIMITING.iter().any(|keyword| fields.contains_key(*keyword)) {
        fields.insert("pattern".to_owned(), json!(WITHOUT_NUL));
    }
    for (keyword, part) in fields {
        match (keyword.as_str(), part) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(complete_texts),
            ("items", items) => complete_texts(items),
            ("allOf" | "oneOf", Value::Array(parts)) => parts.iter_mut().for_each(complete_texts),
            _ => {}
        }
    }
}

fn is_of(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        only => only == kind,
    }
}

/// Returns the fields of a schema and of those that it consists of, with the schemas of their values.
fn fields_of(name: &str, schemas: &Map<String, Value>) -> Map<String, Value> {
    let Some(schema) = schemas.get(name) else { return Map::new() };
    let mut fields = Map::new();
    for part in schema["allOf"].as_array().into_iter().flatten().chain([schema]) {
        if let Some(referred) = part["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            fields.extend(fields_of(referred, schemas));
        }
        fields.extend(part["properties"].as_object().cloned().unwrap_or_default());
    }
    fields
}

/// Returns the rule that a field is there, next to the one that goes along with another.
fn at_least_one(along: Option<&str>) -> Value {
    match along {
        None => json!({"minProperties": 1}),
        Some(along) => json!({"minProperties": 1, "if": {"required": [along]}, "then": {"minProperties": 2}}),
    }
}

fn needs(field: &str, kind: &str) -> Value {
    json!({"required": [field], "properties": {field: {"type": kind}}})
}

/// Returns the rule that one of two texts is there, and not the other.
fn one_of_two(first: &str, second: &str) -> Value {
    let absent = json!({"type": "null"});
    json!({"if": {"properties": {first: absent}}, "then": needs(second, "string"),
        "else": {"properties": {second: absent}}})
}

/// Returns the rule of what a grant is given for. Of a form an empty text is none.
fn by_grant() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!({"if": {"properties": {"grant_type": {"const": "refresh_token"}}},
        "then": {"required": ["refresh_token"], "properties": {"refresh_token": text}},
        "else": {"required": ["code", "redirect_uri"], "properties": {"code": text, "redirect_uri": text}}})
}
