//! Five-minute windows of a day and their averages (**ours**).
//!
//! Windows are aligned to UTC, so that splitting and order of arrival cannot move them. One is
//! valid with at least 80 % and at least 60 normal intervals.

use super::clean::{Cleaned, clean};
use super::frequency::{FrequencyDomain, frequency_domain};
use super::time_domain::{TimeDomain, time_domain};
use crate::beats::Beat;
use crate::signal::mean;
use crate::signal::spectrum::Welch;
use crate::stress_index::{StressIndex, stress_index};

/// Length of a window in ms.
pub const WINDOW_MS: i64 = 300_000;
/// Least share of intervals that must remain after cleaning.
const LEAST_SHARE: f64 = 0.8;
/// Least number of intervals that must remain after cleaning.
const LEAST_COUNT: usize = 60;

/// One valid window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Start, Unix epoch milliseconds, a multiple of five minutes.
    pub start_ms: i64,
    /// Time domain.
    pub time: TimeDomain,
    /// Frequency domain; None across a gap or when the beats span too short a time.
    pub frequency: Option<FrequencyDomain>,
    /// Baevsky's stress index; None when all intervals are equal.
    pub stress: Option<StressIndex>,
}

/// Returns the valid windows of `beats`, ascending in time. Beats must ascend in time; a beat belongs to
/// the window that holds its time.
pub fn five_minute_windows(beats: &[Beat]) -> Vec<Window> {
    let mut welch = Welch::default();
    beats
        // By the clock and not from the first beat: a late row at the start of a day would move every window of it.
        .chunk_by(|one, next| one.time_ms.div_euclid(WINDOW_MS) == next.time_ms.div_euclid(WINDOW_MS))
        .filter_map(|chunk| window(&mut welch, chunk))
        .collect()
}

/// Returns the measures of one window's beats, which ascend in time; None when it is not valid.
pub fn window(welch: &mut Welch, beats: &[Beat]) -> Option<Window> {
    let start_ms = beats.first()?.time_ms.div_euclid(WINDOW_MS) * WINDOW_MS;
    let cleaned: Cleaned = clean(beats);
    // In atrial fibrillation or with a loose bracelet most intervals are dropped, and what remains is the part that
    // happens to look even.
    if cleaned.share() < LEAST_SHARE || cleaned.nn_ms.len() < LEAST_COUNT {
        return None;
    }
    Some(Window {
        start_ms,
        time: time_domain(&cleaned)?,
        frequency: frequency_domain(welch, &cleaned),
        stress: stress_index(&cleaned.nn_ms),
    })
}

/// Averages over the valid windows of a day, in the names of the `stress_continuous` section;
/// each is None when no window has the measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DayAverages {
    /// Stress index, raw.
    pub avg_si: Option<f64>,
    /// Mean of the square roots of the windows' stress indices (**ours**).
    pub avg_si_n: Option<f64>,
    /// Mean interval, ms.
    pub avg_mrr: Option<f64>,
    /// SDNN, ms.
    pub avg_sdnn: Option<f64>,
    /// RMSSD, ms.
    pub avg_rmssd: Option<f64>,
    /// pNN50, percent.
    pub avg_pnn50: Option<f64>,
    /// VLF, ms².
    pub avg_vlf: Option<f64>,
    /// VLF, percent.
    pub avg_vlf_percent: Option<f64>,
    /// LF, ms².
    pub avg_lf: Option<f64>,
    /// LF, percent.
    pub avg_lf_percent: Option<f64>,
    /// HF, ms².
    pub avg_hf: Option<f64>,
    /// HF, percent.
    pub avg_hf_percent: Option<f64>,
    /// HRV: the RMSSD in ms (**ours**).
    pub avg_hrv: Option<f64>,
    /// Mode of the intervals, s.
    pub avg_mo: Option<f64>,
    /// Share of the intervals in the modal bin, percent.
    pub avg_amo: Option<f64>,
}

/// Means of the measures over valid windows.
pub fn day_averages(windows: &[Window]) -> DayAverages {
    let average =
        |measure: &dyn Fn(&Window) -> Option<f64>| mean(&windows.iter().filter_map(measure).collect::<Vec<f64>>());
    let rmssd = average(&|window| Some(window.time.rmssd_ms));
    DayAverages {
        avg_si: average(&|window| Some(window.stress?.si)),
        avg_si_n: average(&|window| Some(window.stress?.normalised())),
        avg_mrr: average(&|window| Some(window.time.mean_rr_ms)),
        avg_sdnn: average(&|window| Some(window.time.sdnn_ms)),
        avg_rmssd: rmssd,
        avg_pnn50: average(&|window| Some(window.time.pnn50_percent)),
        avg_vlf: average(&|window| Some(window.frequency?.vlf_ms2)),
        avg_vlf_percent: average(&|window| window.frequency?.vlf_percent()),
        avg_lf: average(&|window| Some(window.frequency?.lf_ms2)),
        avg_lf_percent: average(&|window| window.frequency?.lf_percent()),
        avg_hf: average(&|window| Some(window.frequency?.hf_ms2)),
        avg_hf_percent: average(&|window| window.frequency?.hf_percent()),
        avg_hrv: rmssd,
        avg_mo: average(&|window| Some(window.stress?.mode_s)),
        avg_amo: average(&|window| Some(window.stress?.mode_share_percent)),
    }
}
