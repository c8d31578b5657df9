//! Health changes that a committed operation still owes.
//!
//! An operation that touches both databases commits its own rows together with an intent, then makes the health
//! change, which may be made twice, then removes the intent and writes its audit entries in one transaction. Whoever
//! finds an old intent, after a crash between these steps, makes the last two.

use serde::{Deserialize, Serialize};

use super::UsersDb;
use super::audit::{Audit, NewAuditEntry};
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::health::HealthChange;
use crate::texts::sql;

/// A health change that is owed, and the audit entries to write when it is made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intent {
    /// Record identifier, 24 hex digits.
    pub id: String,
    /// The change.
    pub change: HealthChange,
    /// The entries, stamped at completion.
    pub entries: Vec<NewAuditEntry>,
    /// When the operation began, ms.
    pub created_ms: i64,
}

sql! {
    NOTE = "INSERT INTO health_intent (id, change, entries, created_ms) VALUES ($1, $2, $3, $4)";
    OLDER = "SELECT id, change, entries, created_ms FROM health_intent WHERE created_ms <= $1
        ORDER BY created_ms, id LIMIT 100";
    DONE = "DELETE FROM health_intent WHERE id = $1";
}

impl Intent {
    /// Writes the intent in the transaction that owes it.
    pub(super) fn note(&self, tx: &mut Tx<'_>) -> Result<()> {
        let change = serde_json::to_string(&self.change).map_err(|error| unreadable(&error))?;
        let entries = serde_json::to_string(&self.entries).map_err(|error| unreadable(&error))?;
        tx.execute(NOTE, &[&self.id, &change, &entries, &self.created_ms]).map(drop)
    }
}

impl UsersDb {
    /// Notes a change that is owed by an operation without rows of its own in this database.
    pub async fn add_intent(&self, intent: Intent) -> Result<()> {
        self.db.write(move |tx| intent.note(tx)).await
    }

    /// The oldest intents noted until a time, at most a hundred.
    pub async fn intents_until(&self, until_ms: i64) -> Result<Vec<Intent>> {
        self.db.read(move |tx| tx.query(OLDER, &[&until_ms], read_intent)).await
    }

    /// Removes an intent whose change is made and writes its entries with the time of completion. False, and
    /// nothing is written, when someone else has done so.
    pub async fn complete_intent(&self, id: &str, audit: Audit) -> Result<bool> {
        let id = id.to_owned();
        self.db
            .write(move |tx| {
                if tx.execute(DONE, &[&id])? == 0 {
                    return Ok(false);
                }
                audit.append(tx)?;
                Ok(true)
            })
            .await
    }
}

fn read_intent(row: &Row<'_>) -> Result<Intent> {
    Ok(Intent {
        id: row.get(0)?,
        change: serde_json::from_str(&row.get::<String>(1)?).map_err(|error| unreadable(&error))?,
        entries: serde_json::from_str(&row.get::<String>(2)?).map_err(|error| unreadable(&error))?,
        created_ms: row.get(3)?,
    })
}

fn unreadable(error: &serde_json::Error) -> StoreError {
    StoreError::Damaged(format!("intent: {error}"))
}
