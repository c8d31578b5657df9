//! The OpenAPI document: what the routes say of themselves, completed with what holds for all of them.
//!
//! Each route names its parameters, its answer and the errors that are its own. What the surroundings of every route
//! can answer, how callers prove who they are, headers, and examples are added here, so that no route can forget them.

mod examples;
#[cfg(test)]
mod gaps;
mod links;
mod parameters;
mod reference;
mod rows;
mod security;
mod summaries;
mod tags;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use vitals::registry::Declaration;

use self::reference::reference;

/// The document as it is served. It was made when the code last changed, and a test holds it to the code: made at the start,
/// it took a node a third of its memory at rest.
pub(crate) const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// Completes the document of the routes with what holds for all of them, and with the schemas of samples of these types.
pub(crate) fn complete(document: &OpenApi, types: &[&Declaration]) -> Value {
    // Plain data become JSON without fail.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["servers"] = json!([{"url": "/", "description": "all clouds on one address"}]);
    document["info"]["contact"] = json!({"name": "the operator of this service"});
    document["tags"] = tags::tags();
    document["components"]["securitySchemes"] = security::schemes();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(rows::schemas(types));
        schemas.extend(summaries::schemas());
    }
    let schemas = document["components"]["schemas"].clone();
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                if let Some(operation) = operation.as_object_mut() {
                    complete_operation(path, method, operation, &schemas);
                }
            }
        }
    }
    links::add(&mut document);
    document
}

fn complete_operation(path: &str, method: &str, operation: &mut Map<String, Value>, schemas: &Value) {
    operation.insert("operationId".to_owned(), json!(operation_id(path, method)));
    complete_description(operation);
    let is_secured = security::complete(operation);
    let has_query = parameters::complete(operation);
    let has_body = complete_request_body(operation, schemas);
    let mut own: Vec<u16> = vec![500];
    if path.contains('{') || has_query {
        own.push(400);
    }
    if has_body {
        own.extend([400, 413, 415, 422]);
    }
    if is_secured {
        own.push(401);
    }
    if !is_probe(path) {
        own.extend([429, 503]);
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for status in own {
        responses.entry(status.to_string()).or_insert_with(|| json!({}));
    }
    for (status, response) in responses.iter_mut() {
        complete_response(path, status, response, schemas);
    }
}

/// `GET /integration/v1/groups/{group_code}/patients` is `integration_get_groups_group_code_patients`.
fn operation_id(path: &str, method: &str) -> String {
    let is_word = |part: &&str| !part.is_empty() && !["v1", "v2", ".well-known"].contains(part);
    let mut words = path.split('/').filter(is_word).map(|part| part.trim_matches(['{', '}']).replace(['-', '.'], "_"));
    let first = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    [&[first, method.to_owned()], &rest[..]].concat().join("_")
}

/// Of a route that says one sentence, the description is that sentence.
fn complete_description(operation: &mut Map<String, Value>) {
    let summary = operation.get("summary").cloned().unwrap_or_default();
    operation.entry("description").or_insert(summary);
}

fn complete_request_body(operation: &mut Map<String, Value>, schemas: &Value) -> bool {
    let content = operation.get_mut("requestBody").and_then(|body| body.get_mut("content")?.as_object_mut());
    for (kind, media) in content.into_iter().flatten() {
        complete_bytes(kind, media);
        add_example(kind, media, schemas);
    }
    match operation.get_mut("requestBody") {
        Some(body) => {
            // No route has a body that may be left out.
            body["required"] = json!(true);
            true
        }
        None => false,
    }
}

/// Says of bytes that they are no text, which OpenAPI 3.1 says by their kind and earlier versions by a format.
fn complete_bytes(kind: &str, media: &mut Value) {
    if kind.starts_with("application/vnd.apache.") || kind == "application/octet-stream" {
        media["schema"] = json!({"type": "string", "format": "binary", "contentMediaType": kind});
    }
}

/// Whether a path only says how the service is, which is neither limited nor refused.
fn is_probe(path: &str) -> bool {
    ["/livez", "/readyz"].contains(&path)
}

fn complete_response(path: &str, status: &str, response: &mut Value, schemas: &Value) {
    let is_error = status.starts_with('4') || status.starts_with('5');
    if response["description"].as_str().is_none_or(str::is_empty) {
        response["description"] = json!(meaning(status));
    }
    if is_error {
        // Where an error is a page, what comes before the page is still an error like all others.
        let mut content = response["content"].as_object().cloned().unwrap_or_default();
        content.entry("application/json").or_insert_with(|| json!({"schema": reference("ApiError")}));
        response["content"] = Value::Object(content);
    }
    for (kind, media) in response.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        complete_bytes(kind, media);
        if is_error && media["schema"] == reference("ApiError") && media["example"].is_null() {
            media["example"] = error_example(path, status);
        }
        add_example(kind, media, schemas);
    }
    let mut headers =
        json!({"X-Request-Id": header("names the request in the log of the service", Presence::Always, "text")});
    if !is_probe(path) {
        let absent = "; absent when the operator has switched the limit off";
        headers["X-RateLimit-Limit"] = header(&format!("requests a minute{absent}"), Presence::Sometimes, "number");
        headers["X-RateLimit-Remaining"] =
            header(&format!("requests left in this minute{absent}"), Presence::Sometimes, "number");
    }
    match status {
        "401" => headers["WWW-Authenticate"] = header("the scheme", Presence::Always, "text"),
        "429" | "503" => {
            headers["Retry-After"] = header("seconds until it may be tried again", Presence::Always, "number");
        }
        _ => {}
    }
    if let Some(given) = response["headers"].as_object().cloned() {
        headers.as_object_mut().into_iter().for_each(|headers| headers.extend(given.clone()));
    }
    response["headers"] = headers;
}

