//! Levels of an alarm: one for most rules, four for the built-in rule on NEWS2.
//!
//! Source of the four: Royal College of Physicians, National Early Warning Score (NEWS) 2, 2017, chart 4 (clinical
//! response to the triggers). The facts are the chart's, the words are ours.

use serde::Serialize;

use super::priority::Priority;

/// A level that an episode can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Name, for programs.
    pub name: &'static str,
    /// Priority while the episode has the level.
    pub priority: Priority,
    /// Required response, for people.
    pub response: &'static str,
    /// Time of the next observation, for people.
    pub next_observation: &'static str,
}

/// Levels of NEWS2, the lowest first. A total of 0 has none: its observations are at least every 12 hours.
pub const NEWS2_LEVELS: [Level; 4] = [
    Level {
        name: "low",
        priority: Priority::Low,
        response: "A nurse assesses the patient and decides whether to observe more often or to ask for help.",
        next_observation: "within 4 to 6 hours",
    },
    Level {
        name: "single_three",
        priority: Priority::Medium,
        response: "One sign is far off: a nurse informs the medical team, which assesses the patient.",
        next_observation: "within 1 hour",
    },
    Level {
        name: "medium",
        priority: Priority::Medium,
        response: "Urgent: the medical team is informed at once; a clinician trained in acute illness assesses the \
                   patient, where monitoring is at hand.",
        next_observation: "within 1 hour",
    },
    Level {
        name: "high",
        priority: Priority::High,
        response: "Emergency: a team with critical care skills assesses the patient at once; consider a higher level \
                   of care.",
        next_observation: "continuous monitoring",
    },
];

/// The number of a level of NEWS2, from 1, as far as an evaluation shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewsLevel {
    /// Exactly this; 0 is none.
    Exactly(u8),
    /// This or a higher one: a part scores 3, and the total is not known.
    AtLeast(u8),
    /// Not known.
    Unknown,
}

/// Returns the level of a total, where there is one, and of the highest part that is known.
pub(super) fn news_level(total: Option<u8>, highest_part: u8) -> NewsLevel {
    match total {
        Some(7..) => NewsLevel::Exactly(4),
        Some(5..=6) => NewsLevel::Exactly(3),
        Some(_) if highest_part >= 3 => NewsLevel::Exactly(2),
        Some(1..=4) => NewsLevel::Exactly(1),
        Some(0) => NewsLevel::Exactly(0),
        // The chart's single 3 is about one sign alone. A missing pressure must not silence a saturation of 80 %.
        None if highest_part >= 3 => NewsLevel::AtLeast(2),
        None => NewsLevel::Unknown,
    }
}
