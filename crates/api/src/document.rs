//! The OpenAPI document: what the routes say of themselves, completed with what holds for all of them.
//!
//! Each route names its parameters, its answer and the errors that are its own. What the surroundings of every route
//! can answer, how callers prove who they are, headers, and examples are added here, so that no route can forget them.

mod bodies;
mod examples;
mod forms;
#[cfg(test)]
mod gaps;
mod headers;
mod links;
mod numbers;
mod parameters;
mod reference;
mod responses;
mod rows;
mod security;
mod series;
mod shared;
mod summaries;
mod tags;
mod units;

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use vitals::registry::Declaration;

use self::responses::Surroundings;
use self::shared::Shared;
use crate::outer::answers::{PROBES, Reach};

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
    let paths = document["paths"].take();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(rows::schemas(types));
        schemas.extend(summaries::schemas());
        bodies::complete(&paths, schemas);
        schemas.values_mut().for_each(numbers::complete);
    }
    document["paths"] = paths;
    let schemas = document["components"]["schemas"].clone();
    let mut shared = Shared::new(&schemas);
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, item) in paths {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                if let Some(operation) = operation.as_object_mut() {
                    complete_operation(path, method, operation, &mut shared);
                }
            }
        }
    }
    shared.add_to(&mut document["components"]);
    document["components"]["headers"] = headers::components();
    links::add(&mut document);
    document
}

fn complete_operation(path: &str, method: &str, operation: &mut Map<String, Value>, shared: &mut Shared<'_>) {
    operation.insert("operationId".to_owned(), json!(operation_id(path, method)));
    let mut reached = vec![Reach::Every];
    let mut reach = |reach, is_reached| reached.extend(Some(reach).filter(|_| is_reached));
    reach(Reach::AllButProbes, !PROBES.contains(&path));
    reach(Reach::Credentials, security::complete(operation));
    reach(Reach::Pages, security::is_for_pages(operation));
    reach(Reach::PathParameters, path.contains('{'));
    reach(Reach::QueryParameters, parameters::complete(operation));
    let body = complete_request_body(operation, shared);
    let ignores_fields = operation.get("requestBody").is_some_and(bodies::is_open);
    reach(Reach::Bodies, body.is_some());
    reach(Reach::TypedBodies, body == Some(BodyKind::Typed));
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let mut around = Surroundings::of(path, &reached);
    around.ignores_fields = ignores_fields;
    responses::complete(&around, responses, shared);
}

/// `GET /integration/v1/groups/{group_code}/patients` is `integration_get_groups_group_code_patients`.
fn operation_id(path: &str, method: &str) -> String {
    let is_word = |part: &&str| !part.is_empty() && !["v1", "v2", ".well-known"].contains(part);
    let mut words = path.split('/').filter(is_word).map(|part| part.trim_matches(['{', '}']).replace(['-', '.'], "_"));
    let first = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    [&[first, method.to_owned()], &rest[..]].concat().join("_")
}

/// Writer of a body, by which it is refused in other ways.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    /// A program, of a media type that it names.
    Typed,
    /// A form, as browsers and OAuth clients send it.
    Form,
}

