//! What a day's summary is computed from.

use jiff::civil::Date;

use crate::activity::Sex;
use crate::cells::Day;
use crate::heart::MaxHeartRateRule;
use crate::zone::LocalDay;

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
        // By the calendar and not by days: somebody born on 29 February is a year older on 1 March.
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
    /// Returns the patient's highest heart rate on the day, /min; `None` without a birthday.
    pub fn max_bpm(&self) -> Option<f64> {
        max_bpm_on(self.day, self.profile, self.settings)
    }
}

/// Returns the highest heart rate of a patient on a day, /min; `None` without a birthday.
pub fn max_bpm_on(day: LocalDay, profile: &Profile, settings: &SummarySettings) -> Option<f64> {
    let age_years = profile.age_on(day)?;
    settings.max_heart_rate_rule.max_heart_rate(f64::from(age_years))
}
