//! Collects rows as columns, as JSON text, until there are enough for a sync.
//!
//! Numbers keep the digits that the file has: a timestamp with microseconds would not survive a binary float.

use csv::StringRecord;
use serde_json::{Value, json};
use vitals::intake::FORMS_OF_A_TIME;
use vitals::registry::{DataType, Kind};
use vitals::sample_time::Decimal;

/// Bytes of JSON after which a batch is sent: far below what a service takes.
const FULL_BYTES: usize = 4 << 20;
/// Rows after which a batch is sent, so that one answer does not take long.
const FULL_ROWS: u64 = 100_000;

/// The column of times.
const TIME: &str = "timestamp";

/// Rows of one type on their way.
pub struct Batch {
    head: String,
    columns: Vec<Option<Column>>,
    /// The line of each row.
    lines: Vec<u64>,
    bytes: usize,
}

struct Column {
    name: String,
    is_number: bool,
    is_text: bool,
    cells: String,
}

impl Batch {
    /// Makes an empty batch whose rows have these columns; none for one that is not sent.
    pub fn new(data_type: DataType, columns: &[Option<String>], time_zone: Option<&str>) -> Self {
        let zone = time_zone.map_or_else(String::new, |zone| format!("\"time_zone\":{},", json!(zone)));
        let columns = columns.iter().map(|name| {
            let name = name.clone()?;
            let kind = data_type.column(&name).map(|column| column.kind);
            let is_number = kind.is_none_or(|kind| matches!(kind, Kind::Number { .. })); // none has the timestamp
            let is_text = kind.is_some_and(|kind| matches!(kind, Kind::Text { .. }));
            Some(Column { name, is_number, is_text, cells: String::new() })
        });
        let head = format!("{{{zone}\"data\":{{\"{}\":{{", data_type.name());
        Batch { head, columns: columns.collect(), lines: Vec::new(), bytes: 0 }
    }

    /// Adds the row of a line. An error says which cell cannot be sent; the service judges whether a value fits its column.
    pub fn push(&mut self, record: &StringRecord, line: u64) -> Result<(), String> {
        for (column, cell) in self.columns.iter_mut().zip(record) {
            let Some(column) = column else { continue };
            let before = column.cells.len();
            if !column.cells.is_empty() {
                column.cells.push(',');
            }
            // A text is sent as it is; about numbers and codes, blanks say nothing.
            push_cell(column, if column.is_text { cell } else { cell.trim() })?;
            self.bytes += column.cells.len() - before;
        }
        self.lines.push(line);
        Ok(())
    }

