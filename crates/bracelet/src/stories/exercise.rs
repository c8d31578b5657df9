//! Hard exercise: high pulse and respiration rate of somebody who is well.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::minutes::whole_minute_in;
use super::story::{Draft, Plot, Scene, Story};
use crate::bout::{Bout, Movement};
use crate::time::{HOUR_MS, MINUTE_MS};

const RUNNING: &str = "running";

#[derive(Debug)]
pub(super) struct Exercise;

impl Plot for Exercise {
    fn name(&self) -> &'static str {
        "exercise"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[RUNNING, "cycling"]
    }

    fn draw(&self, scene: &Scene, _kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let effort_ms = random.random_range(25..80) * MINUTE_MS;
        let strength = random.random_range(0.6..0.9);
        // Chosen among the days and then within one: days of all lengths are as likely.
        let day = random.random_range(0..scene.waking.len().max(1));
        let waking = scene.waking.get(day)?;
        let latest_ms = waking.end.min(scene.to_ms) - effort_ms - HOUR_MS;
        let start_ms = whole_minute_in(waking.start.max(scene.from_ms)..latest_ms, random)?;
        // Pulse and warmth take most of an hour to come down, which belongs to the story.
        Some(Draft::new(start_ms, &[("effort", effort_ms), ("recovering", 45 * MINUTE_MS)], strength))
    }

    // An ordinary effort, only chosen: everything that follows effort (steps, warmth, poor signals) then follows by itself.
    fn bout(&self, story: &Story) -> Option<Bout> {
        let effort = story.phase("effort")?;
        let (movement, cadence, speed_mps) =
            if story.kind == RUNNING { (Movement::Run, 160.0, 2.8) } else { (Movement::Cycle, 0.0, 6.0) };
        Some(Bout {
            start_ms: effort.start_ms,
            end_ms: effort.end_ms,
            movement,
            effort: story.strength,
            cadence,
            speed_mps,
        })
    }
}
