//! Schemas of daily summaries, made of the descriptions of their sections and of the figures beyond the specification.

use serde_json::{Map, Value, json};
use vitals::derivation::figures;
use vitals::summary::Section;
use vitals::summary::described::{Description, FieldDescription, Shape, TextForm};

use super::reference::reference;
use super::units;
use crate::days::EXTRA;

/// The schemas by name: of each section, its slots and its parts, `DailySummary` and `StudySummaries`.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    for section in Section::ALL {
        add(section.description(), Occurrence::MayBeEmpty, &mut schemas);
    }
    schemas.insert("ExtraFigures".to_owned(), extra());
    schemas.insert("DailySummary".to_owned(), day());
    let by_patient = json!({"type": "object", "description": "Daily summaries by uuid of the patient.",
        "propertyNames": {"format": "uuid", "example": "80876de9-4e89-449a-9a8f-c1e11f720437"},
        "additionalProperties": reference("DailySummary")});
    schemas.insert("StudySummaries".to_owned(), by_patient);
    schemas
}

/// How an object occurs.
#[derive(Clone, Copy, PartialEq)]
enum Occurrence {
    /// With all its fields, or as `{}` where a day has no such data.
    MayBeEmpty,
    /// With all its fields.
    Whole,
}

fn add(description: &Description, occurrence: Occurrence, schemas: &mut Map<String, Value>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in description.fields {
        if let Shape::Object(inner) | Shape::List(inner) = field.shape {
            add(inner, Occurrence::Whole, schemas);
        }
        if !field.is_optional && occurrence == Occurrence::Whole {
            required.push(field.name);
        }
        properties.insert(field.name.to_owned(), property(field));
    }
    let mut meaning = sentence(description.meaning);
    if occurrence == Occurrence::MayBeEmpty {
        meaning.push_str(" An empty object where the day has no such data.");
    }
    let mut schema = json!({"type": "object", "description": meaning, "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schemas.insert(description.name.to_owned(), schema);
}

/// The text of a documentation comment as the document has it.
fn sentence(comment: &str) -> String {
    comment.trim().replace("**ours**", "a definition of our own")
}

fn property(field: &FieldDescription) -> Value {
    let mut schema = match field.shape {
        Shape::Number { is_whole: true, .. } => json!({"type": "integer", "format": "int64"}),
        Shape::Number { .. } => json!({"type": "number"}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Text(form) => text(form),
        Shape::Object(inner) => reference(inner.name),
        Shape::List(inner) => json!({"type": "array", "items": reference(inner.name)}),
    };
    schema["description"] = json!(sentence(field.meaning));
    if let Shape::Number { unit, .. } = field.shape {
        units::state(&mut schema, unit);
    }
    if let Some((lowest, highest)) = field.range {
        schema["minimum"] = plain(lowest);
        schema["maximum"] = plain(highest);
    }
    if field.is_nullable {
        schema["type"] = json!([schema["type"], "null"]);
    }
    if let Some(example) = field.example.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        schema["examples"] = json!([example]);
    }
    schema
}

/// A bound without a fraction that it has not.
fn plain(number: f64) -> Value {
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

fn text(form: TextForm) -> Value {
    match form {
        TextForm::Date => json!({"type": "string", "format": "date"}),
        TextForm::OffsetTime => json!({"type": "string", "format": "date-time"}),
        TextForm::TimeOfDay => json!({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}),
        TextForm::OneOf(names) => json!({"type": "string", "enum": names}),
    }
}

fn extra() -> Value {
    let mut topics = Map::new();
    for figure in figures() {
        let (lowest, highest) = figure.range;
        let topic = topics.entry(figure.topic).or_insert_with(|| {
            json!({"type": "object", "properties": {}, "required": [], "description": format!("Figures of the {}.", figure.topic)})
        });
        let mut schema = json!({"type": ["number", "null"], "minimum": plain(lowest), "maximum": plain(highest),
            "description": figure.meaning, "examples": [51.5]});
        units::state(&mut schema, figure.unit);
        topic["properties"][figure.name] = schema;
        if let Some(required) = topic["required"].as_array_mut() {
            required.push(json!(figure.name));
        }
    }
    let names: Vec<&String> = topics.keys().collect();
    json!({"type": "object", "description": "Figures beyond the specification, by topic; null where nothing is known.",
        "required": names, "properties": topics})
}

fn day() -> Value {
    let mut properties = Map::from_iter([(
        "date".to_owned(),
        json!({"type": "string", "format": "date", "description": "Local day.", "examples": ["2025-11-20"]}),
    )]);
    for section in Section::ALL {
        properties.insert(section.name().to_owned(), reference(section.description().name));
    }
    properties.insert(EXTRA.to_owned(), reference("ExtraFigures"));
    let meaning = "True in an answer about many patients where what is stored of this day is damaged: it then looks as if it \
        had no data. Left out otherwise.";
    let unreadable = json!({"type": ["boolean", "null"], "description": meaning, "examples": [null]});
    properties.insert("unreadable".to_owned(), unreadable);
    json!({"type": "object", "required": ["date"], "properties": properties,
        "description": "A patient's day: the sections that were asked for, with slots and `extra` where they were."})
}

#[cfg(test)]
mod tests {
    use super::super::examples;
    use super::*;

    #[test]
    fn the_example_of_a_section_is_read_as_one() {
        let schemas = Value::Object(schemas());
        let day = examples::of(&reference("DailySummary"), &schemas);
        for section in Section::ALL {
            let example = &day[section.name()];
            let read = section.read(&example.to_string());
            assert!(read.is_ok(), "{}: {example}: {read:?}", section.name());
            assert_eq!(example.as_object().map(Map::len), Some(section.description().fields.len()));
        }
        assert!(serde_json::from_value::<vitals::derivation::Extra>(day[EXTRA].clone()).is_ok());
    }

    #[test]
    fn a_field_says_unit_range_and_whether_it_may_be_null() {
        let schemas = schemas();
        let field = |schema: &str, name: &str| schemas[schema]["properties"][name].clone();
        let percent = field("ActivitySection", "daily_percent");
        assert_eq!(percent["type"], json!(["number", "null"]));
        assert_eq!(
            (&percent["minimum"], &percent["maximum"], &percent["x-unit"]),
            (&json!(0), &json!(100), &json!("%"))
        );
        assert_eq!(field("SleepSection", "sleep_duration")["type"], "integer");
        assert_eq!(field("ActivitySection", "steps_source")["enum"], json!(["acceleration"]));
        assert_eq!(field("HeartRateSection", "slots")["items"], reference("HeartRateSlot"));
        let changed = field("RecoverySection", "resting_bpm_delta");
        assert_eq!((&changed["minimum"], &changed["maximum"]), (&json!(-100), &json!(2_550_000)));
        assert_eq!(changed["description"], "Today's resting rate against the 60 days. Unit: %.");
        let stress = field("StressSection", "avg_si");
        assert_eq!((&stress["x-unit"], &field("RecoverySection", "value")["x-unit"]), (&json!("%/s²"), &json!("1")));
        let temperature = field("TemperatureSlot", "temp_sk1");
        assert_eq!((&temperature["minimum"], &temperature["maximum"]), (&json!(-40), &json!(100)));
        assert_eq!(schemas["HeartRateSlot"]["required"].as_array().map(Vec::len), Some(7));
        assert!(schemas["HeartRateSection"]["required"].is_null());
    }
}
