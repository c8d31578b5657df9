//! R peaks in an ECG.
//!
//! The QRS complex is what holds most of the energy at 8–20 Hz. Blocks of such energy are found by
//! two moving averages (Elgendi, PLOS ONE 2013;8:e73557, there for QRS); a block much weaker than
//! its neighbours is noise or a T wave and is dropped (**ours**).

use super::blocks::{blocks, greatest};
use crate::signal::filter::Filter;
use crate::signal::median;

/// Band of the QRS complex, Hz.
const BAND_HZ: (f64, f64) = (8.0, 20.0);
/// Length of a QRS complex, s.
const QRS_S: f64 = 0.097;
/// Length of a beat, s.
const BEAT_S: f64 = 0.611;
/// Offset of the threshold, as a share of the mean energy.
const OFFSET: f64 = 0.08;
/// Least time between R peaks, s.
const REFRACTORY_S: f64 = 0.2;
/// Neighbours on each side that a peak's strength is compared with.
const NEIGHBOURS: usize = 4;
/// Least strength against the median of the neighbours.
const LEAST_STRENGTH: f64 = 0.3;

/// Indices of R peaks (the greatest deflection of each QRS, of either sign) in an ECG lead of any
/// unit sampled at `rate_hz`; None below 50 Hz, for less than about a second, or when a value is
/// not finite.
pub fn find_r_peaks(ecg: &[f64], rate_hz: f64) -> Option<Vec<usize>> {
    if !rate_hz.is_finite() || rate_hz < 50.0 || (ecg.len() as f64) < rate_hz {
        return None;
    }
    // Zero phase, because a delay of the filter would move every peak.
    let qrs_band = Filter::band_pass(BAND_HZ.0, BAND_HZ.1, rate_hz)?.zero_phase(ecg)?;
    let strength: Vec<f64> = qrs_band.iter().map(|value| value.abs()).collect();
    let energy: Vec<f64> = qrs_band.iter().map(|value| value * value).collect();
    let samples = |seconds: f64| (seconds * rate_hz).round() as usize;
    let mut peaks: Vec<usize> = Vec::new();
    for block in blocks(&energy, samples(QRS_S), samples(BEAT_S), OFFSET) {
        let peak = greatest(&strength, block);
        match peaks.last_mut() {
            Some(last) if peak - *last < samples(REFRACTORY_S) => {
                // Nothing can beat again within 0.2 s. Of two blocks that close the stronger is the QRS, the other
                // its slope or a T wave.
                if strength[peak] > strength[*last] {
                    *last = peak;
                }
            }
            _ => peaks.push(peak),
        }
    }
    Some(drop_weak(&peaks, &strength))
}

/// Leaves out peaks much weaker than the median of themselves and their neighbours.
fn drop_weak(peaks: &[usize], strength: &[f64]) -> Vec<usize> {
    let strengths: Vec<f64> = peaks.iter().map(|peak| strength[*peak]).collect();
    let strong = |i: &usize| {
        let around = i.saturating_sub(NEIGHBOURS)..(i + NEIGHBOURS + 1).min(peaks.len());
        // Against neighbours and not the whole record: a lead that comes loose halves the signal from there on.
        let usual = median(&mut strengths[around].to_vec()).unwrap_or(0.0);
        strengths[*i] >= LEAST_STRENGTH * usual
    };
    (0..peaks.len()).filter(strong).map(|i| peaks[i]).collect()
}
