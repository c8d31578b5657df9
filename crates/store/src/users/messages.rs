//! Messages to the health database: changes that a committed operation has enqueued for it.
//!
//! An operation that touches both databases commits its own rows together with a message, then makes the health change,
//! which may be made twice, then empties the message and writes its audit entries in one transaction. After a crash
//! between these steps the last two are made by a background job. See `events/outbox.rs`.
//!
//! Changes of one patient are made in the order in which they were committed. Timeline of why: node A commits the weight
//! 60 and stalls; node B commits 61 and makes its change; A wakes up and makes its own, and the weight is 60. So a node
//! that delivers one message delivers all that were committed before it, and the health database takes a number only
//! once.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};

use super::audit::Audit;
use super::audit_head;
use super::db::UsersDb;
use crate::audit_entry::NewAuditEntry;
use crate::engine::Tx;
use crate::error::Result;
use crate::events::{MessageKey, StoredMessage, outbox};
use crate::health::changes::HealthChange;
use crate::ids::{MessageId, PatientId};
use crate::texts::sql;

/// A health change that is enqueued, and the audit entries to write when it is made.
#[derive(Clone, Debug)]
pub struct HealthMessage {
    /// Record identifier: finds a message whose change is about no patient.
    pub id: MessageId,
    /// The change.
    pub change: HealthChange,
    /// The entries, stamped at completion.
    pub entries: Vec<NewAuditEntry>,
    /// Time at which the operation began, ms.
    pub created_ms: i64,
}

/// A message that is to be delivered.
#[derive(Clone, Debug)]
pub struct PendingHealthMessage {
    /// Its place, whose number is that of the change among the patient's.
    pub key: MessageKey,
    /// The change.
    pub change: HealthChange,
    /// The entries, stamped at completion.
    pub entries: Vec<NewAuditEntry>,
    /// Time at which the operation began, ms.
    pub created_ms: i64,
}

/// What is stored of a message.
#[derive(Serialize, Deserialize)]
struct Content {
    change: HealthChange,
    entries: Vec<NewAuditEntry>,
}

sql! {
    IS_WRITTEN = "SELECT 1 FROM audit_entry WHERE id = $1";
}

impl HealthMessage {
    /// Writes the message in the transaction that enqueues it. [`crate::StoreError::Gone`] when it is about a patient
    /// who is not there.
    pub(super) async fn enqueue(&self, tx: &Tx<'_>) -> Result<()> {
        let content = Content { change: self.change.clone(), entries: self.entries.clone() };
        let text = outbox::to_text(&content)?;
        match self.change.patient() {
            Some(patient) => outbox::enqueue(tx, patient, self.created_ms, &text).await,
            // Ends of tokens, which come to the same in any order.
            None => outbox::enqueue_of_no_patient(tx, &self.id, self.created_ms, &text).await,
        }
    }
}

/// Returns the messages about a patient that are to be delivered, in the order in which they were committed.
pub(super) async fn of_patient(tx: &Tx<'_>, patient: &PatientId) -> Result<Vec<PendingHealthMessage>> {
    outbox::of_patient(tx, patient).await?.into_iter().map(read_message).collect()
}

/// Puts another change and other entries in the place of those of a message.
pub(super) async fn replace(tx: &Tx<'_>, message: PendingHealthMessage) -> Result<()> {
    let PendingHealthMessage { key, change, entries, .. } = message;
    outbox::replace(tx, &key, &outbox::to_text(&Content { change, entries })?).await
}

#[boxed_futures]
impl UsersDb {
    /// Writes a message of an operation without rows of its own in this database. [`crate::StoreError::Gone`] when it is
    /// about a patient who is not there.
    pub async fn enqueue(&self, message: HealthMessage) -> Result<()> {
        match message.change.patient().cloned() {
            Some(owner) => self.db.write_of((&owner).into(), async move |tx| message.enqueue(tx).await).await,
            None => self.db.write(async move |tx| message.enqueue(tx).await).await,
        }
    }

    /// Returns a message that is to be delivered; `None` when it is.
    pub async fn message(&self, key: &MessageKey) -> Result<Option<PendingHealthMessage>> {
        let key = key.clone();
        let found = self.db.read_single(async move |tx| outbox::find(tx, &key).await).await?;
        found.map(read_message).transpose()
    }

    /// Returns the messages about a patient that are to be delivered, in the order in which they were committed.
    pub async fn messages_of(&self, patient: &PatientId) -> Result<Vec<PendingHealthMessage>> {
        let patient = patient.clone();
        self.db.read_single(async move |tx| of_patient(tx, &patient).await).await
    }

    /// Empties a message whose change is made and writes its entries with the time of completion. False, and nothing is
    /// written, when another node has done so.
    pub async fn complete(&self, key: &MessageKey, audit: Audit) -> Result<bool> {
        let key = key.clone();
        self.write_logged(async move |tx| {
            // Emptying decides which of several nodes writes the entries: they are chained, so a second copy could
            // not be taken out.
            if !outbox::empty(tx, &key).await? {
                return Ok(false);
            }
            audit.append(tx).await?;
            Ok(true)
        })
        .await
    }

    /// Writes entries that the health database has enqueued, each once however often they are delivered: they are
    /// distinguished by their identifiers.
    pub async fn take_entries(&self, audit: Audit) -> Result<()> {
        self.write_logged(async move |tx| {
            // Before the look, so that two deliveries at once do not both find nothing.
            audit_head::hold(tx).await?;
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

fn read_message(stored: StoredMessage) -> Result<PendingHealthMessage> {
    let Content { change, entries } = outbox::from_text(&stored.text)?;
    Ok(PendingHealthMessage { key: stored.key, change, entries, created_ms: stored.created_ms })
}
