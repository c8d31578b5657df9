//! Waveforms from cycles: a template is stretched between two onsets and read from a table.
//!
//! A day of three colours at 128 Hz is 33 million samples, so no sample may cost a sine. The place in the table is
//! computed from the sample's distance to its own cycle's onset, never accumulated from where rendering began: a window
//! that is generated in pieces holds the same samples.

use rand::RngExt;
use rand_distr::StandardNormal;

use super::rr::BLOCK_MS;
use crate::randomness::{Randomness, Subject};

/// Entries of a template; a power of two.
pub const TABLE_LEN: usize = 2_048;
const TABLE_MASK: usize = TABLE_LEN - 1;

/// One cycle of a waveform, sampled finely.
#[derive(Debug, Clone)]
pub struct Template(Vec<f32>);

impl Template {
    /// Samples `shape`, a function of the phase 0..1.
    pub fn new(shape: impl Fn(f64) -> f64) -> Self {
        Self((0..TABLE_LEN).map(|entry| shape(entry as f64 / TABLE_LEN as f64) as f32).collect())
    }

    /// Returns the entry at `place`, which wraps around.
    #[inline]
    pub fn at(&self, place: usize) -> f32 {
        self.0[place & TABLE_MASK]
    }

    /// Writes to `out` the samples from number `first_sample` of a block on, at `rate_hz`; the onsets are in ms after the
    /// block's begin and must enclose the samples.
    pub fn render(&self, onsets_ms: &[f64], rate_hz: u32, first_sample: usize, out: &mut [f32]) {
        let samples_per_ms = f64::from(rate_hz) / 1_000.0;
        let end_sample = first_sample + out.len();
        for pair in onsets_ms.windows(2) {
            let onset = pair[0] * samples_per_ms;
            let next_onset = pair[1] * samples_per_ms;
            let first = onset.ceil().max(0.0);
            let from = (first as usize).max(first_sample);
            let to = (next_onset.ceil().max(0.0) as usize).min(end_sample);
            if from >= to {
                continue;
            }
            let step = TABLE_LEN as f64 / (next_onset - onset);
            let place_of_first = ((first - onset) * step) as f32;
            let step = step as f32;
            let skipped = from - first as usize;
            for (number, value) in out[from - first_sample..to - first_sample].iter_mut().enumerate() {
                let place = place_of_first + (skipped + number) as f32 * step;
                *value = self.at(place as usize);
            }
        }
    }
}

/// A table of normal values that represents the noise of all waveforms of a patient.
#[derive(Debug, Clone)]
pub struct NoiseTable(Vec<f32>);

impl NoiseTable {
    /// Returns the patient's table.
    pub fn new(randomness: &Randomness) -> Self {
        let mut random = randomness.stream(Subject::WaveformNoise, 0);
        Self((0..TABLE_LEN).map(|_| random.sample::<f32, _>(StandardNormal)).collect())
    }

    /// Returns the value for a sample of a block; channels and blocks read the table at different places.
    #[inline]
    pub fn at(&self, block: i64, channel: usize, sample: usize) -> f32 {
        let offset = (block.rem_euclid(65_536) as usize).wrapping_mul(977).wrapping_add(channel.wrapping_mul(683));
        self.0[sample.wrapping_add(offset) & TABLE_MASK]
    }
}

/// The part of a five-minute block that a window covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPart {
    /// Number of the block since the epoch.
    pub block: i64,
    /// First second after the block's begin.
    pub from_s: usize,
    /// Last second, exclusive.
    pub to_s: usize,
}

/// Cuts the seconds `[from_s, to_s)` since the epoch at the borders of blocks.
pub fn block_parts(from_s: i64, to_s: i64) -> Vec<BlockPart> {
    let block_s = BLOCK_MS / 1_000;
    let mut parts = Vec::new();
    let mut at_s = from_s;
    while at_s < to_s {
        let block = at_s.div_euclid(block_s);
        let end_s = ((block + 1) * block_s).min(to_s);
        parts.push(BlockPart {
            block,
            from_s: (at_s - block * block_s) as usize,
            to_s: (end_s - block * block_s) as usize,
        });
        at_s = end_s;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_render_the_same_samples_as_the_whole() {
        let ramp = Template::new(|phase| phase);
        let onsets = [-300.0, 512.3, 1_400.1, 2_222.2, 3_100.0, 4_500.0];
        let mut whole = vec![0.0; 512];
        ramp.render(&onsets, 128, 0, &mut whole);
        for cut in [1, 100, 129, 400] {
            let (mut left, mut right) = (vec![0.0; cut], vec![0.0; 512 - cut]);
            ramp.render(&onsets, 128, 0, &mut left);
            ramp.render(&onsets, 128, cut, &mut right);
            left.extend(right);
            assert_eq!(whole, left);
        }
        assert!(whole.iter().all(|v| (0.0..1.0).contains(v)));
        // The ramp falls exactly once per onset inside the window.
        let falls = whole.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!(falls, 4);
    }

    #[test]
    fn parts_cover_the_window() {
        let parts = block_parts(299, 901);
        let seconds: usize = parts.iter().map(|part| part.to_s - part.from_s).sum();
        assert_eq!(seconds, 602);
        assert_eq!(parts[0], BlockPart { block: 0, from_s: 299, to_s: 300 });
        assert_eq!(parts[3], BlockPart { block: 3, from_s: 0, to_s: 1 });
    }
}
