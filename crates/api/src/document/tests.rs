//! Tests of `document.rs`.

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
