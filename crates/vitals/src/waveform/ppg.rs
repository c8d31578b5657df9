//! Pulses in a PPG (Elgendi et al., PLOS ONE 2013;8:e76585): band-pass 0.5–8 Hz, positive part
//! squared, blocks by two moving averages, one pulse per block.

use super::blocks::{blocks, greatest};
use crate::signal::filter::Filter;
use crate::signal::median;

/// Band of the pulse, Hz.
const BAND_HZ: (f64, f64) = (0.5, 8.0);
/// Length of the systolic peak, s.
const PEAK_S: f64 = 0.111;
/// Length of a beat, s.
const BEAT_S: f64 = 0.667;
/// Offset of the threshold, as a share of the mean energy.
const OFFSET: f64 = 0.02;
/// Least time between pulses, s.
const REFRACTORY_S: f64 = 0.3;
/// Share of intervals near the median that a good stretch has.
const LEAST_REGULAR: f64 = 0.7;
/// Fewest intervals from which a rate is given.
const LEAST_INTERVALS: usize = 4;

/// One pulse wave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulse {
    /// Time of the systolic peak in s from the first sample.
    pub time_s: f64,
    /// The signal at the peak, in its unit.
    pub peak: f64,
    /// The lowest point of the signal since the pulse before.
    pub trough: f64,
}

/// Pulses in a PPG (greater = more blood) of any unit sampled at `rate_hz`; None below 20 Hz, for
/// less than two seconds, or when a value is not finite.
pub fn find_pulses(ppg: &[f64], rate_hz: f64) -> Option<Vec<Pulse>> {
    if !rate_hz.is_finite() || rate_hz < 20.0 || (ppg.len() as f64) < 2.0 * rate_hz {
        return None;
    }
    let band = Filter::band_pass(BAND_HZ.0, BAND_HZ.1, rate_hz)?.zero_phase(ppg)?;
    // Only the positive half: the dip after the notch would make a second pulse.
    let energy: Vec<f64> = band.iter().map(|value| value.max(0.0).powi(2)).collect();
    let samples = |seconds: f64| (seconds * rate_hz).round() as usize;
    let mut peaks: Vec<usize> = Vec::new();
    for block in blocks(&energy, samples(PEAK_S), samples(BEAT_S), OFFSET) {
        let peak = greatest(&band, block);
        if peaks.last().is_none_or(|last| peak - last >= samples(REFRACTORY_S)) {
            peaks.push(peak);
        }
    }
    let mut since = 0;
    let mut pulse = |peak: usize| {
        let trough = ppg[since..=peak].iter().copied().fold(f64::INFINITY, f64::min);
        since = peak;
        Pulse { time_s: peak as f64 / rate_hz, peak: ppg[peak], trough }
    };
    Some(peaks.into_iter().map(&mut pulse).collect())
}

/// Pulse rate per minute of a stretch: 60 / median interval. None below four intervals, or when
/// less than 70 % of them lie within 20 % of the median (**ours**: such a stretch is not good).
pub fn pulse_rate(pulses: &[Pulse]) -> Option<f64> {
    let mut intervals: Vec<f64> = pulses.windows(2).map(|pair| pair[1].time_s - pair[0].time_s).collect();
    if intervals.len() < LEAST_INTERVALS {
        return None;
    }
    let usual = median(&mut intervals)?;
    // A hand that moves makes peaks of any distance; a heart, even one with extra beats, does not.
    let near = |interval: &&f64| (**interval - usual).abs() <= 0.2 * usual;
    let regular = intervals.iter().filter(near).count() as f64 / intervals.len() as f64;
    (regular >= LEAST_REGULAR && usual > 0.0).then(|| 60.0 / usual)
}
