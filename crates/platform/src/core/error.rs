//! What an operation can answer instead of its result. The API gives each a status and a code.

use std::collections::BTreeMap;

use store::StoreError;

/// What is not valid of a request, by field.
pub type FieldFaults = BTreeMap<String, Vec<String>>;

/// Why an operation was not done.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// The credential is missing or not valid.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The credential is valid, but has no right to this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The credential rests on a password that staff chose, and opens nothing but the change of that password.
    #[error("the password was set by staff: choose another one first")]
    PasswordChangeRequired,
    /// There is no such thing; the text names what, such as `patient`.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The operation does not fit the state: a code for programs and a sentence for people.
    #[error("{message}")]
    Conflict {
        /// Snake-case code.
        code: &'static str,
        /// What is wrong.
        message: &'static str,
    },
    /// The request is malformed: a code for programs and a sentence for people.
    #[error("{message}")]
    Malformed {
        /// Snake-case code.
        code: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The events behind a cursor are not there any more: the code says why, and the oldest cursor that can be followed.
    #[error("the events behind this cursor are not there any more; read everything once more and go on from `oldest`")]
    CursorGone {
        /// Snake-case code.
        code: &'static str,
        /// Cursor before the oldest event that is kept.
        oldest: String,
    },
    /// An OAuth client is refused, with the error of RFC 6749.
    #[error("{message}")]
    Oauth {
        /// Such as `invalid_grant`.
        code: &'static str,
        /// What is wrong.
        message: &'static str,
    },
    /// The request is well-formed but not valid; what is wrong, by field.
    #[error("the request is not valid")]
    Invalid(FieldFaults),
    /// Too many tries; seconds to wait.
    #[error("too many requests")]
    TooMany {
        /// Seconds after which to try again.
        retry_after_s: u64,
    },
    /// An export of the patient was begun too short a time ago.
    #[error("one export per patient in {interval_s} seconds, over all types; wait {retry_after_s} seconds")]
    ExportTooSoon {
        /// Seconds after which to try again.
        retry_after_s: u64,
        /// Seconds between two exports of the patient.
        interval_s: i64,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something that should not happen. The text goes to the log, never to a client.
    #[error("{0}")]
    Internal(String),
}

/// What operations answer.
pub type Result<T> = std::result::Result<T, PlatformError>;

impl PlatformError {
    /// One field that is not valid.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        PlatformError::Invalid(FieldFaults::from([(field.to_owned(), vec![message.into()])]))
    }

    /// Whether the store is away, of which nothing follows about a single patient.
    pub(crate) const fn is_unavailable(&self) -> bool {
        matches!(self, PlatformError::Store(StoreError::Unavailable(_)))
    }

    /// Whether stored bytes are not what was written.
    pub(crate) const fn is_damage(&self) -> bool {
        matches!(self, PlatformError::Store(error) if error.is_damage())
    }
}
