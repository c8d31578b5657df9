//! The charger is forgotten until the battery is empty: then no rows are made until it is charged again.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::charging::after_charging;
use super::minutes::whole_minute_in;
use super::story::{BatteryPlan, Draft, Plot, Scene, Story};
use crate::time::MINUTE_MS;
use crate::wear::{Contact, Wear};

#[derive(Debug)]
pub(super) struct DeadBattery;

impl Plot for DeadBattery {
    fn name(&self) -> &'static str {
        "dead-battery"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["charger-forgotten"]
    }

    fn draw(&self, scene: &Scene, _kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let draining_ms = random.random_range(240..720) * MINUTE_MS;
        let dead_ms = random.random_range(90..600) * MINUTE_MS;
        let charging_ms = 70 * MINUTE_MS;
        // A silence that has not yet ended is worth an alarm too, so only half an hour of it has to be seen.
        let latest_ms = scene.to_ms - draining_ms - 30 * MINUTE_MS;
        let start_ms = whole_minute_in(scene.from_ms..latest_ms, random)?;
        Some(Draft::new(start_ms, &[("draining", draining_ms), ("dead", dead_ms), ("charging", charging_ms)], 1.0))
    }

    fn wear(&self, story: &Story, at_ms: i64) -> Option<Wear> {
        // The daily charging falls out too: that is why the battery dies.
        Some(if story.is_in("charging", at_ms) { Wear::Charging } else { Wear::Worn })
    }

    fn contact(&self, story: &Story, at_ms: i64, _chance: &mut dyn FnMut() -> f64) -> Contact {
        if story.is_in("dead", at_ms) { Contact::None } else { Contact::Firm }
    }

    fn battery_percent(&self, story: &Story, at_ms: i64, plan: &BatteryPlan<'_>) -> Option<f64> {
        let (draining, charging) = (story.phase("draining")?, story.phase("charging")?);
        if at_ms >= charging.start_ms {
            return Some(after_charging(0.0, charging.start_ms..charging.end_ms, at_ms, plan));
        }
        // From what is left at the onset evenly to nothing: the fall is as steep as it has to be.
        let left = (draining.end_ms - at_ms).max(0) as f64 / (draining.end_ms - draining.start_ms) as f64;
        Some((plan.planned)(draining.start_ms) * left)
    }
}
