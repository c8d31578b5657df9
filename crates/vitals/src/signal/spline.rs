//! Natural cubic spline through unevenly spaced points, read at even steps.
//!
//! Heart beats are unevenly spaced in time; spectra want even samples. "Natural" means that the
//! second derivative is zero at both ends.

/// Reads the natural cubic spline through (`times`, `values`) at 0, `step`, 2·`step`, … below
/// `end`. Times must ascend strictly and start at or below 0; the spline is not read beyond the
/// last point. None below three points, when the lengths differ, or when an input is not finite.
pub fn resample_natural(times: &[f64], values: &[f64], step: f64, end: f64) -> Option<Vec<f64>> {
    let sound = times.len() == values.len()
        && times.len() >= 3
        && step.is_finite()
        && step > 0.0
        // Beyond its last point a spline runs away as a cubic.
        && end <= *times.last()?
        && *times.first()? <= 0.0
        && times.windows(2).all(|pair| pair[1] - pair[0] > 0.0)
        && times.iter().chain(values).all(|value| value.is_finite());
    if !sound {
        return None;
    }
    let curvature = second_derivatives(times, values);
    let count = (end / step).ceil().max(0.0) as usize;
    let mut resampled = Vec::with_capacity(count);
    let mut right = 1;
    for i in 0..count {
        let time = i as f64 * step;
        while times[right] < time && right < times.len() - 1 {
            right += 1;
        }
        let left = right - 1;
        let width = times[right] - times[left];
        let a = (times[right] - time) / width;
        let b = 1.0 - a;
        let bend = (a * a * a - a) * curvature[left] + (b * b * b - b) * curvature[right];
        resampled.push(a * values[left] + b * values[right] + bend * width * width / 6.0);
    }
    resampled.iter().all(|value| value.is_finite()).then_some(resampled)
}

/// Second derivatives at the points: the tridiagonal system of a natural spline, solved by
/// forward elimination and back substitution.
fn second_derivatives(times: &[f64], values: &[f64]) -> Vec<f64> {
    let count = times.len();
    let mut curvature = vec![0.0; count];
    let mut upper = vec![0.0; count];
    let slope = |i: usize| (values[i + 1] - values[i]) / (times[i + 1] - times[i]);
    let mut slope_before = slope(0);
    for i in 1..count - 1 {
        let before = times[i] - times[i - 1];
        let after = times[i + 1] - times[i];
        let slope_after = slope(i);
        let pivot = 1.0 / (2.0 * (before + after) - before * upper[i - 1]);
        upper[i] = after * pivot;
        curvature[i] = (6.0 * (slope_after - slope_before) - before * curvature[i - 1]) * pivot;
        slope_before = slope_after;
    }
    for i in (1..count - 1).rev() {
        curvature[i] -= upper[i] * curvature[i + 1];
    }
    curvature
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_stays_straight() {
        let times = [0.0, 0.7, 1.9, 2.0, 3.3];
        let values = times.map(|time| 4.0 - 2.0 * time);
        let read = resample_natural(&times, &values, 0.25, 3.3).unwrap();
        assert_eq!(read.len(), 14);
        for (i, value) in read.iter().enumerate() {
            assert!((value - (4.0 - 0.5 * i as f64)).abs() < 1e-12);
        }
    }

    #[test]
    fn passes_through_its_points_and_bends_as_worked_out_by_hand() {
        // Points (0,0), (1,1), (2,0): the middle second derivative is −3, so s(0.5) = 0.6875.
        let read = resample_natural(&[0.0, 1.0, 2.0], &[0.0, 1.0, 0.0], 0.5, 2.0).unwrap();
        assert_eq!(read, [0.0, 0.6875, 1.0, 0.6875]);
    }

    #[test]
    fn unsound_input_has_no_spline() {
        assert_eq!(resample_natural(&[], &[], 0.25, 1.0), None);
        assert_eq!(resample_natural(&[0.0, 1.0], &[1.0, 1.0], 0.25, 1.0), None);
        assert_eq!(resample_natural(&[0.0, 1.0, 1.0], &[1.0; 3], 0.25, 1.0), None);
        assert_eq!(resample_natural(&[0.0, 1.0, 2.0], &[1.0, f64::NAN, 1.0], 0.25, 1.0), None);
        assert_eq!(resample_natural(&[0.0, 1.0, 2.0], &[1.0; 3], 0.25, 2.5), None);
    }
}
