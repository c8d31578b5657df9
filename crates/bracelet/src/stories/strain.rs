//! What a story adds to the true vital signs.

use std::ops::{Add, Mul};

/// Differences from what the same moment would be without the story.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Strain {
    /// How ill the patient is, 0 to 1: who is ill moves less.
    pub illness: f64,
    /// Beats per minute.
    pub heart_rate: f64,
    /// Breaths per minute.
    pub respiration_rate: f64,
    /// Percent.
    pub spo2: f64,
    /// °C.
    pub core_temp_c: f64,
    /// °C.
    pub skin_temp_c: f64,
    /// mmHg.
    pub systolic_mmhg: f64,
    /// mmHg.
    pub diastolic_mmhg: f64,
}

impl Add for Strain {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            illness: (self.illness + other.illness).min(1.0),
            heart_rate: self.heart_rate + other.heart_rate,
            respiration_rate: self.respiration_rate + other.respiration_rate,
            spo2: self.spo2 + other.spo2,
            core_temp_c: self.core_temp_c + other.core_temp_c,
            skin_temp_c: self.skin_temp_c + other.skin_temp_c,
            systolic_mmhg: self.systolic_mmhg + other.systolic_mmhg,
            diastolic_mmhg: self.diastolic_mmhg + other.diastolic_mmhg,
        }
    }
}

impl Mul<f64> for Strain {
    type Output = Self;

    fn mul(self, share: f64) -> Self {
        Self {
            illness: (self.illness * share).min(1.0),
            heart_rate: self.heart_rate * share,
            respiration_rate: self.respiration_rate * share,
            spo2: self.spo2 * share,
            core_temp_c: self.core_temp_c * share,
            skin_temp_c: self.skin_temp_c * share,
            systolic_mmhg: self.systolic_mmhg * share,
            diastolic_mmhg: self.diastolic_mmhg * share,
        }
    }
}
