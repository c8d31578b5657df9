//! The strap is loose: values that no body has, of low quality, and gaps; whether it is worn is unsure.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::minutes::whole_minute_in;
use super::story::{Draft, Plot, Scene, Story};
use crate::time::MINUTE_MS;
use crate::wear::Contact;

#[derive(Debug)]
pub(super) struct LooseSensor;

impl Plot for LooseSensor {
    fn name(&self) -> &'static str {
        "loose-sensor"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["strap"]
    }

    fn draw(&self, scene: &Scene, _kind: &'static str, random: &mut ChaCha8Rng) -> Option<Draft> {
        let loose_ms = random.random_range(30..240) * MINUTE_MS;
        let start_ms = whole_minute_in(scene.from_ms..scene.to_ms - loose_ms, random)?;
        Some(Draft::new(start_ms, &[("loose", loose_ms)], 1.0))
    }

    fn contact(&self, _story: &Story, _at_ms: i64, chance: &mut dyn FnMut() -> f64) -> Contact {
        // One minute in five makes no row. Minutes are drawn alone, so gaps are short and many: the case in which a
        // rule that counts minutes is most easily misled.
        if chance() < 0.2 { Contact::None } else { Contact::Loose }
    }
}
