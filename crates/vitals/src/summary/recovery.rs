//! The section `recovery`.

use super::bounds::{RATE_CHANGE, RMSSD_CHANGE, RMSSD_FACTOR, TEMPERATURE_CHANGE, column};
use super::described::described;
use super::rounding::{hundredths, thousandths};
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
    /// Rounds each figure as it is stored and shown.
    pub(super) fn rounded(self) -> Self {
        RecoverySection {
            date: self.date,
            value: self.value,
            avg_rmssd_past_60_days: Milliseconds(thousandths(self.avg_rmssd_past_60_days.0)),
            avg_rmssd_today: Milliseconds(thousandths(self.avg_rmssd_today.0)),
            resting_bpm_today: BeatsPerMinute(hundredths(self.resting_bpm_today.0)),
            resting_bpm_past_60_days: BeatsPerMinute(hundredths(self.resting_bpm_past_60_days.0)),
            age_gender_factor: thousandths(self.age_gender_factor),
            resting_bpm_delta: self.resting_bpm_delta.map(|delta| Percent(hundredths(delta.0))),
            recovery_rhr_score: self.recovery_rhr_score.map(hundredths),
            avg_hrv_delta: self.avg_hrv_delta.map(|delta| Percent(hundredths(delta.0))),
            avg_hrv_delta_factor: self.avg_hrv_delta_factor.map(thousandths),
            recovery_hrv_score: self.recovery_hrv_score.map(hundredths),
            temperature_deviation: self.temperature_deviation.map(|found| CelsiusDifference(hundredths(found.0))),
            temperature_deviation_factor: self.temperature_deviation_factor.map(thousandths),
            avg_temperature_today: self.avg_temperature_today.map(|mean| Celsius(hundredths(mean.0))),
            avg_temperature_past_7_days: self.avg_temperature_past_7_days.map(|mean| Celsius(hundredths(mean.0))),
            avg_rmssd_past_7_days: self.avg_rmssd_past_7_days.map(|mean| Milliseconds(thousandths(mean.0))),
            sleep_score: self.sleep_score.map(hundredths),
        }
    }
}
