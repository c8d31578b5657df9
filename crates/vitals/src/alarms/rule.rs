//! A rule: what it watches, when it alarms and when it counts as cleared.

use serde::{Deserialize, Serialize};

use super::level::{Level, NEWS2_LEVELS};
use super::priority::Priority;
use super::signal::Signal;

/// Lowest quality that is judged unless a rule says otherwise.
pub const DEFAULT_MIN_QUALITY: u8 = 2;

/// An alarm rule. Its JSON is that of the interface, and is what is stored; [`super::read_profile`] and
/// [`super::read_patient_rules`] check what comes from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Identifier, unique within its profile.
    pub id: String,
    /// Name, for people.
    pub name: String,
    /// What it watches.
    pub signal: Signal,
    /// Values below this breach it, in the signal's unit. Strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Values above this breach it, in the signal's unit. Strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// How long values must breach it before it alarms, s of sample time.
    #[serde(default)]
    pub for_s: u32,
    /// From this value on a breach of `below` counts as cleared; `below` itself where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_below: Option<f64>,
    /// Down from this value a breach of `above` counts as cleared; `above` itself where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_above: Option<f64>,
    /// How long values must be cleared before the episode closes, s of sample time.
    #[serde(default)]
    pub clear_for_s: u32,
    /// Lowest quality that is judged. A quality that is not given counts as good.
    #[serde(default = "default_min_quality")]
    pub min_quality: u8,
    /// Priority; of a rule with levels that of its highest.
    pub priority: Priority,
    /// Whether it is judged.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

fn default_min_quality() -> u8 {
    DEFAULT_MIN_QUALITY
}

fn enabled() -> bool {
    true
}

impl Rule {
    /// Returns a rule without thresholds that alarms at once.
    pub fn on(signal: Signal, priority: Priority) -> Self {
        Rule {
            id: signal.name().to_owned(),
            name: signal.name().replace('_', " "),
            signal,
            below: None,
            above: None,
            for_s: 0,
            clear_below: None,
            clear_above: None,
            clear_for_s: 0,
            min_quality: DEFAULT_MIN_QUALITY,
            priority,
            enabled: true,
        }
    }

    /// Returns the level of a number, from 1; `None` for a rule that has one level alone.
    pub fn level(&self, number: u8) -> Option<&'static Level> {
        let at = usize::from(number).checked_sub(1)?;
        if self.signal == Signal::NewsLevels { NEWS2_LEVELS.get(at) } else { None }
    }

    /// Priority of an episode that has reached a level.
    pub fn priority_at(&self, number: u8) -> Priority {
        self.level(number).map_or(self.priority, |level| level.priority)
    }

    /// Number of its levels.
    pub(super) fn level_count(&self) -> u8 {
        if self.signal == Signal::NewsLevels { NEWS2_LEVELS.len() as u8 } else { 1 }
    }

    /// Returns whether another rule judges every row alike.
    pub(super) fn judges_like(&self, other: &Rule) -> bool {
        // A name is for people. A priority decides who is called, so that another one is another alarm.
        let unnamed = |rule: &Rule| Rule { name: String::new(), ..rule.clone() };
        unnamed(self) == unnamed(other)
    }
}
