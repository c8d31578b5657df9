//! Messages: what an operation in one database has enqueued for the other one.
//!
//! A message is an event that readers of the log do not see. It is written in the transaction of the operation that
//! enqueues it, delivered by the operation before it answers, or by a background job when its node was killed, and
//! emptied once it is delivered, so that nothing personal stays in it.
//!
//! Messages of a patient are delivered in the order of the patient's events. A message of no patient (of an account, a
//! key, a client) has its place from its own identifier and no order among others.

use boxed_futures::boxed_futures;
use sha2::{Digest, Sha256};

use super::append::raise_event_position;
use super::log::EventLog;
use crate::engine::row::Columns;
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::{MessageId, PatientId};
use crate::texts::{record, sql};

/// Place of a message in the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey {
    /// Patient that it is about; empty when it is no patient.
    pub patient: PatientId,
    /// Number among the patient's events.
    pub sequence: i64,
}

/// A message that is not delivered yet, as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredMessage {
    pub key: MessageKey,
    pub created_ms: i64,
    /// JSON.
    pub text: String,
}

/// What represents a patient in messages of no patient.
const NO_PATIENT: &str = "";
/// Keys in one page.
const PAGE: i64 = 100;

record! {
    key_columns!(""), read_key(columns) -> MessageKey { patient, sequence }
}

record! {
    message_columns!(""), read_message(row) -> StoredMessage {
        key <- key_columns!(read_key), created_ms = "time_ms", text = "message",
    }
}

sql! {
    /// Also makes the operations on one patient follow each other.
    RAISE = concat!("UPDATE patient SET events = events + 1, ", raise_event_position!(), " WHERE uuid = $1");
    ENQUEUE = "INSERT INTO event (position, patient, sequence, time_ms, type, body, message)
        SELECT NULLIF(event_position, 0), uuid, events, $2, 'message', '{}', $3 FROM patient WHERE uuid = $1";
    ENQUEUE_OF_NO_PATIENT = "INSERT INTO event (position, patient, sequence, time_ms, type, body, message)
        SELECT NULLIF(position, 0), '', $1, $2, 'message', '{}', $3 FROM event_clock";
    OF_PATIENT = concat!("SELECT ", message_columns!(), " FROM event
        WHERE patient = $1 AND message IS NOT NULL ORDER BY sequence");
    FIND = concat!("SELECT ", message_columns!(), " FROM event
        WHERE patient = $1 AND sequence = $2 AND message IS NOT NULL");
    KEYS = concat!("SELECT ", key_columns!(), " FROM event
        WHERE message IS NOT NULL AND time_ms <= $1 AND (patient, sequence) > ($2, $3)
        ORDER BY patient, sequence LIMIT $4");
    REPLACE = "UPDATE event SET message = $3 WHERE patient = $1 AND sequence = $2 AND message IS NOT NULL";
    EMPTY = "UPDATE event SET message = NULL WHERE patient = $1 AND sequence = $2 AND message IS NOT NULL";
}

impl MessageKey {
    /// Returns the key of a message of no patient, from its identifier.
    pub fn of_id(id: &MessageId) -> Self {
        let hash = Sha256::digest(id.as_str());
        let mut start = [0; 8];
        start.copy_from_slice(&hash[..8]);
        // By a hash and without a counter: a row that all such operations raise would make them wait for each other.
        MessageKey { patient: PatientId::new(NO_PATIENT), sequence: i64::from_be_bytes(start) & i64::MAX }
    }

    /// Patient that it is about.
    pub fn patient(&self) -> Option<&PatientId> {
        (self.patient.as_str() != NO_PATIENT).then_some(&self.patient)
    }
}

/// Writes a message about a patient, in the transaction that enqueues it. [`StoreError::Gone`] when the patient is not
/// there.
pub(crate) async fn enqueue(tx: &Tx<'_>, patient: &PatientId, created_ms: i64, text: &str) -> Result<()> {
    // Waited for, unlike an event: an operation about somebody who is not there must fail.
    if tx.execute(RAISE, &[&patient]).await? == 0 {
        return Err(StoreError::Gone("patient"));
    }
    tx.put(ENQUEUE, &[&patient, &created_ms, &text]).await
}

/// Writes a message about no patient, in the transaction that enqueues it.
pub(crate) async fn enqueue_of_no_patient(tx: &Tx<'_>, id: &MessageId, created_ms: i64, text: &str) -> Result<()> {
    tx.put(ENQUEUE_OF_NO_PATIENT, &[&MessageKey::of_id(id).sequence, &created_ms, &text]).await
}

/// Returns the messages about a patient that are not delivered, in their order.
pub(crate) async fn of_patient(tx: &Tx<'_>, patient: &PatientId) -> Result<Vec<StoredMessage>> {
    tx.query(OF_PATIENT, &[&patient], read_message).await
}

/// Returns a message that is not delivered.
pub(crate) async fn find(tx: &Tx<'_>, key: &MessageKey) -> Result<Option<StoredMessage>> {
    tx.query_opt(FIND, &[&key.patient, &key.sequence], read_message).await
}

/// Puts another content in the place of that of a message.
pub(crate) async fn replace(tx: &Tx<'_>, key: &MessageKey, text: &str) -> Result<()> {
    tx.put(REPLACE, &[&key.patient, &key.sequence, &text]).await
}

/// Empties a message that is delivered. False when it was empty.
pub(crate) async fn empty(tx: &Tx<'_>, key: &MessageKey) -> Result<bool> {
    Ok(tx.execute(EMPTY, &[&key.patient, &key.sequence]).await? == 1)
}

#[boxed_futures]
impl EventLog {
    /// Keys of messages that were written until a time and are not delivered, behind a key; a page of them.
    pub async fn undelivered(&self, until_ms: i64, after: Option<MessageKey>) -> Result<Vec<MessageKey>> {
        let after = after.unwrap_or(MessageKey { patient: PatientId::new(NO_PATIENT), sequence: -1 });
        let read = |row: &Row<'_>| read_key(&mut Columns::of(row));
        let params =
            async move |tx: &Tx<'_>| tx.query(KEYS, &[&until_ms, &after.patient, &after.sequence, &PAGE], read).await;
        self.db.read_single(params).await
    }
}

/// Returns the JSON of a message.
pub(crate) fn to_text(message: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(message).map_err(|error| unreadable(&error))
}

/// Returns a message from its JSON.
pub(crate) fn from_text<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> StoreError {
    StoreError::Damaged(format!("outbox message: {error}"))
}
