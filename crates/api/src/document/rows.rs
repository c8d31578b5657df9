//! Schemas of samples, made of the declarations of the data types: rows as they are answered, and the body of a sync.

use serde_json::{Map, Value, json};
use vitals::intake::EARLIEST_US;
use vitals::registry::{Column, Declaration, Kind, Sampling};
use vitals::sample_time::HIGHEST_HZ;

use super::forms;
use super::reference::reference;
use super::units;
use crate::body::WITHOUT_NUL;

/// The time that examples begin at, Unix epoch ms.
const EXAMPLE_MS: i64 = 1_763_600_000_000;
/// Description of times that are sent.
const TIME: &str = "Unix epoch ms; also taken as a text, ISO 8601 with an offset";
/// The latest time that is sent, Unix epoch ms: the end of the year 9999.
const LATEST_MS: i64 = 253_402_300_799_999;
/// The earliest time of a row, Unix epoch ms.
const EARLIEST_MS: i64 = EARLIEST_US / 1000;
/// Description of dates that are sent.
const DATE: &str = "follows from the time and is passed over";
/// The same on a local clock.
const EXAMPLE_DATE: &str = "2025-11-20T01:53:20.000+01:00";

/// Writer of the values: the service always writes them in one way, and takes them in some more.
#[derive(Clone, Copy, PartialEq)]
enum Writer {
    Service,
    Bracelet,
}

/// Returns the schemas by name: of each type the row that is answered, the row, the columns and the block of columns
/// that are sent; `RawRows` and `Sync`.
pub(super) fn schemas(types: &[&Declaration]) -> Map<String, Value> {
    let mut schemas = Map::new();
    for declaration in types {
        schemas.insert(name(declaration, "Row"), answered_row(declaration));
        schemas.insert(name(declaration, "SentRow"), sent_row(declaration));
        schemas.insert(name(declaration, "Columns"), sent_columns(declaration));
        // A name of its own: generators import a type twice that occurs alone and in an array of one choice.
        let description = format!("{}: a block of columns among others.", declaration.meaning);
        let block = json!({"allOf": [reference(&name(declaration, "Columns"))], "description": description});
        schemas.insert(name(declaration, "Block"), block);
    }
    let rows: Vec<Value> = types.iter().map(|declaration| reference(&name(declaration, "Row"))).collect();
    let example = types.first().map(|declaration| example_row(declaration));
    let raw_rows = json!({"type": "array", "description": "Rows of the type that was asked for, in the order of time.",
        "items": {"oneOf": rows}, "examples": [[example]]});
    schemas.insert("RawRows".to_owned(), raw_rows);
    schemas.insert("Sync".to_owned(), sync(types));
    schemas
}

/// Returns the name of a type's schema, such as `RrIntervalRow`.
fn name(declaration: &Declaration, ending: &str) -> String {
    let mut name = String::new();
    for word in declaration.name.split('-') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name + ending
}

fn answered_row(declaration: &Declaration) -> Value {
    let mut properties = Map::from_iter([
        (
            "timestamp".to_owned(),
            json!({"type": "integer", "format": "int64", "minimum": EARLIEST_MS, "maximum": LATEST_MS, "x-unit": "ms",
                "description": "Unix epoch ms, rounded down", "examples": [EXAMPLE_MS]}),
        ),
        (
            "date".to_owned(),
            json!({"type": "string", "description": "local date and time with the offset from UTC", "examples": [EXAMPLE_DATE]}),
        ),
    ]);
    let mut required = vec!["timestamp", "date"];
    for column in declaration.columns {
        properties.insert(column.name.to_owned(), value(column, Writer::Service));
        // A deprecated column is only in rows that have it.
        if !column.deprecated {
            required.push(column.name);
        }
    }
    json!({"type": "object", "description": format!("{}: a row.", declaration.meaning), "properties": properties,
        "required": required, "additionalProperties": false, "examples": [example_row(declaration)]})
}

