//! A patient's day: one typed section for each part of the specification's daily summary.
//!
//! The fields carry the specification's names, the one exception to the rule that JSON names live in the API. A
//! section is kept as JSON without slots; the slots are formatted from the day's cells while an answer is streamed
//! ([`slots_json`]). docs/summary-fields.md lists each field with its definition, unit and when it is null.

mod activity;
mod digits;
mod facts;
mod heart_rate;
mod night;
mod pressure;
mod recovery;
mod sleep;
pub mod slots_json;
mod stress;
mod temperature;
mod vital;
mod waveform;

use jiff::civil::Date;

pub use activity::ActivitySection;
pub use facts::{CONSISTENCY_REACH_DAYS, DayFacts, FactsByDay, RECOVERY_REACH_DAYS};
pub use heart_rate::HeartRateSection;
pub use night::{Night, Nights};
pub use pressure::PressureSection;
pub use recovery::RecoverySection;
pub use sleep::SleepSection;
pub use stress::StressSection;
pub use temperature::TemperatureSection;
pub use vital::{RespirationRateSection, Spo2Section};
pub use waveform::{WaveformCheck, WaveformQuality};

use crate::activity::Sex;
use crate::cells::Day;
use crate::heart::MaxHeartRateRule;
use crate::zone::LocalDay;

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

    /// The name in answers and in `types`.
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

    /// The number that it is stored under. Numbers are never given to another section.
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

    /// The section of that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.number() == number)
    }

    /// The section of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }
}

/// What formulas ask about the patient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Profile {
    /// Date of birth.
    pub birthday: Option<Date>,
    /// Sex as formulas need it; `None` when it was not stated.
    pub sex: Option<Sex>,
    /// Height, cm.
    pub height_cm: Option<f64>,
    /// Weight, kg.
    pub weight_kg: Option<f64>,
}

impl Profile {
    /// Sex as formulas need it: where it was not stated, the mean of both.
    pub fn sex(&self) -> Sex {
        self.sex.unwrap_or_default()
    }

    /// Age in whole years on a day; `None` without a birthday, or before it.
    pub fn age_on(&self, day: LocalDay) -> Option<i32> {
        let birthday = self.birthday?;
        let date = day.date();
        let had_birthday = (date.month(), date.day()) >= (birthday.month(), birthday.day());
        let age = i32::from(date.year()) - i32::from(birthday.year()) - i32::from(!had_birthday);
        (age >= 0).then_some(age)
    }
}

/// What an operator or a group sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummarySettings {
    /// Steps of a full day.
    pub activity_goal_steps: u32,
    /// How the highest heart rate follows from age.
    pub max_heart_rate_rule: MaxHeartRateRule,
}

impl Default for SummarySettings {
    fn default() -> Self {
        SummarySettings { activity_goal_steps: 10_000, max_heart_rate_rule: MaxHeartRateRule::Fox }
    }
}

/// What a day is computed from.
#[derive(Clone, Copy, Debug)]
pub struct DaySource<'day> {
    /// The day.
    pub day: LocalDay,
    /// Five-minute slots that the day has in the patient's zone: 288, or what a day of a clock change has.
    pub slot_count: u32,
    /// Its cells.
    pub cells: &'day Day,
    /// The cells of the local day before: nights begin there.
    pub before: &'day Day,
    /// The patient, as valid on the day.
    pub profile: &'day Profile,
    /// Settings, as valid on the day.
    pub settings: &'day SummarySettings,
}

impl DaySource<'_> {
    /// The patient's highest heart rate on the day, /min; `None` without a birthday.
    pub fn max_bpm(&self) -> Option<f64> {
        max_bpm_on(self.day, self.profile, self.settings)
    }
}

/// The highest heart rate of a patient on a day, /min; `None` without a birthday.
pub fn max_bpm_on(day: LocalDay, profile: &Profile, settings: &SummarySettings) -> Option<f64> {
    let age_years = profile.age_on(day)?;
    settings.max_heart_rate_rule.max_heart_rate(f64::from(age_years))
}

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

/// A section and its stored form: JSON without slots, `None` where the section is empty.
pub type SectionBody = (Section, Option<String>);

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

    /// The sections, as JSON without slots.
    pub fn bodies(&self) -> [SectionBody; 8] {
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

/// The sections of a day that follow from its facts and those of the days before it.
pub fn bodies_of_facts(day: LocalDay, facts: &FactsByDay, profile: &Profile) -> [SectionBody; 3] {
    [
        (Section::ServiceSleep, body(SleepSection::of_movements(day, facts).as_ref())),
        (Section::Recovery, body(RecoverySection::of(day, facts, profile).as_ref())),
        (Section::Sleep, body(SleepSection::of_stages(day, facts).as_ref())),
    ]
}

fn body(section: Option<&impl serde::Serialize>) -> Option<String> {
    // Plain structs of numbers and texts: serialising them cannot fail.
    section.and_then(|section| serde_json::to_string(section).ok())
}

/// Rounded to two decimals: what averages, distances and energies are given in.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Rounded to three decimals: what measures of heart-rate variability are given in.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A percentage with one decimal, at most 100.
fn percent(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 {
        return 0.0;
    }
    tenths((part / whole * 100.0).min(100.0))
}

/// Rounded to one decimal: what percentages are given in.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The mean of some values, rounded to two decimals; `None` of nothing.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| hundredths(sum / f64::from(count)))
}

#[cfg(test)]
mod tests;
