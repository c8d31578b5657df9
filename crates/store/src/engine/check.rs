//! What protects the files of a database, what damage to them is known, and the engine's own check of them.

use super::blocking::blocking;
use super::database_files::DatabaseFiles;
use super::found::EngineCheck;
use super::sqlite::kept_logs;
use super::{Db, Engine, Row, Tx, Work};
use crate::error::{Result, StoreError};

/// What SQLite finds, a line each; `ok` when that is nothing. More than a few lines say no more.
const INTEGRITY: &str = "PRAGMA integrity_check(20)";
const SOUND: &str = "ok";
const HAS_CHECKSUMS: &str = "SELECT COUNT(*) FROM pg_settings WHERE name = 'data_checksums' AND setting = 'on'";
/// 0 without the extension, 1 where its function is not in the search path, 2 where this role may not call it, else 3.
const AMCHECK_STATE: &str = "SELECT CAST(COALESCE(MAX(CASE WHEN NOT pg_function_is_visible(p.oid) THEN 1
        WHEN NOT has_function_privilege(p.oid, 'EXECUTE') THEN 2 ELSE 3 END), 0) AS BIGINT)
    FROM pg_extension e JOIN pg_depend d ON d.refobjid = e.oid AND d.deptype = 'e'
        AND d.refclassid = CAST('pg_extension' AS regclass) AND d.classid = CAST('pg_proc' AS regclass)
        JOIN pg_proc p ON p.oid = d.objid
    WHERE e.extname = 'amcheck' AND p.proname = 'bt_index_check' AND p.pronargs = 2";
/// Those of our tables, and of what their rows keep out of line. By number, since a role may not look names of the latter up.
const INDEXES: &str = "SELECT CAST(c.oid AS BIGINT), CAST(CAST(c.oid AS regclass) AS TEXT)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
        JOIN pg_class t ON i.indrelid IN (t.oid, t.reltoastrelid) JOIN pg_namespace n ON n.oid = t.relnamespace
    WHERE a.amname = 'btree' AND n.nspname = current_schema() AND i.indisready AND i.indisvalid ORDER BY 2";
/// One index, and that it has every row of its table.
const CHECK_INDEX: &str =
    "SELECT COUNT(*) FROM (SELECT bt_index_check(CAST(CAST(CAST($1 AS BIGINT) AS oid) AS regclass), true)) checked";
const GRANT: &str = "GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean) to the role of this program";

impl Db {
    /// Returns what protects the files, and what damage to their logs is known.
    pub(crate) async fn files(&self) -> Result<DatabaseFiles> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let path = sqlite.path().to_owned();
                let damaged_logs = blocking(move || kept_logs::list(&path)).await?;
                Ok(DatabaseFiles {
                    have_page_checksums: sqlite.has_page_checksums()?,
                    are_ours: true,
                    damaged_logs,
                    cannot_check: None,
                })
            }
            Engine::Postgres(_) => {
                let has = async |tx: &Tx<'_>| tx.query_opt(HAS_CHECKSUMS, &[], |row| row.get::<i64>(0)).await;
                let have_page_checksums = self.read_single(has).await? == Some(1);
                let cannot_check = self.cannot_check().await?;
                Ok(DatabaseFiles { have_page_checksums, are_ours: false, damaged_logs: Vec::new(), cannot_check })
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

    /// Returns why the engine cannot check all that it has stored, and what lets it; `None` where it can.
    pub(crate) async fn cannot_check(&self) -> Result<Option<String>> {
        if let Engine::Sqlite(_) = &self.engine {
            return Ok(None);
        }
        let state = async |tx: &Tx<'_>| tx.query_opt(AMCHECK_STATE, &[], |row| row.get::<i64>(0)).await;
        Ok(match self.read_single(state).await?.unwrap_or(0) {
            0 => Some(format!("there is no extension amcheck: as a superuser, CREATE EXTENSION amcheck and {GRANT}")),
            1 => Some("the extension amcheck is in no schema of the search path of this role".to_owned()),
            2 => Some(format!("this role may not use the extension amcheck: as a superuser, {GRANT}")),
            _ => None,
        })
    }

    /// Lets the engine check what it has stored: all of it, however much of it is damaged.
    pub(crate) async fn engine_check(&self) -> Result<EngineCheck> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(self.check_file().await),
            Engine::Postgres(_) => match self.cannot_check().await? {
                Some(reason) => Ok(EngineCheck { findings: Vec::new(), unchecked: vec![reason] }),
                None => self.check_indexes().await,
            },
        }
    }

    async fn check_file(&self) -> EngineCheck {
        let mut found = EngineCheck::default();
        let check = async |tx: &Tx<'_>| tx.query(INTEGRITY, &[], |row: &Row<'_>| row.get::<String>(0)).await;
        // It reads every page, which takes longer than a request may.
        match self.with_deadlines_of(Work::Scan).read(check).await {
            Ok(lines) => found.findings.extend(lines.into_iter().filter(|line| line != SOUND)),
            Err(error) => found.take("the file", Err(error)),
        }
        found
    }

    async fn check_indexes(&self) -> Result<EngineCheck> {
        let mut found = EngineCheck::default();
        let named = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<String>(1)?));
        let indexes = async move |tx: &Tx<'_>| tx.query(INDEXES, &[], named).await;
        let scanning = self.with_deadlines_of(Work::Scan);
        for (number, index) in self.read_single(indexes).await? {
            let check =
                async move |tx: &Tx<'_>| tx.query_opt(CHECK_INDEX, &[&number], |row| row.get::<i64>(0)).await.map(drop);
            // Each by itself: a damaged one ends the statement that checks it.
            let checked = scanning.read_single(check).await;
            let is_away = matches!(checked, Err(StoreError::Unavailable(_)));
            found.take(&format!("index {index}"), checked);
            if is_away {
                break;
            }
        }
        Ok(found)
    }
}
