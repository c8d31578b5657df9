//! Which intervals are normal-to-normal (**ours**).
//!
//! An interval stays when it is plausible and within 20 % of the median of the five around it.
//! A dropped one breaks the chain: no difference is taken across it, and its time stays as a gap.

use crate::beats::{Beat, missing_before, plausible};

/// How far an interval may lie from the median of the five around it, as a share of it.
const TOLERANCE: f64 = 0.2;

/// The intervals that remain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cleaned {
    /// Lengths of the remaining intervals in ms.
    pub nn_ms: Vec<f64>,
    /// Elapsed time at the end of each remaining interval in s, counted over all intervals.
    pub elapsed_s: Vec<f64>,
    /// For each remaining interval whether the one before it remains too and nothing lies
    /// between, so that their difference may be taken. The first is false.
    pub follows: Vec<bool>,
    /// How many intervals there were.
    pub total: usize,
}

impl Cleaned {
    /// Takes all intervals as normal, in ms.
    pub fn assume_normal(nn_ms: &[f64]) -> Self {
        let mut elapsed_ms = 0.0;
        let elapsed = nn_ms.iter().map(|nn| {
            elapsed_ms += nn;
            elapsed_ms / 1000.0
        });
        Self {
            elapsed_s: elapsed.collect(),
            nn_ms: nn_ms.to_vec(),
            follows: (0..nn_ms.len()).map(|i| i > 0).collect(),
            total: nn_ms.len(),
        }
    }

    /// Share of the intervals that remain, 0–1; 0 when there were none.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.nn_ms.len() as f64 / self.total as f64 }
    }

    /// Differences of successive intervals in ms, where the chain is not broken.
    pub fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        (1..self.nn_ms.len()).filter(|&i| self.follows[i]).map(|i| self.nn_ms[i] - self.nn_ms[i - 1])
    }
}

/// Cleans the intervals of one window; the median at its ends is over the three or four there.
pub fn clean(beats: &[Beat]) -> Cleaned {
    let mut cleaned = Cleaned { total: beats.len(), ..Cleaned::default() };
    let mut elapsed_ms = 0.0;
    let mut previous_kept = false;
    for (i, beat) in beats.iter().enumerate() {
        let missing_ms = if i == 0 { 0.0 } else { missing_before(&beats[i - 1], beat) };
        // Dropped intervals took time as well: without it, the spectrum would see later beats too early.
        if beat.rr_ms.is_finite() && beat.rr_ms > 0.0 {
            elapsed_ms += beat.rr_ms;
        }
        elapsed_ms += missing_ms;
        // The median is taken over all five, dropped ones too: cleaning in one pass must not depend on where it
        // began.
        let kept = plausible(beat) && near_median(beats, i);
        if kept {
            cleaned.nn_ms.push(beat.rr_ms);
            cleaned.elapsed_s.push(elapsed_ms / 1000.0);
            // A difference across a dropped beat would be the sum of two, and RMSSD squares it.
            cleaned.follows.push(previous_kept && missing_ms == 0.0);
        }
        previous_kept = kept;
    }
    cleaned
}

/// Returns whether interval `i` lies within the tolerance of the median of the five around it.
fn near_median(beats: &[Beat], i: usize) -> bool {
    // Five, because a single early beat with its pause makes two odd intervals, and three good ones then still hold
    // the median.
    let around = &beats[i.saturating_sub(2)..(i + 3).min(beats.len())];
    // Insertion keeps the five sorted: this runs for every beat of every day.
    let mut sorted = [0.0; 5];
    let mut count = 0;
    for beat in around.iter().filter(|beat| beat.rr_ms.is_finite()) {
        let mut place = count;
        while place > 0 && sorted[place - 1] > beat.rr_ms {
            sorted[place] = sorted[place - 1];
            place -= 1;
        }
        sorted[place] = beat.rr_ms;
        count += 1;
    }
    if count == 0 {
        return false;
    }
    let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    (beats[i].rr_ms - median).abs() <= TOLERANCE * median
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(rr_ms: &[f64]) -> Vec<Beat> {
        let mut time_ms = 0;
        let mut next = |&rr_ms: &f64| {
            time_ms += rr_ms as i64;
            Beat { time_ms, rr_ms, good: true }
        };
        rr_ms.iter().map(&mut next).collect()
    }

    #[test]
    fn an_outlier_leaves_a_gap_and_breaks_the_chain() {
        let cleaned = clean(&beats(&[800.0, 810.0, 400.0, 820.0, 800.0]));
        assert_eq!(cleaned.nn_ms, [800.0, 810.0, 820.0, 800.0]);
        assert_eq!(cleaned.elapsed_s, [0.8, 1.61, 2.83, 3.63]);
        assert_eq!(cleaned.follows, [false, true, false, true]);
        assert_eq!(cleaned.differences().collect::<Vec<_>>(), [10.0, -20.0]);
        assert!((cleaned.share() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn limits_are_inclusive() {
        assert_eq!(clean(&beats(&[300.0; 5])).nn_ms.len(), 5);
        assert_eq!(clean(&beats(&[299.0; 5])).nn_ms.len(), 0);
        assert_eq!(clean(&beats(&[2000.0; 5])).nn_ms.len(), 5);
        assert_eq!(clean(&beats(&[2001.0; 5])).nn_ms.len(), 0);
        assert_eq!(clean(&beats(&[1000.0, 1000.0, 1200.0, 1000.0, 1000.0])).nn_ms.len(), 5);
        assert_eq!(clean(&beats(&[1000.0, 1000.0, 1201.0, 1000.0, 1000.0])).nn_ms.len(), 4);
    }

    #[test]
    fn the_median_is_clipped_at_the_ends() {
        // The first sees 500, 800, 800; its median is 800.
        assert_eq!(clean(&beats(&[500.0, 800.0, 800.0, 800.0])).nn_ms, [800.0; 3]);
        // The second sees 500, 600, 800, 800: their median is 700, not 800, and 600 stays.
        assert_eq!(clean(&beats(&[500.0, 600.0, 800.0, 800.0, 800.0])).nn_ms.len(), 5);
    }

    #[test]
    fn poor_rows_nan_and_missing_rows() {
        let mut rows = beats(&[800.0; 6]);
        rows[1].good = false;
        rows[2].rr_ms = f64::NAN;
        for row in &mut rows[4..] {
            row.time_ms += 10_000;
        }
        let cleaned = clean(&rows);
        assert_eq!(cleaned.nn_ms.len(), 4);
        assert_eq!(cleaned.follows, [false, false, false, true]);
        assert!((cleaned.elapsed_s[2] - cleaned.elapsed_s[1] - 10.8).abs() < 1e-9);
        assert_eq!(clean(&[]), Cleaned::default());
        assert!(clean(&[]).share().abs() < 1e-12);
    }
}
