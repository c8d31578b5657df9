//! Rows on their way out of a file into an empty PostgreSQL database.
//!
//! One transaction fills the database: cut off, it leaves nothing. It also makes a table that says that the restore has not
//! come to its end, which is more than filling; who finds the table does not read the database.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures::SinkExt;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::file::Copied;
use super::layout::{self, Column, ColumnType, Table};
use super::progress::{Backend, answered};
use crate::engine::blocking::blocking;
use crate::engine::migrate::{MIGRATION_LOCK, Migrations};
use crate::engine::postgres::connect_directly;
use crate::error::{Result, StoreError};

/// Bytes of rows that are read and sent in one go.
const PAGE_BYTES: usize = 4 << 20;
/// Bytes whose way to the server counts as one step, also over a slow link.
const STEP_BYTES: usize = 128 << 10;
/// Start of what COPY takes: signature, flags, length of an extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of it.
const TRAILER: &[u8] = &[0xff, 0xff];

/// Filling takes as long as it takes.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0";
const HAS_VERSION: &str = "SELECT to_regclass('schema_version') IS NOT NULL";
const HAS_MARK: &str = "SELECT to_regclass('restore_unfinished') IS NOT NULL";
const MAKE_MARK: &str = "CREATE TABLE restore_unfinished (begun TIMESTAMPTZ NOT NULL DEFAULT now())";
const REMOVE_MARK: &str = "DROP TABLE IF EXISTS restore_unfinished";

/// What a restore finds at a database address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillTarget {
    /// Nothing of ours.
    Empty,
    /// What a restore has left that did not come to its end.
    Unfinished,
    /// A database that is in use, or was.
    InUse,
}

/// Looks what is in a database.
pub(crate) async fn look_at(url: &str) -> Result<FillTarget> {
    answered(look(&connect(url).await?)).await
}

/// Whether a restore into a database did not come to its end.
pub(crate) async fn has_mark(url: &str) -> Result<bool> {
    answered(asked(&connect(url).await?, HAS_MARK)).await
}

/// Notes that a restore into a database has come to its end.
pub(crate) async fn remove_mark(url: &str) -> Result<()> {
    answered(connect(url).await?.batch_execute(REMOVE_MARK)).await
}

/// Fills a database with the rows of a file, and marks it as not finished. What an earlier restore has left goes first.
///
/// # Errors
/// [`StoreError::Conflict`] when the database is in use. Then, and after every other error, it is as it was before.
pub(crate) async fn fill(url: &str, migrations: Migrations, mut file: Copied) -> Result<()> {
    let client = connect(url).await?;
    answered(client.batch_execute(BEGIN)).await?;
    let backend = Backend::of(&client, url).await?;
    // Against a node that starts just now and finds an empty database to make a store in.
    backend.wait_for(client.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])).await?;
    let tables = layout::tables(file.connection())?;
    match answered(look(&client)).await? {
        FillTarget::Empty => {}
        FillTarget::Unfinished => backend.wait_for(clear(&client, &file, &tables)).await?,
        FillTarget::InUse => return Err(StoreError::Conflict("the database is not empty".to_owned())),
    }
    let mut target: &Client = &client;
    backend.wait_for(migrations.apply(&mut target)).await?;
    answered(client.batch_execute(MAKE_MARK)).await?;
    for table in &tables {
        file = fill_table(&client, &backend, file, table).await?;
    }
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    // Otherwise the server would plan its first statements as if the tables were empty.
    backend.wait_for(client.batch_execute(&format!("ANALYZE {}; COMMIT", names.join(", ")))).await
}

async fn connect(url: &str) -> Result<Client> {
    connect_directly(url, "pulseward-restore").await
}

async fn asked(client: &Client, text: &str) -> Result<bool> {
    // Not prepared: behind a pooler the statement would be looked for on another connection.
    let messages = client.simple_query(text).await?;
    let is_true =
        |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"));
    Ok(messages.iter().any(is_true))
}

async fn look(client: &Client) -> Result<FillTarget> {
    if asked(client, HAS_MARK).await? {
        return Ok(FillTarget::Unfinished);
    }
    Ok(if asked(client, HAS_VERSION).await? { FillTarget::InUse } else { FillTarget::Empty })
}

