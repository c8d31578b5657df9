//! The little signal processing that the physiology needs: statistics, a natural cubic spline,
//! spectra, Butterworth filters, peaks.
//!
//! Everything here answers None for input that has no answer (empty, too short, NaN, infinite)
//! instead of passing NaN on.

pub mod filter;
pub mod peaks;
#[cfg(test)]
mod reference_tests;
pub mod spectrum;
pub mod spline;

/// Returns the value when it is finite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Arithmetic mean; None when empty or not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation (n − 1); None below two values or when not finite.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    finite((squares / (values.len() - 1) as f64).sqrt())
}

/// Median, the mean of the middle two when their number is even; reorders `values`. None when
/// empty or when a value is NaN.
pub fn median(values: &mut [f64]) -> Option<f64> {
    // `total_cmp` would sort a NaN to an end and call another value the middle.
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let middle = values.len() / 2;
    // Selection instead of sorting: the median of a few hundred samples is taken for each five seconds of a day.
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if below.len() > middle || values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = values[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(f64::midpoint(lower, upper))
}

/// Returns the `percent`-th percentile by linear interpolation between order statistics; reorders
/// `values`. None when empty or when a value is NaN.
pub fn percentile(values: &mut [f64], percent: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=100.0).contains(&percent) {
        return None;
    }
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let position = percent / 100.0 * (values.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(values.len() - 1);
    Some(values[below] + (values[above] - values[below]) * (position - below as f64))
}

/// Means of equal, consecutive time bins: `rate_hz` down to `target_hz`. Sample i belongs to the
/// bin that holds its time i / `rate_hz`; None when `target_hz` is above `rate_hz` or the input
/// has no answer.
pub fn resample_mean(values: &[f64], rate_hz: f64, target_hz: f64) -> Option<Vec<f64>> {
    let sound = rate_hz.is_finite() && target_hz > 0.0 && target_hz <= rate_hz;
    if !sound || values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut means: Vec<f64> = Vec::new();
    let (mut sum, mut count, mut bin) = (0.0, 0u32, 0usize);
    for (i, value) in values.iter().enumerate() {
        // The slack keeps sample 5 of 50 Hz in bin 2.5 → 2 of 25 Hz whatever the rounding.
        let bin_of_sample = (i as f64 * target_hz / rate_hz + 1e-9) as usize;
        if bin_of_sample != bin {
            means.push(sum / f64::from(count));
            (sum, count, bin) = (0.0, 0, bin_of_sample);
        }
        sum += value;
        count += 1;
    }
    means.push(sum / f64::from(count));
    Some(means)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_small_sets() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(standard_deviation(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut [4.0, f64::NAN]), None);
        assert_eq!(percentile(&mut [4.0, 1.0, 2.0, 3.0, 5.0], 10.0), Some(1.4));
        assert_eq!(percentile(&mut [7.0], 90.0), Some(7.0));
    }

    #[test]
    fn resampling_averages_whole_bins() {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(resample_mean(&values, 50.0, 25.0), Some(vec![0.5, 2.5, 4.5, 6.5]));
        assert_eq!(resample_mean(&values, 25.0, 25.0), Some(values.clone()));
        assert_eq!(resample_mean(&values, 25.0, 50.0), None);
        assert_eq!(resample_mean(&[], 50.0, 25.0), None);
        assert_eq!(resample_mean(&[f64::NAN], 50.0, 25.0), None);
    }
}
