//! Parameters that many routes share: what they mean and which values they take.

use platform::Action;
use platform::oauth::SCOPES;
use platform::portal::{MOST_POINTS, MOST_SERIES};
use serde_json::{Map, Value, json};
use store::{EventType, SecurityEventType};
use vitals::registry::DataType;
use vitals::summary::Section;

use super::series;
use crate::body::WITHOUT_NUL;
use crate::days::EXTRA;
use crate::integration::FIELD_NAMES;

/// Completes the parameters of an operation where its route says less. Answers whether any is in the query.
pub(super) fn complete(operation: &mut Map<String, Value>) -> bool {
    let mut has_query = false;
    let tag = operation.get("tags").and_then(|tags| tags[0].as_str()).unwrap_or_default().to_owned();
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        has_query |= parameter["in"] == "query";
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        let (meaning, mut schema) = match (tag.as_str(), name.as_str()) {
            ("events", "types[]") => types_of_events(),
            ("oauth", "state") => ("comes back with the redirect", text(WITHOUT_NUL)),
            _ => known(&name),
        };
        if parameter["description"].as_str().is_none_or(str::is_empty) && !meaning.is_empty() {
            parameter["description"] = json!(meaning);
        }
        // A begin and an end can also be days: then the route itself says that they are text.
        let is_day = ["from", "to"].contains(&name.as_str()) && parameter["schema"]["type"] == "string";
        if is_day {
            parameter["schema"] = json!({"type": "string", "format": "date", "example": "2025-11-20"});
        } else if !schema.is_null() {
            // The form is the same everywhere; bounds can be those of the route.
            for bound in ["minimum", "maximum"] {
                if !parameter["schema"][bound].is_null() {
                    schema[bound] = parameter["schema"][bound].clone();
                }
            }
            parameter["schema"] = schema;
        }
    }
    has_query
}

/// A uuid with its hyphens, in small letters or capitals.
const UUID: &str = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$";

fn text(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

/// Returns the schema of times that are in UTC and no finer than milliseconds.
fn in_utc(mut time: Value) -> Value {
    time["pattern"] = json!(r"^[^.]*(\.[0-9]{1,3}0*)?Z$");
    time
}

/// Returns the pattern of scopes with blanks between.
fn scopes() -> String {
    let scope = format!("({})", SCOPES.map(|scope| scope.replace('.', r"\.")).join("|"));
    format!("^{scope}( {scope})*$")
}

/// Types of events are what the log names, and no sections of a day.
fn types_of_events() -> (&'static str, Value) {
    let names: Vec<&str> = EventType::SHOWN.iter().map(|event_type| event_type.name()).collect();
    ("types to show; all without it", list(&names))
}

fn list(names: &[&str]) -> Value {
    json!({"type": "array", "items": {"type": "string", "enum": names}})
}

fn sections_and_extra() -> Vec<&'static str> {
    Section::ALL.iter().map(|section| section.name()).chain([EXTRA]).collect()
}

