//! What can go wrong in the store.

use crate::text_column::UnknownName;

/// Why a store operation did not succeed. Nothing of it has been stored then.
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

/// What store operations answer.
pub type Result<T> = std::result::Result<T, StoreError>;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, ConstraintViolation, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, SystemIoFailure,
        };
        if let rusqlite::Error::FromSqlConversionFailure(_, _, cause) = &error
            && cause.is::<UnknownName>()
        {
            return StoreError::Damaged(format!("a row: {cause}"));
        }
        match error.sqlite_error_code() {
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

/// The text of a column that is no name of its type.
fn unknown_name(error: &tokio_postgres::Error) -> Option<&UnknownName> {
    std::error::Error::source(error)?.downcast_ref()
}

/// What an error of the server means, by its SQLSTATE.
fn of_sqlstate(code: &str, message: String) -> StoreError {
    // Connection failures, conflicts of transactions, insufficient resources, a server that stops or starts, its
    // operating system; a lock that was not to be had; a statement or a transaction that took too long or was cancelled.
    let passing = ["08", "40", "53", "57P", "58", "55P03", "57014", "25P03"];
    if code.starts_with("23") {
        StoreError::Conflict(message)
    } else if passing.iter().any(|class| code.starts_with(class)) {
        StoreError::Unavailable(message)
    } else {
        StoreError::Database(message)
    }
}

/// Whether the driver found a value that does not fit its parameter or column, before or after the server saw it.
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

/// The text of an error and of what caused it, which the store's own text leaves out.
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
    fn only_what_passes_is_unavailable() {
        for code in
            ["08006", "08P01", "40001", "40P01", "53100", "53300", "55P03", "57P01", "57P03", "58030", "57014", "25P03"]
        {
            let error = of_sqlstate(code, String::new());
            assert!(matches!(error, StoreError::Unavailable(_)), "{code}: {error:?}");
        }
        for code in ["22021", "22P02", "22003", "42804", "42883", "42P01", "25006", "55000", "XX000", "0A000"] {
            let error = of_sqlstate(code, String::new());
            assert!(matches!(error, StoreError::Database(_)), "{code}: {error:?}");
        }
        assert!(matches!(of_sqlstate("23505", String::new()), StoreError::Conflict(_)));
    }
}
