//! Episodes: what judging answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::sample::Reason;
use super::span::Span;
use crate::latest::Timed;

/// Identifier of an episode among those of one patient in one study. It follows from rows and rules alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpisodeId {
    /// Identifier of the rule.
    pub rule: String,
    /// Version of the rule: the time from which it judges so, ms.
    pub rule_version_ms: i64,
    /// Time of the first row of the breach, ms.
    pub start_ms: i64,
}

impl fmt::Display for EpisodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Identifiers of rules have no full stop, so the parts can be taken apart again.
        write!(formatter, "{}.{}.{}", self.rule, self.rule_version_ms, self.start_ms)
    }
}

/// A change of an episode's level; the first is its opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Time of the row that changed it, ms.
    pub time_ms: i64,
    /// Number of the level from then on, from 1.
    pub level: u8,
}

/// A time in which an open episode could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// First row that could not be judged, or the last row before a silence, ms.
    pub from_ms: i64,
    /// First row that could be judged again, or for another reason not, ms; `None` while there is none.
    pub to_ms: Option<i64>,
    /// Why.
    pub reason: Reason,
}

/// A time in which a rule alarmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Identifier; it holds the time of the first row of the breach.
    pub id: EpisodeId,
    /// Time of the row at which the breach had lasted for as long as the rule asks for, ms.
    pub opened_ms: i64,
    /// When and why it ended; `None` while it is open.
    pub end: Option<(i64, Ending)>,
    /// Value farthest beyond its threshold, with its time; `None` where no total was known.
    pub extreme: Option<Timed>,
    /// Level at the opening, and its changes. Rules without levels have level 1 throughout.
    pub levels: Vec<LevelChange>,
    /// Times in which it could not be judged.
    pub unknown: Vec<Unknown>,
}

impl Episode {
    pub(super) fn open(span: &Span, start_ms: i64, opened_ms: i64) -> Self {
        let id = EpisodeId { rule: span.rule.id.clone(), rule_version_ms: span.from_ms, start_ms };
        Episode { id, opened_ms, end: None, extreme: None, levels: Vec::new(), unknown: Vec::new() }
    }

    /// Level that it has, or had at its end.
    pub fn level(&self) -> u8 {
        self.levels.last().map_or(1, |change| change.level)
    }

    pub(super) fn set_level(&mut self, time_ms: i64, level: u8) {
        if self.levels.last().is_some_and(|last| last.level == level) {
            return;
        }
        // Several levels can be left at once, of which readers need the one that is reached.
        self.levels.retain(|change| change.time_ms < time_ms);
        self.levels.push(LevelChange { time_ms, level });
    }

    pub(super) fn close(&mut self, time_ms: i64, ending: Ending) {
        // Where an episode ends it leaves its lower levels too, and those are no changes while it lasted.
        self.levels.retain(|change| change.time_ms < time_ms);
        self.end = Some((time_ms, ending));
    }
}
