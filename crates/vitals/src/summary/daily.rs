//! The sections of a day, computed and as they are stored.

use super::activity::ActivitySection;
use super::facts::{FactsByDay, recovery_on};
use super::heart_rate::HeartRateSection;
use super::night::Nights;
use super::pressure::PressureSection;
use super::section::Section;
use super::sleep::SleepSection;
use super::source::{DaySource, Profile};
use super::stress::StressSection;
use super::temperature::TemperatureSection;
use super::vital::{RespirationRateSection, Spo2Section};
use crate::zone::LocalDay;

/// The sections of a day that cells give; `None` where the day has no such data.
#[derive(Clone, Debug, PartialEq)]
pub struct DailySummary {
    /// Steps, distance, calories.
    pub activity: Option<ActivitySection>,
    /// Heart rate and its zones.
    pub heart_rate: Option<HeartRateSection>,
    /// Blood pressure.
    pub non_invasive_blood_pressure: Option<PressureSection>,
    /// Respiration rate.
    pub respiration_rate: Option<RespirationRateSection>,
    /// Oxygen saturation.
    pub spo2: Option<Spo2Section>,
    /// Stress by the bracelet's own rows.
    pub stress: Option<StressSection>,
    /// Stress by beat intervals.
    pub stress_continuous: Option<StressSection>,
    /// Skin temperature.
    pub temperature: Option<TemperatureSection>,
}

/// A section and its stored form: JSON without slots, `None` where the section is empty. [`Section::read`] reads it.
pub type StoredSection = (Section, Option<String>);

impl DailySummary {
    /// Computes the day, whose nights are [`Nights::of`] the same source.
    pub fn of(source: &DaySource<'_>, nights: &Nights) -> Self {
        DailySummary {
            activity: ActivitySection::of(source),
            heart_rate: HeartRateSection::of(source),
            non_invasive_blood_pressure: PressureSection::of(source, nights),
            respiration_rate: RespirationRateSection::of(source),
            spo2: Spo2Section::of(source),
            stress: StressSection::of_device(source),
            stress_continuous: StressSection::of_beats(source),
            temperature: TemperatureSection::of(source),
        }
    }

    /// Returns the sections, as JSON without slots.
    pub fn bodies(&self) -> [StoredSection; 8] {
        [
            (Section::Activity, body(self.activity.as_ref())),
            (Section::HeartRate, body(self.heart_rate.as_ref())),
            (Section::NonInvasiveBloodPressure, body(self.non_invasive_blood_pressure.as_ref())),
            (Section::RespirationRate, body(self.respiration_rate.as_ref())),
            (Section::Spo2, body(self.spo2.as_ref())),
            (Section::Stress, body(self.stress.as_ref())),
            (Section::StressContinuous, body(self.stress_continuous.as_ref())),
            (Section::Temperature, body(self.temperature.as_ref())),
        ]
    }
}

/// Returns the sections of a day that follow from its facts and those of the days before it.
pub fn bodies_of_facts(day: LocalDay, facts: &FactsByDay, profile: &Profile) -> [StoredSection; 3] {
    [
        (Section::ServiceSleep, body(SleepSection::of_movements(day, facts).as_ref())),
        (Section::Recovery, body(recovery_on(day, facts, profile).as_ref())),
        (Section::Sleep, body(SleepSection::of_stages(day, facts).as_ref())),
    ]
}

fn body(section: Option<&impl serde::Serialize>) -> Option<String> {
    // Plain structs of numbers and texts: serialising them cannot fail.
    section.and_then(|section| serde_json::to_string(section).ok())
}
