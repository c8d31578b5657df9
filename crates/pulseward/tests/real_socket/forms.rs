//! Answers of raw-metrics in each of their forms, read by libraries that know nothing of this service.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::recordings::Row;

/// A form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    Csv,
    Arrow,
    Parquet,
}

impl Form {
    /// What to ask for.
    pub fn accept(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Csv => "text/csv",
            Form::Arrow => "application/vnd.apache.arrow.stream",
            Form::Parquet => "application/vnd.apache.parquet",
        }
    }

    /// A time as this form shows it: only Arrow and Parquet show more than milliseconds.
    pub fn shown_us(self, time_us: i64) -> i64 {
        match self {
            Form::Json | Form::Csv => time_us.div_euclid(1000) * 1000,
            Form::Arrow | Form::Parquet => time_us,
        }
    }

    /// The rows of an answer, with the cells of these columns. All other columns must be empty.
    pub fn rows(self, answer: Bytes, columns: &[&str]) -> Vec<Row> {
        match self {
            Form::Json => json_rows(&answer, columns),
            Form::Csv => csv_rows(&answer, columns),
            Form::Arrow => {
                let batches = StreamReader::try_new(&answer[..], None).unwrap();
                batches.flat_map(|batch| batch_rows(&batch.unwrap(), columns)).collect()
            }
            Form::Parquet => {
                let batches = ParquetRecordBatchReaderBuilder::try_new(answer).unwrap().build().unwrap();
                batches.flat_map(|batch| batch_rows(&batch.unwrap(), columns)).collect()
            }
        }
    }
}

fn json_rows(answer: &[u8], columns: &[&str]) -> Vec<Row> {
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_slice(answer).unwrap();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: serde_json::Map<String, Value>| {
        let others = row.iter().filter(|(name, _)| !["timestamp", "date"].contains(&&name[..]));
        for (name, value) in others.filter(|(name, _)| !columns.contains(&&name[..])) {
            assert!(value.is_null(), "{name}: {value}");
        }
        Row {
            time_us: row["timestamp"].as_i64().unwrap() * 1000,
            cells: columns.iter().map(|column| text(&row[*column])).collect(),
        }
    };
    rows.into_iter().map(row).collect()
}

fn csv_rows(answer: &[u8], columns: &[&str]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(answer);
    let header = reader.headers().unwrap().clone();
    let at = |name: &str| header.iter().position(|found| found == name).unwrap();
    let (timestamp, date) = (at("timestamp"), at("date"));
    let wanted: Vec<usize> = columns.iter().map(|column| at(column)).collect();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.unwrap();
        for (position, cell) in record.iter().enumerate() {
            let is_known = position == timestamp || position == date || wanted.contains(&position);
            assert!(is_known || cell.is_empty(), "{}: {cell}", &header[position]);
        }
        Row {
            time_us: record[timestamp].parse::<i64>().unwrap() * 1000,
            cells: wanted.iter().map(|position| record[*position].to_owned()).collect(),
        }
    };
    reader.records().map(row).collect()
}

fn batch_rows(batch: &RecordBatch, columns: &[&str]) -> Vec<Row> {
    let times = batch.column_by_name("timestamp").unwrap().as_primitive::<TimestampMicrosecondType>();
    let schema = batch.schema();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let is_known = ["timestamp", "zone"].contains(&&field.name()[..]) || columns.contains(&&field.name()[..]);
        assert!(is_known || array.null_count() == batch.num_rows(), "{}", field.name());
    }
    let wanted: Vec<&dyn Array> = columns.iter().map(|name| &**batch.column_by_name(name).unwrap()).collect();
    let row =
        |row: usize| Row { time_us: times.value(row), cells: wanted.iter().map(|array| cell(*array, row)).collect() };
    (0..batch.num_rows()).map(row).collect()
}

fn cell(array: &dyn Array, row: usize) -> String {
    if let Some(numbers) = array.as_primitive_opt::<Int32Type>() {
        return numbers.value(row).to_string();
    }
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return floats.value(row).to_string();
    }
    let coded = array.as_dictionary::<Int32Type>();
    let key = coded.key(row).unwrap();
    coded.values().as_string::<i32>().value(key).to_owned()
}
