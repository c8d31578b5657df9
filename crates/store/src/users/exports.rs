//! Audit entries of exports, whose work items lie in the other database.

use super::UsersDb;
use super::audit::Audit;
use crate::error::Result;
use crate::texts::sql;

sql! {
    IS_WRITTEN = "SELECT 1 FROM audit_entry WHERE id = $1";
}

impl UsersDb {
    /// Writes entries, each once however often this is asked: they are told apart by their identifiers.
    pub async fn record_once(&self, audit: Audit) -> Result<()> {
        self.db
            .write(async move |tx| {
                let mut missing = audit.clone();
                missing.entries.clear();
                for entry in &audit.entries {
                    if tx.query_opt(IS_WRITTEN, &[&entry.id], |_| Ok(())).await?.is_none() {
                        missing.entries.push(entry.clone());
                    }
                }
                missing.append(tx).await
            })
            .await
    }
}
