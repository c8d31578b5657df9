//! What the document does not say, counted. Each limit is what there is: it falls when a gap is closed, and never rises.

use serde_json::Value;

use super::{examples, rows, summaries, units};
use vitals::registry::DataType;

/// Schemas that say nothing, of bodies and of answers that are no errors.
const EMPTY_SCHEMAS: usize = 0;
/// Operations without summary, description, tag or id.
const UNDESCRIBED_OPERATIONS: usize = 0;
/// Characters of a summary.
const LONGEST_SUMMARY: usize = 120;
/// Schemas that have the name of a type of ours, which says nothing to others.
const INNER_NAMES: usize = 0;
/// Values of a schema whose example follows from nothing.
const VALUES_WITHOUT_EXAMPLE: usize = 0;
/// Answers other than errors, redirections and 204 whose content is not described. One has none: a token that is given back
/// (RFC 7009, 2.2).
const UNDESCRIBED_ANSWERS: usize = 1;
/// Properties without a description.
const UNDESCRIBED_PROPERTIES: usize = 0;
/// Numbers of parameters without bounds, and why.
const UNBOUNDED_PARAMETERS: [(&str, &str); 10] = [
    ("get /health/user-summaries page", "less means 1, and a page behind the last is empty"),
    ("get /health/user-summaries per_page", "what is beyond the bounds is brought to them"),
    ("get /integration/v1/groups/{group_code}/lake per_page", "what is beyond the bounds is brought to them"),
    ("get /integration/downloads/{name} expires", "a part of the signed link, which the service wrote"),
    ("get /integration/v1/patients/audit/logs from", "every time is one, also before and after all entries"),
    ("get /integration/v1/patients/audit/logs to", "every time is one, also before and after all entries"),
    ("get /integration/v1/security/events from", "every time is one, also before and after all events"),
    ("get /integration/v1/security/events to", "every time is one, also before and after all events"),
    ("get /portal/api/patients/{uuid}/news to", "an end behind all samples means that there is none"),
    ("get /portal/api/patients/{uuid}/series to", "an end behind all samples means that there is none"),
];
/// Links; this one only rises.
const LINKS: usize = 29;

/// Returns every operation with its path and method.
fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

/// Returns what an operation takes, and what it answers when nothing is wrong.
fn contents(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    operations(document).flat_map(|(name, operation)| {
        let answers = operation["responses"].as_object().into_iter().flatten();
        let answers = answers.filter(|(status, _)| status.starts_with('2')).map(|(_, response)| response);
        let all: Vec<&Value> = answers.chain([&operation["requestBody"]]).collect();
        all.into_iter().flat_map(move |one| {
            let name = name.clone();
            one["content"].as_object().into_iter().flatten().map(move |(kind, media)| (format!("{name} {kind}"), media))
        })
    })
}

fn is_empty(schema: &Value) -> bool {
    schema.as_object().is_none_or(serde_json::Map::is_empty)
}

fn schemas(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document["components"]["schemas"].as_object().into_iter().flatten()
}

/// Properties with their place, also those of objects within.
fn properties<'document>(place: &str, schema: &'document Value, found: &mut Vec<(String, &'document Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        properties(&place, property, found);
        found.push((place, property));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        properties(place, part, found);
    }
}

fn all_properties(document: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    schemas(document).for_each(|(name, schema)| properties(name, schema, &mut found));
    found
}

/// Returns whether an example of a schema follows from what it and its parts state.
fn has_example(schema: &Value) -> bool {
    if examples::stated(schema).is_some() || schema["$ref"].is_string() {
        return true;
    }
    let choices = ["oneOf", "anyOf", "allOf"].map(|name| schema[name].as_array());
    if let Some(choices) = choices.into_iter().flatten().next() {
        return choices.iter().any(|choice| choice["type"] != "null" && has_example(choice));
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => has_example(&schema["items"]),
        Value::String(kind) if kind == "boolean" => true,
        _ => schema["properties"].is_object() || schema["propertyNames"].is_object(),
    }
}

/// Returns whether a property says what it is, itself or by the schema that it refers to.
fn is_described(property: &Value) -> bool {
    let choices = property["oneOf"].as_array().into_iter().flatten();
    property["description"].is_string() || choices.chain([property]).any(|choice| choice["$ref"].is_string())
}

