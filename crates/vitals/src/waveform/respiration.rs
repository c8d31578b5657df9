//! Breaths from the PPG: three modulations and their fusion (Karlen et al., IEEE Trans Biomed Eng
//! 2013;60:1946-1953).
//!
//! Breathing shifts the baseline of the pulse wave (RIIV, intensity), changes its height (RIAV,
//! amplitude) and the heart's rate (RIFV, frequency). Each is a series with one value per pulse;
//! its strongest rhythm is an estimate, and only estimates that agree are believed. That two of
//! the three must also rise above their spectrum is **ours**: three noises agree now and then.

use super::ppg::Pulse;
use crate::signal::spectrum::{lomb_scargle, subtract_linear_trend};
use crate::signal::{finite, mean, standard_deviation};

/// Slowest and fastest breathing looked for, Hz: 4 and 42 per minute.
const BAND_HZ: (f64, f64) = (4.0 / 60.0, 0.7);
/// Distance of frequencies looked at, Hz: a quarter of a breath per minute.
const STEP_HZ: f64 = 0.25 / 60.0;
/// Greatest standard deviation of estimates that agree, per minute.
const GREATEST_SPREAD: f64 = 4.0;
/// Half the width of a rhythm in its spectrum, Hz: 2 per minute.
const RHYTHM_HZ: f64 = 2.0 / 60.0;
/// Share of the band's power within that width of the peak that makes a rhythm clear. A flat
/// spectrum has about 0.1 there, the strongest peak of noise about 0.2.
const CLEAR_SHARE: f64 = 0.25;
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
    /// Mean of the three; None when their standard deviation exceeds 4 per minute or fewer than
    /// two are clear.
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
    let rhythms = [strongest(&times_s, intensity)?, strongest(&times_s, amplitude)?, strongest(&times_s, interval)?];
    let rates = rhythms.map(|rhythm| rhythm.per_min);
    let clear = rhythms.iter().filter(|rhythm| rhythm.share >= CLEAR_SHARE).count();
    let believed = clear >= 2 && standard_deviation(&rates)? <= GREATEST_SPREAD;
    let fused = if believed { mean(&rates) } else { None };
    Some(Respiration { riiv: rates[0], riav: rates[1], rifv: rates[2], fused })
}

/// The strongest rhythm of a series.
#[derive(Clone, Copy)]
struct Rhythm {
    per_min: f64,
    /// Share of the band's power around it, 0–1.
    share: f64,
}

/// Returns the strongest rhythm of a series of one value per pulse; None when it does not vary. Rhythms
/// faster than half the pulse cannot be seen and are not looked for.
fn strongest(times_s: &[f64], mut values: Vec<f64>) -> Option<Rhythm> {
    subtract_linear_trend(&mut values);
    let span_s = times_s.last()? - times_s.first()?;
    let pulse_hz = (times_s.len() - 1) as f64 / span_s;
    // One value per pulse samples breathing at the pulse rate: faster breaths would show as slower ones.
    let top_hz = BAND_HZ.1.min(pulse_hz / 2.0);
    let spectrum = lomb_scargle(times_s, &values, STEP_HZ, top_hz)?;
    let peak_hz = spectrum.peak_hz(BAND_HZ.0, top_hz)?;
    let around = (peak_hz - RHYTHM_HZ).max(BAND_HZ.0)..(peak_hz + RHYTHM_HZ).min(top_hz);
    let share = spectrum.band_power(around.start, around.end) / spectrum.band_power(BAND_HZ.0, top_hz);
    Some(Rhythm { per_min: 60.0 * peak_hz, share: finite(share)? })
}
