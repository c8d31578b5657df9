//! Blood pressure: lower in sleep, higher in effort, with slow drift.

use crate::moment::Moment;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// True systolic and diastolic pressure in mmHg.
pub(crate) fn pressure(patient: &Patient, moment: &Moment) -> (f64, f64) {
    let drift = patient.randomness.wander(Subject::PressureDrift, moment.at_ms, 45 * MINUTE_MS);
    // Pressure dips by about an eighth in sleep, in most people the diastolic one by more.
    let baseline = &patient.baseline;
    let dip = |share: f64| 1.0 - share * moment.sleep_depth();
    // Effort raises the systolic pressure far more than the diastolic; sepsis lowers both, which NEWS2 scores.
    let systolic = baseline.systolic_mmhg * dip(baseline.systolic_dip) + 4.0 * drift + 45.0 * moment.exertion
        - 30.0 * moment.deterioration
        + moment.strain.systolic_mmhg;
    let diastolic = baseline.diastolic_mmhg * dip(baseline.diastolic_dip) + 2.5 * drift + 5.0 * moment.exertion
        - 18.0 * moment.deterioration
        + moment.strain.diastolic_mmhg;
    let diastolic = diastolic.clamp(35.0, 130.0);
    // A pulse pressure below 15 mmHg is not compatible with circulation.
    (systolic.clamp(diastolic + 15.0, 230.0), diastolic)
}
