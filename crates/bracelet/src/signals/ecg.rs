//! Electrocardiogram: P, Q, R, S and T as Gaussian waves around each R peak.
//!
//! After `McSharry` et al., IEEE Trans Biomed Eng 2003;50:289-294, but in time instead of phase: P and QRS keep their
//! duration at every rate, T moves with the square root of the interval. Fibrillating atria have no P wave; a small
//! wave of about 6 Hz takes its place.

use super::cycles::{NoiseTable, TABLE_LEN, Template, block_parts};
use super::rr::BeatBlock;
use crate::course::Course;

/// Entries of a table of waves per second.
const PLACES_PER_S: f32 = 2_000.0;
/// Length of the tables of waves in seconds.
const TABLE_S: f64 = 0.7;

/// A sum of Gaussian waves: (centre s, height mV, width s).
struct Waves(Vec<f32>);

impl Waves {
    fn new(waves: &[(f64, f64, f64)]) -> Self {
        let entries = (TABLE_S * f64::from(PLACES_PER_S)) as usize;
        let at = |entry: usize| {
            let time_s = entry as f64 / f64::from(PLACES_PER_S);
            let sum: f64 = waves
                .iter()
                .map(|(centre, height, width)| height * (-0.5 * ((time_s - centre) / width).powi(2)).exp())
                .sum();
            sum as f32
        };
        Self((0..entries).map(at).collect())
    }

    #[inline]
    fn at(&self, time_s: f32) -> f32 {
        self.0.get((time_s * PLACES_PER_S) as usize).copied().unwrap_or(0.0)
    }
}

/// Generates the seconds `[from_s, to_s)` since the epoch in mV, `rate_hz` samples per second.
pub fn ecg(course: &Course, rate_hz: u32, from_s: i64, to_s: i64) -> Vec<f32> {
    // Before the peak counted backwards, after it forwards; R itself is in both halves.
    let before_sinus = Waves::new(&[(0.0, 1.1, 0.011), (0.03, -0.12, 0.010), (0.17, 0.13, 0.022)]);
    let before_fibrillation = Waves::new(&[(0.0, 1.1, 0.011), (0.03, -0.12, 0.010)]);
    let after = Waves::new(&[(0.0, 1.1, 0.011), (0.03, -0.22, 0.011)]);
    let recovery = Waves::new(&[(0.29, 0.28, 0.045)]);
    // Without P waves, but not flat: fibrillating atria leave a fine wave.
    let flutter = Template::new(|phase| (std::f64::consts::TAU * phase).sin());
    let noise = NoiseTable::new(&course.patient().randomness);
    let rate = rate_hz as usize;
    let mut values = Vec::with_capacity((to_s - from_s).max(0) as usize * rate);
    for part in block_parts(from_s, to_s) {
        let block = BeatBlock::new(course, part.block);
        let fibrillates = course.patient().fibrillates(block.start_ms);
        let (before, flutter_mv) = if fibrillates { (&before_fibrillation, 0.04) } else { (&before_sinus, 0.0) };
        let (first_sample, end_sample) = (part.from_s * rate, part.to_s * rate);
        let flutter_step = 6 * TABLE_LEN / rate.max(1);
        for pair in block.beats_ms.windows(2) {
            let rate_per_ms = f64::from(rate_hz) / 1_000.0;
            let from = ((pair[0] * rate_per_ms).ceil() as usize).max(first_sample);
            let to = ((pair[1] * rate_per_ms).ceil() as usize).min(end_sample);
            // Repolarisation shortens with the square root of the interval (Bazett), while the QRS keeps its width.
            let stretch = (1_000.0 / (pair[1] - pair[0])).sqrt() as f32;
            // Both peaks are near, so single precision is enough after this subtraction.
            let peak = (pair[0] * rate_per_ms).floor();
            let peak_remainder = (pair[0] * rate_per_ms - peak) as f32;
            let interval = ((pair[1] - pair[0]) * rate_per_ms) as f32;
            let period_s = 1.0 / rate_hz as f32;
            for sample in from..to {
                let since = (sample - peak as usize) as f32 - peak_remainder;
                let since_s = since.max(0.0) * period_s;
                let until_s = (interval - since).max(0.0) * period_s;
                let value = after.at(since_s)
                    + recovery.at(since_s * stretch)
                    + before.at(until_s)
                    + flutter_mv * flutter.at(sample * flutter_step)
                    + 0.012 * noise.at(part.block, 5, sample);
                values.push(value);
            }
        }
    }
    values
}
