//! Schema versions: plain SQL files, applied once each, in order.
//!
//! One text serves both engines, with two exceptions that the other engine reads as comments: `/*clustered*/` behind a
//! table asks SQLite to keep the rows in the order of their key, and `/*sqlite ... sqlite*/` and
//! `/*postgres ... postgres*/` enclose what is meant for one engine.

use crate::error::{Result, StoreError};

/// The advisory lock of PostgreSQL under which one node at a time changes the schema.
// The letters `pulse`: it has to differ from what other programs in the same database lock.
pub(super) const MIGRATION_LOCK: i64 = 0x70_75_6c_73_65;

/// The schema of one database: the text of version n is at position n - 1.
#[derive(Clone, Copy, Debug)]
pub struct Migrations(pub &'static [&'static str]);

/// Uncomments what a migration says to one engine.
pub(super) fn text_for(engine: &str, text: &str) -> String {
    text.replace(&format!("/*{engine} "), "").replace(&format!(" {engine}*/"), "")
}

/// What applying a migration needs of an engine.
pub(super) trait Target {
    /// Runs several statements.
    async fn run(&mut self, text: &str) -> Result<()>;
    /// Returns the number in the only row of `schema_version`.
    async fn version(&mut self) -> Result<i64>;
}

impl Migrations {
    /// Returns the version that a database has after all of them.
    pub(super) fn version(self) -> i64 {
        self.0.len() as i64
    }

    /// Fails for the version of a newer program: what rows of a newer schema mean is not known here, so nothing may be
    /// read or written by it.
    pub(super) fn check(self, found: i64) -> Result<()> {
        let known = self.version();
        if (0..=known).contains(&found) { Ok(()) } else { Err(StoreError::SchemaVersion { found, known }) }
    }

    /// Brings a database to the newest version, inside a transaction that the caller holds so that two processes
    /// cannot do it at once.
    pub(super) async fn apply(self, target: &mut impl Target) -> Result<()> {
        target
            .run(
                "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL);
             INSERT INTO schema_version SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM schema_version);",
            )
            .await?;
        // Read under the caller's lock: another process may have migrated while this one waited.
        let found = target.version().await?;
        self.check(found)?;
        let missing = &self.0[found as usize..];
        for text in missing {
            target.run(text).await?;
        }
        if !missing.is_empty() {
            target.run(&format!("UPDATE schema_version SET version = {};", self.version())).await?;
        }
        Ok(())
    }
}