fn sent_row(declaration: &Declaration) -> Value {
    let mut properties = Map::from_iter([("timestamp".to_owned(), time()), ("date".to_owned(), date())]);
    let mut required = vec!["timestamp"];
    for column in declaration.columns {
        properties.insert(column.name.to_owned(), value(column, Writer::Bracelet));
        if !column.nullable {
            required.push(column.name);
        }
    }
    json!({"type": "object", "description": format!("{}: a row, with its own time.", declaration.meaning),
        "properties": properties, "required": required, "additionalProperties": false})
}

fn sent_columns(declaration: &Declaration) -> Value {
    let mut properties = Map::from_iter([
        ("timestamp".to_owned(), json!({"type": "array", "items": time(), "description": "time of each row"})),
        (
            "start".to_owned(),
            json!({"type": "number", "minimum": -LATEST_MS, "maximum": LATEST_MS, "x-unit": "ms",
                "description": format!("time of the first sample: {TIME}"), "examples": [EXAMPLE_MS]}),
        ),
        ("rate_hz".to_owned(), rate(declaration)),
        ("date".to_owned(), json!({"oneOf": [date(), {"type": "array", "items": date()}], "description": DATE})),
    ]);
    for column in declaration.columns {
        properties.insert(column.name.to_owned(), forms::of(&value(column, Writer::Bracelet)));
    }
    let description = format!(
        "{}: columns of equal length, or a value that holds for all rows. Either each row has its `timestamp`, or the \
         samples follow one another from `start` at `rate_hz`.",
        declaration.meaning
    );
    let with_times: Vec<&String> =
        properties.keys().filter(|name| !["start", "rate_hz"].contains(&name.as_str())).collect();
    // Not `oneOf`, of which generators make two types that have no columns; nor `then`, for which they leave blocks of them
    // without a type.
    json!({"type": "object", "description": description, "if": {"required": ["timestamp"]},
        "else": {"required": ["start", "rate_hz"]},
        "dependentSchemas": {"timestamp": {"propertyNames": {"enum": with_times}}},
        "properties": properties, "additionalProperties": false})
}

fn time() -> Value {
    // Numbers alone, although texts are taken: of a choice of two, generators make a type that nobody wants to build.
    json!({"type": "number", "minimum": EARLIEST_MS, "maximum": LATEST_MS, "x-unit": "ms", "description": TIME,
        "examples": [EXAMPLE_MS]})
}

fn date() -> Value {
    json!({"type": ["string", "null"], "description": DATE, "examples": [EXAMPLE_DATE]})
}

fn rate(declaration: &Declaration) -> Value {
    let mut schema = json!({"type": "number", "exclusiveMinimum": 0, "maximum": HIGHEST_HZ, "description": "samples per second", "examples": [1]});
    if let Some(rates) = declaration.accepted_hz() {
        schema = json!({"type": "number", "minimum": rates.lowest_hz, "maximum": rates.highest_hz,
            "description": "samples per second", "examples": [rates.lowest_hz]});
    }
    units::state(&mut schema, "Hz");
    schema
}

/// Returns whether any value of a schema is a number.
fn is_number(schema: &Value) -> bool {
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    kinds.iter().any(|kind| kind == "number" || kind == "integer")
}

/// Returns the schema of one value of a column.
fn value(column: &Column, writer: Writer) -> Value {
    let mut schema = match column.kind {
        Kind::Number { decimals, min, max } => {
            let is_flag = (decimals, min, max) == (0, 0, 1);
            let kinds = match writer {
                Writer::Service if decimals == 0 => vec!["integer"],
                // What is sent is rounded to the column's decimals.
                Writer::Bracelet if is_flag => vec!["number", "boolean"],
                _ => vec!["number"],
            };
            json!({"type": kinds, "minimum": min, "maximum": max})
        }
        Kind::Hex if writer == Writer::Service => json!({"type": ["string"], "pattern": "^0x[0-9a-f]{2}$"}),
        Kind::Hex => {
            json!({"type": ["string", "integer"], "pattern": "^0[xX][0-9a-fA-F]{1,2}$", "minimum": 0, "maximum": 255})
        }
        Kind::TestType => {
            let names: Vec<&str> = vitals::registry::TestKind::ALL.iter().map(|kind| kind.name).collect();
            json!({"type": ["string"], "enum": names})
        }
        Kind::Text { max_chars } => json!({"type": ["string"], "maxLength": max_chars}),
    };
    if !column.gaps.is_empty() {
        schema["not"] = json!({"enum": column.gaps});
    }
    if let Some(kinds) = schema["type"].as_array_mut() {
        match (column.nullable, kinds.as_slice()) {
            (true, _) => kinds.push(json!("null")),
            (false, [only]) => schema["type"] = only.clone(),
            (false, _) => {}
        }
    }
    schema["description"] = json!(column.description());
    if is_number(&schema) {
        units::state(&mut schema, column.unit);
    }
    if let Some(none) = column.no_value {
        schema["x-no-value"] = json!(none);
    }
    if column.deprecated {
        schema["deprecated"] = json!(true);
    }
    schema["examples"] = json!([example(column)]);
    schema
}

