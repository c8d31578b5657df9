//! Headers of answers, which are described once and referred to.

use serde_json::{Map, Value, json};

use crate::outer::answers::PROBES;

/// Media types of answers that may be compressed.
const COMPRESSED: [&str; 3] = ["application/json", "text/csv", "text/html"];

const REQUEST_ID: &str = "X-Request-Id";
const NAMES_THE_REQUEST: &str = "names the request in the log of the service";
/// Header of answers to bodies whose unknown fields are ignored.
pub(super) const IGNORED: &str = "X-Ignored-Fields";
/// The component of the same header where not every answer of the status has it.
const REQUEST_ID_IF_ROUTED: &str = "X-Request-Id-If-Routed";

/// Returns the headers that answers refer to.
pub(super) fn components() -> Value {
    let absent = "; absent when the operator has switched the limit off";
    json!({
        REQUEST_ID: header(NAMES_THE_REQUEST, Presence::Always, "text"),
        REQUEST_ID_IF_ROUTED: header(
            &format!("{NAMES_THE_REQUEST}; absent where it is not clear which host the request is for"),
            Presence::Sometimes,
            "text",
        ),
        "X-RateLimit-Limit": header(&format!("requests a minute{absent}"), Presence::Sometimes, "number"),
        "X-RateLimit-Remaining":
            header(&format!("requests left in this minute{absent}"), Presence::Sometimes, "number"),
        IGNORED: header("names of the body's fields that there are not and that were ignored, with commas between", Presence::Sometimes, "text"),
        "WWW-Authenticate": header("the scheme", Presence::Always, "text"),
        "Retry-After": header("seconds until it may be tried again", Presence::Always, "number"),
        "Vary": header("the headers of a request by which answers differ: `accept-encoding` where an answer is large \
            enough to be compressed, `accept` where it has several forms", Presence::Sometimes, "text"),
    })
}

/// Returns the headers of an answer: their names, and the components that they refer to.
pub(super) fn of(path: &str, status: &str, response: &Value) -> Vec<(&'static str, &'static str)> {
    let mut names = match status {
        // Refused before the request has an id or is counted.
        "501" => return Vec::new(),
        // One of its causes is too.
        "400" => vec![(REQUEST_ID, REQUEST_ID_IF_ROUTED)],
        _ => vec![(REQUEST_ID, REQUEST_ID)],
    };
    let mut add = |name| names.push((name, name));
    if !PROBES.contains(&path) {
        add("X-RateLimit-Limit");
        add("X-RateLimit-Remaining");
    }
    match status {
        "401" => add("WWW-Authenticate"),
        "429" | "503" => add("Retry-After"),
        _ => {}
    }
    // Errors are smaller than what is worth compressing, and a part of a file is sent as it is.
    let is_compressed = |kind: &String| COMPRESSED.contains(&kind.split(';').next().unwrap_or_default());
    let mut kinds = response["content"].as_object().into_iter().flat_map(Map::keys);
    if status == "200" && kinds.any(is_compressed) {
        add("Vary");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(status: &str, kind: &str) -> Vec<&'static str> {
        of("/rows", status, &json!({"content": {kind: {}}})).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_can_be_compressed_says_by_what_it_varies() {
        assert!(names("200", "text/csv").contains(&"Vary"));
        assert!(!names("206", "text/csv").contains(&"Vary"));
        assert!(!names("404", "application/json").contains(&"Vary"));
        assert!(!names("200", "application/zip").contains(&"Vary"));
    }

    #[test]
    fn every_header_that_is_named_is_a_component() {
        let components = components();
        for status in ["200", "400", "401", "404", "429", "501", "503"] {
            for (name, component) in of("/rows", status, &json!({"content": {"text/csv": {}}})) {
                assert!(components[component].is_object(), "{status} {name}");
            }
        }
    }
}
