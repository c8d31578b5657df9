//! HRV in the frequency domain: spectral power of the interval series in the Task Force bands.
//!
//! Packages differ by 11–48 % in what they call the same power, so the recipe is fixed here:
//! natural cubic spline through the intervals over time, 4 Hz, linear trend removed, Welch with a
//! periodic Hann window of 1024 points and 50 % overlap, trapezoid over the bins of a band.

use super::clean::Cleaned;
use crate::signal::spectrum::{Spectrum, Welch, lomb_scargle, subtract_linear_trend};
use crate::signal::spline::resample_natural;

/// Rate at which the spline is read, Hz.
const RATE_HZ: f64 = 4.0;
/// Points per Welch segment.
const SEGMENT: usize = 1024;
/// Longest gap between remaining beats, s; beyond it the spline would be invention.
const LONGEST_GAP_S: f64 = 5.0;
/// Shortest series, s (**ours**): two periods of the slowest LF rhythm, 0.04 Hz.
const SHORTEST_S: f64 = 50.0;

/// Power that is more than rounding, ms².
const LEAST_POWER_MS2: f64 = 1e-9;

/// Power per band in ms².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrequencyDomain {
    /// Very low frequency, 0.003–0.04 Hz.
    pub vlf_ms2: f64,
    /// Low frequency, 0.04–0.15 Hz.
    pub lf_ms2: f64,
    /// High frequency, 0.15–0.4 Hz.
    pub hf_ms2: f64,
}

impl FrequencyDomain {
    /// Sums a density over the three bands.
    fn of(spectrum: &Spectrum<'_>) -> Self {
        Self {
            vlf_ms2: spectrum.band_power(0.003, 0.04),
            lf_ms2: spectrum.band_power(0.04, 0.15),
            hf_ms2: spectrum.band_power(0.15, 0.4),
        }
    }

    /// VLF + LF + HF in ms².
    pub fn total_ms2(&self) -> f64 {
        self.vlf_ms2 + self.lf_ms2 + self.hf_ms2
    }

    /// Percentage of a band's power in VLF + LF + HF; None when all are zero.
    fn percent(&self, band_ms2: f64) -> Option<f64> {
        let total = self.total_ms2();
        (total > LEAST_POWER_MS2).then(|| 100.0 * band_ms2 / total)
    }

    /// VLF in percent of the total; None when the intervals do not vary.
    pub fn vlf_percent(&self) -> Option<f64> {
        self.percent(self.vlf_ms2)
    }

    /// LF in percent of the total; None when the intervals do not vary.
    pub fn lf_percent(&self) -> Option<f64> {
        self.percent(self.lf_ms2)
    }

    /// HF in percent of the total; None when the intervals do not vary.
    pub fn hf_percent(&self) -> Option<f64> {
        self.percent(self.hf_ms2)
    }

    /// LF/HF; None when HF is zero.
    pub fn lf_hf(&self) -> Option<f64> {
        (self.hf_ms2 > LEAST_POWER_MS2).then(|| self.lf_ms2 / self.hf_ms2)
    }
}

/// Band powers of cleaned intervals. None when the series is shorter than 50 s, when remaining
/// beats lie more than 5 s apart, or when an input is not finite.
pub fn frequency_domain(welch: &mut Welch, intervals: &Cleaned) -> Option<FrequencyDomain> {
    let times_s = from_first(intervals)?;
    let end_s = *times_s.last()?;
    // None is more honest than a number here: interpolated gaps look like slow waves.
    if end_s < SHORTEST_S || times_s.windows(2).any(|pair| pair[1] - pair[0] > LONGEST_GAP_S) {
        return None;
    }
    // 4 Hz lies well above twice the fastest band, 0.4 Hz, so that the resampling adds nothing to it.
    let mut even = resample_natural(&times_s, &intervals.nn_ms, 1.0 / RATE_HZ, end_s)?;
    // A drift over five minutes is no rhythm but would leak into VLF and from there into LF.
    subtract_linear_trend(&mut even);
    Some(FrequencyDomain::of(&welch.density(&even, RATE_HZ, SEGMENT)?))
}

/// Band powers by Lomb–Scargle, which needs no resampling; bins of 1/1024 Hz. As a library
/// function for comparison with tools that use it. None as for [`frequency_domain`], gaps aside.
pub fn lomb_bands(intervals: &Cleaned) -> Option<FrequencyDomain> {
    let times_s = from_first(intervals)?;
    if *times_s.last()? < SHORTEST_S {
        return None;
    }
    // Four bins for each of Welch's, because no window smears them.
    let spectrum = lomb_scargle(&times_s, &intervals.nn_ms, 1.0 / 1024.0, 0.4)?;
    Some(FrequencyDomain::of(&spectrum))
}

/// Elapsed times relative to the first remaining beat, s.
fn from_first(intervals: &Cleaned) -> Option<Vec<f64>> {
    let first = *intervals.elapsed_s.first()?;
    Some(intervals.elapsed_s.iter().map(|time| time - first).collect())
}
