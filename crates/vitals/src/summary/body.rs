//! Sections read back: the typed form of what is stored and answered.

use super::activity::ActivitySection;
use super::heart_rate::HeartRateSection;
use super::pressure::PressureSection;
use super::recovery::RecoverySection;
use super::section::Section;
use super::sleep::SleepSection;
use super::stress::StressSection;
use super::temperature::TemperatureSection;
use super::vital::{RespirationRateSection, Spo2Section};
use crate::zone::LocalDay;

/// A section of a daily summary with its content.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is named as its section")]
pub enum SectionBody {
    Activity(ActivitySection),
    ServiceSleep(SleepSection),
    HeartRate(HeartRateSection),
    NonInvasiveBloodPressure(PressureSection),
    Recovery(RecoverySection),
    RespirationRate(RespirationRateSection),
    Sleep(SleepSection),
    Spo2(Spo2Section),
    Stress(StressSection),
    StressContinuous(StressSection),
    Temperature(TemperatureSection),
}

/// A text that is not the JSON of its section.
#[derive(Debug, thiserror::Error)]
#[error("section {} cannot be read: {reason}", section.name())]
pub struct SectionError {
    /// Which section.
    pub section: Section,
    /// What is wrong with it.
    #[source]
    pub reason: serde_json::Error,
}

impl Section {
    /// Reads the JSON of the section, as it is stored or as an answer has it, with or without slots.
    ///
    /// An error for another section, a field that this version does not know, and for `{}`: a section without data is not
    /// stored, and an answer shows it as an empty object.
    ///
    /// ```
    /// use vitals::summary::units::{BeatsPerMinute, Percent};
    /// use vitals::summary::{Section, SectionBody};
    ///
    /// let stored = r#"{"date":"2026-11-20","avg_daily_heart_rate":61.5,"max_daily_heart_rate":118,
    ///     "rest_daily_heart_rate":52.0,"daily_percent":97.9,"all_time":84600,"max_time":0,"performance_time":0,
    ///     "endurance_time":600,"fat_burn_time":4200,"warm_up_time":9000,"rest_time":70800}"#;
    /// let SectionBody::HeartRate(day) = Section::HeartRate.read(stored)? else { unreachable!() };
    ///
    /// assert_eq!(day.date.to_string(), "2026-11-20");
    /// assert_eq!(day.rest_daily_heart_rate, Some(BeatsPerMinute(52.0)));
    /// assert!(day.daily_percent > Percent(90.0));
    /// assert_eq!(day.avg_daily_heart_rate.map(|rate| rate.to_string()).as_deref(), Some("61.5 /min"));
    /// // No slots are stored; an answer with `include_slots=1` has them here.
    /// assert_eq!(day.slots, None);
    ///
    /// let error = Section::Spo2.read(stored).unwrap_err();
    /// assert!(error.to_string().starts_with("section spo2 cannot be read: unknown field `avg_daily_heart_rate`"));
    /// # Ok::<(), vitals::summary::SectionError>(())
    /// ```
    pub fn read(self, json: &str) -> Result<SectionBody, SectionError> {
        let body = match self {
            Section::Activity => serde_json::from_str(json).map(SectionBody::Activity),
            Section::ServiceSleep => serde_json::from_str(json).map(SectionBody::ServiceSleep),
            Section::HeartRate => serde_json::from_str(json).map(SectionBody::HeartRate),
            Section::NonInvasiveBloodPressure => serde_json::from_str(json).map(SectionBody::NonInvasiveBloodPressure),
            Section::Recovery => serde_json::from_str(json).map(SectionBody::Recovery),
            Section::RespirationRate => serde_json::from_str(json).map(SectionBody::RespirationRate),
            Section::Sleep => serde_json::from_str(json).map(SectionBody::Sleep),
            Section::Spo2 => serde_json::from_str(json).map(SectionBody::Spo2),
            Section::Stress => serde_json::from_str(json).map(SectionBody::Stress),
            Section::StressContinuous => serde_json::from_str(json).map(SectionBody::StressContinuous),
            Section::Temperature => serde_json::from_str(json).map(SectionBody::Temperature),
        };
        body.map_err(|reason| SectionError { section: self, reason })
    }
}

impl SectionBody {
    /// Returns the section that it is the content of.
    pub const fn section(&self) -> Section {
        match self {
            SectionBody::Activity(_) => Section::Activity,
            SectionBody::ServiceSleep(_) => Section::ServiceSleep,
            SectionBody::HeartRate(_) => Section::HeartRate,
            SectionBody::NonInvasiveBloodPressure(_) => Section::NonInvasiveBloodPressure,
            SectionBody::Recovery(_) => Section::Recovery,
            SectionBody::RespirationRate(_) => Section::RespirationRate,
            SectionBody::Sleep(_) => Section::Sleep,
            SectionBody::Spo2(_) => Section::Spo2,
            SectionBody::Stress(_) => Section::Stress,
            SectionBody::StressContinuous(_) => Section::StressContinuous,
            SectionBody::Temperature(_) => Section::Temperature,
        }
    }

    /// Returns the local day that it is of.
    pub const fn date(&self) -> LocalDay {
        match self {
            SectionBody::Activity(section) => section.date,
            SectionBody::ServiceSleep(section) | SectionBody::Sleep(section) => section.date,
            SectionBody::HeartRate(section) => section.date,
            SectionBody::NonInvasiveBloodPressure(section) => section.date,
            SectionBody::Recovery(section) => section.date,
            SectionBody::RespirationRate(section) => section.date,
            SectionBody::Spo2(section) => section.date,
            SectionBody::Stress(section) | SectionBody::StressContinuous(section) => section.date,
            SectionBody::Temperature(section) => section.date,
        }
    }

    /// Returns the JSON that it was read from, byte for byte where the service wrote that.
    pub fn to_json(&self) -> Result<String, SectionError> {
        let json = match self {
            SectionBody::Activity(section) => serde_json::to_string(section),
            SectionBody::ServiceSleep(section) | SectionBody::Sleep(section) => serde_json::to_string(section),
            SectionBody::HeartRate(section) => serde_json::to_string(section),
            SectionBody::NonInvasiveBloodPressure(section) => serde_json::to_string(section),
            SectionBody::Recovery(section) => serde_json::to_string(section),
            SectionBody::RespirationRate(section) => serde_json::to_string(section),
            SectionBody::Spo2(section) => serde_json::to_string(section),
            SectionBody::Stress(section) | SectionBody::StressContinuous(section) => serde_json::to_string(section),
            SectionBody::Temperature(section) => serde_json::to_string(section),
        };
        json.map_err(|reason| SectionError { section: self.section(), reason })
    }
}
