//! Bioimpedance at the wrist: breathing and pulse on a large constant.

use super::cycles::{NoiseTable, Template, block_parts};
use super::rr::BeatBlock;
use crate::course::Course;

/// Generates the seconds `[from_s, to_s)` since the epoch in counts, `rate_hz` samples per second.
pub fn bioimpedance(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Vec<u16> {
    let noise = NoiseTable::new(&course.patient().randomness);
    let wave = Template::new(|phase| (std::f64::consts::TAU * phase).sin());
    let rate = rate_hz as usize;
    let mut values = Vec::with_capacity((to_s - from_s).max(0) as usize * rate);
    for part in block_parts(from_s, to_s) {
        let block = BeatBlock::new(course, part.block);
        let first_sample = part.from_s * rate;
        let count = (part.to_s - part.from_s) * rate;
        let mut breath = vec![0.0; count];
        let mut pulse = vec![0.0; count];
        wave.render(&block.breaths_ms, rate_hz, first_sample, &mut breath);
        wave.render(&block.beats_ms, rate_hz, first_sample, &mut pulse);
        for (sample, (breath, pulse)) in breath.iter().zip(&pulse).enumerate() {
            let tremor = noise.at(part.block, 12, first_sample + sample);
            // Air in the chest changes the impedance an order of magnitude more than blood does.
            let value = 20_000.0 + 300.0 * breath + 25.0 * pulse + 6.0 * tremor;
            values.push((value + 0.5) as u16);
        }
    }
    values
}
