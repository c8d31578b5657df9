//! What can go wrong in this crate.

/// An error of the generator or of the fleet.
#[derive(Debug, thiserror::Error)]
pub enum BraceletError {
    /// The name is not in the time-zone database.
    #[error("unknown time zone `{0}`")]
    UnknownZone(String),
    /// No scenario has this name.
    #[error("unknown scenario `{name}`, known are {known}")]
    UnknownScenario {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// No data type has this name.
    #[error("unknown data type `{name}`, known are {known}")]
    UnknownDataType {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A request for stories is not understood.
    #[error("`{text}` is no story, asked for as NAME:COUNT or NAME:PERCENT%, or `healthy` for none; known are {known}")]
    UnknownStory {
        /// What was asked for.
        text: String,
        /// The names that there are.
        known: String,
    },
    /// The time of the fleet is too short for its stories.
    #[error("there is no room for another story `{0}`: send more days, or take more patients or fewer stories")]
    NoRoomForStory(&'static str),
    /// The file of the truth cannot be written.
    #[error("cannot write the truth to {path}: {reason}")]
    TruthFile {
        /// Its path.
        path: String,
        /// Why not.
        reason: std::io::Error,
    },
    /// A time lies outside what the calendar can express.
    #[error("time {0} ms is outside the calendar")]
    TimeOutOfRange(i64),
    /// A body could not be written as JSON.
    #[error("json: {0}")]
    Json(#[from] serde_json::Error),
    /// A body could not be compressed.
    #[error("compression: {0}")]
    Compression(#[from] std::io::Error),
    /// The service could not be reached, or broke off.
    #[error("http: {}", reasons(.0))]
    Http(#[from] reqwest::Error),
    /// The service answered a request with an error.
    #[error("cannot {what}: status {status} {message}")]
    Refused {
        /// The request.
        what: &'static str,
        /// The HTTP status.
        status: u16,
        /// The message of the answer.
        message: String,
    },
    /// The fleet was stopped while the service gave no answer.
    #[error("stopped while the service gave no answer")]
    Stopped,
    /// An answer lacks a field that it must have.
    #[error("the answer has no `{0}`")]
    MissingField(&'static str),
    /// A task of the fleet was cancelled or panicked.
    #[error("task: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The fleet is shutting down.
    #[error("the fleet is closed")]
    Closed(#[from] tokio::sync::AcquireError),
}

/// Returns the text of an error with all of its reasons: only the innermost of them says "connection refused", or what is
/// wrong with a certificate.
pub fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        let said = reason.to_string();
        // Some repeat what they are made of.
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = reason.source();
    }
    text
}
