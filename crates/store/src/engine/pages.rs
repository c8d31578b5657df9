//! Reading every page of a database a few at a time, so that damage is found wherever it lies: in tables that nothing walks
//! through too.
//!
//! SQLite's file is read page by page and compared with the checksums of `page_sums`. PostgreSQL compares the
//! checksums itself when it reads, so each table is read there, and what it refuses is damaged.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use runtime::HashMap;

use super::found::{DamagedPage, PagesPart};
use super::{Db, Engine, Row, Tx, Work, sqlite};
use crate::error::{Result, StoreError};

/// Pages that are read at once.
const PAGES_AT_ONCE: u64 = 64;
/// A page that was being written is read again, each time after this.
const PAUSE: Duration = Duration::from_millis(20);
const TRIES: usize = 3;

/// The next table, in the order of names, from one on.
// Named by hand: readers of records lie above the engines.
const TABLE_FROM: &str = "SELECT CAST(c.relname AS TEXT), CAST(quote_ident(c.relname) AS TEXT),
        CAST(pg_relation_size(c.oid) / CAST(current_setting('block_size') AS BIGINT) AS BIGINT),
        CAST(current_setting('block_size') AS BIGINT)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind = 'r' AND CAST(c.relname AS TEXT) COLLATE \"C\" >= $1
    ORDER BY CAST(c.relname AS TEXT) COLLATE \"C\" LIMIT 1";
/// Tables whose rows are read whole and compared with their checksums by others.
const READ_WHOLE_ELSEWHERE: [&str; 2] = ["chunk", "derived"];

/// A table of PostgreSQL.
struct Table {
    name: String,
    /// Its name as statements have it.
    quoted: String,
    pages: u64,
    page_bytes: u64,
}

fn read_table(row: &Row<'_>) -> Result<Table> {
    let number = |at| row.get::<i64>(at).map(|number| number as u64);
    Ok(Table { name: row.get(0)?, quoted: row.get(1)?, pages: number(2)?, page_bytes: number(3)? })
}

impl Db {
    /// Reads the next pages behind a place, which is empty at the beginning.
    pub(crate) async fn check_pages(&self, behind: &str) -> Result<PagesPart> {
        match &self.engine {
            Engine::Sqlite(sqlite) => check_file(sqlite, behind).await,
            Engine::Postgres(_) => self.check_table(behind).await,
        }
    }

    async fn check_table(&self, behind: &str) -> Result<PagesPart> {
        let (name, first) = behind.split_once(' ').unwrap_or((behind, "0"));
        let (name, first) = (name.to_owned(), first.parse::<u64>().unwrap_or(0));
        let asked = name.clone();
        let next = async move |tx: &Tx<'_>| tx.query_opt(TABLE_FROM, &[&asked], read_table).await;
        let Some(table) = self.read_single(next).await? else { return Ok(PagesPart::default()) };
        // A table that is gone: the next one begins at its beginning.
        let first = if table.name == name { first } else { 0 };
        let end = table.pages.min(first + PAGES_AT_ONCE);
        let mut part = PagesPart { bytes: end.saturating_sub(first) * table.page_bytes, ..PagesPart::default() };
        if let Err(error) = damage_of(self.read_table_pages(&table, (first, end)).await)? {
            // One page ends the statement that reads many, so each is asked for by itself.
            for page in first..end {
                let found = damage_of(self.read_table_pages(&table, (page, page + 1)).await)?;
                let damaged = |reason| DamagedPage { table: Some(table.name.clone()), page, reason };
                part.damaged.extend(found.err().map(damaged));
            }
            if part.damaged.is_empty() {
                // What lies out of line, in pages of another table.
                part.damaged.push(DamagedPage { table: Some(table.name.clone()), page: first, reason: error });
            }
        }
        // The first name behind this one.
        let beyond = format!("{}\u{1}", table.name);
        part.next = Some(if end < table.pages { format!("{} {end}", table.name) } else { beyond });
        Ok(part)
    }

    async fn read_table_pages(&self, table: &Table, (first, end): (u64, u64)) -> Result<()> {
        if first >= end {
            return Ok(());
        }
        let text = text_of(table);
        let (first, end) = (format!("({first},0)"), format!("({end},0)"));
        let read = async move |tx: &Tx<'_>| {
            tx.query_opt(text, &[&first, &end], |row: &Row<'_>| row.get::<i64>(0)).await.map(drop)
        };
        self.with_deadlines_of(Work::Scan).read_single(read).await
    }
}

/// Returns the text that reads pages of a table. It is kept for the life of the program: there are few tables.
fn text_of(table: &Table) -> &'static str {
    static MADE: LazyLock<Mutex<HashMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let is_read_elsewhere = READ_WHOLE_ELSEWHERE.contains(&table.name.as_str());
        // As a text a row is read with what lies out of line.
        let what = if is_read_elsewhere { "*" } else { "CAST(t AS TEXT)" };
        let text = format!(
            "SELECT COUNT({what}) FROM {} t WHERE t.ctid >= CAST(CAST($1 AS TEXT) AS tid) AND t.ctid < CAST(CAST($2 AS TEXT) AS tid)",
            table.quoted
        );
        &*text.leak()
    };
    made.entry(table.quoted.clone()).or_insert_with(make)
}

/// Sets damage apart from what passes by itself. The statement is right, so whatever else the server says of it is
/// damage that it has no word for.
fn damage_of(read: Result<()>) -> Result<std::result::Result<(), String>> {
    match read {
        Ok(()) => Ok(Ok(())),
        Err(StoreError::Damaged(reason) | StoreError::Database(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

async fn check_file(sqlite: &sqlite::Sqlite, behind: &str) -> Result<PagesPart> {
    let read = sqlite.read_pages(behind.parse().unwrap_or(0), PAGES_AT_ONCE).await?;
    let mut part =
        PagesPart { bytes: read.bytes, next: read.next.map(|page| page.to_string()), ..PagesPart::default() };
    // The log is moved into the file meanwhile, and a page can be read in the middle of that.
    for page in read.damaged {
        if is_damaged_still(sqlite, page).await? {
            let reason = "its checksum is another one".to_owned();
            part.damaged.push(DamagedPage { table: None, page, reason });
        }
    }
    Ok(part)
}

/// Reads a page again that was perhaps just being written.
async fn is_damaged_still(sqlite: &sqlite::Sqlite, page: u64) -> Result<bool> {
    for _ in 0..TRIES {
        runtime::sleep(PAUSE).await;
        if sqlite.read_pages(page.saturating_sub(1), 1).await?.damaged.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