/// Whether every answer of a status has a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Always,
    Sometimes,
}

fn header(description: &str, presence: Presence, kind: &str) -> Value {
    let required = presence == Presence::Always;
    let schema = if kind == "number" { json!({"type": "integer", "minimum": 0}) } else { json!({"type": "string"}) };
    json!({"description": description, "required": required, "schema": schema})
}

fn add_example(kind: &str, media: &mut Value, schemas: &Value) {
    let has_one = !media["example"].is_null() || !media["examples"].is_null();
    if has_one || !kind.ends_with("json") {
        return;
    }
    media["example"] = examples::of(&media["schema"], schemas);
}

/// What a status means here when its route says nothing more particular.
fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "as asked for",
        "204" => "done; there is nothing to say",
        "206" => "the part that was asked for",
        "302" | "303" => "go on there",
        "400" => "the syntax is wrong: of the body, of a parameter or of the path",
        "401" => "there is no credential, or it is not valid",
        "403" => "the caller is known and has no right to this",
        "404" => "there is no such thing",
        "406" => "the answer cannot be given in a form that is accepted",
        "409" => "it does not fit what is there",
        "410" => "this address has been given up",
        "413" => "the body is too large",
        "415" => "the body is of another kind or compression than is taken here",
        "416" => "the range lies outside of the file",
        "422" => "well-formed but not valid; `errors` names each field",
        "429" => "too many requests; with the seconds to wait",
        "500" => "something went wrong on our side; the log has the reason under the request's id",
        "503" => "a store is away or there is too much to do; nothing was stored, with the seconds to wait",
        _ => "see the description",
    }
}

