//! Photoplethysmogram: light that comes back from the skin.
//!
//! A large constant part; blood takes away a little light with each pulse; breathing moves the base line (RIIV) and the
//! depth of the pulse (RIAV) and, through the intervals, its rate (RIFV); movement adds noise. The depths in red and
//! infra-red follow the saturation by the textbook line SpO2 = 110 - 25·R, R the ratio of the relative depths.

use super::cycles::{NoiseTable, Template, block_parts};
use super::rr::{BLOCK_MS, BeatBlock};
use crate::bout::Movement;
use crate::course::Course;
use crate::time::MINUTE_MS;

/// From the R peak to the pulse at the wrist, ms.
pub const TRANSIT_MS: f64 = 180.0;

/// A colour of the sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Green.
    Green,
    /// Red.
    Red,
    /// Infra-red.
    InfraRed,
}

impl Colour {
    /// The three colours, in the order of [`Ppg::values`].
    pub const ALL: [Self; 3] = [Self::Green, Self::Red, Self::InfraRed];

    /// Returns the channel's `metric_id`.
    pub fn metric_id(self) -> &'static str {
        match self {
            Self::Green => "0x7e",
            Self::Red => "0x7c",
            Self::InfraRed => "0x7b",
        }
    }

    /// Returns the channel's `led_pd_pos`.
    pub fn led_pd_pos(self) -> i64 {
        match self {
            Self::Green => 6,
            Self::Red => 14,
            Self::InfraRed => 22,
        }
    }

    /// Light without pulse, in counts.
    fn base(self) -> f32 {
        match self {
            Self::Green => 30_000.0,
            Self::Red => 38_000.0,
            Self::InfraRed => 42_000.0,
        }
    }

    /// Depth of the pulse as a share of the base, at this saturation in %.
    fn depth(self, spo2: f64) -> f32 {
        const INFRA_RED_DEPTH: f64 = 0.012;
        match self {
            Self::Green => 0.03,
            // The usual calibration, SpO2 = 110 − 25·R, turned round: R is the ratio of both depths.
            Self::Red => (INFRA_RED_DEPTH * (110.0 - spo2) / 25.0) as f32,
            Self::InfraRed => INFRA_RED_DEPTH as f32,
        }
    }
}

/// The samples of a window in three colours, `rate_hz` per second and colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ppg {
    /// Counts of each of [`Colour::ALL`].
    pub values: [Vec<u16>; 3],
}

/// Generates the seconds `[from_s, to_s)` since the epoch.
pub fn ppg(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Ppg {
    let noise = NoiseTable::new(&course.patient().randomness);
    let pulse_shape = Template::new(pulse_shape);
    let breath_shape = Template::new(|phase| (std::f64::consts::TAU * phase).sin());
    let rate = rate_hz as usize;
    let mut values: [Vec<u16>; 3] =
        std::array::from_fn(|_| Vec::with_capacity(((to_s - from_s).max(0) as usize) * rate));
    let mut previous: Option<(i64, BeatBlock)> = None;
    for part in block_parts(from_s, to_s) {
        let before = match previous.take() {
            Some((number, block)) if number == part.block - 1 => block,
            _ => BeatBlock::new(course, part.block - 1),
        };
        let block = BeatBlock::new(course, part.block);
        let first_sample = part.from_s * rate;
        let count = (part.to_s - part.from_s) * rate;
        let mut pulse = vec![0.0; count];
        let mut breath = vec![0.0; count];
        pulse_shape.render(&pulse_onsets(&before, &block), rate_hz, first_sample, &mut pulse);
        breath_shape.render(&block.breaths_ms, rate_hz, first_sample, &mut breath);
        for (minute_part, skin) in minutes_of(course, part.block, part.from_s, part.to_s) {
            let samples = minute_part.0 * rate - first_sample..minute_part.1 * rate - first_sample;
            for (channel, colour) in Colour::ALL.into_iter().enumerate() {
                let base = colour.base();
                let depth = base * colour.depth(skin.spo2);
                let sway = 0.25 * depth;
                for sample in samples.clone() {
                    // Light comes back less while the vessels are full. Breathing moves both level and height, which
                    // is what respiration is found from.
                    let light = base + sway * breath[sample] - depth * (1.0 + 0.12 * breath[sample]) * pulse[sample]
                        + skin.noise * noise.at(part.block, channel, first_sample + sample);
                    values[channel].push((light + 0.5).clamp(0.0, 65_535.0) as u16);
                }
            }
        }
        previous = Some((part.block, block));
    }
    Ppg { values }
}

/// What the sensor sees of one minute.
struct Skin {
    spo2: f64,
    /// Standard deviation of the noise in counts.
    noise: f32,
}

/// Returns the minutes of seconds `[from_s, to_s)` of a block, each with its seconds.
fn minutes_of(course: &Course, block: i64, from_s: usize, to_s: usize) -> Vec<((usize, usize), Skin)> {
    let first_minute = block * (BLOCK_MS / MINUTE_MS);
    (from_s / 60..to_s.div_ceil(60))
        .map(|number| {
            let minute = course.minute(first_minute + number as i64);
            let noise = match minute.movement {
                Movement::Rest => 6.0,
                Movement::Other => 40.0,
                Movement::Walk | Movement::Cycle => 90.0,
                Movement::Run => 220.0,
            };
            let seconds = (from_s.max(number * 60), to_s.min(number * 60 + 60));
            let skin = Skin { spo2: minute.spo2, noise };
            (seconds, skin)
        })
        .collect()
}

/// Onsets of pulses in ms after the block's begin, from the last pulse of the block before to the first after it.
fn pulse_onsets(before: &BeatBlock, block: &BeatBlock) -> Vec<f64> {
    // The pulse arrives after the beat: at the start of a block the wave of the last beat before is still under way.
    let last_before = before.beats_ms.iter().rev().nth(1).map(|beat| beat - BLOCK_MS as f64);
    last_before.iter().chain(&block.beats_ms).map(|beat| beat + TRANSIT_MS).collect()
}

/// Returns a pulse over one cycle, 0 to about 1: a steep rise, a slow fall, and the dicrotic wave.
fn pulse_shape(phase: f64) -> f64 {
    let bump = |centre: f64, width: f64| (-0.5 * ((phase - centre) / width).powi(2)).exp();
    // Down to zero at both ends, so that waves of any length join.
    let rising = (phase / 0.08).min(1.0);
    let falling = ((1.0 - phase) / 0.2).min(1.0);
    (bump(0.2, 0.09) + 0.45 * bump(0.46, 0.14)) * rising * falling
}
