//! Core, skin and ambient temperature.
//!
//! The core is warmest in the late afternoon; the skin of the wrist is warmest in sleep, when the body gives its heat
//! away.

use super::circadian;
use crate::moment::Moment;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

fn drift(patient: &Patient, moment: &Moment) -> f64 {
    patient.randomness.wander(Subject::TemperatureDrift, moment.at_ms, 30 * MINUTE_MS)
}

/// True core temperature in °C.
pub(crate) fn core(patient: &Patient, moment: &Moment) -> f64 {
    let temperature = patient.baseline.core_temp_c
        // Core temperature peaks in the late afternoon, about 0.7 °C above its low before dawn.
        + 0.35 * circadian(moment.hour, 17.0)
        + 0.04 * drift(patient, moment)
        + 0.9 * moment.heat
        + 2.3 * moment.deterioration
        + moment.strain.core_temp_c;
    temperature.clamp(34.0, 41.5)
}

/// True temperatures under the two skin sensors in °C.
pub(crate) fn skin(patient: &Patient, moment: &Moment) -> [f64; 2] {
    // Skin runs against the core: it warms in the evening, because giving off heat is how the core cools for sleep.
    let first = patient.baseline.skin_temp_c + 1.6 * moment.sleep_depth() - 0.5 * circadian(moment.hour, 17.0)
        + 0.35 * drift(patient, moment)
        // Sweat and shifted blood cool the wrist in effort, while the core warms.
        - 0.8 * moment.exertion
        + 1.1 * moment.deterioration
        + moment.strain.skin_temp_c;
    let second = first - 0.25 + 0.1 * drift(patient, moment);
    [first.clamp(25.0, 39.0), second.clamp(25.0, 39.0)]
}

/// True temperature around the bracelet in °C.
pub(crate) fn ambient(patient: &Patient, moment: &Moment) -> f64 {
    let air = 22.5 + 1.5 * circadian(moment.hour, 16.0) + 0.6 * drift(patient, moment);
    // Under a blanket.
    air + 4.0 * moment.sleep_depth()
}
