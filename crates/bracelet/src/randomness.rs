//! Randomness that can be entered at any point.
//!
//! A generator that is drawn from in sequence would make a sample depend on all samples before it, so a window could
//! not be generated alone. `ChaCha` is a counter-based generator: a key of (seed, patient, subject) and a stream number
//! taken from the time give an independent stream for every minute, beat block or night.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// What a stream of random numbers is used for; two subjects never share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Subject {
    /// The person and their resting values.
    Person,
    /// Waking, going to bed, walks, exercise and charging of one local day.
    Day,
    /// The sleep stages of one night.
    Night,
    /// The noise of one minute of measurement.
    Minute,
    /// Slow drift of the heart rate.
    HeartRateDrift,
    /// Slow drift of the respiration rate.
    RespirationDrift,
    /// Slow drift of the oxygen saturation.
    SpO2Drift,
    /// Slow drift of the temperatures.
    TemperatureDrift,
    /// Slow drift of the blood pressure.
    PressureDrift,
    /// The beats and breaths of one five-minute block.
    Beats,
    /// The table from which waveforms take their noise.
    WaveformNoise,
    /// The orientation of the arm.
    Posture,
    /// Identifiers of syncs.
    SyncId,
    /// The level of the skin's conductance.
    SkinLevel,
    /// Responses of the skin.
    SkinResponses,
    /// Resting values of the sourced population.
    Population,
    /// Which patients have which stories, and when.
    Casting,
    /// What a loose bracelet feels in one minute.
    Contact,
}

/// The source of all chance in one patient's life.
#[derive(Debug, Clone)]
pub struct Randomness {
    key: [u8; 32],
}

impl Randomness {
    /// Returns the source for patient number `patient` of a fleet with this seed.
    pub fn new(seed: u64, patient: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&patient.to_le_bytes());
        Self { key }
    }

    /// Returns the stream of `subject` at `index` (a day number, a minute number, a block number).
    pub fn stream(&self, subject: Subject, index: i64) -> ChaCha8Rng {
        let mut key = self.key;
        key[16] = subject as u8;
        let mut stream = ChaCha8Rng::from_seed(key);
        stream.set_stream(index.cast_unsigned());
        stream
    }

    /// Returns a slowly wandering value at `at_ms` with mean 0 and standard deviation 1.
    ///
    /// Independent normal values are on a lattice of `lattice_ms`; between two of them the weights follow a quarter
    /// circle, which keeps the variance the same everywhere.
    pub fn wander(&self, subject: Subject, at_ms: i64, lattice_ms: i64) -> f64 {
        let index = at_ms.div_euclid(lattice_ms);
        let fraction = at_ms.rem_euclid(lattice_ms) as f64 / lattice_ms as f64;
        let (weight_after, weight_before) = (fraction * std::f64::consts::FRAC_PI_2).sin_cos();
        let before: f64 = self.stream(subject, index).sample(StandardNormal);
        let after: f64 = self.stream(subject, index + 1).sample(StandardNormal);
        before * weight_before + after * weight_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_every_part_of_their_name() {
        let draw =
            |seed, patient, subject, index| -> u64 { Randomness::new(seed, patient).stream(subject, index).random() };
        let first = draw(1, 2, Subject::Day, 3);
        assert_eq!(first, draw(1, 2, Subject::Day, 3));
        assert_ne!(first, draw(2, 2, Subject::Day, 3));
        assert_ne!(first, draw(1, 3, Subject::Day, 3));
        assert_ne!(first, draw(1, 2, Subject::Night, 3));
        assert_ne!(first, draw(1, 2, Subject::Day, -3));
    }

    #[test]
    fn wandering_has_unit_variance_and_no_jumps() {
        let randomness = Randomness::new(7, 0);
        let values: Vec<f64> =
            (0..40_000).map(|i| randomness.wander(Subject::HeartRateDrift, i * 1_000, 10_000)).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
        assert!(mean.abs() < 0.1, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.1, "variance {variance}");
        let largest_step = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
        assert!(largest_step < 1.0, "largest step {largest_step}");
    }
}
