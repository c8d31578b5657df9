//! Blocks of interest by two moving averages, after Elgendi.
//!
//! Where the average over the length of an event exceeds the average over the length of a beat,
//! something as long as the event rises above it. That adapts to amplitude by itself.

use std::ops::Range;

/// Moving averages of the same values.
struct Averages {
    /// Sum of the values before each, and of all.
    sums: Vec<f64>,
}

impl Averages {
    fn of(values: &[f64]) -> Self {
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        for value in values {
            sum += value;
            sums.push(sum);
        }
        Averages { sums }
    }

    /// Returns the average of `width` values around one (an even width becomes the next odd one), clipped at the ends.
    fn around(&self, at: usize, width: usize) -> f64 {
        let half = width / 2;
        let (start, end) = (at.saturating_sub(half), (at + half + 1).min(self.sums.len() - 1));
        (self.sums[end] - self.sums[start]) / (end - start) as f64
    }
}

/// Stretches of at least `event` samples where the average over `event` exceeds the average over
/// `beat` by more than `offset` times the mean of all. `energy` is not negative.
pub(super) fn blocks(energy: &[f64], event: usize, beat: usize, offset: f64) -> Vec<Range<usize>> {
    let averages = Averages::of(energy);
    let lift = offset * energy.iter().sum::<f64>() / energy.len().max(1) as f64;
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in 0..=energy.len() {
        if end < energy.len() && averages.around(end, event) > averages.around(end, beat) + lift {
            continue;
        }
        if end - start >= event.max(1) {
            blocks.push(start..end);
        }
        start = end + 1;
    }
    blocks
}

/// Index of the greatest value in a range that is not empty.
pub(super) fn greatest(values: &[f64], range: Range<usize>) -> usize {
    let start = range.start;
    range.max_by(|&one, &other| values[one].total_cmp(&values[other])).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_centred_and_clipped() {
        let averages = Averages::of(&[0.0, 3.0, 6.0, 9.0]);
        let around: Vec<f64> = (0..4).map(|at| averages.around(at, 3)).collect();
        assert_eq!(around, [1.5, 3.0, 6.0, 7.5]);
    }

    #[test]
    fn a_bump_is_one_block() {
        let mut energy = vec![0.1; 100];
        energy[40..46].fill(5.0);
        let found = blocks(&energy, 5, 40, 0.1);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(&42));
        assert!(blocks(&[0.0; 50], 5, 20, 0.1).is_empty());
        assert!(blocks(&[], 5, 20, 0.1).is_empty());
    }
}
