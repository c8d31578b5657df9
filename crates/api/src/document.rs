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
#[cfg(test)]
mod tests;
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
