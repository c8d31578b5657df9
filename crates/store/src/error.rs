//! What can go wrong in the store.

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
        match error.sqlite_error_code() {
            Some(ConstraintViolation) => StoreError::Conflict(error.to_string()),
            Some(DatabaseBusy | DatabaseLocked | DiskFull | SystemIoFailure | CannotOpen | OutOfMemory) => {
                StoreError::Unavailable(error.to_string())
            }
            _ => StoreError::Database(error.to_string()),
        }
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        // The driver's own text says only "db error"; the server's message is in the source. It names tables and
        // constraints, never values, because the detail field is left out.
        let message = error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned());
        let Some(state) = error.code() else {
            return StoreError::Unavailable(message);
        };
        match state.code() {
            code if code.starts_with("23") => StoreError::Conflict(message),
            // Connection failures, insufficient resources, operator intervention, conflicts of transactions.
            code if ["08", "53", "57", "40", "55"].contains(&&code[..2]) => StoreError::Unavailable(message),
            _ => StoreError::Database(message),
        }
    }
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
        StoreError::Unavailable(error.to_string())
    }
}
