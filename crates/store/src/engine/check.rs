//! What protects the files of a database, what damage to them is known, and the engine's own check of them.

use super::blocking::blocking;
use super::database_files::DatabaseFiles;
use super::sqlite::kept_logs;
use super::{Db, Engine, Row, Tx, Work};
use crate::error::{Result, StoreError};

/// What SQLite finds, a line each; `ok` when that is nothing. More than a few lines say no more.
const INTEGRITY: &str = "PRAGMA integrity_check(20)";
const SOUND: &str = "ok";
const HAS_CHECKSUMS: &str = "SELECT COUNT(*) FROM pg_settings WHERE name = 'data_checksums' AND setting = 'on'";
const HAS_AMCHECK: &str = "SELECT COUNT(*) FROM pg_extension WHERE extname = 'amcheck'";
/// Each index, and that it has every row of its table. Fails at the first that is damaged.
const AMCHECK: &str = "SELECT COUNT(*) FROM (SELECT bt_index_check(i.indexrelid, true)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.amname = 'btree' AND n.nspname = current_schema() AND i.indisready AND i.indisvalid) checked";

impl Db {
    /// Returns what protects the files, and what damage to their logs is known.
    pub(crate) async fn files(&self) -> Result<DatabaseFiles> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let path = sqlite.path().to_owned();
                let damaged_logs = blocking(move || kept_logs::list(&path)).await?;
                Ok(DatabaseFiles { have_page_checksums: sqlite.has_page_checksums()?, are_ours: true, damaged_logs })
            }
            Engine::Postgres(_) => {
                let has = async |tx: &Tx<'_>| tx.query_opt(HAS_CHECKSUMS, &[], |row| row.get::<i64>(0)).await;
                let have_page_checksums = self.read_single(has).await? == Some(1);
                Ok(DatabaseFiles { have_page_checksums, are_ours: false, damaged_logs: Vec::new() })
            }
        }
    }

    /// Returns how many damaged write-ahead logs are known, without reading them.
    pub(crate) fn damaged_log_count(&self) -> Result<u64> {
        match &self.engine {
            Engine::Sqlite(sqlite) => kept_logs::count(sqlite.path()),
            Engine::Postgres(_) => Ok(0),
        }
    }

    /// Rewrites a database file whose pages have no checksums, so that they have them; writers wait meanwhile. On
    /// PostgreSQL nothing is done.
    pub(crate) async fn give_page_checksums(&self) -> Result<()> {
        match &self.engine {
            Engine::Sqlite(sqlite) if !sqlite.has_page_checksums()? => sqlite.rewrite().await,
            Engine::Sqlite(_) | Engine::Postgres(_) => Ok(()),
        }
    }

    /// Lets the engine check what it has stored; answers what it found, in its own words. `None` where it cannot:
    /// PostgreSQL needs its extension amcheck.
    pub(crate) async fn engine_findings(&self) -> Result<Option<Vec<String>>> {
        // It reads every page, which takes longer than a request may.
        let scanning = self.with_deadlines_of(Work::Scan);
        match &self.engine {
            Engine::Sqlite(_) => {
                let check = async |tx: &Tx<'_>| tx.query(INTEGRITY, &[], |row: &Row<'_>| row.get::<String>(0)).await;
                let lines = findings(scanning.read(check).await)?;
                Ok(Some(lines.into_iter().filter(|line| line != SOUND).collect()))
            }
            Engine::Postgres(_) => {
                let has = async |tx: &Tx<'_>| tx.query_opt(HAS_AMCHECK, &[], |row| row.get::<i64>(0)).await;
                if self.read_single(has).await? != Some(1) {
                    return Ok(None);
                }
                let check =
                    async |tx: &Tx<'_>| tx.query(AMCHECK, &[], |row: &Row<'_>| row.get::<i64>(0).map(|_| ())).await;
                let failed = scanning.read_single(check).await.map(|_| Vec::new());
                findings(failed).map(Some)
            }
        }
    }
}

/// A check that fails has found something, unless the database is away.
fn findings(checked: Result<Vec<String>>) -> Result<Vec<String>> {
    match checked {
        Err(StoreError::Database(message) | StoreError::Damaged(message)) => Ok(vec![message]),
        checked => checked,
    }
}
