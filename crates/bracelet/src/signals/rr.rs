//! Heart beats and breaths.
//!
//! Beats are drawn in five-minute blocks aligned to UTC. In each block the drawn intervals are stretched by a per mille
//! or two so that a whole count of them fits: every block can then be drawn alone, the beats of neighbouring blocks
//! join without a seam, and the mean interval agrees with the heart rate.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::course::Course;
use crate::randomness::Subject;
use crate::time::MINUTE_MS;
use crate::wear::{Contact, Wear};

/// Length of a block in milliseconds.
pub const BLOCK_MS: i64 = 300_000;

const BLOCK_MINUTES: usize = 5;
/// What the table of a physiological interval allows, ms.
const SHORTEST_RR_MS: f64 = 300.0;
const LONGEST_RR_MS: f64 = 1_990.0;

/// The beats and breaths of five minutes.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatBlock {
    /// Begin, Unix ms, a multiple of [`BLOCK_MS`].
    pub start_ms: i64,
    /// R peaks in ms after the begin: the first is 0, the last [`BLOCK_MS`], the first of the next block.
    pub beats_ms: Vec<f64>,
    /// Begins of breaths in ms after the begin, likewise from 0 to [`BLOCK_MS`].
    pub breaths_ms: Vec<f64>,
}

impl BeatBlock {
    /// Block number `index` since the epoch.
    pub fn new(course: &Course, index: i64) -> Self {
        let start_ms = index * BLOCK_MS;
        // A stream for each block: a window of a minute costs one block and not the days before it.
        let mut random = course.patient().randomness.stream(Subject::Beats, index);
        let rates: [(f64, f64); BLOCK_MINUTES + 1] =
            std::array::from_fn(|minute| course.rates_at(start_ms + minute as i64 * MINUTE_MS));
        let breaths_ms = draw_breaths(&rates, &mut random);
        let beats_ms = if course.patient().fibrillates(start_ms) {
            draw_fibrillation(&rates, &mut random)
        } else {
            let arrhythmia = course.patient().baseline.sinus_arrhythmia;
            draw_sinus_rhythm(&rates, &breaths_ms, arrhythmia, start_ms, &mut random)
        };
        Self { start_ms, beats_ms, breaths_ms }
    }

