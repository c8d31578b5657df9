//! Messages to the users database: audit entries that a committed operation has enqueued for it. See
//! `events/outbox.rs`.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};

use super::db::HealthDb;
use super::jobs;
use crate::audit_entry::NewAuditEntry;
use crate::engine::Tx;
use crate::error::Result;
use crate::events::{MessageKey, StoredMessage, outbox};
use crate::ids::{ExportId, PatientId};

/// A message that is to be delivered.
#[derive(Clone, Debug)]
pub struct PendingEntries {
    /// Its place.
    pub key: MessageKey,
    /// The entries, stamped at completion.
    pub entries: Vec<NewAuditEntry>,
}

/// What is stored of a message.
#[derive(Serialize, Deserialize)]
struct Content {
    entries: Vec<NewAuditEntry>,
    /// The export that is freed for work once they are written.
    export: Option<ExportId>,
}

/// Writes a message in the transaction that enqueues it; an export that is named is freed for work once the entry is
/// written. [`crate::StoreError::Gone`] when the patient is not there.
pub(super) async fn enqueue(
    tx: &Tx<'_>,
    patient: &PatientId,
    entry: &NewAuditEntry,
    export: Option<&ExportId>,
    created_ms: i64,
) -> Result<()> {
    let content = Content { entries: vec![entry.clone()], export: export.cloned() };
    outbox::enqueue(tx, patient, created_ms, &outbox::to_text(&content)?).await
}

/// Removes the details from what is enqueued about a patient who is being erased.
pub(super) async fn drop_details(tx: &Tx<'_>, patient: &PatientId) -> Result<()> {
    for stored in outbox::of_patient(tx, patient).await? {
        let mut content: Content = outbox::from_text(&stored.text)?;
        for entry in &mut content.entries {
            // That something was done stays; the details may hold what was asked for of the person.
            entry.details = None;
        }
        outbox::replace(tx, &stored.key, &outbox::to_text(&content)?).await?;
    }
    Ok(())
}

#[boxed_futures]
impl HealthDb {
    /// Returns the entries about a patient that are to be delivered, in the order in which they were committed.
    pub async fn entries_of(&self, patient: &PatientId) -> Result<Vec<PendingEntries>> {
        let patient = patient.clone();
        let read = |stored: StoredMessage| {
            let Content { entries, .. } = outbox::from_text(&stored.text)?;
            Ok(PendingEntries { key: stored.key, entries })
        };
        let found = self.db.read_single(async move |tx| outbox::of_patient(tx, &patient).await).await?;
        found.into_iter().map(read).collect()
    }

    /// Empties a message whose entries are written, and frees the export that waits for them.
    pub async fn entries_taken(&self, key: &MessageKey) -> Result<()> {
        let key = key.clone();
        self.db
            .write(async move |tx| {
                // Another node has delivered it.
                let Some(stored) = outbox::find(tx, &key).await? else { return Ok(()) };
                if let Content { export: Some(export), .. } = outbox::from_text(&stored.text)? {
                    // In one transaction with emptying the message: after a crash between the two the export would
                    // never begin.
                    jobs::enqueue(tx, jobs::EXPORT_KIND, (&export).into(), key.patient(), stored.created_ms).await?;
                }
                outbox::empty(tx, &key).await.map(drop)
            })
            .await
    }
}
