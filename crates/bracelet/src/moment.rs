//! What a moment of a course is made of.

use crate::night::Stage;
use crate::stories::strain::Strain;
use crate::time::MINUTE_MS;

/// What the signals need to know of one moment.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub at_ms: i64,
    /// How much of the local day has passed, 0 to 24.
    pub hour: f64,
    pub stage: Option<Stage>,
    /// Time for which the patient has been in bed, ms; 0 when the patient is up.
    pub in_bed_ms: i64,
    /// Share of the heart-rate reserve in use, following effort within minutes.
    pub exertion: f64,
    /// Heat of effort, 0 to 1, following within a quarter of an hour.
    pub heat: f64,
    /// 0 to 1.
    pub deterioration: f64,
    /// What stories add to the vital signs.
    pub strain: Strain,
    pub fibrillates: bool,
}

impl Moment {
    /// 0 awake to 1 asleep, moving over twenty minutes.
    pub fn sleep_depth(&self) -> f64 {
        (self.in_bed_ms as f64 / (20.0 * MINUTE_MS as f64)).min(1.0)
    }
}
