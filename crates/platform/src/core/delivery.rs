//! Delivery of messages: finishes operations that touch both databases.
//!
//! An operation that begins in the users database first commits, there, what it does and a message with the health change
//! that it enqueues. Then come the two steps here: the change, which is made once however often it is delivered, and the audit entries. An
//! operation that begins in the health database commits a message with its audit entries, and the step here writes
//! them. A node that was killed between any two steps has lost nothing: a background job delivers what is left.
//!
//! Once the change is made, what an operation was asked for is done, and only its entries are left. Where these cannot be
//! written, as while another node holds the head of the audit log, the caller is not refused: one who tries again would
//! do it twice. The job writes them.
//!
//! The same holds of an operation that cannot be asked for twice (an enrolment, an activation) as soon as its message is
//! committed: it is answered as made, and the job makes the change. Any other is answered 503 until its change is made:
//! who asks again changes nothing twice, and who was answered too early would read the old value, or trust that a token
//! has ended which has not.
//!
//! Messages about a patient are delivered in the order in which they were committed, also what another operation, here
//! or on another node, has committed before: see `store/src/users/messages.rs`.

use boxed_futures::boxed_futures;
use futures::{StreamExt, TryStreamExt};
use store::events::MessageKey;
use store::{HealthMessage, PatientId, PendingHealthMessage, StoreError};

use crate::core::Core;
use crate::core::error::{PlatformError, Result};

/// Patients whose changes are made at once where an operation has messages for many.
const PATIENTS_AT_ONCE: usize = 32;

/// Which database a message goes to.
#[derive(Clone, Copy)]
enum Direction {
    ToHealth,
    ToUsers,
}

#[boxed_futures]
impl Core {
    /// Delivers the message that an operation has committed, and what was committed before it about the same patient.
    /// Entries that cannot be written now are left for the job.
    pub(crate) async fn deliver(&self, message: HealthMessage) -> Result<()> {
        if let Some(patient) = message.change.patient() {
            return self.deliver_changes_of(patient).await;
        }
        let HealthMessage { id, change, entries, created_ms } = message;
        let key = MessageKey::of_id(&id);
        leave_entries(self.make_all(vec![PendingHealthMessage { key, change, entries, created_ms }]).await?)
    }

    /// Delivers the message of an operation that cannot be asked for twice. Where a store is away it is left for the job.
    pub(crate) async fn deliver_or_leave(&self, message: HealthMessage) -> Result<()> {
        match self.deliver(message).await {
            Err(PlatformError::Store(error @ StoreError::Unavailable(_))) => {
                tracing::warn!(%error, "outbox delivery failed, will retry");
                Ok(())
            }
            delivered => delivered,
        }
    }

    /// Makes all changes that are enqueued for a patient, in their order, and writes their entries. Those that cannot be
    /// written now are left for the job.
    pub(crate) async fn deliver_changes_of(&self, patient: &PatientId) -> Result<()> {
        leave_entries(self.make_all(self.users().messages_of(patient).await?).await?)
    }

    /// The same to the end: fails also where only entries are left. Returns how many changes there were.
    pub(crate) async fn complete_changes_of(&self, patient: &PatientId) -> Result<usize> {
        let messages = self.users().messages_of(patient).await?;
        let count = messages.len();
        self.make_all(messages).await?.map_or(Ok(count), |unwritten| Err(unwritten.into()))
    }

    /// The same for several patients.
    pub(crate) async fn deliver_changes_of_all(&self, patients: Vec<PatientId>) -> Result<()> {
        let deliver = |patient: PatientId| async move { self.deliver_changes_of(&patient).await };
        futures::stream::iter(patients).map(deliver).buffer_unordered(PATIENTS_AT_ONCE).try_collect().await
    }

    /// Writes all audit entries that the health database has enqueued for a patient. Returns how many messages there
    /// were.
    pub(crate) async fn deliver_entries_of(&self, patient: &PatientId) -> Result<usize> {
        let messages = self.health().entries_of(patient).await?;
        let count = messages.len();
        for message in messages {
            // In this order: an entry that comes twice is known by its identifier, one that is forgotten is lost.
            self.users().take_entries(self.audit(message.entries)).await?;
            self.health().entries_taken(&message.key).await?;
        }
        Ok(count)
    }

    /// Delivers what others have left for longer than this, ms, in both directions; one that fails does not hold up the
    /// others. Returns how many messages there were.
    ///
    /// # Errors
    /// The first failure, when everything else has been tried.
    pub async fn deliver_pending(&self, older_than_ms: i64) -> Result<usize> {
        let until_ms = self.now_ms() - older_than_ms;
        let changes = self.deliver_left(Direction::ToHealth, until_ms).await;
        let entries = self.deliver_left(Direction::ToUsers, until_ms).await;
        // Both directions are tried before the first failure is returned.
        Ok(changes? + entries?)
    }

    /// Delivers for each patient with a message from before a time, and each such message about no patient.
    async fn deliver_left(&self, direction: Direction, until_ms: i64) -> Result<usize> {
        let log = match direction {
            Direction::ToHealth => self.users().events(),
            Direction::ToUsers => self.health().events(),
        };
        let (mut delivered, mut first_failure, mut last) = (0, None, None::<MessageKey>);
        loop {
            let keys = log.undelivered(until_ms, last.clone()).await?;
            if keys.is_empty() {
                return first_failure.map_or(Ok(delivered), Err);
            }
            for key in keys {
                // Keys of a patient lie together, and the first try goes through all messages of that patient.
                let is_tried = key.patient().is_some() && last.as_ref().is_some_and(|last| last.patient == key.patient);
                if !is_tried {
                    match self.deliver_at(direction, &key).await {
                        Ok(count) => delivered += count,
                        Err(error) => first_failure = first_failure.or(Some(error)),
                    }
                }
                last = Some(key);
            }
        }
    }

    async fn deliver_at(&self, direction: Direction, key: &MessageKey) -> Result<usize> {
        match (direction, key.patient()) {
            // Through all messages of the patient: entries enter the chain in the order in which things were done.
            (Direction::ToUsers, _) => self.deliver_entries_of(&key.patient).await,
            (Direction::ToHealth, Some(patient)) => self.complete_changes_of(patient).await,
            (Direction::ToHealth, None) => match self.users().message(key).await? {
                Some(message) => self.make_all(vec![message]).await?.map_or(Ok(1), |unwritten| Err(unwritten.into())),
                None => Ok(0),
            },
        }
    }

    /// Makes the change of each message, then empties the message and writes its entries. The first change that fails ends
    /// it: no change may be made before an earlier one. Where entries cannot be written, the other changes are made all the
    /// same; the entries behind are left too, so that they enter the log in their order. Returns the failure of entries.
    async fn make_all(&self, messages: Vec<PendingHealthMessage>) -> Result<Option<StoreError>> {
        let mut unwritten = None;
        for PendingHealthMessage { key, change, entries, .. } in messages {
            // In this order (refinement 17): the change knows its number and is made once, however often it is delivered.
            self.health().apply_numbered(change, key.sequence).await?;
            if unwritten.is_none() {
                unwritten = self.users().complete(&key, self.audit(entries)).await.err();
            }
        }
        Ok(unwritten)
    }
}

/// Leaves entries for the job where the store could not write them for now.
fn leave_entries(unwritten: Option<StoreError>) -> Result<()> {
    match unwritten {
        Some(error @ StoreError::Unavailable(_)) => {
            tracing::warn!(%error, "audit entries could not be written, will retry");
            Ok(())
        }
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
