//! The event log: what happened, written in the transaction in which it happened.
//!
//! Each database has a log of its own. An event belongs to a patient and counts that patient's events without a gap:
//! the number is a column of the patient's row, which every writer of the patient's events raises, so writers of one
//! patient follow each other and a number that was rolled back is given again.
//!
//! # Position
//! A reader follows the log by position and must not miss an event whose transaction commits late.
//! - SQLite has one writer, so positions are given in the order of commits.
//! - PostgreSQL gives an event the number of its transaction, and readers stop below the oldest transaction that is
//!   still running (`event_horizon`). Whatever is written later has a higher number, so a position below the horizon
//!   gains no row. Nothing is written besides the event itself.
//!
//! A transaction that began early can reach a patient late, after one that began later. Its number would put the
//! patient's second event before the first:
//!
//! ```text
//! transaction 100   writes patient A                       writes patient C (event 2)   commits
//! transaction 101                writes C (event 1), commits
//! ```
//!
//! So an event's position is at least that of the patient's event before it: here both of C have position 101. A
//! position is never below the number of its transaction, so the argument about the horizon holds, and rows of one
//! position are read in the order of the patient's numbers.
//!
//! Limit: the horizon of PostgreSQL is that of the whole server. A long transaction that writes, in whatever database
//! of the same server, delays readers; it loses nothing. [`EventLog::lag_ms`] measures the delay.

mod cursor;
mod log;
pub(crate) mod outbox;
mod retention;

use serde_json::{Value, json};

pub use cursor::{Cursor, LogCursor, Place};
pub use log::{Event, EventLog, EventPage, Followed};
pub use outbox::MessageKey;
pub(crate) use outbox::StoredMessage;
pub(crate) use retention::delete_events;

use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::texts::sql;

macro_rules! event_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Type of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventType {
            $($(#[$doc])* $variant,)*
            /// A type that a newer program has written.
            Unknown,
        }

        impl EventType {
            /// Name as stored, without the prefix of the interface.
            pub fn name(self) -> &'static str {
                match self {
                    $(EventType::$variant => $name,)*
                    EventType::Unknown => "unknown",
                }
            }

            /// The type of this name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => EventType::$variant,)*
                    _ => EventType::Unknown,
                }
            }
        }
    };
}

event_types! {
    /// A sync stored at least one row.
    SyncStored = "sync.stored";
    /// A sync stored nothing new. Not shown to clients.
    SyncRepeated = "sync.repeated";
    /// Latest values changed and nothing else, as when a time comes that a sample was ahead of. Not shown to clients.
    LatestChanged = "latest.changed";
    /// Sections or slots of a local day changed.
    DayUpdated = "day.updated";
    /// The newest NEWS entry or its band changed.
    NewsScored = "news.scored";
    /// The state of a bracelet changed.
    DeviceChanged = "device.changed";
    /// A patient redeemed the voucher.
    PatientActivated = "patient.activated";
    /// A patient joined a study.
    PatientAttached = "patient.attached";
    /// A patient left a study.
    PatientDetached = "patient.detached";
    /// A patient was erased.
    PatientErased = "patient.erased";
    /// An export is done or has failed.
    ExportFinished = "export.finished";
}

/// Event to append.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Type.
    pub event_type: EventType,
    /// Time at which it happened, ms since 1970.
    pub time_ms: i64,
    /// Data of the type, without any personal datum: no name, e-mail, serial number or free text.
    pub body: Value,
}

/// Assignment of an `UPDATE patient` that gives the next event of the patient its position; to be used inside `concat!`
/// where a statement raises `events` itself.
macro_rules! raise_event_position {
    () => {
        "event_position = CASE WHEN event_position > (SELECT position FROM event_clock) THEN event_position
            ELSE (SELECT position FROM event_clock) END"
    };
}
#[allow(unused_imports)]
pub(crate) use raise_event_position;

sql! {
    RAISE = concat!("UPDATE patient SET events = events + $2, ", raise_event_position!(), " WHERE uuid = $1");
    APPEND = "INSERT INTO event (position, patient, sequence, time_ms, type, body)
        SELECT NULLIF(event_position, 0), uuid, events - $2, $3, $4, $5 FROM patient WHERE uuid = $1";
}

/// Every statement of the log, which both databases have.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [TEXTS, log::TEXTS, outbox::TEXTS, retention::TEXTS].concat()
}

/// Appends events of a patient in the transaction in which they happened. A patient who is not there gets none.
///
/// No answer is waited for, so this costs no round trip.
pub(crate) async fn append(tx: &Tx<'_>, patient: &str, events: &[NewEvent]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    tx.put(RAISE, &[&patient, &(events.len() as i64)]).await?;
    append_raised(tx, patient, events, 0).await
}

/// Appends events of a patient whose number of events and position a statement of this transaction has raised, as with
/// [`raise_event_position`]. `after` is how many of those that it was raised for are appended later.
pub(crate) async fn append_raised(tx: &Tx<'_>, patient: &str, events: &[NewEvent], after: usize) -> Result<()> {
    let mut following = (events.len() + after) as i64;
    for event in events {
        following -= 1;
        let body = event.body_text()?;
        tx.put(APPEND, &[&patient, &following, &event.time_ms, &event.event_type.name(), &body]).await?;
    }
    Ok(())
}

impl NewEvent {
    /// Event that says all by its type.
    pub(crate) fn without_data(event_type: EventType, time_ms: i64) -> Self {
        NewEvent { event_type, time_ms, body: json!({}) }
    }

    /// Event of a patient and a group. A reader of another group does not learn of it.
    pub(crate) fn of_group(event_type: EventType, group_code: &str, time_ms: i64) -> Self {
        NewEvent { event_type, time_ms, body: json!({ "group": group_code }) }
    }

    /// The body as it is stored.
    pub(crate) fn body_text(&self) -> Result<String> {
        serde_json::to_string(&self.body).map_err(|error| StoreError::Database(format!("event body: {error}")))
    }
}
