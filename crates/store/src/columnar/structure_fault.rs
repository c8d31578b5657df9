//! Why an upload of Arrow IPC is refused as a whole.

use std::fmt;

use super::schema::TIMESTAMP;

/// Reason why a batch cannot be read at all. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StructureFault {
    /// The type has no such column.
    UnknownColumn(String),
    /// A column's Arrow type cannot hold its values.
    WrongKind(String),
    /// A column is there twice.
    RepeatedColumn(String),
    /// There is no `timestamp`.
    NoTimestamp,
    /// A row names a time zone that does not exist.
    UnknownZone(String),
}

impl fmt::Display for StructureFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StructureFault::UnknownColumn(column) => write!(formatter, "unknown column {column}"),
            StructureFault::WrongKind(column) => {
                write!(formatter, "column {column} has an Arrow type that it cannot be read from")
            }
            StructureFault::RepeatedColumn(column) => write!(formatter, "column {column} is there twice"),
            StructureFault::NoTimestamp => write!(formatter, "column {TIMESTAMP} is missing"),
            StructureFault::UnknownZone(zone) => write!(formatter, "unknown time zone {zone}"),
        }
    }
}

impl std::error::Error for StructureFault {}
