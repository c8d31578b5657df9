//! Signals that rules watch: their names, and how often each is sampled.

use serde::{Deserialize, Serialize};

/// Shortest silence that restarts a count, ms, however often a signal is sampled.
const SHORTEST_GAP_MS: i64 = 5 * 60_000;
const MINUTE_MS: i64 = 60_000;

/// What a rule watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Heart rate, /min.
    HeartRate,
    /// Respiration rate, /min.
    RespirationRate,
    /// Oxygen saturation, %.
    Spo2,
    /// Body temperature, °C.
    Temperature,
    /// Systolic pressure, mmHg.
    NibpSystolic,
    /// Diastolic pressure, mmHg.
    NibpDiastolic,
    /// Total of NEWS2.
    NewsScore,
    /// Whether any part of NEWS2 scores 3.
    NewsPart,
    /// Levels of NEWS2 by its total and its parts. The built-in rule alone watches them.
    NewsLevels,
    /// Records of atrial fibrillation.
    Afib,
    /// Silence of the bracelet. Judged as rows arrive, not here.
    NoData,
    /// Charge of the battery, %. Judged as rows arrive, not here.
    Battery,
    /// A bracelet off the wrist. Judged as rows arrive, not here.
    NotWorn,
}

/// What a rule on a signal consists of, and which parts of a rule it can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Thresholds on a value, below or above.
    Thresholds,
    /// A condition that the signal itself states: a part that scores 3, fibrillation.
    Condition,
    /// A technical state that has lasted for some time.
    Duration,
    /// A technical value below a threshold.
    Battery,
}

impl Signal {
    /// Signals that a rule of a study or of a patient can watch, in the order of documents.
    pub const ALL: [Self; 12] = [
        Self::HeartRate,
        Self::RespirationRate,
        Self::Spo2,
        Self::Temperature,
        Self::NibpSystolic,
        Self::NibpDiastolic,
        Self::NewsScore,
        Self::NewsPart,
        Self::Afib,
        Self::NoData,
        Self::Battery,
        Self::NotWorn,
    ];

    /// Name in the interface: that of latest values where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Self::HeartRate => "heart_rate",
            Self::RespirationRate => "respiration_rate",
            Self::Spo2 => "spo2",
            Self::Temperature => "temperature",
            Self::NibpSystolic => "nibp_systolic",
            Self::NibpDiastolic => "nibp_diastolic",
            Self::NewsScore => "news_score",
            Self::NewsPart => "news_part",
            Self::NewsLevels => "news_levels",
            Self::Afib => "afib",
            Self::NoData => "no_data",
            Self::Battery => "battery",
            Self::NotWorn => "not_worn",
        }
    }

    /// Returns the signal of a name that a rule may watch.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// Form of its rules.
    pub(super) fn form(self) -> Form {
        match self {
            Self::HeartRate
            | Self::RespirationRate
            | Self::Spo2
            | Self::Temperature
            | Self::NibpSystolic
            | Self::NibpDiastolic
            | Self::NewsScore => Form::Thresholds,
            Self::NewsPart | Self::NewsLevels | Self::Afib => Form::Condition,
            Self::NoData | Self::NotWorn => Form::Duration,
            Self::Battery => Form::Battery,
        }
    }

    /// Returns whether it is a state of the bracelet and none of the patient. Such a signal is not judged from rows.
    pub fn is_technical(self) -> bool {
        matches!(self.form(), Form::Duration | Form::Battery)
    }

    /// Returns whether its samples come with a quality.
    pub fn has_quality(self) -> bool {
        self.form() == Form::Thresholds && self != Self::NewsScore
    }

    /// Longest time between two samples that still follow each other, ms: twice the sampling period, at least 5 min.
    pub fn largest_gap_ms(self) -> i64 {
        // Fixed, and not found from the rows: a late row would change the period, and with it alarms long past.
        let period_ms = match self {
            Self::NibpSystolic | Self::NibpDiastolic => 30 * MINUTE_MS,
            // NEWS is evaluated with each minute row. A record of 64 beats lasts about a minute.
            _ => MINUTE_MS,
        };
        (2 * period_ms).max(SHORTEST_GAP_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json_and_are_read_back() {
        for signal in Signal::ALL {
            assert_eq!(serde_json::to_value(signal).unwrap(), signal.name());
            assert_eq!(Signal::from_name(signal.name()), Some(signal));
        }
        assert_eq!(serde_json::to_value(Signal::NewsLevels).unwrap(), Signal::NewsLevels.name());
        assert_eq!(Signal::from_name("news_levels"), None, "no rule of a study or a patient can have it");
    }

    #[test]
    fn largest_gap_is_twice_the_period_and_at_least_five_minutes() {
        for (signal, minutes) in [
            (Signal::HeartRate, 5),
            (Signal::Temperature, 5),
            (Signal::NewsScore, 5),
            (Signal::Afib, 5),
            (Signal::NibpSystolic, 60),
            (Signal::NibpDiastolic, 60),
        ] {
            assert_eq!(signal.largest_gap_ms(), minutes * MINUTE_MS, "{signal:?}");
        }
    }
}
