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

mod append;
mod cursor;
mod event;
mod log;
pub(crate) mod outbox;
mod retention;

pub(crate) use append::{append, raise_event_position};
pub use cursor::{Cursor, LogCursor, Place};
pub use event::{EventType, NewEvent};
pub use log::{Event, EventLog, EventPage, Followed};
pub use outbox::MessageKey;
pub(crate) use outbox::StoredMessage;
pub(crate) use retention::delete_events;

/// Returns every statement of the log, which both databases have.
#[cfg(test)]
pub(crate) fn all_texts() -> Vec<&'static str> {
    [append::TEXTS, log::TEXTS, outbox::TEXTS, retention::TEXTS].concat()
}
