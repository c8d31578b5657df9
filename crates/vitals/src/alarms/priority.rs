//! Priorities of alarms.

use serde::{Deserialize, Serialize};

/// How urgent an alarm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Shown, never notified.
    Low,
    /// Notified.
    Medium,
    /// Notified, above all others.
    High,
}

impl Priority {
    /// All, the most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// `high`, `medium` or `low`.
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}
