//! Sleep and wake from activity counts per minute, by two classic scorings.
//!
//! Both look at an epoch with its neighbours; where the neighbourhood reaches beyond the data, or
//! holds a value that is no count, there is no score.

use crate::signal::{mean, standard_deviation};

/// Weights of four epochs before, the scored one, and two after (Cole, Kripke et al., Sleep
/// 1992;15:461-469, for mean activity), in thousandths.
const COLE_KRIPKE_WEIGHTS: [f64; 7] = [106.0, 54.0, 58.0, 76.0, 230.0, 74.0, 67.0];

/// The weights are for the mean count of the two-second epochs of a minute.
const EPOCHS_PER_MINUTE: f64 = 30.0;

/// Cole–Kripke: true where the minute is asleep. `counts` per minute, consecutive. Without the
/// rescoring of Webster. None for the first four and last two epochs and around NaN.
pub fn cole_kripke(counts: &[f64]) -> Vec<Option<bool>> {
    let score = |i: usize| -> Option<bool> {
        let around = counts.get(i.checked_sub(4)?..i + 3)?;
        // The weights look further back than ahead: sleep is found by how long it has been still.
        let weighted: f64 = around.iter().zip(COLE_KRIPKE_WEIGHTS).map(|(count, weight)| count * weight).sum();
        let score = weighted / 1000.0 / EPOCHS_PER_MINUTE;
        score.is_finite().then_some(score < 1.0)
    };
    (0..counts.len()).map(score).collect()
}

/// Sadeh (Sleep 1994;17:201-207): true where the minute is asleep,
/// 7.601 − 0.065·mean of 11 − 1.08·NAT − 0.056·SD of 6 − 0.703·ln(count + 1) > 0.
///
/// NAT is the number of the eleven with a count above 50 and below 100, the standard deviation
/// (n − 1) is of the epoch and the five before, and the logarithm is of the epoch that follows,
/// as the reference scorings have it. None for the first and last five epochs and around NaN.
pub fn sadeh(counts: &[f64]) -> Vec<Option<bool>> {
    let score = |i: usize| -> Option<bool> {
        let around = counts.get(i.checked_sub(5)?..i + 6)?;
        let active = around.iter().filter(|count| (50.0 < **count) && (**count < 100.0)).count();
        let score = 7.601
            - 0.065 * mean(around)?
            - 1.08 * active as f64
            - 0.056 * standard_deviation(&around[..6])?
            // The published text has the scored minute here; the scorings that this one is compared with have the
            // next one.
            - 0.703 * (around[6] + 1.0).ln();
        (!score.is_nan()).then_some(score > 0.0)
    };
    (0..counts.len()).map(score).collect()
}
