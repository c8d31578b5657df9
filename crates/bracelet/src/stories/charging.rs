//! The bracelet is charged at an unusual time: rows arrive without values.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::minutes::whole_minute_in;
use super::story::{BatteryPlan, Draft, Plot, Scene, Story};
use crate::time::{HOUR_MS, MINUTE_MS};
use crate::wear::Wear;

/// What the charger gives in an hour, %.
const GAIN_PER_HOUR: f64 = 90.0;

#[derive(Debug)]
pub(super) struct Charging;

impl Plot for Charging {
    fn name(&self) -> &'static str {
        "charging"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["unplanned"]
    }

    fn draw(&self, scene: &Scene, _kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let charging_ms = random.random_range(60..300) * MINUTE_MS;
        let start_ms = whole_minute_in(scene.from_ms..scene.to_ms - charging_ms, random)?;
        Some(Draft::new(start_ms, &[("charging", charging_ms)], 1.0))
    }

    fn wear(&self, _story: &Story, _at_ms: i64) -> Option<Wear> {
        Some(Wear::Charging)
    }

    fn battery_percent(&self, story: &Story, at_ms: i64, plan: &BatteryPlan<'_>) -> Option<f64> {
        let before = (plan.planned)(story.start_ms());
        Some(after_charging(before, story.start_ms()..story.end_ms(), at_ms, plan))
    }
}

/// Returns the charge at a time from the begin of a charging on, which began at `percent`.
pub(super) fn after_charging(percent: f64, charging: std::ops::Range<i64>, at_ms: i64, plan: &BatteryPlan<'_>) -> f64 {
    let hours = |from_ms: i64, to_ms: i64| (to_ms - from_ms).max(0) as f64 / HOUR_MS as f64;
    let charged = (percent + GAIN_PER_HOUR * hours(charging.start, at_ms.min(charging.end))).min(100.0);
    if at_ms < charging.end {
        return charged;
    }
    // Both fall and rise without a jump, so the higher of them does too: the next planned charging takes over by itself.
    (charged - plan.drain_per_hour * hours(charging.end, at_ms)).max((plan.planned)(at_ms))
}
