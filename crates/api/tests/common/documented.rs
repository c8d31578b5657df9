//! Holds every answer of a story against the OpenAPI document: status, headers that are always there, and media type.
//!
//! Whatever a story is about, it fails where the service answers something that clients cannot have expected.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use serde_json::Value;

/// The document as it is served; another test holds it to the code.
static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../docs/openapi.json")).expect("JSON"));

/// Returns a router whose answers are checked.
pub fn checked(router: Router) -> Router {
    router.layer(from_fn(check))
}

async fn check(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    if let Some(operation) = operation(&method, &path) {
        assert_named(&format!("{method} {path}"), &operation["responses"], &response);
    }
    response
}

/// Returns the operation that a request is for, if the document has it. What it has not is refused in general (404,
/// 405).
fn operation(method: &Method, path: &str) -> Option<&'static Value> {
    let templates = DOCUMENT["paths"].as_object()?.iter().filter(|(template, _)| is_of(template, path));
    // `/lake/files` is also of the form `/lake/{name}`.
    let (_, item) = templates.min_by_key(|(template, _)| template.matches('{').count())?;
    let method = if *method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
    item.get(method)
}

fn is_of(template: &str, path: &str) -> bool {
    let mut pairs = template.split('/').zip(path.split('/'));
    template.matches('/').count() == path.matches('/').count()
        && pairs.all(|(part, given)| part.starts_with('{') || part == given)
}

fn assert_named(name: &str, responses: &'static Value, response: &Response) {
    let status = response.status().as_u16();
    let named = referred(&responses[status.to_string()]);
    assert!(named.is_object(), "{name} answered {status}, which the OpenAPI document does not name");
    for (header, described) in named["headers"].as_object().into_iter().flatten() {
        let is_there = response.headers().contains_key(header);
        assert!(is_there || referred(described)["required"] != true, "{name} answered {status} without {header}");
    }
    if let Some(kind) = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()) {
        let bare = |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_owned();
        let mut kinds = named["content"].as_object().into_iter().flat_map(serde_json::Map::keys);
        assert!(kinds.any(|one| bare(one) == bare(kind)), "{name} answered {status} in {kind}");
    }
}

/// Returns what a value is or refers to.
fn referred(value: &'static Value) -> &'static Value {
    let pointer = value["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    pointer.and_then(|pointer| DOCUMENT.pointer(pointer)).unwrap_or(value)
}
