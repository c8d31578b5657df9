//! Oxygen saturation.

use crate::moment::Moment;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// True oxygen saturation in %.
pub(crate) fn saturation(patient: &Patient, moment: &Moment) -> f64 {
    let drift = patient.randomness.wander(Subject::SpO2Drift, moment.at_ms, 10 * MINUTE_MS);
    // Breathing is shallower asleep: healthy saturation falls by half a percent or so.
    let saturation = patient.baseline.spo2 - 0.6 * moment.sleep_depth() + 0.35 * drift
        - 0.8 * moment.exertion
        - 8.0 * moment.deterioration
        + moment.strain.spo2;
    saturation.clamp(70.0, 100.0)
}
