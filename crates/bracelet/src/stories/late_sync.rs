//! The bracelet is out of reach of its app: what it measures arrives hours late and out of order.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::minutes::whole_minute_in;
use super::story::{Draft, Plot, Scene, Story};
use crate::time::MINUTE_MS;

const AFTER_NEWER: &str = "after-newer";

#[derive(Debug)]
pub(super) struct LateSync;

impl Plot for LateSync {
    fn name(&self) -> &'static str {
        "late-sync"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["at-return", AFTER_NEWER]
    }

    fn draw(&self, scene: &Scene, kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let withheld_ms = random.random_range(120..480) * MINUTE_MS;
        let waiting_ms = random.random_range(60..240) * MINUTE_MS;
        let start_ms = whole_minute_in(scene.from_ms..scene.to_ms - withheld_ms, random)?;
        let withheld = ("withheld", withheld_ms);
        // Some apps send the present first and what was kept when there is time: the gap is then filled behind newer rows.
        let phases = [withheld, ("waiting", waiting_ms)];
        Some(Draft::new(start_ms, if kind == AFTER_NEWER { &phases } else { &phases[..1] }, 1.0))
    }

    fn arrival_ms(&self, story: &Story, at_ms: i64) -> Option<i64> {
        story.is_in("withheld", at_ms).then(|| story.end_ms())
    }
}