    /// Returns the intervals between the beats in ms.
    pub fn intervals_ms(&self) -> Vec<f64> {
        self.beats_ms.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Heart rate (`pick` 0) or respiration rate at `at_ms` in the block, between the values of two minutes.
fn rate_at(rates: &[(f64, f64); BLOCK_MINUTES + 1], at_ms: f64, pick: impl Fn((f64, f64)) -> f64) -> f64 {
    let minutes = (at_ms / MINUTE_MS as f64).clamp(0.0, BLOCK_MINUTES as f64);
    let before = (minutes as usize).min(BLOCK_MINUTES - 1);
    let fraction = minutes - before as f64;
    pick(rates[before]) * (1.0 - fraction) + pick(rates[before + 1]) * fraction
}

/// Sums intervals until the block is full, then stretches the times so that the last lies on its end.
fn fill_block(mut next_interval_ms: impl FnMut(f64) -> f64) -> Vec<f64> {
    let block_ms = BLOCK_MS as f64;
    let mut times = vec![0.0];
    let mut at_ms = 0.0;
    loop {
        let interval_ms = next_interval_ms(at_ms);
        // To the nearest beat: the stretch is then at most half an interval in five minutes, and no interval is
        // out at the seam.
        if at_ms + interval_ms / 2.0 >= block_ms {
            break;
        }
        at_ms += interval_ms;
        times.push(at_ms);
    }
    // Blocks can be drawn alone and in any order only if each ends exactly where the next begins.
    let stretch = block_ms / at_ms;
    for time in &mut times {
        *time *= stretch;
    }
    if let Some(last) = times.last_mut() {
        *last = block_ms;
    }
    times
}

fn draw_breaths(rates: &[(f64, f64); BLOCK_MINUTES + 1], random: &mut ChaCha8Rng) -> Vec<f64> {
    fill_block(|at_ms| {
        let noise: f64 = random.sample(StandardNormal);
        let breath_ms = 60_000.0 / rate_at(rates, at_ms, |(_, respiration)| respiration);
        breath_ms * (1.0 + (0.07 * noise).clamp(-0.25, 0.25))
    })
}

/// Intervals modulated by breathing, by the slow waves of pressure control near 0.1 Hz, and by a little noise.
fn draw_sinus_rhythm(
    rates: &[(f64, f64); BLOCK_MINUTES + 1],
    breaths_ms: &[f64],
    arrhythmia: f64,
    start_ms: i64,
    random: &mut ChaCha8Rng,
) -> Vec<f64> {
    const SLOW_WAVE_MS: i64 = 10_400;
    let slow_phase_ms = start_ms.rem_euclid(SLOW_WAVE_MS) as f64;
    let mut breath = 0;
    fill_block(|at_ms| {
        while breath + 2 < breaths_ms.len() && breaths_ms[breath + 1] <= at_ms {
            breath += 1;
        }
        let (inhaled_ms, next_ms) = (breaths_ms[breath], breaths_ms[breath + 1]);
        let breath_phase = (at_ms - inhaled_ms) / (next_ms - inhaled_ms);
        let rate = rate_at(rates, at_ms, |(heart, _)| heart);
        // A fast heart leaves little room for modulation.
        let room = (60.0 / rate).powf(1.8).min(1.3);
        let noise: f64 = random.sample(StandardNormal);
        let modulation = arrhythmia * (TAU * breath_phase).sin()
            + 0.6 * arrhythmia * (TAU * (at_ms + slow_phase_ms) / SLOW_WAVE_MS as f64).sin()
            + 0.007 * noise;
        (60_000.0 / rate * (1.0 + room * modulation)).clamp(SHORTEST_RR_MS, LONGEST_RR_MS)
    })
}

/// Independent intervals, spread widely about the mean: irregularly irregular.
fn draw_fibrillation(rates: &[(f64, f64); BLOCK_MINUTES + 1], random: &mut ChaCha8Rng) -> Vec<f64> {
    fill_block(|at_ms| {
        let noise: f64 = random.sample(StandardNormal);
        let mean_ms = 60_000.0 / rate_at(rates, at_ms, |(heart, _)| heart);
        let spread = (0.2 * noise).clamp(-0.45, 0.7);
        (mean_ms * (1.0 + spread)).clamp(SHORTEST_RR_MS, LONGEST_RR_MS)
    })
}

/// One row of the data type `rr-interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RrInterval {
    /// The beat that ends the interval, Unix ms.
    pub timestamp_ms: i64,
    /// The interval in ms.
    pub rr_ms: i64,
    /// 0 to 4.
    pub quality: u8,
}

/// Returns the intervals whose last beat lies in `[from_ms, to_ms)` and was felt by a worn bracelet.
pub fn rr_intervals(course: &Course, from_ms: i64, to_ms: i64) -> Vec<RrInterval> {
    let mut rows = Vec::new();
    // A beat on the begin of a block ends an interval of the block before.
    let first_block = (from_ms - 1).div_euclid(BLOCK_MS);
    let last_block = (to_ms - 1).div_euclid(BLOCK_MS);
    for index in first_block..=last_block {
        let block = BeatBlock::new(course, index);
        let mut felt_minute = None;
        let mut previous_ms = block.start_ms;
        for beat_ms in &block.beats_ms[1..] {
            let timestamp_ms = block.start_ms + beat_ms.round() as i64;
            let rr_ms = timestamp_ms - previous_ms;
            previous_ms = timestamp_ms;
            if !(from_ms..to_ms).contains(&timestamp_ms) {
                continue;
            }
            let minute = timestamp_ms.div_euclid(MINUTE_MS);
            let quality = match felt_minute {
                Some((known, quality)) if known == minute => quality,
                _ => quality_in(course, minute),
            };
            felt_minute = Some((minute, quality));
            if let Some(quality) = quality {
                rows.push(RrInterval { timestamp_ms, rr_ms, quality });
            }
        }
    }
    rows
}

/// Returns the quality of intervals in a minute, none when the bracelet is not worn.
fn quality_in(course: &Course, minute: i64) -> Option<u8> {
    let start_ms = minute * MINUTE_MS;
    if course.wear_at(start_ms) != Wear::Worn {
        return None;
    }
    // Beats are felt through a loose strap as badly as everything else.
    if course.contact_at(start_ms) == Contact::Loose {
        return Some(1);
    }
    let is_moving = course.day_at(start_ms).bout_at(start_ms).is_some();
    Some(if is_moving { 3 } else { 4 })
}
