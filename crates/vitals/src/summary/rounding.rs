//! How many digits figures of a summary are given with.

/// Rounded to two decimals: what averages, distances and energies are given in.
pub(super) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Rounded to three decimals: what measures of heart-rate variability are given in.
pub(super) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Returns a percentage with one decimal, at most 100.
pub(super) fn percent(part: f64, whole: f64) -> f64 {
    // A day that a zone has skipped has no slots.
    if whole <= 0.0 {
        return 0.0;
    }
    tenths((part / whole * 100.0).min(100.0))
}

/// Rounded to one decimal: what percentages are given in.
pub(super) fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the mean of some values, rounded to two decimals; `None` of nothing.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| hundredths(sum / f64::from(count)))
}
