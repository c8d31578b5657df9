//! Blocks of interest by two moving averages, after Elgendi.
//!
//! Where the average over the length of an event exceeds the average over the length of a beat,
//! something as long as the event stands out. That adapts to amplitude by itself.

use std::ops::Range;

/// Centred moving average of `width` samples (an even width becomes the next odd one), clipped at
/// the ends.
fn moving_average(values: &[f64], width: usize) -> Vec<f64> {
    let half = width / 2;
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push(0.0);
    let mut sum = 0.0;
    for value in values {
        sum += value;
        sums.push(sum);
    }
    let average = |i: usize| {
        let (start, end) = (i.saturating_sub(half), (i + half + 1).min(values.len()));
        (sums[end] - sums[start]) / (end - start) as f64
    };
    (0..values.len()).map(average).collect()
}

/// Stretches of at least `event` samples where the average over `event` exceeds the average over
/// `beat` by more than `offset` times the mean of all. `energy` is not negative.
pub(super) fn blocks(energy: &[f64], event: usize, beat: usize, offset: f64) -> Vec<Range<usize>> {
    let short = moving_average(energy, event);
    let long = moving_average(energy, beat);
    let lift = offset * energy.iter().sum::<f64>() / energy.len().max(1) as f64;
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in 0..=energy.len() {
        if end < energy.len() && short[end] > long[end] + lift {
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
        let averages = moving_average(&[0.0, 3.0, 6.0, 9.0], 3);
        assert_eq!(averages, [1.5, 3.0, 6.0, 7.5]);
        assert!(moving_average(&[], 3).is_empty());
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