#[track_caller]
fn assert_falls(gaps: &[String], limit: usize) {
    assert!(gaps.len() <= limit, "{} instead of {limit}: {gaps:#?}", gaps.len());
    assert_eq!(gaps.len(), limit, "the limit can be lowered");
}

/// Adds the numbers of a schema and of its parts, with their places.
fn numbers<'document>(place: &str, schema: &'document Value, found: &mut Vec<(String, &'document Value)>) {
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    if kinds.iter().any(|kind| kind == "number" || kind == "integer") {
        found.push((place.to_owned(), schema));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        numbers(&format!("{place}.{name}"), property, found);
    }
    for inner in ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name)) {
        numbers(&format!("{place}[]"), inner, found);
    }
    for name in ["oneOf", "anyOf", "allOf"] {
        schema[name].as_array().into_iter().flatten().for_each(|choice| numbers(place, choice, found));
    }
}

/// Returns whether a number has a lowest and a highest value.
fn is_bounded(number: &Value) -> bool {
    let has = |names: [&str; 2]| names.iter().any(|name| number[*name].is_number());
    has(["minimum", "exclusiveMinimum"]) && has(["maximum", "exclusiveMaximum"])
}

/// Returns the numbers of days and of samples, sent and answered.
fn figures(document: &Value) -> Vec<(String, &Value)> {
    let mut named = rows::schemas(&DataType::declarations());
    named.extend(summaries::schemas());
    let mut found = Vec::new();
    named.keys().for_each(|name| numbers(name, &document["components"]["schemas"][name], &mut found));
    assert!(found.len() > 300, "{}", found.len());
    found
}