async fn clear(client: &Client, file: &Copied, tables: &[Table]) -> Result<()> {
    let views = layout::views(file.connection())?.join(", ");
    let tables: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let text = format!(
        "DROP VIEW IF EXISTS {views}; DROP TABLE IF EXISTS {}, schema_version, restore_unfinished",
        tables.join(", ")
    );
    Ok(client.batch_execute(&text).await?)
}

async fn fill_table(client: &Client, backend: &Backend, mut file: Copied, table: &Table) -> Result<Copied> {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    // Migrations put a first row into some.
    backend.wait_for(client.batch_execute(&format!("DELETE FROM {}", table.name))).await?;
    let text = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name, names.join(", "));
    let mut sink = pin!(backend.wait_for(client.copy_in::<_, Bytes>(&text)).await?);
    backend.wait_for(sink.send(Bytes::from_static(HEADER))).await?;
    let mut behind: Option<Vec<Value>> = None;
    loop {
        let of_page = table.clone();
        let (read, page) = blocking(move || {
            let page = read_page(file.connection(), &of_page, behind.as_deref())?;
            Ok((file, page))
        })
        .await?;
        file = read;
        let mut bytes = page.bytes.freeze();
        while !bytes.is_empty() {
            let step = bytes.split_to(bytes.len().min(STEP_BYTES));
            backend.wait_for(sink.send(step)).await?;
        }
        match page.last {
            Some(last) => behind = Some(last),
            None => break,
        }
    }
    backend.wait_for(sink.send(Bytes::from_static(TRAILER))).await?;
    backend.wait_for(sink.finish()).await?;
    Ok(file)
}

/// Rows as COPY takes them.
struct Page {
    bytes: BytesMut,
    /// The key of the last one, where there may be more.
    last: Option<Vec<Value>>,
}

/// Reads rows behind a key in the order of the keys.
fn read_page(file: &Connection, table: &Table, behind: Option<&[Value]>) -> Result<Page> {
    let mut statement = file.prepare_cached(&page_text(table, behind))?;
    let mut rows = statement.query(params_from_iter(behind.unwrap_or_default()))?;
    let mut page = Page { bytes: BytesMut::with_capacity(PAGE_BYTES + (64 << 10)), last: None };
    let keys = table.key.len();
    while let Some(row) = rows.next()? {
        page.bytes.put_i16(table.columns.len() as i16);
        for (at, column) in table.columns.iter().enumerate() {
            put_value(&mut page.bytes, row.get_ref(keys + at)?, column)
                .ok_or_else(|| StoreError::Damaged(format!("{}.{} holds another type", table.name, column.name)))?;
        }
        if page.bytes.len() >= PAGE_BYTES {
            page.last = Some((0..keys).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?);
            break;
        }
    }
    Ok(page)
}

fn page_text(table: &Table, behind: Option<&[Value]>) -> String {
    let key = table.key.join(", ");
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let places = |values: &[Value]| vec!["?"; values.len()].join(", ");
    let behind = behind.map_or_else(String::new, |values| format!(" WHERE ({key}) > ({})", places(values)));
    format!("SELECT {key}, {} FROM {}{behind} ORDER BY {key}", columns.join(", "), table.name)
}

/// Writes a value as PostgreSQL sends and takes it; `None` when it is of another type than the column.
fn put_value(out: &mut BytesMut, value: ValueRef<'_>, column: &Column) -> Option<()> {
    match (column.column_type, value) {
        (_, ValueRef::Null) => out.put_i32(-1),
        (ColumnType::Integer, ValueRef::Integer(number)) => put_bytes(out, &number.to_be_bytes())?,
        (ColumnType::Boolean, ValueRef::Integer(number @ 0..=1)) => put_bytes(out, &[number as u8])?,
        (ColumnType::Real, ValueRef::Real(number)) => put_bytes(out, &number.to_be_bytes())?,
        (ColumnType::Text, ValueRef::Text(bytes)) | (ColumnType::Bytes, ValueRef::Blob(bytes)) => {
            put_bytes(out, bytes)?;
        }
        _ => return None,
    }
    Some(())
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) -> Option<()> {
    out.put_i32(i32::try_from(bytes.len()).ok()?);
    out.put_slice(bytes);
    Some(())
}
