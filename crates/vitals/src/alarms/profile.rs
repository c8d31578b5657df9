//! Profiles: the rules of a study, the built-in one, and the version of either that is valid at a time.

use serde::{Deserialize, Serialize};

use super::priority::Priority;
use super::rule::Rule;
use super::signal::Signal;

/// A profile that the program brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Builtin {
    /// One rule with the levels of NEWS2.
    News2,
}

impl Builtin {
    /// Identifier of the profile and of its rule.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::News2 => "news2",
        }
    }

    /// Its rule.
    pub fn rule(self) -> Rule {
        match self {
            // As the chart has it: the level follows each evaluation, up and down.
            Builtin::News2 => Rule {
                id: self.name().to_owned(),
                name: "NEWS2".to_owned(),
                ..Rule::on(Signal::NewsLevels, Priority::High)
            },
        }
    }
}

/// Rules of a study. Its JSON is that of the interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The built-in profile, where it is switched on.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// Rules of the study's own.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

impl Profile {
    /// Returns the rules of a patient: those of the study, those of the patient in the place of the ones with the same
    /// id, and the patient's others.
    pub fn with_rules_of_patient(&self, of_patient: &[Rule]) -> Vec<Rule> {
        let is_replaced = |rule: &Rule| of_patient.iter().any(|own| own.id == rule.id);
        // By id alone, whatever the signal: a patient with another baseline may need another signal for the same purpose.
        let of_study = self.builtin.map(Builtin::rule).into_iter().chain(self.rules.iter().cloned());
        of_study.filter(|rule| !is_replaced(rule)).chain(of_patient.iter().cloned()).collect()
    }
}

/// A version of something, from the time at which it was set until the next version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version<T> {
    /// First moment at which it is valid, Unix epoch milliseconds.
    pub valid_from_ms: i64,
    /// What is valid.
    pub value: T,
}