/// Returns a usual value of a column; null where none is declared and none is needed.
fn example(column: &Column) -> Value {
    match (column.kind, column.example) {
        (Kind::Number { .. }, Some(text)) => serde_json::from_str(text).unwrap_or_default(),
        (_, Some(text)) => json!(text),
        (_, None) => Value::Null,
    }
}

fn example_row(declaration: &Declaration) -> Value {
    let mut row =
        Map::from_iter([("timestamp".to_owned(), json!(EXAMPLE_MS)), ("date".to_owned(), json!(EXAMPLE_DATE))]);
    for column in declaration.columns.iter().filter(|column| !column.deprecated) {
        row.insert(column.name.to_owned(), example(column));
    }
    Value::Object(row)
}

/// Returns the body of a sync.
fn sync(types: &[&Declaration]) -> Value {
    let mut data = Map::new();
    for declaration in types {
        let refer = |ending: &str| reference(&name(declaration, ending));
        // An array without anything is one of blocks.
        let forms = json!([refer("Columns"), {"type": "array", "items": refer("Block")},
            {"type": "array", "items": refer("SentRow"), "minItems": 1}]);
        data.insert(declaration.name.to_owned(), json!({"oneOf": forms, "description": declaration.meaning}));
    }
    let text = |description: &str, example: &str| {
        json!({"type": ["string", "null"], "maxLength": 100, "pattern": WITHOUT_NUL,
        "description": description, "examples": [example]})
    };
    let device = json!({"type": ["object", "null"], "required": ["serial_number"], "additionalProperties": false,
        "description": "The bracelet that measured.",
        "properties": {"serial_number": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": WITHOUT_NUL,
                "description": "Serial number.", "examples": ["PW-000123"]},
            "device_type": text("model", "bracelet"), "firmware_version": text("version", "1.4.2"),
            "battery_level": {"type": ["integer", "null"], "format": "int64", "minimum": 0, "maximum": 100,
                "x-unit": "%", "description": "charge of the battery; unit: %", "examples": [83]}}});
    json!({"type": "object", "required": ["data"], "additionalProperties": false,
        "description": "An upload. A row with a value out of range is named in the answer and left out; the others are stored.",
        "properties": {
            "sync_id": {"type": ["string", "null"], "format": "uuid", "examples": ["80876de9-4e89-449a-9a8f-c1e11f720437"],
                "description": "An upload that is repeated under its id is answered as before."},
            "time_zone": {"type": ["string", "null"], "examples": ["Europe/Zurich"],
                "description": "IANA zone of the samples; without it that of the patient"},
            "device": device,
            "data": {"type": "object", "additionalProperties": false, "properties": data,
                "description": "By data type: columns, an array of blocks of columns, or an array of rows."},
        },
        "examples": [{"sync_id": "80876de9-4e89-449a-9a8f-c1e11f720437", "time_zone": "Europe/Zurich",
            "device": {"serial_number": "PW-000123", "device_type": "bracelet", "firmware_version": "1.4.2", "battery_level": 83},
            "data": example_data(types)}]})
}

