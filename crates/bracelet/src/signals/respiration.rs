//! Respiration rate.

use crate::moment::Moment;
use crate::night::Stage;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// True respiration rate in breaths per minute.
pub(crate) fn respiration_rate(patient: &Patient, moment: &Moment) -> f64 {
    let drift = patient.randomness.wander(Subject::RespirationDrift, moment.at_ms, 6 * MINUTE_MS);
    // Breathing is irregular in REM sleep.
    let unevenness = if moment.stage == Some(Stage::Rem) { 0.9 } else { 0.5 };
    let rate = patient.baseline.respiration_rate - 0.8 * moment.sleep_depth()
        + unevenness * drift
        + 20.0 * moment.exertion
        // Respiration leads the story of deterioration, as it does in patients: it is the sign that moves first.
        + 12.5 * moment.deterioration
        + moment.strain.respiration_rate;
    rate.clamp(8.0, 45.0)
}
