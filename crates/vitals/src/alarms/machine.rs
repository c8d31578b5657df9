//! The states of one level of a rule, and how rows lead from one to the next.

use serde::{Deserialize, Serialize};

use super::finding::{Finding, Side};
use super::rule::Rule;

/// How long an open episode waits for a row that can be judged, ms.
pub const NOT_JUDGED_AFTER_MS: i64 = 12 * 3_600_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum Machine {
    #[default]
    Normal,
    Pending {
        since_ms: i64,
    },
    Active {
        judged_ms: i64,
        side: Side,
    },
    Recovering {
        judged_ms: i64,
        side: Side,
        /// Sample time for which values have been clear, ms.
        cleared_ms: i64,
        /// Whether the last row was judged, so that the time since then counts.
        is_counting: bool,
    },
}

/// What a row brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// It is active from now on, because of a breach since then.
    Opened { since_ms: i64 },
    /// It is normal again.
    Closed,
}

impl Machine {
    pub fn is_normal(self) -> bool {
        self == Machine::Normal
    }

    /// Returns whether an episode is open at this level.
    pub fn is_open(self) -> bool {
        matches!(self, Machine::Active { .. } | Machine::Recovering { .. })
    }

    /// Side of the last breach of the open episode.
    pub fn side(self) -> Option<Side> {
        match self {
            Machine::Active { side, .. } | Machine::Recovering { side, .. } => Some(side),
            Machine::Normal | Machine::Pending { .. } => None,
        }
    }

    /// Ends what could not be judged for too long at a time; returns when it did.
    pub fn expire(&mut self, time_ms: i64) -> Option<i64> {
        let (Machine::Active { judged_ms, .. } | Machine::Recovering { judged_ms, .. }) = *self else { return None };
        let end_ms = judged_ms + NOT_JUDGED_AFTER_MS;
        (time_ms >= end_ms).then(|| {
            *self = Machine::Normal;
            end_ms
        })
    }

    /// Restarts what counts sample time: nobody knows what happened in a silence.
    pub fn restart(&mut self) {
        match self {
            Machine::Pending { .. } => *self = Machine::Normal,
            Machine::Recovering { cleared_ms, is_counting, .. } => (*cleared_ms, *is_counting) = (0, false),
            Machine::Normal | Machine::Active { .. } => {}
        }
    }

    /// Takes a row, which came so long after the one before.
    pub fn step(&mut self, rule: &Rule, time_ms: i64, since_last_ms: i64, finding: Finding) -> Option<Transition> {
        match finding {
            Finding::Unknown(_) => {
                match self {
                    // Motion makes rows poor and values wrong: a breach around poor rows has to show itself again.
                    Machine::Pending { .. } => *self = Machine::Normal,
                    // A patient who has recovered has not fallen ill because a sensor slipped.
                    Machine::Recovering { is_counting, .. } => *is_counting = false,
                    Machine::Normal | Machine::Active { .. } => {}
                }
                None
            }
            Finding::Breach(breach) => self.breach(rule, time_ms, breach.side),
            Finding::Between => {
                // Somebody who is asked to look at a value near its threshold is still needed: recovery begins again.
                *self = match self.side() {
                    Some(side) => Machine::Active { judged_ms: time_ms, side },
                    None => Machine::Normal,
                };
                None
            }
            Finding::Clear => self.clear(rule, time_ms, since_last_ms),
        }
    }

    fn breach(&mut self, rule: &Rule, time_ms: i64, side: Side) -> Option<Transition> {
        let active = Machine::Active { judged_ms: time_ms, side };
        let since_ms = match *self {
            Machine::Active { .. } | Machine::Recovering { .. } => {
                *self = active;
                return None;
            }
            Machine::Normal => time_ms,
            Machine::Pending { since_ms } => since_ms,
        };
        if time_ms - since_ms < i64::from(rule.for_s) * 1000 {
            *self = Machine::Pending { since_ms };
            return None;
        }
        *self = active;
        Some(Transition::Opened { since_ms })
    }

    fn clear(&mut self, rule: &Rule, time_ms: i64, since_last_ms: i64) -> Option<Transition> {
        let (side, cleared_ms) = match *self {
            Machine::Normal | Machine::Pending { .. } => {
                *self = Machine::Normal;
                return None;
            }
            Machine::Active { side, .. } => (side, 0),
            // What lies between two rows that were judged counts. Rows that were not judged neither count nor restart.
            Machine::Recovering { side, cleared_ms, is_counting: true, .. } => (side, cleared_ms + since_last_ms),
            Machine::Recovering { side, cleared_ms, .. } => (side, cleared_ms),
        };
        if cleared_ms < i64::from(rule.clear_for_s) * 1000 {
            *self = Machine::Recovering { judged_ms: time_ms, side, cleared_ms, is_counting: true };
            return None;
        }
        *self = Machine::Normal;
        Some(Transition::Closed)
    }
}
