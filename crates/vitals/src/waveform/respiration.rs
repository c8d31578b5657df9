//! Breaths from the PPG: three modulations and their fusion (Karlen et al., IEEE Trans Biomed Eng
//! 2013;60:1946-1953).
//!
//! Breathing shifts the baseline of the pulse wave (RIIV, intensity), changes its height (RIAV,
//! amplitude) and the heart's rate (RIFV, frequency). Each is a series with one value per pulse;
//! its strongest rhythm is an estimate, and only estimates that agree are believed.

use super::ppg::Pulse;
use crate::signal::spectrum::{lomb_scargle, subtract_linear_trend};
use crate::signal::{mean, standard_deviation};

/// Slowest and fastest breathing looked for, Hz: 4 and 42 per minute.
const BAND_HZ: (f64, f64) = (4.0 / 60.0, 0.7);
/// Distance of frequencies looked at, Hz: a quarter of a breath per minute.
const STEP_HZ: f64 = 0.25 / 60.0;
/// Greatest standard deviation of estimates that agree, per minute.
const GREATEST_SPREAD: f64 = 4.0;
/// Fewest pulses of a stretch.
const LEAST_PULSES: usize = 12;

/// Breaths per minute by each modulation, and fused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Respiration {
    /// By intensity.
    pub riiv: f64,
    /// By amplitude.
    pub riav: f64,
    /// By frequency.
    pub rifv: f64,
    /// Mean of the three; None when their standard deviation exceeds 4 per minute.
    pub fused: Option<f64>,
}

/// Respiration rate of a stretch of pulses (about 32 s of them); None below twelve pulses, below
/// ten seconds, or without any rhythm.
pub fn respiration_rate(pulses: &[Pulse]) -> Option<Respiration> {
    if pulses.len() < LEAST_PULSES {
        return None;
    }
    // The first pulse has no interval before it, so all three series begin with the second.
    let later = &pulses[1..];
    let times_s: Vec<f64> = later.iter().map(|pulse| pulse.time_s).collect();
    if times_s[times_s.len() - 1] - times_s[0] < 10.0 {
        return None;
    }
    let intensity = later.iter().map(|pulse| pulse.peak).collect();
    let amplitude = later.iter().map(|pulse| pulse.peak - pulse.trough).collect();
    let interval = pulses.windows(2).map(|pair| pair[1].time_s - pair[0].time_s).collect();
    let riiv = strongest_per_min(&times_s, intensity)?;
    let riav = strongest_per_min(&times_s, amplitude)?;
    let rifv = strongest_per_min(&times_s, interval)?;
    let estimates = [riiv, riav, rifv];
    let agree = standard_deviation(&estimates)? <= GREATEST_SPREAD;
    Some(Respiration { riiv, riav, rifv, fused: if agree { mean(&estimates) } else { None } })
}

/// The strongest rhythm of a series of one value per pulse, per minute. Rhythms faster than half
/// the pulse cannot be seen and are not looked for.
fn strongest_per_min(times_s: &[f64], mut values: Vec<f64>) -> Option<f64> {
    subtract_linear_trend(&mut values);
    let span_s = times_s.last()? - times_s.first()?;
    let pulse_hz = (times_s.len() - 1) as f64 / span_s;
    let top_hz = BAND_HZ.1.min(pulse_hz / 2.0);
    let spectrum = lomb_scargle(times_s, &values, STEP_HZ, top_hz)?;
    let varies = spectrum.density.iter().any(|density| *density > 0.0);
    if varies { spectrum.peak_hz(BAND_HZ.0, top_hz).map(|hz| 60.0 * hz) } else { None }
}