    /// Rows in it.
    pub fn rows(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Returns whether it is time to send it.
    pub fn is_full(&self) -> bool {
        self.bytes >= FULL_BYTES || self.rows() >= FULL_ROWS
    }

    /// Returns the body of a sync with all rows, and the line of each; the batch is empty afterwards.
    pub fn take(&mut self) -> (Vec<u8>, Vec<u64>) {
        let mut body = self.head.clone();
        for (position, column) in self.columns.iter_mut().flatten().enumerate() {
            if position > 0 {
                body.push(',');
            }
            for part in ["\"", &column.name, "\":[", &column.cells, "]"] {
                body.push_str(part);
            }
            column.cells.clear();
        }
        body.push_str("}}}");
        self.bytes = 0;
        (body.into_bytes(), std::mem::take(&mut self.lines))
    }
}

fn push_cell(column: &mut Column, cell: &str) -> Result<(), String> {
    if cell.is_empty() {
        column.cells.push_str("null");
        return Ok(());
    }
    if !column.is_number {
        column.cells.push_str(&Value::from(cell).to_string());
        return Ok(());
    }
    let is_number = cell.parse::<serde_json::Number>().is_ok();
    if !is_number && column.name == TIME {
        // The service reads it to the microsecond, as this does, so that the cell goes on as it is.
        if Decimal::parse_time(cell).is_none() {
            return Err(format!("`{cell}` in column `{TIME}` {FORMS_OF_A_TIME}"));
        }
        column.cells.push_str(&Value::from(cell).to_string());
        return Ok(());
    }
    if !is_number {
        return Err(format!("`{cell}` in column `{}` is not a number", column.name));
    }
    column.cells.push_str(cell);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(data_type: DataType, columns: &[&str]) -> Batch {
        let columns: Vec<Option<String>> =
            columns.iter().map(|name| (*name != "date").then(|| (*name).to_owned())).collect();
        Batch::new(data_type, &columns, Some("Europe/Zurich"))
    }

    fn push(batch: &mut Batch, cells: &[&str]) -> Result<(), String> {
        batch.push(&StringRecord::from(cells), 7)
    }

    #[test]
    fn rows_become_columns_and_digits_stay() {
        let mut batch = batch(DataType::Temperature, &["timestamp", "date", "temp_sk1"]);
        push(&mut batch, &["1763600000000.123", "x", "33.50"]).unwrap();
        push(&mut batch, &["1763600060000", "y", ""]).unwrap();
        assert_eq!(batch.rows(), 2);
        assert_eq!(
            String::from_utf8(batch.take().0).unwrap(),
            r#"{"time_zone":"Europe/Zurich","data":{"temperature":{"timestamp":[1763600000000.123,1763600060000],"temp_sk1":[33.50,null]}}}"#
        );
        assert_eq!(batch.rows(), 0);
        push(&mut batch, &["1", "", "2"]).unwrap();
        assert!(String::from_utf8(batch.take().0).unwrap().contains(r#""timestamp":[1],"temp_sk1":[2]"#));
    }

    #[test]
    fn codes_and_notes_are_texts() {
        let mut batch = batch(DataType::Tests, &["timestamp", "test_type", "value", "note"]);
        push(&mut batch, &["1", "heart_rate", "61", "he said \"fine\""]).unwrap();
        let body: Value = serde_json::from_slice(&batch.take().0).unwrap();
        assert_eq!(body["data"]["tests"]["test_type"], json!(["heart_rate"]));
        assert_eq!(body["data"]["tests"]["note"], json!(["he said \"fine\""]));
    }

    #[test]
    fn texts_keep_their_blanks() {
        let texts = ["  sp ", "\t", "\r", "\n", "\u{2028}x", " ", "\u{feff}y"];
        let mut batch = batch(DataType::Tests, &["timestamp", "test_type", "value", "note"]);
        for text in texts {
            push(&mut batch, &[" 1 ", " heart_rate", "61 ", text]).unwrap();
        }
        let body: Value = serde_json::from_slice(&batch.take().0).unwrap();
        assert_eq!(body["data"]["tests"]["note"], json!(texts));
        assert_eq!(body["data"]["tests"]["test_type"][6], json!("heart_rate"));
        assert_eq!(body["data"]["tests"]["value"][6], json!(61));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let mut batch = batch(DataType::Activity, &["timestamp", "bpm"]);
        for wrong in ["abc", "NaN", "1,2", "0x7e", "1]", "--1"] {
            assert!(push(&mut batch, &["1", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_numbers_or_iso_8601() {
        let mut batch = batch(DataType::Activity, &["timestamp", "bpm"]);
        for good in ["2025-11-20T00:53:20Z", "2025-11-20T01:53:20.123456+01:00", "1763600000000"] {
            push(&mut batch, &[good, "61"]).expect(good);
        }
        let body: Value = serde_json::from_slice(&batch.take().0).unwrap();
        let times = json!(["2025-11-20T00:53:20Z", "2025-11-20T01:53:20.123456+01:00", 1_763_600_000_000_i64]);
        assert_eq!(body["data"]["activity"]["timestamp"], times);
        for wrong in ["2025-11-20T00:53:20", "2025-11-20", "20.11.2025 00:53", "noon"] {
            let reason = push(&mut batch, &[wrong, "61"]).unwrap_err();
            assert!(reason.contains("milliseconds since 1970 or ISO 8601"), "{reason}");
        }
    }

    #[test]
    fn many_rows_are_enough() {
        let mut batch = batch(DataType::Activity, &["timestamp", "bpm"]);
        let row = StringRecord::from(vec!["1763600000000", "61"]);
        while !batch.is_full() {
            batch.push(&row, 2).unwrap();
        }
        assert_eq!(batch.rows(), FULL_ROWS);
    }
}
