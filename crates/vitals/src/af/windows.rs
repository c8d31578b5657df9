//! Windows of 64 intervals, their classes, and the majority of three (**ours**).
//!
//! A window is 64 consecutive intervals, good or not; with fewer than 50 good ones it stays
//! unclassified. Counting begins again with the first beat of each UTC hour, so that an hour's
//! answer depends on that hour alone.

use super::features::{Features, features};
use crate::beats::{Beat, plausible};
use crate::hrv::{Cleaned, TimeDomain, frequency_domain, time_domain};
use crate::signal::spectrum::Welch;

/// Intervals per window.
pub const WINDOW_BEATS: usize = 64;
/// Fewest good intervals of a window that is classified.
const LEAST_GOOD: usize = 50;
/// Relative difference above which a window can be fibrillation.
const DIFFERENCE_THRESHOLD: f64 = 0.06;
/// `COSEn` above which a window can be fibrillation.
const COSEN_THRESHOLD: f64 = -1.4;
/// Shortest window with a low-frequency power, ms.
const LF_SHORTEST_MS: f64 = 120_000.0;
/// An hour in ms.
pub const HOUR_MS: i64 = 3_600_000;

/// Class of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classification {
    /// Normal sinus rhythm, or at least not fibrillation.
    Nsr,
    /// Atrial fibrillation.
    Af,
    /// Unclassified: too few good intervals.
    Unc,
}

impl Classification {
    /// `NSR`, `AF` or `UNC`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nsr => "NSR",
            Self::Af => "AF",
            Self::Unc => "UNC",
        }
    }
}

/// One window, with the fields of the `AFib` detection record that follow from intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AfWindow {
    /// Time of the window's first beat, Unix epoch milliseconds.
    pub time_ms: i64,
    /// Time of the window's last beat, Unix epoch milliseconds.
    pub end_ms: i64,
    /// Class of this window alone.
    pub classification: Classification,
    /// Probability of fibrillation in this window, 0–1; 0 when unclassified.
    pub afb_probability: f64,
    /// 1 − `afb_probability`; None when unclassified.
    pub nsr_probability: Option<f64>,
    /// Median of `afb_probability` over the windows that vote on this one.
    pub final_probability: f64,
    /// Whether most of the three windows around are fibrillation; None when most are not
    /// classified or they are divided.
    pub af_detected: Option<bool>,
    /// `time_ms` when fibrillation was detected.
    pub af_time_ms: Option<i64>,
    /// Share of good intervals, 0–1.
    pub good_quality_probability: f64,
    /// Number of good intervals.
    pub good_ibi_number: usize,
    /// Mean good interval in ms.
    pub avnn: Option<f64>,
    /// 60,000 / `avnn`, per minute.
    pub heart_rate: Option<f64>,
    /// Standard deviation of the good intervals in ms.
    pub sdnn: Option<f64>,
    /// Root mean square of differences of neighbouring good intervals in ms.
    pub rmssd: Option<f64>,
    /// Percentage of those differences above 50 ms.
    pub pnn50: Option<f64>,
    /// Low-frequency power in ms²; None in windows under 120 s, which most are.
    pub lf: Option<f64>,
    /// `good_quality_probability` where there is an `lf`.
    pub lf_confidence: Option<f64>,
    /// What the class was decided on; None when unclassified.
    pub features: Option<Features>,
}

/// Windows counted from the first beat. Beats ascend in time; an incomplete window at the end is
/// left out.
pub fn classify(beats: &[Beat]) -> Vec<AfWindow> {
    let mut welch = Welch::default();
    let mut windows: Vec<AfWindow> = beats.chunks_exact(WINDOW_BEATS).map(|chunk| window(&mut welch, chunk)).collect();
    vote(&mut windows);
    windows
}

/// Windows counted again from the first beat of each UTC hour.
pub fn classify_by_hour(beats: &[Beat]) -> Vec<AfWindow> {
    beats
        .chunk_by(|one, next| one.time_ms.div_euclid(HOUR_MS) == next.time_ms.div_euclid(HOUR_MS))
        .flat_map(classify)
        .collect()
}

