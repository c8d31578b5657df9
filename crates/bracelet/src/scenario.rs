//! What happens to a patient, and how their bracelet behaves.

use std::fmt;
use std::str::FromStr;

use crate::error::BraceletError;
use crate::time::HOUR_MS;

/// The story of one patient. Before its onset every patient is healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// Ordinary days and nights.
    Healthy,
    /// Over eight hours respiration, pulse and temperature climb, saturation and pressure fall: NEWS2 rises.
    Deteriorating,
    /// The heart beats irregularly irregular.
    AtrialFibrillation,
    /// The bracelet lies on the table: rows arrive, without values.
    NotWorn,
    /// The bracelet lies on its charger.
    Charging,
    /// The data are those of a healthy patient, but arrive late and out of order.
    LateSync,
    /// The data are those of a healthy patient, but every sync is sent twice.
    DuplicateSync,
}

impl Scenario {
    /// Every scenario, in the order in which a mixed fleet uses them.
    pub const ALL: [Self; 7] = [
        Self::Healthy,
        Self::Deteriorating,
        Self::AtrialFibrillation,
        Self::NotWorn,
        Self::Charging,
        Self::LateSync,
        Self::DuplicateSync,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Deteriorating => "deteriorating",
            Self::AtrialFibrillation => "atrial-fibrillation",
            Self::NotWorn => "not-worn",
            Self::Charging => "charging",
            Self::LateSync => "late-sync",
            Self::DuplicateSync => "duplicate-sync",
        }
    }

    /// Returns the onset (Unix ms) that shows the scenario best to somebody who looks at `now_ms`.
    pub fn onset_before(self, now_ms: i64) -> i64 {
        let hours = match self {
            // Five of the eight hours: the score is high and still rising.
            Self::Deteriorating => 5,
            // Two and a half days: a history of two days then shows it throughout.
            Self::AtrialFibrillation => 60,
            Self::NotWorn => 3,
            Self::Charging => 1,
            Self::Healthy | Self::LateSync | Self::DuplicateSync => 0,
        };
        now_ms - hours * HOUR_MS
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = BraceletError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scenario| scenario.name() == name)
            .ok_or_else(|| BraceletError::UnknownScenario { name: name.to_owned(), known: Cast::NAMES.join(", ") })
    }
}

/// Which scenario each patient of a fleet plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cast {
    /// All the same.
    All(Scenario),
    /// Mostly healthy, with each other scenario in turn: every second patient has one.
    Mixed,
}

impl Cast {
    /// Every name that [`Cast::from_str`] understands.
    pub const NAMES: [&'static str; 8] = [
        "healthy",
        "deteriorating",
        "atrial-fibrillation",
        "not-worn",
        "charging",
        "late-sync",
        "duplicate-sync",
        "mixed",
    ];

    /// Returns the scenario of patient number `index`.
    pub fn scenario_of(self, index: u64) -> Scenario {
        match self {
            Self::All(scenario) => scenario,
            Self::Mixed if index.is_multiple_of(2) => Scenario::Healthy,
            Self::Mixed => {
                let others = &Scenario::ALL[1..];
                // By number and not by chance, so that any twelve patients play everything.
                others[(index / 2) as usize % others.len()]
            }
        }
    }
}

impl FromStr for Cast {
    type Err = BraceletError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "mixed" {
            return Ok(Self::Mixed);
        }
        name.parse().map(Self::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_understood_and_no_other() {
        for name in Cast::NAMES {
            let cast: Cast = name.parse().unwrap();
            if let Cast::All(scenario) = cast {
                assert_eq!(scenario.to_string(), name);
            }
        }
        assert!("Healthy".parse::<Cast>().is_err());
        let message = "ill".parse::<Scenario>().unwrap_err().to_string();
        assert!(message.contains("deteriorating"), "{message}");
    }

    #[test]
    fn a_mixed_fleet_of_twelve_plays_everything() {
        let played: Vec<Scenario> = (0..12).map(|i| Cast::Mixed.scenario_of(i)).collect();
        for scenario in Scenario::ALL {
            assert!(played.contains(&scenario), "{scenario}");
        }
    }
}
