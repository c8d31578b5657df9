//! The sections of a daily summary: names, and the numbers that they are stored under.

use super::activity::ActivitySection;
use super::described::{Described, Description};
use super::heart_rate::HeartRateSection;
use super::pressure::PressureSection;
use super::recovery::RecoverySection;
use super::sleep::SleepSection;
use super::stress::StressSection;
use super::temperature::TemperatureSection;
use super::vital::{RespirationRateSection, Spo2Section};

/// A section of the daily summary, in the order of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Steps, distance, calories.
    Activity,
    /// Sleep as the service computes it from raw data.
    ServiceSleep,
    /// Heart rate and its zones.
    HeartRate,
    /// Blood pressure.
    NonInvasiveBloodPressure,
    /// Recovery.
    Recovery,
    /// Respiration rate.
    RespirationRate,
    /// Sleep from the bracelet's stages.
    Sleep,
    /// Oxygen saturation.
    Spo2,
    /// Stress from the bracelet's heart-rate variability.
    Stress,
    /// Stress from beat intervals.
    StressContinuous,
    /// Skin temperature.
    Temperature,
}

impl Section {
    /// All sections, in the order of the specification.
    pub const ALL: [Section; 11] = [
        Section::Activity,
        Section::ServiceSleep,
        Section::HeartRate,
        Section::NonInvasiveBloodPressure,
        Section::Recovery,
        Section::RespirationRate,
        Section::Sleep,
        Section::Spo2,
        Section::Stress,
        Section::StressContinuous,
        Section::Temperature,
    ];

    /// Returns the name in answers and in `types`.
    pub const fn name(self) -> &'static str {
        match self {
            Section::Activity => "activity",
            Section::ServiceSleep => "service_sleep",
            Section::HeartRate => "heart_rate",
            Section::NonInvasiveBloodPressure => "non_invasive_blood_pressure",
            Section::Recovery => "recovery",
            Section::RespirationRate => "respiration_rate",
            Section::Sleep => "sleep",
            Section::Spo2 => "spo2",
            Section::Stress => "stress",
            Section::StressContinuous => "stress_continuous",
            Section::Temperature => "temperature",
        }
    }

    /// Returns what it is made of.
    pub const fn description(self) -> &'static Description {
        match self {
            Section::Activity => &ActivitySection::DESCRIPTION,
            Section::ServiceSleep | Section::Sleep => &SleepSection::DESCRIPTION,
            Section::HeartRate => &HeartRateSection::DESCRIPTION,
            Section::NonInvasiveBloodPressure => &PressureSection::DESCRIPTION,
            Section::Recovery => &RecoverySection::DESCRIPTION,
            Section::RespirationRate => &RespirationRateSection::DESCRIPTION,
            Section::Spo2 => &Spo2Section::DESCRIPTION,
            Section::Stress | Section::StressContinuous => &StressSection::DESCRIPTION,
            Section::Temperature => &TemperatureSection::DESCRIPTION,
        }
    }

    /// Returns the number that it is stored under. Numbers are never given to another section.
    pub const fn number(self) -> i64 {
        match self {
            Section::Activity => 1,
            Section::ServiceSleep => 2,
            Section::HeartRate => 3,
            Section::NonInvasiveBloodPressure => 4,
            Section::Recovery => 5,
            Section::RespirationRate => 6,
            Section::Sleep => 7,
            Section::Spo2 => 8,
            Section::Stress => 9,
            Section::StressContinuous => 10,
            Section::Temperature => 11,
        }
    }

    /// Returns the section of that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.number() == number)
    }

    /// Returns the section of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }
}
