//! The section `recovery`.

use super::bounds::{RATE_CHANGE, RMSSD_CHANGE, RMSSD_FACTOR, TEMPERATURE_CHANGE, column};
use super::described::described;
use super::facts::{FactsByDay, recovery_on};
use super::rounding::{hundredths, thousandths};
use super::source::Profile;
use super::units::{BeatsPerMinute, Celsius, CelsiusDifference, Milliseconds, Percent};
use crate::registry::DataType;
use crate::zone::LocalDay;

described! {
    /// Recovery of a day (**ours** throughout). Scores are 0 to 100.
    pub struct RecoverySection {
        /// Local day.
        pub date: LocalDay = "2025-11-20",
        /// Weighted scores times both factors, 0–100.
        pub value: u8 = 81 in 0 to 100,
        /// Mean RMSSD over the 60 days before.
        pub avg_rmssd_past_60_days: Milliseconds = 40.112 within column(DataType::HeartRateVariability, "rmssd"),
        /// RMSSD today.
        pub avg_rmssd_today: Milliseconds = 42.318 within column(DataType::HeartRateVariability, "rmssd"),
        /// Resting heart rate today.
        pub resting_bpm_today: BeatsPerMinute = 54.1 within column(DataType::Activity, "bpm"),
        /// Mean resting heart rate over the 60 days before.
        pub resting_bpm_past_60_days: BeatsPerMinute = 55.3 within column(DataType::Activity, "bpm"),
        /// 1 up to 40 years (women 45), falling by 0.1 % a year to 0.95; 1 without age or sex.
        pub age_gender_factor: f64 = 1 in 0.95 to 1,
        /// Today's resting rate against the 60 days.
        pub resting_bpm_delta: Option<Percent> = -2.17 within RATE_CHANGE,
        /// Score of the resting rate; lower is better.
        pub recovery_rhr_score: Option<f64> = 78.2 in 0 to 100,
        /// Today's RMSSD against the 60 days.
        pub avg_hrv_delta: Option<Percent> = 5.5 within RMSSD_CHANGE,
        /// Today's RMSSD over its 60-day mean.
        pub avg_hrv_delta_factor: Option<f64> = 1.055 within RMSSD_FACTOR,
        /// Score of the RMSSD; higher is better.
        pub recovery_hrv_score: Option<f64> = 76.9 in 0 to 100,
        /// Today's skin temperature minus the mean of 7 days.
        pub temperature_deviation: Option<CelsiusDifference> = 0.12 within TEMPERATURE_CHANGE,
        /// 1 within ±0.5 °C, falling to 0.7 at ±1.5 °C.
        pub temperature_deviation_factor: Option<f64> = 1 in 0.7 to 1,
        /// Skin temperature today.
        pub avg_temperature_today: Option<Celsius> = 33.41 within column(DataType::Temperature, "temp_sk1"),
        /// Mean skin temperature over the 7 days before.
        pub avg_temperature_past_7_days: Option<Celsius> = 33.29 within column(DataType::Temperature, "temp_sk1"),
        /// Mean RMSSD over the 7 days before.
        pub avg_rmssd_past_7_days: Option<Milliseconds> = 41.2 within column(DataType::HeartRateVariability, "rmssd"),
        /// Score of the night, 0–100.
        pub sleep_score: Option<f64> = 88.5 in 0 to 100,
    }
}

impl RecoverySection {
    /// Returns the section of a day; `None` when today's RMSSD or resting heart rate is not known, or no day before
    /// knows them.
    pub fn of(day: LocalDay, facts: &FactsByDay, profile: &Profile) -> Option<Self> {
        let found = recovery_on(day, facts, profile)?;
        Some(RecoverySection {
            date: day,
            value: found.value,
            avg_rmssd_past_60_days: Milliseconds(thousandths(found.avg_rmssd_past_60_days)),
            avg_rmssd_today: Milliseconds(thousandths(found.avg_rmssd_today)),
            resting_bpm_today: BeatsPerMinute(hundredths(found.resting_bpm_today)),
            resting_bpm_past_60_days: BeatsPerMinute(hundredths(found.resting_bpm_past_60_days)),
            age_gender_factor: thousandths(found.age_gender_factor),
            resting_bpm_delta: found.resting_bpm_delta.map(hundredths).map(Percent),
            recovery_rhr_score: found.recovery_rhr_score.map(hundredths),
            avg_hrv_delta: found.avg_hrv_delta.map(hundredths).map(Percent),
            avg_hrv_delta_factor: found.avg_hrv_delta_factor.map(thousandths),
            recovery_hrv_score: found.recovery_hrv_score.map(hundredths),
            temperature_deviation: found.temperature_deviation.map(hundredths).map(CelsiusDifference),
            temperature_deviation_factor: found.temperature_deviation_factor.map(thousandths),
            avg_temperature_today: found.avg_temperature_today.map(hundredths).map(Celsius),
            avg_temperature_past_7_days: found.avg_temperature_past_7_days.map(hundredths).map(Celsius),
            avg_rmssd_past_7_days: found.avg_rmssd_past_7_days.map(thousandths).map(Milliseconds),
            sleep_score: found.sleep_score.map(hundredths),
        })
    }
}