/// Meaning and schema of a parameter, where they are the same everywhere.
fn known(name: &str) -> (&'static str, Value) {
    let date = || json!({"type": "string", "format": "date", "example": "2025-11-20"});
    let instant =
        |time: &str| json!({"type": "string", "format": "date-time", "example": format!("2025-11-20T{time}Z")});
    // Without an example: next to one of `from_date`, which pages for trying out send along, it would be half a range.
    let local = || json!({"type": "string", "format": "date-time-local"});
    let time_ms = || json!({"type": "number", "format": "double", "example": 1_763_600_000_000_i64});
    // As text, as it is in an address: mixed types are what many generators cannot read.
    let flag = || json!({"type": "string", "enum": ["0", "1", "true", "false"]});
    match name {
        "uuid" => ("the patient", Value::Null),
        "group_code" | "code" => ("code of the study", Value::Null),
        "voucher_code" => ("the voucher; small letters and blanks around it are forgiven", Value::Null),
        "serial" => ("serial number of the bracelet", Value::Null),
        "serial_number" => {
            ("serial number of the bracelet", json!({"type": "string", "maxLength": 100, "pattern": WITHOUT_NUL}))
        }
        "sync_id" => ("the sync's own id, a uuid", text(UUID)),
        "date" => ("YYYY-MM-DD, a local day of the samples", date()),
        "date_from" | "date_to" => ("YYYY-MM-DD, included", date()),
        "from" => ("begin, Unix epoch ms, included", time_ms()),
        "to" => ("end, Unix epoch ms, included", time_ms()),
        "from_date" => ("ISO 8601 with zone, included", instant("00:30:00.000")),
        "to_date" => ("ISO 8601 with zone, included", instant("01:00:00.000")),
        "from_client_date" | "to_client_date" => {
            ("ISO 8601 without zone, local time of the samples, included", local())
        }
        "utc_date_from" => ("begin, ISO 8601 in UTC, included", in_utc(instant("00:00:00.000"))),
        "utc_date_to" => {
            ("end, ISO 8601 in UTC, included; at most 48 hours after the begin", in_utc(instant("23:59:59.999")))
        }
        "action_type" => {
            let codes: Vec<&str> = Action::ALL.iter().map(|action| action.code()).collect();
            ("only entries with this action code", json!({"type": "string", "enum": codes}))
        }
        "event_type" => {
            let types: Vec<&str> = SecurityEventType::ALL.iter().map(|kind| kind.name()).collect();
            ("only events of this type", json!({"type": "string", "enum": types}))
        }
        "fields[]" => (
            "attributes to show, besides `uuid`; without it all and the device, except for the times of vouchers",
            list(&FIELD_NAMES),
        ),
        "types[]" => ("sections to show; all without it", list(&sections_and_extra())),
        "limit" => (
            "elements of a page, 1 to 1000",
            json!({"type": "integer", "format": "int64", "minimum": 1, "maximum": 1000}),
        ),
        "wait" => (
            "seconds to wait for an event, 0 to 30; 0 without it",
            json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": 30}),
        ),
        "full" => ("1 to include values", flag()),
        "with_latest_values" => ("1 to include `latest_values`", flag()),
        "validate" => ("1 to be answered the receipt that the sync would get now, and to store nothing", flag()),
        "include_slots" => ("1 to include slots", flag()),
        "include_extra" => ("1 to include `extra`, the figures of a day beyond the specification", flag()),
        "peek" => ("1 to ask without keeping the session from being locked", flag()),
        "optional" => ("1 to be answered 204 and not 401 where there is no session", flag()),
        "points" => (
            "points of each series at most, 2 to 10000; 1200 without it",
            json!({"type": "integer", "format": "int64", "minimum": 2, "maximum": MOST_POINTS}),
        ),
        "series[]" => (
            "what to show, up to 16 of `TYPE.COLUMN` or `TYPE.COLUMN.CHANNEL`; channels of ppg2 are a colour and a \
             position such as `green.0`, those of tests the kind of test",
            json!({"type": "array", "minItems": 1, "maxItems": MOST_SERIES, "items": {"type": "string", "pattern": series::name_pattern(), "example": "activity.bpm"}}),
        ),
        "export_id" => ("the export", Value::Null),
        "object" | "signature" => ("part of the signed link", Value::Null),
        "id" => ("identity of the record", Value::Null),
        "client_id" => ("identity of the OAuth client", Value::Null),
        "response_type" => ("`code`", json!({"type": "string", "enum": ["code"]})),
        "scope" => ("`patient.read` (default), `patient.sync`", text(&scopes())),
        "state" => ("state of the patient", json!({"type": "string", "enum": ["pre_created"]})),
        "code_challenge" => ("PKCE: SHA-256 of the verifier, base64url", text("^[A-Za-z0-9_-]{43}$")),
        "code_challenge_method" => ("`S256`", json!({"type": "string", "enum": ["S256"]})),
        "utc" => {
            ("`yes` counts by UTC; by default the local day counts", json!({"type": "string", "enum": ["yes", "no"]}))
        }
        // Without bounds, which clients would take for those of what is accepted.
        "page" => (
            "number of the page, from 1; less means 1, and a page behind the last is empty; 1 without it",
            json!({"type": "integer", "format": "int64"}),
        ),
        "per_page" => (
            "elements of a page, 1 to 100; less means 1, and more means 100; 10 without it",
            json!({"type": "integer", "format": "int64"}),
        ),
        "raw_metric_type" | "data_type" | "type" => {
            let names: Vec<&str> = DataType::names().collect();
            ("data type", json!({"type": "string", "enum": names}))
        }
        _ => ("", Value::Null),
    }
}
