//! What can go wrong in the store.

use crate::damage::DamagedRows;
use crate::text_column::UnknownName;

/// Reason why a store operation did not succeed. Nothing of it has been stored then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database or the object store cannot be reached, is full or is too busy; trying again later can help.
    #[error("storage is not available: {0}")]
    Unavailable(String),
    /// A row with this identity is already there.
    #[error("already exists: {0}")]
    Conflict(String),
    /// What the operation is about is not there, or not any more; the word names its kind.
    #[error("{0} is not there")]
    Gone(&'static str),
    /// Stored bytes are not what was written.
    #[error("stored data are damaged: {0}")]
    Damaged(String),
    /// The same, of which it is known what rows it concerns.
    #[error("stored data are damaged: {0}")]
    DamagedRows(Box<DamagedRows>),
    /// A statement failed for a reason that trying again does not change.
    #[error("database: {0}")]
    Database(String),
    /// The operation needs a newer or an older version of this program.
    #[error("schema version {found} is not the version {known} of this program")]
    SchemaVersion {
        /// What the database holds.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// A lease that the work was done under has passed to another worker.
    #[error("the lease was lost to another worker")]
    LeaseLost,
}

/// How the error of a missing object ends.
const NOT_THERE: &str = "is not there";

/// What store operations answer.
pub type Result<T> = std::result::Result<T, StoreError>;

impl StoreError {
    /// Returns whether stored bytes are not what was written: trying again does not help before they are restored.
    pub const fn is_damage(&self) -> bool {
        matches!(self, StoreError::Damaged(_) | StoreError::DamagedRows(_))
    }

    /// A sealed file is in the catalog and not among the objects.
    pub(crate) fn missing_object(path: &str) -> Self {
        StoreError::Damaged(format!("{path} {NOT_THERE}"))
    }

    /// Returns whether damage is that an object is not there.
    pub(crate) fn is_of_missing_object(&self) -> bool {
        match self {
            StoreError::Damaged(reason) => reason.ends_with(NOT_THERE),
            StoreError::DamagedRows(rows) => rows.reason.ends_with(NOT_THERE),
            _ => false,
        }
    }

    /// Damage of rows in a stretch of time, µs.
    pub(crate) fn damaged_rows(what: &str, (first_us, last_us): (i64, i64), reason: &str) -> Self {
        let (what, reason) = (what.to_owned(), reason.to_owned());
        StoreError::DamagedRows(Box::new(DamagedRows { what, first_us, last_us, reason }))
    }
}

/// Says of damage which rows it is in; other errors stay as they are.
pub(crate) fn of_rows<T>(result: Result<T>, what: &str, times_us: (i64, i64)) -> Result<T> {
    result.map_err(|error| match error {
        StoreError::Damaged(reason) => StoreError::damaged_rows(what, times_us, &reason),
        other => other,
    })
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, ConstraintViolation, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
            OutOfMemory, SystemIoFailure,
        };
        if let rusqlite::Error::FromSqlConversionFailure(_, _, cause) = &error
            && cause.is::<UnknownName>()
        {
            return StoreError::Damaged(format!("a row: {cause}"));
        }
        if is_of_another_type(&error) {
            return StoreError::Damaged(format!("a row: {error}"));
        }
        match error.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => StoreError::Damaged(error.to_string()),
            // Rows are made to refuse what another transaction has overtaken, so a constraint is an answer and no fault
            // of the program.
            Some(ConstraintViolation) => StoreError::Conflict(error.to_string()),
            Some(DatabaseBusy | DatabaseLocked | DiskFull | SystemIoFailure | CannotOpen | OutOfMemory) => {
                StoreError::Unavailable(error.to_string())
            }
            _ => StoreError::Database(error.to_string()),
        }
    }
}