/// One type of each form: columns with times, blocks of samples, rows.
fn example_data(types: &[&Declaration]) -> Value {
    let mut data = Map::new();
    let by_row = |declaration: &&&Declaration| matches!(declaration.sampling, Sampling::ByRow(_));
    if let Some(declaration) = types.iter().find(by_row) {
        let columns = exemplified(declaration, |value| json!([value, value]));
        let columns = with(columns, "timestamp", json!([EXAMPLE_MS, EXAMPLE_MS + 60_000]));
        data.insert(declaration.name.to_owned(), Value::Object(columns));
    }
    for declaration in types.iter().filter(|declaration| declaration.is_waveform()).take(1) {
        let Sampling::Even { usual_hz, .. } = declaration.sampling else { continue };
        let block = with(exemplified(declaration, |value| json!([value, value])), "start", json!(EXAMPLE_MS));
        data.insert(declaration.name.to_owned(), json!([with(block, "rate_hz", json!(usual_hz.lowest_hz))]));
    }
    if let Some(declaration) = types.iter().rfind(by_row) {
        let row = with(exemplified(declaration, |value| value), "timestamp", json!(EXAMPLE_MS));
        data.insert(declaration.name.to_owned(), json!([row]));
    }
    Value::Object(data)
}

/// Returns the columns that have an example, each in a form.
fn exemplified(declaration: &Declaration, form: impl Fn(Value) -> Value) -> Map<String, Value> {
    let columns = declaration.columns.iter().filter(|column| column.example.is_some());
    columns.map(|column| (column.name.to_owned(), form(example(column)))).collect()
}

fn with(mut object: Map<String, Value>, name: &str, value: Value) -> Map<String, Value> {
    object.insert(name.to_owned(), value);
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use vitals::registry::DataType;

    #[test]
    fn a_row_says_range_unit_and_whether_it_may_be_null() {
        let schemas = schemas(&DataType::declarations());
        let bpm = &schemas["ActivityRow"]["properties"]["bpm"];
        assert_eq!(bpm["type"], json!(["integer", "null"]));
        assert_eq!((&bpm["minimum"], &bpm["maximum"], &bpm["x-unit"]), (&json!(0), &json!(255), &json!("/min")));
        assert_eq!(
            (&bpm["description"], &bpm["x-no-value"]),
            (&json!("heart rate; 0 means no value; unit: /min"), &json!(0))
        );
        assert_eq!(schemas["ActivityRow"]["properties"]["activity_type"]["not"], json!({"enum": [3, 5]}));
        assert_eq!(schemas["TestsRow"]["properties"]["value"]["type"], "number");
        assert_eq!(schemas["Ppg2Row"]["properties"]["metric_id"]["pattern"], "^0x[0-9a-f]{2}$");
        assert_eq!(schemas["ActivitySentRow"]["properties"]["charging"]["type"], json!(["number", "boolean", "null"]));
        assert_eq!(schemas["EdaColumns"]["else"]["required"], json!(["start", "rate_hz"]));
        let with_times = &schemas["EdaColumns"]["dependentSchemas"]["timestamp"]["propertyNames"]["enum"];
        assert_eq!(with_times, &json!(["date", "eda", "quality", "timestamp"]));
        assert_eq!(schemas["EdaColumns"]["properties"]["rate_hz"]["minimum"], 4);
        assert_eq!(schemas["EcgColumns"]["properties"]["rate_hz"]["exclusiveMinimum"], 0);
        assert_eq!(schemas["EcgColumns"]["properties"]["rate_hz"]["maximum"], HIGHEST_HZ);
    }

    #[test]
    fn the_example_of_a_sync_is_read_as_one() {
        let example = schemas(&DataType::declarations())["Sync"]["examples"][0].clone();
        let read = crate::health_cloud::sync::readers::read_json(example.to_string().as_bytes()).expect("a sync");
        let named: Vec<&str> = read.data.iter().map(|one| one.data_type.name()).collect();
        assert_eq!(named, ["activity", "ppg1", "tests"]);
        for types in read.data {
            assert!(types.batches.iter().all(|batch| !batch.times_us.is_empty() && batch.faults.is_empty()));
        }
    }
}
