//! Heart rate: rest, time of day, sleep stage, effort and slow drift.

use super::circadian;
use crate::moment::Moment;
use crate::night::Stage;
use crate::patient::Patient;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;

/// True heart rate in beats per minute.
pub(crate) fn heart_rate(patient: &Patient, moment: &Moment) -> f64 {
    let baseline = &patient.baseline;
    let drift = patient.randomness.wander(Subject::HeartRateDrift, moment.at_ms, 7 * MINUTE_MS);
    let stage = match moment.stage {
        Some(Stage::Deep) => -3.0,
        Some(Stage::Light) => -1.0,
        Some(Stage::Rem) => 2.0,
        Some(Stage::Awake) | None => 0.0,
    };
    let rest = baseline.heart_rate
        + baseline.heart_rate_swing * circadian(moment.hour, 16.0)
        // About five beats slower asleep, on top of the daily swing, and again different by stage.
        + moment.sleep_depth() * (stage - 5.0)
        + 1.8 * drift
        + 52.0 * moment.deterioration
        + moment.strain.heart_rate;
    // Fibrillating atria drive the ventricles faster and less evenly.
    let rest = if moment.fibrillates { rest + 18.0 + 4.0 * drift } else { rest };
    // Tanaka's formula, while the service uses Fox's by default: zones must be right for hearts that do not follow
    // its rule.
    let maximum = 208.0 - 0.7 * baseline.age_years;
    let effort = moment.exertion * (maximum - rest).max(0.0);
    // What the table of NEWS2 and the registry both take for a heart.
    (rest + effort).clamp(38.0, 210.0)
}
