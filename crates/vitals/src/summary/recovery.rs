//! The section `recovery`.

use serde::Serialize;

use super::Profile;
use super::facts::{FactsByDay, recovery_on};
use super::rounding::{hundredths, thousandths};
use crate::recovery::Recovery;
use crate::zone::LocalDay;

/// Recovery of a day (**ours** throughout). Deltas in percent, scores 0 to 100.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoverySection {
    /// `YYYY-MM-DD`.
    pub date: String,
    /// The rest of it.
    #[serde(flatten)]
    pub recovery: Recovery,
}

impl RecoverySection {
    /// The section of a day; `None` when today's RMSSD or resting heart rate is not known, or no day before knows
    /// them.
    pub fn of(day: LocalDay, facts: &FactsByDay, profile: &Profile) -> Option<Self> {
        let found = recovery_on(day, facts, profile)?;
        let recovery = Recovery {
            value: found.value,
            avg_rmssd_past_60_days: thousandths(found.avg_rmssd_past_60_days),
            avg_rmssd_today: thousandths(found.avg_rmssd_today),
            resting_bpm_today: hundredths(found.resting_bpm_today),
            resting_bpm_past_60_days: hundredths(found.resting_bpm_past_60_days),
            age_gender_factor: thousandths(found.age_gender_factor),
            resting_bpm_delta: found.resting_bpm_delta.map(hundredths),
            recovery_rhr_score: found.recovery_rhr_score.map(hundredths),
            avg_hrv_delta: found.avg_hrv_delta.map(hundredths),
            avg_hrv_delta_factor: found.avg_hrv_delta_factor.map(thousandths),
            recovery_hrv_score: found.recovery_hrv_score.map(hundredths),
            temperature_deviation: found.temperature_deviation.map(hundredths),
            temperature_deviation_factor: found.temperature_deviation_factor.map(thousandths),
            avg_temperature_today: found.avg_temperature_today.map(hundredths),
            avg_temperature_past_7_days: found.avg_temperature_past_7_days.map(hundredths),
            avg_rmssd_past_7_days: found.avg_rmssd_past_7_days.map(thousandths),
            sleep_score: found.sleep_score.map(hundredths),
        };
        Some(RecoverySection { date: day.to_string(), recovery })
    }
}
