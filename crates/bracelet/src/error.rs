//! What can go wrong in this crate.

/// An error of the generator or of the fleet.
#[derive(Debug, thiserror::Error)]
pub enum BraceletError {
    /// The name is not in the time-zone database.
    #[error("unknown time zone `{0}`")]
    UnknownZone(String),
    /// No scenario has this name.
    #[error("unknown scenario `{0}`, known are {known}", known = crate::Cast::NAMES.join(", "))]
    UnknownScenario(String),
    /// No data type has this name.
    #[error("unknown data type `{0}`, known are {known}", known = crate::DataType::names().join(", "))]
    UnknownDataType(String),
    /// A time lies outside what the calendar can express.
    #[error("time {0} ms is outside the calendar")]
    TimeOutOfRange(i64),
    /// A body could not be written as JSON, or an answer could not be read.
    #[error("json: {0}")]
    Json(#[from] serde_json::Error),
}
