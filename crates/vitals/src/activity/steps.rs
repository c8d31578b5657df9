//! Steps from raw acceleration, for when the device counted none.
//!
//! Each step shows as a peak of the length of the acceleration vector, whichever way the bracelet
//! is turned. Peaks count only in bouts: four or more, each within 1.5 s of the last, so that a
//! single shake is no step.

use crate::signal::filter::Filter;
use crate::signal::peaks::find_peaks;
use crate::signal::resample_mean;

/// Rate to which the signal is averaged down, Hz.
const RATE_HZ: f64 = 25.0;
/// Pass band of walking and running, Hz.
const BAND_HZ: (f64, f64) = (0.6, 3.0);
/// Least time between steps, in samples: 0.28 s.
const LEAST_DISTANCE: usize = 7;
/// Least prominence of a step, g.
const LEAST_PROMINENCE_G: f64 = 0.06;
/// Longest time between steps of a bout, s.
const LONGEST_GAP_S: f64 = 1.5;
/// Fewest steps of a bout.
const LEAST_STEPS: usize = 4;

/// Steps found in a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Time of each step in s from the first sample, ascending.
    pub times_s: Vec<f64>,
    /// Number of bouts.
    pub bouts: usize,
}

/// Length of the acceleration vector per sample, in the unit of the axes; shortest axis decides.
pub fn magnitude(x: &[f64], y: &[f64], z: &[f64]) -> Vec<f64> {
    let length = |((x, y), z): ((&f64, &f64), &f64)| (x * x + y * y + z * z).sqrt();
    x.iter().zip(y).zip(z).map(length).collect()
}

/// Steps in `magnitude_g` (vector lengths in g, of one unbroken stretch) sampled at `rate_hz`,
/// which must be 25 Hz or more. None for a lower rate, a stretch shorter than a second, or a value
/// that is not finite.
pub fn find_steps(magnitude_g: &[f64], rate_hz: f64) -> Option<Steps> {
    // Means and not every n-th sample: vibration above 12 Hz would fold back into the band of walking.
    let even = resample_mean(magnitude_g, rate_hz, RATE_HZ)?;
    let filtered = Filter::band_pass(BAND_HZ.0, BAND_HZ.1, RATE_HZ)?.zero_phase(&even)?;
    let peaks = find_peaks(&filtered, LEAST_DISTANCE, LEAST_PROMINENCE_G);
    let near = |one: &usize, next: &usize| (next - one) as f64 <= LONGEST_GAP_S * RATE_HZ;
    let mut steps = Steps::default();
    // Gestures make one to three peaks. Four in rhythm are hardly ever anything but walking.
    for bout in peaks.chunk_by(near).filter(|bout| bout.len() >= LEAST_STEPS) {
        steps.times_s.extend(bout.iter().map(|peak| *peak as f64 / RATE_HZ));
        steps.bouts += 1;
    }
    Some(steps)
}
