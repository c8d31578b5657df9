//! Schema versions: plain SQL files, applied once each, in order.
//!
//! One text serves both engines, with two exceptions that the other engine reads as comments: `/*clustered*/` behind a
//! table asks SQLite to keep the rows in the order of their key, and `/*sqlite ... sqlite*/` and
//! `/*postgres ... postgres*/` enclose what is meant for one engine.

use crate::error::{Result, StoreError};

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
    /// The number in the only row of `schema_version`.
    async fn version(&mut self) -> Result<i64>;
}

impl Migrations {
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
        let known = self.0.len() as i64;
        let Some(missing) = usize::try_from(found).ok().and_then(|found| self.0.get(found..)) else {
            // What rows of a newer schema mean is not known here, so nothing may be read or written by it.
            return Err(StoreError::SchemaVersion { found, known });
        };
        for text in missing {
            target.run(text).await?;
        }
        if !missing.is_empty() {
            target.run(&format!("UPDATE schema_version SET version = {known};")).await?;
        }
        Ok(())
    }
}