/// Completes the body of an operation; `None` where it has none.
fn complete_request_body(operation: &mut Map<String, Value>, shared: &mut Shared<'_>) -> Option<BodyKind> {
    let body = operation.get_mut("requestBody")?;
    // No route has a body that may be left out.
    body["required"] = json!(true);
    let content = body.get_mut("content").and_then(Value::as_object_mut)?;
    for (kind, media) in content.iter_mut() {
        shared.complete_media(kind, media);
    }
    let is_form = content.contains_key("application/x-www-form-urlencoded");
    Some(if is_form { BodyKind::Form } else { BodyKind::Typed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::HashSet;
    use vitals::registry::DataType;

    /// Bytes of the document as it is served, with room for a twentieth more. One that states all of each operation has
    /// twice as many. It grew by events, whose fields each have a meaning and an example.
    const LARGEST_BYTES: usize = 950_000;

    /// Returns every operation with its path and method.
    fn operations(document: &Value) -> Vec<(String, Value)> {
        let paths = document["paths"].as_object().expect("paths");
        let each = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods");
            methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
        });
        each.collect()
    }

    /// Returns what a value is or refers to.
    fn referred<'document>(document: &'document Value, value: &'document Value) -> &'document Value {
        let Some(pointer) = value["$ref"].as_str().and_then(|path| path.strip_prefix('#')) else { return value };
        document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} leads nowhere"))
    }

    fn has_example(document: &Value, media: &Value) -> bool {
        let mut examples = media["examples"].as_object().into_iter().flat_map(Map::values).peekable();
        let is_stated = !media["example"].is_null() || examples.peek().is_some();
        is_stated && examples.all(|example| !referred(document, example)["value"].is_null())
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
        assert!(checked_in == text, "docs/openapi.json is not what the code says; UPDATE_OPENAPI=1 writes it again");
    }

    #[test]
    fn every_operation_is_described_in_full() {
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
                assert!(!kind.ends_with("json") || has_example(&document, media), "{name}: no example of the body");
            }
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.keys().any(|status| !status.starts_with(['4', '5'])), "{name}");
            for (status, response) in responses {
                let response = referred(&document, response);
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{name} {status}");
                for (kind, media) in response["content"].as_object().into_iter().flatten() {
                    assert!(!kind.ends_with("json") || has_example(&document, media), "{name} {status}: no example");
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
    fn every_reference_leads_somewhere_and_every_component_is_referred_to() {
        let document = crate::document();
        let text = document.to_string();
        let mut used = HashSet::default();
        for piece in text.split("\"#/components/").skip(1) {
            let place = piece.split('"').next().expect("a place");
            assert!(document.pointer(&format!("/components/{place}")).is_some(), "{place}");
            used.insert(place.to_owned());
        }
        for kind in ["responses", "headers", "examples"] {
            for name in document["components"][kind].as_object().expect("components").keys() {
                assert!(used.contains(&format!("{kind}/{name}")), "{kind} {name}");
            }
        }
    }

    #[test]
    fn what_operations_share_is_stated_once() {
        let text = crate::document_text();
        assert!(text.len() < LARGEST_BYTES, "{}", text.len());
        let document = crate::document();
        let references = operations(&document).into_iter().flat_map(|(_, operation)| {
            let responses = operation["responses"].as_object().cloned().expect("responses");
            responses.into_iter().filter(|(status, _)| ["408", "500", "501", "503"].contains(&status.as_str()))
        });
        let stated: Vec<_> = references.filter(|(_, response)| response["$ref"].is_null()).collect();
        // Those of the two probes, which are not limited.
        assert_eq!(stated.len(), 3, "{stated:#?}");
    }

    #[test]
    fn answers_name_every_form_that_they_have() {
        let document = crate::document();
        let of = |path: &str| {
            let content = &document["paths"][path]["get"]["responses"]["200"]["content"];
            content.as_object().expect("forms").keys().cloned().collect::<Vec<_>>()
        };
        let forms =
            ["application/json", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet", "text/csv"];
        assert_eq!(of("/health/v2/raw-metrics/{raw_metric_type}"), forms);
        let files = ["application/octet-stream", "application/vnd.apache.parquet", "application/zip"];
        assert_eq!(of("/integration/downloads/{name}"), files);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["AfRecord"]["properties"]["image_url"]["format"], "uri-reference");
        assert_eq!(schemas["ApiKey"]["properties"]["is_scoped"]["type"], "boolean");
        let limit = &document["paths"]["/integration/v1/create-export/{uuid}"]["post"]["responses"]["429"];
        assert!(limit["description"].as_str().is_some_and(|text| text.contains("five minutes")), "{limit}");
        assert!(
            limit["content"]["application/json"]["example"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("300 seconds"))
        );
    }
}
