//! Where a body is wrong, and how much memory its rows may take.

use std::cell::{Cell, RefCell};

use serde::de::Error;
use vitals::registry::DataType;

/// Why a body cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    /// It is not JSON.
    #[error("the body is not JSON: {0}")]
    Syntax(String),
    /// It is not an Arrow IPC stream.
    #[error("the body is not an Arrow stream: {0}")]
    NotArrow(String),
    /// It is JSON of another shape.
    #[error("{place}: {message}")]
    Structure {
        /// Where, such as `data.activity.bpm`.
        place: String,
        /// What is wrong there.
        message: String,
    },
}

/// Memory that rows may take for each byte of the body. Columns of the shortest numbers take six, recordings one or
/// two; only columns that most rows leave out take more.
const ROOM_PER_BYTE: usize = 16;

/// Memory that rows may take in any body, bytes.
const LEAST_ROOM: usize = 16 << 20;

/// Where the parser is wrong, kept next to it because its own errors carry only a text.
pub(crate) struct Place {
    pub(super) fault: RefCell<Option<(String, String)>>,
    /// What is being read; of this place is what the parser itself finds wrong.
    pub(super) at: RefCell<Option<String>>,
    /// Memory that rows may still take, bytes.
    room: Cell<usize>,
}

impl Place {
    pub(in super::super) fn of_body(bytes: &[u8]) -> Self {
        let room = LEAST_ROOM.saturating_add(bytes.len().saturating_mul(ROOM_PER_BYTE));
        Place { fault: RefCell::default(), at: RefCell::default(), room: Cell::new(room) }
    }

    /// Counts memory that is about to be taken for rows.
    pub(in super::super) fn take_room<E: Error>(&self, data_type: DataType, bytes: usize) -> Result<(), E> {
        match self.room.get().checked_sub(bytes) {
            // Never given back: what a body has taken once it may need at the same time as the rest.
            Some(room) => {
                self.room.set(room);
                Ok(())
            }
            None => Err(self.fail(format!("data.{}", data_type.name()), "leaves out too much in too many rows")),
        }
    }

    /// Notes what is wrong and makes the error that ends the parsing.
    pub(in super::super) fn fail<E: Error>(&self, place: impl Into<String>, message: impl Into<String>) -> E {
        let (place, message) = (place.into(), message.into());
        // serde carries a text only. It ends the parsing; place and message are taken from next to it.
        let error = E::custom(&message);
        // The innermost comes first and knows best; outer readers that fail in turn would name a vaguer place.
        self.fault.borrow_mut().get_or_insert((place, message));
        error
    }

    pub(in super::super) fn enter(&self, place: impl Into<String>) {
        *self.at.borrow_mut() = Some(place.into());
    }

    pub(in super::super) fn leave(&self) {
        *self.at.borrow_mut() = None;
    }
}
