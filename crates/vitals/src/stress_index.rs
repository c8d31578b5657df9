//! Baevsky's stress index (Baevsky & Chernikova, Cardiometry 2017;10:66-76).
//!
//! A tense heart beats evenly: the histogram of its intervals is high and narrow, and the index
//! `SI = AMo / (2·Mo·MxDMn)` is large. Bins of 50 ms are anchored at 0.

use crate::signal::finite;

/// Width of a histogram bin in ms.
const BIN_MS: f64 = 50.0;

/// The index and its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StressIndex {
    /// SI in %/s².
    pub si: f64,
    /// Mo: centre of the fullest bin in s; of two equally full ones the lower.
    pub mode_s: f64,
    /// `AMo`: percentage of the intervals in that bin.
    pub mode_share_percent: f64,
    /// `MxDMn`: longest minus shortest interval in s.
    pub range_s: f64,
}

impl StressIndex {
    /// √SI, which is nearer to a normal distribution (**ours** as `si_n`).
    pub fn normalised(&self) -> f64 {
        self.si.sqrt()
    }
}

/// Stress index of normal intervals in ms. None when there are none, when all are equal (the
/// range would divide by zero), or when one is not positive and finite.
pub fn stress_index(nn_ms: &[f64]) -> Option<StressIndex> {
    if nn_ms.iter().any(|nn| !nn.is_finite() || *nn <= 0.0) {
        return None;
    }
    let mut sorted = nn_ms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let range_s = (sorted.last()? - sorted.first()?) / 1000.0;
    if range_s <= 0.0 {
        return None;
    }
    // Bins anchored at 0 and not at the shortest interval: one extra beat must not move the mode of all others.
    let bin = |nn: f64| (nn / BIN_MS) as u64;
    let (mut mode_bin, mut mode_count) = (0, 0);
    for same_bin in sorted.chunk_by(|one, next| bin(*one) == bin(*next)) {
        // Strictly more, in ascending order: of two equally full bins the lower stays, so that the index does not
        // depend on the order of the intervals.
        if same_bin.len() > mode_count {
            (mode_bin, mode_count) = (bin(same_bin[0]), same_bin.len());
        }
    }
    let mode_s = (mode_bin as f64 + 0.5) * BIN_MS / 1000.0;
    let mode_share_percent = 100.0 * mode_count as f64 / nn_ms.len() as f64;
    let si = finite(mode_share_percent / (2.0 * mode_s * range_s))?;
    Some(StressIndex { si, mode_s, mode_share_percent, range_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Bins: 750–800 holds three of four; Mo 0.775 s, AMo 75 %, range 0.09 s.
        let index = stress_index(&[760.0, 770.0, 799.0, 850.0]).unwrap();
        assert!((index.mode_s - 0.775).abs() < 1e-12);
        assert!((index.mode_share_percent - 75.0).abs() < 1e-12);
        assert!((index.si - 75.0 / (2.0 * 0.775 * 0.09)).abs() < 1e-9);
    }

    #[test]
    fn ties_go_to_the_lower_bin_and_edges_to_the_upper() {
        let tied = stress_index(&[810.0, 820.0, 760.0, 770.0]).unwrap();
        assert!((tied.mode_s - 0.775).abs() < 1e-12);
        let edge = stress_index(&[800.0, 800.0, 799.9]).unwrap();
        assert!((edge.mode_s - 0.825).abs() < 1e-12);
    }

    #[test]
    fn no_index_without_variation_or_sense() {
        for intervals in [&[][..], &[800.0], &[800.0, 800.0], &[800.0, f64::NAN], &[-1.0, 800.0]] {
            assert_eq!(stress_index(intervals), None, "{intervals:?}");
        }
        assert_eq!(stress_index(&[1e308, 1.0, f64::INFINITY]), None);
    }
}
