//! Where a body is wrong, and the memory that its rows take.

use std::cell::{Cell, RefCell};

use serde::de::Error;
use vitals::registry::DataType;

use crate::load::{NoRoom, Room};

/// Reason why a body cannot be read.
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
        /// Place of the fault, such as `data.activity.bpm`.
        place: String,
        /// Fault.
        message: String,
    },
    /// There is no memory for what it becomes.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

/// Memory that rows may take for each byte of the body. Columns of the shortest numbers take six, recordings one or
/// two; only columns that most rows leave out take more.
const ROOM_PER_BYTE: usize = 16;

/// Memory that rows may take in any body, bytes.
const LEAST_ROOM: usize = 16 << 20;

/// The most rows that one sync may bring of a waveform: a day at 512 Hz.
const MOST_OF_WAVEFORM: usize = 512 * 86_400;
/// The most rows of another type: three months of heartbeats.
const MOST_OF_OTHERS: usize = 1 << 23;

/// Returns the most rows that one sync may bring of a type.
pub(in super::super) fn most_rows(data_type: DataType) -> usize {
    if data_type.is_waveform() { MOST_OF_WAVEFORM } else { MOST_OF_OTHERS }
}

/// Where the parser is wrong, kept next to it because its own errors carry only a text, and what the upload takes.
pub(crate) struct Place {
    pub(super) fault: RefCell<Option<(String, String)>>,
    /// What is being read; of this place is what the parser itself finds wrong.
    pub(super) at: RefCell<Option<String>>,
    /// Set when reading ended because there is no memory for more.
    pub(super) no_room: Cell<Option<NoRoom>>,
    /// The account of the upload.
    room: Room,
    /// Memory that rows may still take for a body of this size, bytes.
    left_by_size: Cell<usize>,
    /// Rows of the type at hand.
    rows: Cell<usize>,
}

impl Place {
    pub(in super::super) fn of_body(bytes: &[u8], room: &Room) -> Self {
        let by_size = LEAST_ROOM.saturating_add(bytes.len().saturating_mul(ROOM_PER_BYTE));
        Place {
            fault: RefCell::default(),
            at: RefCell::default(),
            no_room: Cell::default(),
            room: room.clone(),
            left_by_size: Cell::new(by_size),
            rows: Cell::default(),
        }
    }

    /// Counts memory that is about to be taken.
    pub(in super::super) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.room.take(bytes).map_err(|no_room| {
            self.no_room.set(Some(no_room));
            E::custom(no_room)
        })
    }

    /// Counts memory that has been freed.
    pub(in super::super) fn give_back(&self, bytes: usize) {
        self.room.give_back(bytes);
    }

    /// Makes room for one more element at least, and for no more than `most`. Both copies are counted while it grows.
    pub(in super::super) fn grow<T, E: Error>(&self, elements: &mut Vec<T>, most: usize) -> Result<(), E> {
        const FIRST: usize = 8;
        let held = elements.capacity();
        let wanted = (2 * held).max(FIRST).min(most).max(elements.len() + 1);
        self.take(wanted * size_of::<T>())?;
        elements.reserve_exact(wanted - elements.len());
        self.give_back(held * size_of::<T>());
        Ok(())
    }

    /// Holds the rows of a type to the size of the body: a row that leaves out all columns is long in memory all the same.
    pub(in super::super) fn hold_to_size<E: Error>(&self, data_type: DataType, bytes: usize) -> Result<(), E> {
        match self.left_by_size.get().checked_sub(bytes) {
            // Never given back: what a body has taken once it may need at the same time as the rest.
            Some(left) => {
                self.left_by_size.set(left);
                Ok(())
            }
            None => Err(self.fail(format!("data.{}", data_type.name()), "leaves out too much in too many rows")),
        }
    }

    /// Counts rows of a type, whatever is in them.
    pub(in super::super) fn count_rows<E: Error>(&self, data_type: DataType, rows: usize) -> Result<(), E> {
        let rows = self.rows.get() + rows;
        self.rows.set(rows);
        if rows > most_rows(data_type) {
            Err(self.too_many_rows(format!("data.{}", data_type.name()), data_type))
        } else {
            Ok(())
        }
    }

    /// Returns the error of more rows than a sync may bring.
    pub(in super::super) fn too_many_rows<E: Error>(&self, place: String, data_type: DataType) -> E {
        let most = most_rows(data_type);
        self.fail(place, format!("has more rows than one sync may bring ({most}): send them in several"))
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

    /// Begins the rows of a type.
    pub(in super::super) fn enter_type(&self, data_type: DataType) {
        self.rows.set(0);
        self.enter(format!("data.{}", data_type.name()));
    }

    pub(in super::super) fn enter(&self, place: impl Into<String>) {
        *self.at.borrow_mut() = Some(place.into());
    }

    pub(in super::super) fn leave(&self) {
        *self.at.borrow_mut() = None;
    }
}