/// One window alone; its vote is filled in by [`vote`].
fn window(welch: &mut Welch, beats: &[Beat]) -> AfWindow {
    let good_ibi_number = beats.iter().filter(|beat| plausible(beat)).count();
    // Noise is as irregular as fibrillation: with many poor intervals no answer is the only safe one.
    let found = if good_ibi_number < LEAST_GOOD { None } else { features(beats) };
    let probability = found.map(|found| af_probability(&found));
    let classification = match probability {
        None => Classification::Unc,
        Some(probability) if probability > 0.5 => Classification::Af,
        Some(_) => Classification::Nsr,
    };
    let share = good_ibi_number as f64 / WINDOW_BEATS as f64;
    let good = good_intervals(beats);
    let time: Option<TimeDomain> = time_domain(&good);
    // Two minutes hold nearly five periods of the slowest LF rhythm; the Task Force asks for that much.
    let long_enough = good.nn_ms.iter().sum::<f64>() >= LF_SHORTEST_MS;
    let lf = if long_enough { frequency_domain(welch, &good).map(|bands| bands.lf_ms2) } else { None };
    AfWindow {
        time_ms: beats.first().map_or(0, |beat| beat.time_ms),
        end_ms: beats.last().map_or(0, |beat| beat.time_ms),
        classification,
        afb_probability: probability.unwrap_or(0.0),
        nsr_probability: probability.map(|probability| 1.0 - probability),
        final_probability: probability.unwrap_or(0.0),
        af_detected: None,
        af_time_ms: None,
        good_quality_probability: share,
        good_ibi_number,
        avnn: time.map(|time| time.mean_rr_ms),
        heart_rate: time.map(|time| time.heart_rate_per_min()),
        sdnn: time.map(|time| time.sdnn_ms),
        rmssd: time.map(|time| time.rmssd_ms),
        pnn50: time.map(|time| time.pnn50_percent),
        lf,
        lf_confidence: lf.map(|_| share),
        features: found,
    }
}

/// Returns the good intervals of a window. Unlike [`crate::hrv::clean`] this drops none for differing
/// from its neighbours: in fibrillation they all do.
fn good_intervals(beats: &[Beat]) -> Cleaned {
    let mut good = Cleaned { total: beats.len(), ..Cleaned::default() };
    let mut elapsed_ms = 0.0;
    let mut previous: Option<(&Beat, bool)> = None;
    for beat in beats {
        let missing_ms = previous.map_or(0.0, |(previous, _)| crate::beats::missing_before(previous, beat));
        elapsed_ms += missing_ms + if beat.rr_ms > 0.0 { beat.rr_ms } else { 0.0 };
        let kept = plausible(beat);
        if kept {
            good.nn_ms.push(beat.rr_ms);
            good.elapsed_s.push(elapsed_ms / 1000.0);
            good.follows.push(missing_ms == 0.0 && previous.is_some_and(|(_, kept)| kept));
        }
        previous = Some((beat, kept));
    }
    good
}

/// Logistic map of the lesser of two margins (**ours**): above 0.5 exactly when the relative
/// difference exceeds 0.06 and `COSEn` exceeds −1.4. A margin of 0.02 or of 0.25 means
/// odds of e to 1. Intervals that turn much less or more often than random ones (such as
/// a bigeminy) count half.
fn af_probability(found: &Features) -> f64 {
    let difference = (found.relative_difference - DIFFERENCE_THRESHOLD) / 0.02;
    let entropy = (found.cosen - COSEN_THRESHOLD) / 0.25;
    // Both must speak for fibrillation. Extra beats raise the difference and not the entropy, noise of the clock the
    // entropy and not the difference.
    let mut margin = difference.min(entropy);
    // Three standard deviations around 2/3 over 62 triples: sqrt((16·64 − 29)/90)/62 = 0.054.
    let random = (found.turning_point_ratio - 2.0 / 3.0).abs() <= 3.0 * 0.054;
    if margin > 0.0 && !random {
        margin /= 2.0;
    }
    1.0 / (1.0 + (-margin).exp())
}

/// Lets each window and its neighbours vote; the first and the last of the run take the two
/// nearest on their one side.
fn vote(windows: &mut [AfWindow]) {
    let count = windows.len();
    for i in 0..count {
        // Each window has three voters also at the ends of an hour, so that the first and last minutes are not judged
        // more loosely.
        let start = i.saturating_sub(1).min(count.saturating_sub(3));
        let voters = &windows[start..(start + 3).min(count)];
        let count_of = |class| voters.iter().filter(|one| one.classification == class).count();
        // More than half of those asked, unclassified ones included: two poor windows must not let one decide.
        let needed = voters.len() / 2 + 1;
        let detected = if count_of(Classification::Af) >= needed {
            Some(true)
        } else if count_of(Classification::Nsr) >= needed {
            Some(false)
        } else {
            None
        };
        let mut probabilities: Vec<f64> = voters
            .iter()
            .filter(|one| one.classification != Classification::Unc)
            .map(|one| one.afb_probability)
            .collect();
        let final_probability = crate::signal::median(&mut probabilities).unwrap_or(0.0);
        windows[i].af_detected = detected;
        windows[i].final_probability = final_probability;
        windows[i].af_time_ms = (detected == Some(true)).then_some(windows[i].time_ms);
    }
}
