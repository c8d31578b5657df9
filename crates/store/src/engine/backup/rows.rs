//! Rows on their way out of PostgreSQL into a file.

use std::pin::pin;

use futures::TryStreamExt;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tokio_postgres::Client;
use tokio_postgres::binary_copy::{BinaryCopyOutRow, BinaryCopyOutStream};
use tokio_postgres::types::Type;

use super::layout::{self, Column, ColumnType, Table};
use super::progress::Backend;
use crate::engine::blocking::blocking;
use crate::error::Result;

/// Bytes of rows that are written in one go.
const BATCH_BYTES: usize = 4 << 20;
/// What a value takes in memory besides its own bytes.
const VALUE_BYTES: usize = size_of::<Value>();

/// Rows that wait to be written.
#[derive(Default)]
struct Batch {
    rows: Vec<Vec<Value>>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, row: Vec<Value>) {
        let of_value = |value: &Value| match value {
            Value::Text(text) => VALUE_BYTES + text.len(),
            Value::Blob(bytes) => VALUE_BYTES + bytes.len(),
            _ => VALUE_BYTES,
        };
        self.bytes += row.iter().map(of_value).sum::<usize>();
        self.rows.push(row);
    }
}

/// Copies all tables of a snapshot into a file that has been begun.
pub(super) async fn copy_out(client: &Client, backend: &Backend, mut file: Connection) -> Result<Connection> {
    for table in layout::tables(&file)? {
        file = copy_table(client, backend, file, &table).await?;
    }
    Ok(file)
}

async fn copy_table(client: &Client, backend: &Backend, mut file: Connection, table: &Table) -> Result<Connection> {
    let columns: Vec<(&Column, String)> = table.columns.iter().filter_map(|column| moved(table, column)).collect();
    let types: Vec<Type> = columns.iter().map(|(column, _)| column.column_type.of_postgres()).collect();
    let insert = insert_text(table, &columns);
    let copied = backend.wait_for(client.copy_out(&copy_text(table, &columns))).await?;
    let mut rows = pin!(BinaryCopyOutStream::new(copied, &types));
    let mut batch = Batch::default();
    while let Some(row) = backend.wait_for(rows.try_next()).await? {
        let values = columns.iter().enumerate().map(|(at, (column, _))| value_of(&row, at, column.column_type));
        batch.add(values.collect::<Result<_>>()?);
        if batch.bytes >= BATCH_BYTES {
            file = write(file, &insert, std::mem::take(&mut batch)).await?;
        }
    }
    write(file, &insert, batch).await
}

/// Returns what is read of PostgreSQL for a column of a file; `None` where the file gives the value itself.
fn moved<'table>(table: &Table, column: &'table Column) -> Option<(&'table Column, String)> {
    let text = match (table.name.as_str(), column.name.as_str()) {
        // Several events share a position on PostgreSQL and none on SQLite, which numbers them as they come.
        ("event", "position") => return None,
        // Both belong to the way in which PostgreSQL gives positions.
        ("patient", "event_position") | ("store_epoch", "position_offset") => "CAST(0 AS BIGINT)".to_owned(),
        ("store_epoch", "retained_from") => {
            "(SELECT COUNT(*) + 1 FROM event WHERE position < store_epoch.retained_from)".to_owned()
        }
        (_, name) => name.to_owned(),
    };
    Some((column, text))
}

fn copy_text(table: &Table, columns: &[(&Column, String)]) -> String {
    let texts: Vec<&str> = columns.iter().map(|(_, text)| text.as_str()).collect();
    // The order in which readers see them, and so the order in which the file numbers them.
    let order = if table.name == "event" { " ORDER BY position, patient, sequence" } else { "" };
    format!("COPY (SELECT {} FROM {}{order}) TO STDOUT (FORMAT binary)", texts.join(", "), table.name)
}

fn insert_text(table: &Table, columns: &[(&Column, String)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(column, _)| column.name.as_str()).collect();
    let places = vec!["?"; names.len()];
    format!("INSERT INTO {} ({}) VALUES ({})", table.name, names.join(", "), places.join(", "))
}

fn value_of(row: &BinaryCopyOutRow, at: usize, column_type: ColumnType) -> Result<Value> {
    Ok(match column_type {
        ColumnType::Integer => row.try_get::<Option<i64>>(at)?.into(),
        ColumnType::Real => row.try_get::<Option<f64>>(at)?.into(),
        ColumnType::Boolean => row.try_get::<Option<bool>>(at)?.into(),
        ColumnType::Text => row.try_get::<Option<String>>(at)?.into(),
        ColumnType::Bytes => row.try_get::<Option<Vec<u8>>>(at)?.into(),
    })
}

async fn write(file: Connection, insert: &str, batch: Batch) -> Result<Connection> {
    let insert = insert.to_owned();
    blocking(move || {
        let mut statement = file.prepare_cached(&insert)?;
        for row in batch.rows {
            statement.execute(params_from_iter(row))?;
        }
        drop(statement);
        Ok(file)
    })
    .await
}
