//! Features of a window of intervals that distinguish atrial fibrillation from other rhythms.

use crate::beats::{Beat, missing_before, plausible};
use crate::signal::{finite, median};

/// Tolerance r of `COSEn` to begin with, in ms.
const COSEN_TOLERANCE_MS: f64 = 30.0;
/// Matches of length 2 that `COSEn` needs; r grows until there are so many.
const COSEN_LEAST_MATCHES: u32 = 5;
/// Fewest good intervals from which features are taken.
const LEAST_INTERVALS: usize = 12;

/// Irregularity of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// Median absolute difference of neighbours over the mean interval.
    pub relative_difference: f64,
    /// Coefficient of sample entropy (Lake & Moorman, Am J Physiol 2011;300:H319-H325), m = 1.
    pub cosen: f64,
    /// Share of intervals that are a local maximum or minimum: about 2/3 for random ones.
    pub turning_point_ratio: f64,
}

/// Features of the good intervals in `beats`; differences, patterns and turning points are taken
/// only over unbroken chains. None below 12 good intervals or when nothing neighbours.
pub fn features(beats: &[Beat]) -> Option<Features> {
    let good: Vec<bool> = beats.iter().map(plausible).collect();
    let joined = |i: usize| good[i - 1] && good[i] && missing_before(&beats[i - 1], &beats[i]) == 0.0;
    let pairs: Vec<(f64, f64)> =
        (1..beats.len()).filter(|&i| joined(i)).map(|i| (beats[i - 1].rr_ms, beats[i].rr_ms)).collect();
    let count = good.iter().filter(|good| **good).count();
    // Published entropies were validated from twelve beats on; below, five matching pairs are chance.
    if count < LEAST_INTERVALS {
        return None;
    }
    let sum: f64 = beats.iter().zip(&good).filter(|(_, good)| **good).map(|(b, _)| b.rr_ms).sum();
    let mean_ms = sum / count as f64;
    let mut differences: Vec<f64> = pairs.iter().map(|(one, next)| (next - one).abs()).collect();
    let (mut turns, mut triples) = (0u32, 0u32);
    for i in (2..beats.len()).filter(|&i| joined(i - 1) && joined(i)) {
        let (before, after) = (beats[i - 1].rr_ms - beats[i - 2].rr_ms, beats[i].rr_ms - beats[i - 1].rr_ms);
        // Equal neighbours turn nowhere; devices with a coarse clock have many of them.
        turns += u32::from(before * after < 0.0);
        triples += 1;
    }
    if triples == 0 {
        return None;
    }
    Some(Features {
        relative_difference: median(&mut differences)? / mean_ms,
        cosen: cosen(&pairs, mean_ms)?,
        turning_point_ratio: f64::from(turns) / f64::from(triples),
    })
}

/// `COSEn` = ln(B/A) + ln(2r) − ln(mean), with B the pairs of intervals that match within r and
/// A those of them whose successors match too. r is 30 ms, or as much more as gives five such
/// pairs. None when there are not five pairs at all.
fn cosen(pairs: &[(f64, f64)], mean_ms: f64) -> Option<f64> {
    let mut tolerance_ms = COSEN_TOLERANCE_MS;
    let (mut first_matches, mut both_match) = matches(pairs, tolerance_ms);
    // An entropy from one or two matches jumps by ln 2 with each beat, so the tolerance grows instead.
    if both_match < COSEN_LEAST_MATCHES {
        tolerance_ms = widened_tolerance(pairs)?;
        (first_matches, both_match) = matches(pairs, tolerance_ms);
    }
    let entropy = (f64::from(first_matches) / f64::from(both_match)).ln();
    // The tolerance and the mean enter so that windows of other tolerances and other heart rates can be compared.
    finite(entropy + (2.0 * tolerance_ms).ln() - mean_ms.ln())
}

/// Returns how many pairs of intervals match within the tolerance, and how many of those match together
/// with their successors.
fn matches(pairs: &[(f64, f64)], tolerance_ms: f64) -> (u32, u32) {
    // Two plain lists, so that the inner loop compares several pairs at once.
    let (first_occurrences, seconds): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (mut first_matches, mut both_match) = (0, 0);
    for i in 0..pairs.len() {
        for (first, second) in first_occurrences[i + 1..].iter().zip(&seconds[i + 1..]) {
            let first_near = (first - first_occurrences[i]).abs() <= tolerance_ms;
            let second_near = (second - seconds[i]).abs() <= tolerance_ms;
            first_matches += u32::from(first_near);
            both_match += u32::from(first_near & second_near);
        }
    }
    (first_matches, both_match)
}

/// Returns the least tolerance at which five pairs match together with their successors.
fn widened_tolerance(pairs: &[(f64, f64)]) -> Option<f64> {
    let mut needed: Vec<f64> = Vec::with_capacity(pairs.len() * pairs.len() / 2);
    for (i, one) in pairs.iter().enumerate() {
        needed.extend(pairs[i + 1..].iter().map(|other| (one.0 - other.0).abs().max((one.1 - other.1).abs())));
    }
    let last = COSEN_LEAST_MATCHES as usize - 1;
    if needed.len() <= last {
        return None;
    }
    let (_, fifth, _) = needed.select_nth_unstable_by(last, f64::total_cmp);
    Some(*fifth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(rr_ms: impl IntoIterator<Item = f64>) -> Vec<Beat> {
        let mut time_ms = 0;
        let row = |rr_ms: f64| {
            time_ms += rr_ms as i64;
            Beat { time_ms, rr_ms, good: true }
        };
        rr_ms.into_iter().map(row).collect()
    }

    #[test]
    fn a_metronome_has_no_irregularity() {
        let found = features(&beats([800.0; 64])).unwrap();
        assert!(found.relative_difference.abs() < 1e-12);
        assert!(found.turning_point_ratio.abs() < 1e-12);
        assert!((found.cosen - (60.0_f64 / 800.0).ln()).abs() < 1e-12, "entropy 0 at r = 30 ms");
    }

    #[test]
    fn alternation_turns_at_every_beat_but_repeats() {
        let found = features(&beats((0..64).map(|i| 800.0 + 100.0 * f64::from(i % 2)))).unwrap();
        assert!((found.relative_difference - 100.0 / 850.0).abs() < 1e-12);
        assert!((found.turning_point_ratio - 1.0).abs() < 1e-12);
        assert!((found.cosen - (60.0_f64 / 850.0).ln()).abs() < 1e-12);
    }

    #[test]
    fn tolerance_grows_until_five_pairs_match() {
        // Distances of the six pairs: 100, 200, 300, 300, 500, 600. The fifth is the tolerance.
        let far = [(0.0, 0.0), (100.0, 0.0), (300.0, 0.0), (600.0, 0.0)];
        let expected = 1000.0_f64.ln() - 800.0_f64.ln();
        assert!((cosen(&far, 800.0).unwrap() - expected).abs() < 1e-12);
        assert_eq!(cosen(&far[..3], 800.0), None, "three pairs are too few");
    }

    #[test]
    fn too_little_has_no_features() {
        assert_eq!(features(&[]), None);
        assert_eq!(features(&beats([800.0; 11])), None);
        assert_eq!(features(&beats([f64::NAN; 64])), None);
        let every_other_bad: Vec<Beat> =
            beats([800.0; 64]).into_iter().enumerate().map(|(i, beat)| Beat { good: i % 2 == 0, ..beat }).collect();
        assert_eq!(features(&every_other_bad), None, "no neighbours at all");
    }
}
