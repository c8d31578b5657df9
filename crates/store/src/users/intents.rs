//! Health changes that a committed operation still owes.
//!
//! An operation that touches both databases commits its own rows together with an intent, then makes the health
//! change, which may be made twice, then removes the intent and writes its audit entries in one transaction. Whoever
//! finds an old intent, after a crash between these steps, makes the last two.
//!
//! Changes of one patient are numbered as they are committed and are made in that order. Timeline of why: node A
//! commits the weight 60 and stalls; node B commits 61 and makes its change; A wakes up and makes its own, and the
//! weight is 60. So whoever finishes one makes all that were committed before it, and the health database takes a
//! number only once.

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

/// An intent of a patient and its place among the changes of his.
#[derive(Clone, Debug)]
pub struct NumberedIntent {
    /// The intent.
    pub intent: Intent,
    /// Counts the changes of the patient, from 1.
    pub number: i64,
}

sql! {
    NOTE = "INSERT INTO health_intent (id, change, entries, created_ms, patient, number)
        VALUES ($1, $2, $3, $4, $5, $6)";
    /// Also makes the operations on one patient follow each other.
    NEXT_CHANGE = "UPDATE patient SET changes = changes + 1 WHERE uuid = $1 RETURNING changes";
    OLDER = "SELECT id, change, entries, created_ms FROM health_intent WHERE created_ms <= $1
        ORDER BY created_ms, id LIMIT 100";
    OF_PATIENT = "SELECT id, change, entries, created_ms, number FROM health_intent WHERE patient = $1
        ORDER BY number";
    REPLACE = "UPDATE health_intent SET change = $2, entries = $3 WHERE id = $1";
    DONE = "DELETE FROM health_intent WHERE id = $1";
}

impl Intent {
    /// Writes the intent in the transaction that owes it. [`StoreError::Gone`] when it is about a patient who is not
    /// there.
    pub(super) async fn note(&self, tx: &Tx<'_>) -> Result<()> {
        let patient = self.change.patient();
        let number = match patient {
            Some(patient) => tx.query_opt(NEXT_CHANGE, &[&patient], |row| row.get(0)).await?,
            None => Some(0_i64),
        };
        let number = number.ok_or(StoreError::Gone("patient"))?;
        let (change, entries) = self.texts()?;
        tx.execute(NOTE, &[&self.id, &change, &entries, &self.created_ms, &patient, &number]).await.map(drop)
    }

    fn texts(&self) -> Result<(String, String)> {
        let change = serde_json::to_string(&self.change).map_err(|error| unreadable(&error))?;
        let entries = serde_json::to_string(&self.entries).map_err(|error| unreadable(&error))?;
        Ok((change, entries))
    }
}

/// What is owed for a patient, in the order in which it was committed.
pub(super) async fn of_patient(tx: &Tx<'_>, patient: &str) -> Result<Vec<NumberedIntent>> {
    tx.query(OF_PATIENT, &[&patient], |row| Ok(NumberedIntent { intent: read_intent(row)?, number: row.get(4)? })).await
}

/// Puts another change and other entries in the place of those of an intent.
pub(super) async fn replace(tx: &Tx<'_>, intent: &Intent) -> Result<()> {
    let (change, entries) = intent.texts()?;
    tx.execute(REPLACE, &[&intent.id, &change, &entries]).await.map(drop)
}

impl UsersDb {
    /// Notes a change that is owed by an operation without rows of its own in this database. [`StoreError::Gone`]
    /// when it is about a patient who is not there.
    pub async fn add_intent(&self, intent: Intent) -> Result<()> {
        self.db.write(async move |tx| intent.note(tx).await).await
    }

    /// The oldest intents noted until a time, at most a hundred.
    pub async fn intents_until(&self, until_ms: i64) -> Result<Vec<Intent>> {
        self.db.read(async move |tx| tx.query(OLDER, &[&until_ms], read_intent).await).await
    }

    /// What is owed for a patient, in the order in which it was committed.
    pub async fn intents_of(&self, patient: &str) -> Result<Vec<NumberedIntent>> {
        let patient = patient.to_owned();
        self.db.read(async move |tx| of_patient(tx, &patient).await).await
    }

    /// Removes an intent whose change is made and writes its entries with the time of completion. False, and
    /// nothing is written, when someone else has done so.
    pub async fn complete_intent(&self, id: &str, audit: Audit) -> Result<bool> {
        let id = id.to_owned();
        self.db
            .write(async move |tx| {
                if tx.execute(DONE, &[&id]).await? == 0 {
                    return Ok(false);
                }
                audit.append(tx).await?;
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
