//! The Arrow schema of each data type.
//!
//! Chosen so that DuckDB, polars, Spark and pyarrow read a file as it is:
//!
//! | registry | Arrow | Parquet |
//! |---|---|---|
//! | timestamp | Timestamp(µs, UTC) | `INT64`, `DELTA_BINARY_PACKED` |
//! | integer | Int32 | `INT32`, `DELTA_BINARY_PACKED` |
//! | number with decimals | Float64 | `DOUBLE`, dictionary, `PLAIN` where there are too many different values |
//! | hexadecimal code, kind of test | dictionary of Utf8 | `BYTE_ARRAY STRING`, dictionary |
//! | text | Utf8 | `BYTE_ARRAY STRING`, dictionary |
//! | zone | dictionary of Utf8 | `BYTE_ARRAY STRING`, dictionary |
//!
//! A number with decimals is the float nearest to it, whose shortest text is the decimal itself: a cell has ten digits at
//! most, and floats distinguish fifteen. Decimals would say the same, and pandas turns them into objects, which its
//! `describe()` leaves out without a word and its `mean()` takes 180 times as long for. Cells of one column repeat, so a
//! dictionary makes floats as small as scaled integers are (`docs/benchmarks.md`). Files of format 1 have
//! `Decimal128(9 or 18, scale)` and stay readable.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use vitals::registry::{Column, DataType, Kind};

/// The name of the column of sample times, the first of every schema.
pub const TIMESTAMP: &str = "timestamp";
/// The name of the column of IANA time zones, the last of every schema.
pub const ZONE: &str = "zone";

/// Key of a field's unit, such as `mV`; absent where the column has none.
const UNIT: &str = "unit";
/// Key of the number of digits after the point.
const SCALE: &str = "scale";
/// Key of what the column means.
const MEANING: &str = "meaning";
/// Key of the value, in the column's unit, that means "no value" as null does; absent where every value is one.
const NO_VALUE: &str = "no_value";
/// Key of the name of the column whose steps this one counts where files of whole periods leave it out.
const REPEATS: &str = "repeats";

/// Returns the schema of a data type: `timestamp`, the registry's columns in their order, `zone`.
pub fn arrow_schema(data_type: DataType) -> SchemaRef {
    // Built once: an answer of many batches would otherwise build one for each.
    static SCHEMAS: LazyLock<Vec<SchemaRef>> =
        LazyLock::new(|| DataType::ALL.into_iter().map(|data_type| Arc::new(build(data_type))).collect());
    SCHEMAS[data_type as usize].clone()
}

fn build(data_type: DataType) -> Schema {
    let timestamp = Field::new(TIMESTAMP, timestamp_type(), false);
    let mut fields = vec![with_metadata(timestamp, Known::unit("µs since 1970 UTC"), "time of the sample")];
    for column in data_type.columns() {
        let field = Field::new(column.name, arrow_type(column), column.nullable);
        let known = Known {
            unit: column.unit,
            decimals: column.decimals(),
            no_value: column.no_value,
            repeats: column.repeats,
        };
        fields.push(with_metadata(field, known, &column.description()));
    }
    fields.push(with_metadata(Field::new(ZONE, coded_text(), false), Known::unit(""), "IANA time zone of the sample"));
    Schema::new(fields)
}

/// Facts about a column for programs.
#[derive(Clone, Copy)]
struct Known<'column> {
    /// Empty where there is none.
    unit: &'column str,
    decimals: u8,
    /// The value that means none, in the unit.
    no_value: Option<i32>,
    /// The column that it may repeat.
    repeats: Option<&'column str>,
}

impl<'column> Known<'column> {
    /// Integers or texts of which every one is a value.
    const fn unit(unit: &'column str) -> Self {
        Known { unit, decimals: 0, no_value: None, repeats: None }
    }
}

#[expect(clippy::disallowed_types, reason = "Arrow's own type, which Arrow writes in the order of the keys")]
fn with_metadata(field: Field, known: Known<'_>, meaning: &str) -> Field {
    let Known { unit, decimals, no_value, repeats } = known;
    let mut metadata = std::collections::HashMap::from([(MEANING.to_owned(), meaning.to_owned())]);
    if !unit.is_empty() {
        metadata.insert(UNIT.to_owned(), unit.to_owned());
    }
    if decimals > 0 {
        metadata.insert(SCALE.to_owned(), decimals.to_string());
    }
    if let Some(none) = no_value {
        metadata.insert(NO_VALUE.to_owned(), none.to_string());
    }
    if let Some(repeated) = repeats {
        metadata.insert(REPEATS.to_owned(), repeated.to_owned());
    }
    field.with_metadata(metadata)
}

/// Returns the type of `timestamp`.
pub(super) fn timestamp_type() -> ArrowType {
    ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Returns the type of columns with few different texts.
pub(super) fn coded_text() -> ArrowType {
    ArrowType::Dictionary(Box::new(ArrowType::Int32), Box::new(ArrowType::Utf8))
}

fn arrow_type(column: &Column) -> ArrowType {
    match column.kind {
        Kind::Number { decimals: 0, .. } => ArrowType::Int32,
        Kind::Number { .. } => ArrowType::Float64,
        Kind::Hex | Kind::TestType => coded_text(),
        Kind::Text { .. } => ArrowType::Utf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_say_which_value_means_none_as_their_words_do() {
        for data_type in DataType::ALL {
            for column in data_type.columns() {
                let schema = arrow_schema(data_type);
                let field = schema.field_with_name(column.name).expect("a field");
                let expected = column.no_value.map(|none| none.to_string());
                assert_eq!(field.metadata().get(NO_VALUE), expected.as_ref(), "{}", column.name);
                assert_eq!(field.metadata()[MEANING].ends_with("means no value"), expected.is_some());
            }
        }
        let ecg = arrow_schema(DataType::Ecg);
        assert_eq!(ecg.field_with_name("value").expect("a field").metadata()[REPEATS], "ecg");
        let bpm = arrow_schema(DataType::Activity);
        assert_eq!(bpm.field_with_name("bpm").expect("a field").metadata()[NO_VALUE], "0");
    }
}