#[test]
fn every_figure_of_a_day_and_of_a_sample_has_a_unit() {
    let document = crate::document();
    let is_stated = |figure: &Value| {
        let description = figure["description"].as_str().unwrap_or_default();
        let unit = figure["x-unit"].as_str().unwrap_or_default();
        unit == units::NONE || !unit.is_empty() && units::is_said(description, unit)
    };
    let without = figures(&document).into_iter().filter(|(_, figure)| !is_stated(figure)).map(|(place, _)| place);
    assert_eq!(without.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_figure_of_a_day_and_of_a_sample_has_bounds() {
    let document = crate::document();
    let without = figures(&document).into_iter().filter(|(_, figure)| !is_bounded(figure)).map(|(place, _)| place);
    assert_eq!(without.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_number_of_a_parameter_has_bounds_or_a_reason_for_none() {
    let document = crate::document();
    let mut unbounded = Vec::new();
    for (operation, described) in operations(&document) {
        for parameter in described["parameters"].as_array().into_iter().flatten() {
            let place = format!("{operation} {}", parameter["name"].as_str().unwrap_or_default());
            let mut found = Vec::new();
            numbers(&place, &parameter["schema"], &mut found);
            unbounded.extend(found.into_iter().filter(|(_, number)| !is_bounded(number)).map(|(place, _)| place));
        }
    }
    let mut expected: Vec<&str> = UNBOUNDED_PARAMETERS.iter().map(|(place, _)| *place).collect();
    unbounded.sort_unstable();
    expected.sort_unstable();
    assert_eq!(unbounded, expected);
}

/// Texts of documentation comments are public here, where nothing resolves the links of rustdoc.
#[test]
fn no_text_links_to_what_only_the_code_has() {
    let text = crate::document_text();
    for inner in ["](crate::", "[`", "crate::", "super::"] {
        let at = text.find(inner);
        assert_eq!(at.map(|at| &text[text.floor_char_boundary(at.saturating_sub(80))..at]), None, "{inner}");
    }
}

#[test]
fn every_content_has_a_schema() {
    let document = crate::document();
    let empty = contents(&document).filter(|(_, media)| is_empty(&media["schema"])).map(|(name, _)| name);
    assert_falls(&empty.collect::<Vec<_>>(), EMPTY_SCHEMAS);
}

#[test]
fn every_operation_is_named_and_described() {
    let document = crate::document();
    let is_whole = |operation: &Value| {
        let text = |name: &str| operation[name].as_str().is_some_and(|text| !text.is_empty());
        let tags: Vec<&str> =
            document["tags"].as_array().into_iter().flatten().filter_map(|tag| tag["name"].as_str()).collect();
        let is_tagged = operation["tags"][0].as_str().is_some_and(|tag| tags.contains(&tag));
        // A description that repeats the summary says nothing.
        let is_described = text("description") && operation["description"] != operation["summary"];
        text("summary") && is_described && text("operationId") && is_tagged
    };
    let undescribed = operations(&document).filter(|(_, operation)| !is_whole(operation)).map(|(name, _)| name);
    assert_falls(&undescribed.collect::<Vec<_>>(), UNDESCRIBED_OPERATIONS);
}

/// Pages list operations by their summaries, a line each.
#[test]
fn summary_is_a_short_line() {
    let document = crate::document();
    let long = operations(&document).filter(|(_, operation)| {
        let summary = operation["summary"].as_str().unwrap_or_default();
        summary.contains('\n') || summary.chars().count() > LONGEST_SUMMARY
    });
    assert_eq!(long.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn schemas_have_names_of_what_they_are() {
    let document = crate::document();
    let is_inner = |name: &str| {
        name.contains("BTreeMap") || name.contains("Envelope") || name.ends_with("Body") || name.contains('_')
    };
    let inner: Vec<String> = schemas(&document).map(|(name, _)| name.clone()).filter(|name| is_inner(name)).collect();
    assert_falls(&inner, INNER_NAMES);
}

/// Clients in Go make a `Study` by a function `NewStudy`.
#[test]
fn no_schema_has_the_name_of_what_makes_another() {
    let document = crate::document();
    let is_maker =
        |name: &str| name.strip_prefix("New").is_some_and(|made| schemas(&document).any(|(one, _)| one == made));
    let makers: Vec<&String> = schemas(&document).map(|(name, _)| name).filter(|name| is_maker(name)).collect();
    assert!(makers.is_empty(), "{makers:?}");
}

#[test]
fn every_value_has_an_example() {
    let document = crate::document();
    let states_whole = |place: &str| {
        let schema = place.split('.').next().unwrap_or_default();
        examples::stated(&document["components"]["schemas"][schema]).is_some()
    };
    let without = all_properties(&document).into_iter();
    let without = without.filter(|(place, property)| !has_example(property) && !states_whole(place));
    assert_falls(&without.map(|(place, _)| place).collect::<Vec<_>>(), VALUES_WITHOUT_EXAMPLE);
}

#[test]
fn every_property_is_described() {
    let document = crate::document();
    let without = all_properties(&document).into_iter().filter(|(_, property)| !is_described(property));
    assert_falls(&without.map(|(place, _)| place).collect::<Vec<_>>(), UNDESCRIBED_PROPERTIES);
}

#[test]
fn every_answer_says_what_is_in_it() {
    let document = crate::document();
    let mut undescribed = Vec::new();
    for (name, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            if status.starts_with('2') && status != "204" && is_empty(&response["content"]) {
                undescribed.push(format!("{name} {status}"));
            }
        }
    }
    assert_falls(&undescribed, UNDESCRIBED_ANSWERS);
}

#[test]
fn oauth_is_a_scheme_and_answers_lead_on() {
    let document = crate::document();
    let flow = &document["components"]["securitySchemes"]["oauth2"]["flows"]["authorizationCode"];
    assert!(flow["scopes"].as_object().is_some_and(|scopes| scopes.len() == 2));
    let scopes =
        operations(&document).flat_map(|(_, operation)| operation["security"].as_array().into_iter().flatten());
    for scope in scopes.filter_map(|one| one["oauth2"].as_array()).flatten() {
        assert!(flow["scopes"][scope.as_str().unwrap_or_default()].is_string(), "{scope}");
    }
    let answers =
        operations(&document).flat_map(|(_, operation)| operation["responses"].as_object().into_iter().flatten());
    let links: usize =
        answers.filter_map(|(_, response)| response["links"].as_object()).map(serde_json::Map::len).sum();
    assert!(links >= LINKS, "{links}");
    assert_eq!(links, LINKS, "the limit can be raised");
}

#[test]
fn an_example_of_an_object_has_every_property_that_is_required() {
    let document = crate::document();
    let all = &document["components"]["schemas"];
    for (name, schema) in schemas(&document) {
        let example = examples::of(schema, all);
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(example.get(required).is_some(), "{name}.{required}");
        }
    }
}
