//! HRV in the time domain, Task Force 1996.

use super::clean::Cleaned;
use crate::signal::{finite, mean, standard_deviation};

/// Measures over the normal intervals of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeDomain {
    /// How many normal intervals there are.
    pub count: usize,
    /// Mean interval (avnn) in ms.
    pub mean_rr_ms: f64,
    /// Standard deviation of the intervals (n − 1) in ms.
    pub sdnn_ms: f64,
    /// Root mean square of successive differences in ms.
    pub rmssd_ms: f64,
    /// Percentage of successive differences of more than 50 ms.
    pub pnn50_percent: f64,
}

impl TimeDomain {
    /// Mean heart rate in beats per minute: 60,000 / mean interval.
    pub fn heart_rate_per_min(&self) -> f64 {
        60_000.0 / self.mean_rr_ms
    }
}

/// Time domain of cleaned intervals; None below two intervals, without two neighbours, or when an
/// interval is not positive and finite. Differences are taken only inside unbroken chains, and
/// pNN50 is over the number of such differences.
pub fn time_domain(intervals: &Cleaned) -> Option<TimeDomain> {
    // Callers may bring intervals of their own that no cleaning has seen.
    if intervals.nn_ms.iter().any(|nn| *nn <= 0.0) {
        return None;
    }
    let (mut differences, mut squares, mut over_50) = (0u32, 0.0, 0u32);
    for difference in intervals.differences() {
        differences += 1;
        squares += difference * difference;
        // Above and not from 50 ms on: so the Task Force has it.
        over_50 += u32::from(difference.abs() > 50.0);
    }
    if differences == 0 {
        return None;
    }
    Some(TimeDomain {
        count: intervals.nn_ms.len(),
        mean_rr_ms: mean(&intervals.nn_ms)?,
        sdnn_ms: standard_deviation(&intervals.nn_ms)?,
        rmssd_ms: finite((squares / f64::from(differences)).sqrt())?,
        // Of the differences and not of the intervals: gaps would lower the share otherwise.
        pnn50_percent: 100.0 * f64::from(over_50) / f64::from(differences),
    })
}