/// Returns whether a stored value is of another type than its column. Every statement is run in tests on sound rows, so
/// it is the row that is wrong.
const fn is_of_another_type(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(unknown) = unknown_name(&error) {
            return StoreError::Damaged(format!("a row: {unknown}"));
        }
        // The driver's own text says only "db error"; the server's message is in the source. It names tables and
        // constraints, never values, because the detail field is left out.
        let message = error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned());
        match error.code() {
            Some(state) => of_sqlstate(state.code(), message),
            None if is_of_our_values(&error) => StoreError::Database(message),
            // The server has said nothing: the connection broke.
            None => StoreError::Unavailable(message),
        }
    }
}

/// Returns the text of a column that is no name of its type.
fn unknown_name(error: &tokio_postgres::Error) -> Option<&UnknownName> {
    std::error::Error::source(error)?.downcast_ref()
}

/// A page or an index whose contents the server finds to be wrong.
const DAMAGED: [&str; 2] = ["XX001", "XX002"];

/// Returns what an error of the server means, by its SQLSTATE.
fn of_sqlstate(code: &str, message: String) -> StoreError {
    // Connection failures, conflicts of transactions, insufficient resources, a server that stops or starts, its
    // operating system; a lock that was not to be had; a statement or a transaction that took too long or was cancelled; a
    // statement that a pooler gave to a connection that does not know it, which is sent in another way the next time.
    let passing = ["08", "26000", "40", "42P05", "53", "57P", "58", "55P03", "57014", "25P03"];
    if code.starts_with("23") {
        StoreError::Conflict(message)
    } else if DAMAGED.contains(&code) {
        StoreError::Damaged(message)
    } else if passing.iter().any(|class| code.starts_with(class)) {
        StoreError::Unavailable(message)
    } else {
        StoreError::Database(message)
    }
}

/// Returns whether the driver found a value that does not fit its parameter or column, before or after the server saw
/// it.
fn is_of_our_values(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;

    use tokio_postgres::types::{WasNull, WrongType};
    error.source().is_some_and(|source| source.is::<WrongType>() || source.is::<WasNull>())
}

impl From<parquet::errors::ParquetError> for StoreError {
    fn from(error: parquet::errors::ParquetError) -> Self {
        StoreError::Damaged(format!("a segment: {error}"))
    }
}

impl From<arrow_schema::ArrowError> for StoreError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        StoreError::Damaged(format!("a batch: {error}"))
    }
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        StoreError::Unavailable(with_causes(&error))
    }
}

/// Returns the text of an error and of what caused it, which the store's own text leaves out.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.contains(&further) {
            text = format!("{text}: {further}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_said_to_be_in_rows_and_other_errors_stay_as_they_are() {
        let damaged = Err::<(), _>(StoreError::Damaged("a payload".to_owned()));
        let error = of_rows(damaged, "activity", (0, 1)).expect_err("damage");
        assert!(error.is_damage());
        let StoreError::DamagedRows(rows) = error else { panic!("{error}") };
        assert_eq!((rows.what.as_str(), rows.first_us, rows.last_us), ("activity", 0, 1));
        assert!(matches!(of_rows::<()>(Err(StoreError::LeaseLost), "", (0, 0)), Err(StoreError::LeaseLost)));
    }

    #[test]
    fn only_what_passes_is_unavailable() {
        for code in [
            "08006", "08P01", "40001", "40P01", "53100", "53300", "55P03", "57P01", "57P03", "58030", "57014", "25P03",
            "26000", "42P05",
        ] {
            let error = of_sqlstate(code, String::new());
            assert!(matches!(error, StoreError::Unavailable(_)), "{code}: {error:?}");
        }
        for code in ["22021", "22P02", "22003", "42804", "42883", "42P01", "25006", "55000", "XX000", "0A000"] {
            let error = of_sqlstate(code, String::new());
            assert!(matches!(error, StoreError::Database(_)), "{code}: {error:?}");
        }
        assert!(matches!(of_sqlstate("23505", String::new()), StoreError::Conflict(_)));
        for code in DAMAGED {
            assert!(of_sqlstate(code, String::new()).is_damage(), "{code}");
        }
    }
}
