//! The National Early Warning Score of true values.
//!
//! Written from the printed chart (Royal College of Physicians 2017, chart 1) and not shared with the service: a test of
//! this crate holds both against each other. Scale 1, on air, alert.

use crate::course::Minute;

/// Half up to the grid of the chart, in steps of it.
fn steps(value: f64, per_unit: f64) -> i64 {
    // The slack for decimals that binary floats miss by a little.
    (value * per_unit + 0.5 + 1e-9).floor() as i64
}

/// Returns the points of the first band whose upper end is not passed.
fn points(value: i64, bands: &[(i64, u8)], above: u8) -> u8 {
    bands.iter().find(|(highest, _)| value <= *highest).map_or(above, |(_, points)| *points)
}

/// The vital signs that are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Signs {
    pub respiration_rate: f64,
    pub spo2: f64,
    pub systolic_mmhg: f64,
    pub heart_rate: f64,
    pub core_temp_c: f64,
}

// Unrounded and unhurt by the sensors: what a perfect observer would chart.
impl From<&Minute> for Signs {
    fn from(minute: &Minute) -> Self {
        Self {
            respiration_rate: minute.respiration_rate,
            spo2: minute.spo2,
            systolic_mmhg: minute.systolic_mmhg,
            heart_rate: minute.heart_rate,
            core_temp_c: minute.core_temp_c,
        }
    }
}

impl Signs {
    /// Returns the total.
    pub fn news2(&self) -> u8 {
        // Oxygen and consciousness have no points: no story gives oxygen, and no bracelet sees confusion.
        points(steps(self.respiration_rate, 1.0), &[(8, 3), (11, 1), (20, 0), (24, 2)], 3)
            + points(steps(self.spo2, 1.0), &[(91, 3), (93, 2), (95, 1)], 0)
            + points(steps(self.systolic_mmhg, 1.0), &[(90, 3), (100, 2), (110, 1), (219, 0)], 3)
            + points(steps(self.heart_rate, 1.0), &[(40, 3), (50, 1), (90, 0), (110, 1), (130, 2)], 3)
            + points(steps(self.core_temp_c, 10.0), &[(350, 3), (360, 1), (380, 0), (390, 1)], 2)
    }
}

impl Minute {
    /// Returns NEWS2 of the true values: scale 1, on air, alert.
    pub fn news2(&self) -> u8 {
        Signs::from(self).news2()
    }
}