fn error_example(path: &str, status: &str) -> Value {
    let (code, message) = match status {
        "400" => ("malformed_parameter", "include_slots must be 0 or 1"),
        "401" => ("unauthenticated", "the credential is not valid"),
        "403" => ("forbidden", "the caller has no access to this"),
        "404" if path.contains("{uuid}") => ("patient_not_found", "there is no such patient"),
        "404" if path.contains("{group_code}") || path.contains("{code}") => {
            ("group_not_found", "there is no such group")
        }
        "404" => ("not_found", "there is nothing at this address"),
        "406" => ("not_acceptable", "the answer cannot be given in the form asked for"),
        "409" => ("conflict", "it does not fit what is there"),
        "410" => ("gone", "this address has been given up"),
        "413" => ("too_large", "the body is too large"),
        "415" => ("unsupported_media_type", "the Content-Type must be application/json"),
        "422" => {
            return json!({"message": "the request is not valid", "code": "invalid",
                "errors": {"date": ["is required"]}});
        }
        "429" => ("too_many_requests", "too many requests"),
        "503" => ("unavailable", "the service is not available just now; nothing was lost"),
        _ => ("internal", "something went wrong on our side"),
    };
    json!({"message": message, "code": code})
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::HashSet;
    use vitals::registry::DataType;

    /// Every operation with its path and method.
    fn operations(document: &Value) -> Vec<(String, Value)> {
        let paths = document["paths"].as_object().expect("paths");
        let each = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods");
            methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
        });
        each.collect()
    }

    /// Run with `UPDATE_OPENAPI=1` to write the file again.
    #[test]
    #[allow(clippy::disallowed_methods)] // a switch for people, not configuration of the program
    fn the_document_in_the_repository_is_what_the_code_says() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let text = crate::document_text();
        if std::env::var("UPDATE_OPENAPI").is_ok() {
            std::fs::write(&file, &text).expect("written");
        }
        let checked_in = std::fs::read_to_string(&file).expect("docs/openapi.json");
        assert!(checked_in == text, "docs/openapi.json is not what the code says; UPDATE_OPENAPI=1 writes it anew");
    }

    #[test]
    fn every_operation_is_told_in_full() {
        let document = crate::document();
        assert_eq!(document["openapi"], "3.1.0");
        let mut ids = HashSet::default();
        for (name, operation) in operations(&document) {
            assert!(ids.insert(operation["operationId"].to_string()), "{name}: its id is another's");
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}: no summary");
            assert!(operation["tags"][0].is_string(), "{name}: no tag");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}: {parameter}");
                assert!(parameter["schema"].is_object(), "{name}: {parameter}");
            }
            assert!(operation["requestBody"].is_null() || operation["requestBody"]["required"] == true, "{name}");
            for (kind, media) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
                assert!(!kind.ends_with("json") || !media["example"].is_null(), "{name}: no example of the body");
            }
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.keys().any(|status| !status.starts_with(['4', '5'])), "{name}");
            for (status, response) in responses {
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{name} {status}");
                for (kind, media) in response["content"].as_object().into_iter().flatten() {
                    assert!(!kind.ends_with("json") || !media["example"].is_null(), "{name} {status}: no example");
                }
            }
        }
        assert!(ids.len() > 25);
    }

    #[test]
    fn another_unit_in_a_declaration_is_another_document() {
        let checked_in = crate::document_of(&DataType::declarations());
        let rr = DataType::RrInterval.declaration();
        let mut columns = rr.columns.to_vec();
        columns[0].unit = "s";
        let changed = Declaration { columns: columns.leak(), ..*rr };
        let swap = |one: &'static Declaration| if one.name == rr.name { &changed } else { one };
        let document = crate::document_of(&DataType::declarations().into_iter().map(swap).collect::<Vec<_>>());
        assert_ne!(document, checked_in);
        for schema in ["RrIntervalRow", "RrIntervalSentRow"] {
            assert_eq!(document["components"]["schemas"][schema]["properties"]["rr"]["x-unit"], "s");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = crate::document();
        let text = document.to_string();
        for piece in text.split("\"#/components/schemas/").skip(1) {
            let name = piece.split('"').next().expect("a name");
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
