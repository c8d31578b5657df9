//! Why episodes end.

use serde::{Deserialize, Serialize};

/// Why an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Values were cleared for as long as the rule asks for.
    Cleared,
    /// Nothing could be judged for 12 hours.
    NotJudged,
    /// The rule was removed or disabled.
    RuleRemoved,
    /// The rule was changed, and judges again from then on.
    RuleChanged,
}

impl Ending {
    /// Name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cleared => "cleared",
            Self::NotJudged => "not_judged",
            Self::RuleRemoved => "rule_removed",
            Self::RuleChanged => "rule_changed",
        }
    }
}
