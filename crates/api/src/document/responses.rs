//! Answers: what each status means, its headers, and errors, which are the same of most operations.

use serde_json::{Map, Value, json};

use super::reference::reference;
use super::shared::Shared;

/// What is sent in an answer's own kind of text and may be compressed on the way.
const COMPRESSED: [&str; 3] = ["application/json", "text/csv", "text/html"];

/// Whether a path only says how the service is, which is neither limited nor refused.
pub(super) fn is_probe(path: &str) -> bool {
    ["/livez", "/readyz"].contains(&path)
}

/// Completes the answers of an operation. An error that says nothing of its own becomes a reference to the shared one.
pub(super) fn complete(path: &str, responses: &mut Map<String, Value>, shared: &mut Shared<'_>) {
    for (status, response) in responses.iter_mut() {
        complete_response(path, status, response, shared);
        // Those of a probe have fewer headers.
        if is_error(status) && !is_probe(path) {
            let mut usual = json!({});
            complete_response(path, status, &mut usual, shared);
            if *response == usual {
                *response = shared.response(name(path, status), usual);
            }
        }
    }
}

/// The headers that answers refer to.
pub(super) fn headers() -> Value {
    let absent = "; absent when the operator has switched the limit off";
    json!({
        "X-Request-Id": header("names the request in the log of the service", Presence::Always, "text"),
        "X-RateLimit-Limit": header(&format!("requests a minute{absent}"), Presence::Sometimes, "number"),
        "X-RateLimit-Remaining":
            header(&format!("requests left in this minute{absent}"), Presence::Sometimes, "number"),
        "WWW-Authenticate": header("the scheme", Presence::Always, "text"),
        "Retry-After": header("seconds until it may be tried again", Presence::Always, "number"),
        "Vary": header("the headers of a request by which answers differ: `accept-encoding` where an answer is large \
            enough to be compressed, `accept` where it has several forms", Presence::Sometimes, "text"),
    })
}

fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

fn complete_response(path: &str, status: &str, response: &mut Value, shared: &mut Shared<'_>) {
    if response["description"].as_str().is_none_or(str::is_empty) {
        response["description"] = json!(meaning(status));
    }
    if is_error(status) {
        // Where an error is a page, what comes before the page is still an error like all others.
        let mut content = response["content"].as_object().cloned().unwrap_or_default();
        content.entry("application/json").or_insert_with(|| json!({"schema": reference("ApiError")}));
        response["content"] = Value::Object(content);
    }
    for (kind, media) in response.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        if is_error(status) && media["schema"] == reference("ApiError") && media["example"].is_null() {
            let (code, message) = error(path, status);
            media["example"] = json!({"message": message, "code": code});
            if status == "422" {
                media["example"]["errors"] = json!({"date": ["is required"]});
            }
        }
        shared.complete_media(kind, media);
    }
    let mut headers = Map::new();
    for name in header_names(path, status, response) {
        headers.insert(name.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    }
    headers.extend(response["headers"].as_object().cloned().unwrap_or_default());
    response["headers"] = Value::Object(headers);
}

fn header_names(path: &str, status: &str, response: &Value) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id"];
    if !is_probe(path) {
        names.extend(["X-RateLimit-Limit", "X-RateLimit-Remaining"]);
    }
    match status {
        "401" => names.push("WWW-Authenticate"),
        "429" | "503" => names.push("Retry-After"),
        _ => {}
    }
    // Errors are smaller than what is worth compressing, and a part of a file is sent as it is.
    let is_compressed = |kind: &String| COMPRESSED.contains(&kind.split(';').next().unwrap_or_default());
    let mut kinds = response["content"].as_object().into_iter().flat_map(Map::keys);
    if status == "200" && kinds.any(is_compressed) {
        names.push("Vary");
    }
    names
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

/// What a status means here when its route says nothing more particular.
fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "as asked for",
        "204" => "done, without content",
        "206" => "the part that was asked for",
        "302" | "303" => "go on there",
        "400" => "the syntax is wrong: of the body, of a parameter or of the path",
        "401" => "there is no credential, or it is not valid",
        "403" => "access denied: the credential is valid and has no right to this",
        "404" => "there is no such thing",
        "406" => "the answer cannot be given in a form that is accepted",
        "409" => "it does not fit what is there",
        "410" => "this endpoint has been removed",
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

/// Code and sentence of a usual error.
fn error(path: &str, status: &str) -> (&'static str, &'static str) {
    match status {
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
        "410" => ("gone", "this endpoint has been removed"),
        "413" => ("too_large", "the body is too large"),
        "415" => ("unsupported_media_type", "the Content-Type must be application/json"),
        "416" => ("range_not_satisfiable", "the file has no such bytes"),
        "422" => ("invalid", "the request is not valid"),
        "429" => ("too_many_requests", "too many requests"),
        "503" => ("unavailable", "the service is not available just now; nothing was lost"),
        _ => ("internal", "something went wrong on our side"),
    }
}

/// The name of a usual error: that of its code, such as `PatientNotFound`.
fn name(path: &str, status: &str) -> String {
    let mut name = String::new();
    for word in error(path, status).0.split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(path: &str, given: &Value) -> (Value, Value) {
        let schemas = json!({});
        let mut shared = Shared::new(&schemas);
        let mut responses = given.as_object().cloned().expect("answers");
        complete(path, &mut responses, &mut shared);
        let mut components = json!({});
        shared.add_to(&mut components);
        (Value::Object(responses), components)
    }

    #[test]
    fn an_error_that_says_nothing_of_its_own_is_the_shared_one() {
        let given = json!({"404": {}, "429": {"description": "one export in five minutes"}, "503": {}});
        let (responses, components) = completed("/patients/{uuid}", &given);
        assert_eq!(responses["404"], json!({"$ref": "#/components/responses/PatientNotFound"}));
        assert_eq!(responses["429"]["description"], "one export in five minutes");
        assert_eq!(responses["429"]["headers"]["Retry-After"]["$ref"], "#/components/headers/Retry-After");
        assert_eq!(components["responses"].as_object().map(Map::len), Some(2));
        let unavailable = &components["responses"]["Unavailable"];
        assert_eq!(unavailable["content"]["application/json"]["example"]["code"], "unavailable");
        for header in ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"] {
            assert!(unavailable["headers"][header].is_object() && headers()[header].is_object());
        }
    }

    #[test]
    fn an_error_of_a_probe_is_its_own() {
        let (responses, components) = completed("/readyz", &json!({"503": {}}));
        assert!(responses["503"]["headers"]["X-RateLimit-Limit"].is_null());
        assert_eq!(components["responses"], json!({}));
    }

    #[test]
    fn what_can_be_compressed_says_by_what_it_varies() {
        let given = json!({"200": {"content": {"text/csv": {}}}, "206": {"content": {"text/csv": {}}}, "404": {}});
        let (responses, components) = completed("/rows", &given);
        assert_eq!(responses["200"]["headers"]["Vary"]["$ref"], "#/components/headers/Vary");
        assert!(responses["206"]["headers"]["Vary"].is_null());
        assert!(components["responses"]["NotFound"]["headers"]["Vary"].is_null());
        let (archive, _) = completed("/file", &json!({"200": {"content": {"application/zip": {}}}}));
        assert!(archive["200"]["headers"]["Vary"].is_null());
    }

    #[test]
    fn every_refusal_has_a_code_of_its_own() {
        for status in ["400", "401", "403", "404", "406", "409", "410", "413", "415", "416", "422", "429"] {
            assert_ne!(error("/x", status).0, "internal", "{status}");
            assert_ne!(meaning(status), "see the description", "{status}");
        }
    }
}
