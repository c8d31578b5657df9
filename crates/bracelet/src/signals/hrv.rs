//! Heart-rate variability as the device computes it, once per five minutes.
//!
//! Definitions: Task Force, Eur Heart J 1996;17:354-381; Baevsky & Chernikova, Cardiometry 2017;10:66-76. The spectrum
//! is a plain periodogram: a small device has no better, and a service must not take these rows for its own results.

use std::f64::consts::TAU;

use super::rr::{BLOCK_MS, BeatBlock};
use crate::course::Course;
use crate::wear::Wear;

/// One row of the data type `heart-rate-variability`.
#[derive(Debug, Clone, PartialEq)]
pub struct HrvRow {
    /// End of the five minutes, Unix ms.
    pub timestamp_ms: i64,
    /// Stress index by Baevsky.
    pub si: f64,
    /// Mean interval, ms.
    pub mrr_ms: f64,
    /// Standard deviation of the intervals, ms.
    pub sdnn_ms: f64,
    /// Root mean square of successive differences, ms.
    pub rmssd_ms: f64,
    /// Share of differences over 50 ms, %.
    pub pnn50_percent: f64,
    /// Power below 0.04, below 0.15 and below 0.4 Hz, ms².
    pub bands_ms2: [f64; 3],
    /// Mode of the intervals, s.
    pub mo_s: f64,
    /// Share of intervals in the mode's bin, %.
    pub amo_percent: f64,
}

/// Returns the rows whose timestamps lie in `[from_ms, to_ms)`; a block during which the bracelet was off the wrist has
/// none.
pub fn hrv_rows(course: &Course, from_ms: i64, to_ms: i64) -> Vec<HrvRow> {
    let mut rows = Vec::new();
    // A row is stamped with the end of its five minutes, when the device knows it: the row of an earlier block may
    // fall into this window.
    let first_end = from_ms.div_euclid(BLOCK_MS) + i64::from(from_ms.rem_euclid(BLOCK_MS) != 0);
    let mut end_ms = first_end * BLOCK_MS;
    while end_ms < to_ms {
        let start_ms = end_ms - BLOCK_MS;
        let is_worn = [start_ms, start_ms + BLOCK_MS / 2, end_ms - 1]
            .into_iter()
            .all(|at_ms| course.wear_at(at_ms) == Wear::Worn);
        if is_worn {
            rows.push(analyse(&BeatBlock::new(course, start_ms / BLOCK_MS)));
        }
        end_ms += BLOCK_MS;
    }
    rows
}

/// Analyses one block of beats.
pub fn analyse(block: &BeatBlock) -> HrvRow {
    let intervals = block.intervals_ms();
    let count = intervals.len() as f64;
    let mean = intervals.iter().sum::<f64>() / count;
    let squares: f64 = intervals.iter().map(|rr| (rr - mean).powi(2)).sum();
    let differences: Vec<f64> = intervals.windows(2).map(|w| w[1] - w[0]).collect();
    let difference_squares: f64 = differences.iter().map(|d| d * d).sum();
    let large = differences.iter().filter(|d| d.abs() > 50.0).count();
    let (mo_s, amo_percent, range_s) = histogram(&intervals);
    HrvRow {
        timestamp_ms: block.start_ms + BLOCK_MS,
        // A metronome has no range; the device sends a very large index rather than none.
        si: amo_percent / (2.0 * mo_s * range_s.max(0.001)),
        mrr_ms: mean,
        sdnn_ms: (squares / (count - 1.0)).sqrt(),
        rmssd_ms: (difference_squares / (count - 1.0)).sqrt(),
        pnn50_percent: 100.0 * large as f64 / (count - 1.0),
        bands_ms2: band_powers(&block.beats_ms, &intervals, mean),
        mo_s,
        amo_percent,
    }
}

/// Mode (s), its share (%) and the range (s) of the intervals in bins of 50 ms.
fn histogram(intervals_ms: &[f64]) -> (f64, f64, f64) {
    let mut bins = [0_usize; 48];
    for interval in intervals_ms {
        let bin = (interval / 50.0) as usize;
        bins[bin.min(47)] += 1;
    }
    // The first of several equal bins counts.
    let mut mode = 0;
    for (bin, count) in bins.iter().enumerate() {
        if *count > bins[mode] {
            mode = bin;
        }
    }
    let largest = intervals_ms.iter().copied().fold(f64::MIN, f64::max);
    let smallest = intervals_ms.iter().copied().fold(f64::MAX, f64::min);
    let share = 100.0 * bins[mode] as f64 / intervals_ms.len() as f64;
    ((mode as f64 + 0.5) * 0.05, share, (largest - smallest) / 1_000.0)
}

/// Power of the evenly resampled intervals in the three bands, ms².
fn band_powers(beats_ms: &[f64], intervals_ms: &[f64], mean_ms: f64) -> [f64; 3] {
    const RATE_HZ: f64 = 4.0;
    const EDGES_HZ: [f64; 4] = [0.003, 0.04, 0.15, 0.4];
    let seconds = BLOCK_MS as f64 / 1_000.0;
    let count = (seconds * RATE_HZ) as usize;
    let mut beat = 0;
    let mut windowed = Vec::with_capacity(count);
    let mut window_power = 0.0;
    for sample in 0..count {
        let at_ms = sample as f64 / RATE_HZ * 1_000.0;
        while beat + 1 < intervals_ms.len() && beats_ms[beat + 1] <= at_ms {
            beat += 1;
        }
        let window = 0.5 - 0.5 * (TAU * sample as f64 / count as f64).cos();
        window_power += window * window;
        windowed.push((intervals_ms[beat] - mean_ms) * window);
    }
    let mut bands = [0.0; 3];
    // Only the bins that are used: 120 of 600, and a whole transform would be most of the cost of a day.
    let last_bin = (EDGES_HZ[3] * seconds) as usize;
    for bin in 1..last_bin {
        let frequency_hz = bin as f64 / seconds;
        // A step function and a single window, not the spline and segments of the service: agreement between the two
        // then means something.
        let density = 2.0 * goertzel(&windowed, bin) / (RATE_HZ * window_power);
        let band = EDGES_HZ[1..].iter().position(|edge| frequency_hz < *edge);
        if let Some(band) = band {
            bands[band] += density / seconds;
        }
    }
    bands
}

/// Squared magnitude of one bin of the discrete Fourier transform (Goertzel's recurrence).
fn goertzel(samples: &[f64], bin: usize) -> f64 {
    let coefficient = 2.0 * (TAU * bin as f64 / samples.len() as f64).cos();
    let (mut last, mut before_last) = (0.0, 0.0);
    for sample in samples {
        let next = sample + coefficient * last - before_last;
        before_last = last;
        last = next;
    }
    last * last + before_last * before_last - coefficient * last * before_last
}
