//! The tables of a database and their columns, read from the schema that the migrations make.

use rusqlite::Connection;
use tokio_postgres::types::Type;

use crate::engine::migrate::Migrations;
use crate::engine::sqlite;
use crate::error::{Result, StoreError};

/// In the order of creation: a table refers only to those before it.
const TABLES: &str = "SELECT name FROM sqlite_master
    WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'schema_version' ORDER BY rowid";
const COLUMNS: &str = "SELECT name, type FROM pragma_table_info(?1) ORDER BY cid";
/// Without one a table has the number that SQLite gives each row.
const KEY: &str = "SELECT name FROM pragma_table_info(?1)
    WHERE pk > 0 AND EXISTS (SELECT 1 FROM pragma_table_list WHERE name = ?1 AND wr = 1) ORDER BY pk";

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// What SQLite keeps the rows in the order of.
    pub key: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub column_type: ColumnType,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    Integer,
    Real,
    Boolean,
    Text,
    Bytes,
}

impl ColumnType {
    /// The type that a migration declares.
    fn declared(name: &str) -> Option<Self> {
        Some(match name {
            // The one column that SQLite numbers by itself has its own name for the type.
            "BIGINT" | "INTEGER" => ColumnType::Integer,
            "DOUBLE PRECISION" => ColumnType::Real,
            "BOOLEAN" => ColumnType::Boolean,
            "TEXT" => ColumnType::Text,
            "BYTEA" => ColumnType::Bytes,
            _ => return None,
        })
    }

    /// The type on PostgreSQL.
    pub fn of_postgres(self) -> Type {
        match self {
            ColumnType::Integer => Type::INT8,
            ColumnType::Real => Type::FLOAT8,
            ColumnType::Boolean => Type::BOOL,
            ColumnType::Text => Type::TEXT,
            ColumnType::Bytes => Type::BYTEA,
        }
    }
}

/// The tables of a database file whose rows are copied: not the one that holds its version.
pub(super) fn tables(file: &Connection) -> Result<Vec<Table>> {
    names(file, TABLES, "")?.into_iter().map(|name| table(file, name)).collect()
}

/// The names of all tables that migrations make.
pub(super) fn table_names(migrations: Migrations) -> Result<Vec<String>> {
    let schema = sqlite::migrated(Connection::open_in_memory()?, migrations)?;
    names(&schema, TABLES, "")
}

/// The names of all views of a database file.
pub(super) fn views(file: &Connection) -> Result<Vec<String>> {
    names(file, "SELECT name FROM sqlite_master WHERE type = 'view'", "")
}

fn table(file: &Connection, name: String) -> Result<Table> {
    let mut statement = file.prepare(COLUMNS)?;
    let mut rows = statement.query([&name])?;
    let mut columns = Vec::new();
    while let Some(row) = rows.next()? {
        let (column, declared): (String, String) = (row.get("name")?, row.get("type")?);
        let column_type = ColumnType::declared(&declared)
            .ok_or_else(|| StoreError::Damaged(format!("{name}.{column} is a {declared}, which no schema has")))?;
        columns.push(Column { name: column, column_type });
    }
    let mut key = names(file, KEY, &name)?;
    if key.is_empty() {
        key.push("rowid".to_owned());
    }
    Ok(Table { name, columns, key })
}

fn names(file: &Connection, text: &str, of: &str) -> Result<Vec<String>> {
    let mut statement = file.prepare(text)?;
    let params: &[&dyn rusqlite::ToSql] = if statement.parameter_count() == 0 { &[] } else { &[&of] };
    let found = statement.query_map(params, |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
