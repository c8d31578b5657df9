//! Signal processing against textbook definitions, computed the slow way.

use std::f64::consts::TAU;

use proptest::collection::vec;
use proptest::prelude::*;

use super::filter::Filter;
use super::peaks::find_peaks;
use super::spectrum::{Welch, lomb_scargle, subtract_linear_trend};
use super::spline::resample_natural;
use super::*;

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[expect(clippy::float_cmp, reason = "a plateau is of equal values")]
/// Returns the peaks by their definition: local maxima, the higher of two near ones, prominent enough.
fn slow_peaks(values: &[f64], distance: usize, prominence: f64) -> Vec<usize> {
    let is_maximum = |at: &usize| {
        let plateau_start = (0..=*at).rev().take_while(|i| values[*i] == values[*at]).last().unwrap();
        let plateau_end = (*at..values.len()).take_while(|i| values[*i] == values[*at]).last().unwrap();
        let before = plateau_start.checked_sub(1).is_some_and(|i| values[i] < values[*at]);
        let after = values.get(plateau_end + 1).is_some_and(|after| *after < values[*at]);
        before && after && *at == usize::midpoint(plateau_start, plateau_end)
    };
    let mut maxima: Vec<usize> = (0..values.len()).filter(is_maximum).collect();
    let mut kept: Vec<usize> = Vec::new();
    maxima.sort_by(|one, other| values[*other].total_cmp(&values[*one]));
    for peak in maxima {
        if kept.iter().all(|other| peak.abs_diff(*other) >= distance) {
            kept.push(peak);
        }
    }
    let is_prominent = |peak: &usize| {
        let lowest = |way: &mut dyn Iterator<Item = usize>| {
            way.map(|i| values[i]).take_while(|value| *value <= values[*peak]).fold(values[*peak], f64::min)
        };
        let (left, right) = (lowest(&mut (0..*peak).rev()), lowest(&mut (*peak + 1..values.len())));
        values[*peak] - left.max(right) >= prominence
    };
    kept.retain(is_prominent);
    kept.sort_unstable();
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn medians_and_percentiles_are_those_of_the_sorted_list(values in vec(-1000.0..1000.0_f64, 1..60), percent in 0.0..=100.0_f64) {
        let order = sorted(&values);
        let middle = order.len() / 2;
        let expected = if order.len() % 2 == 1 { order[middle] } else { f64::midpoint(order[middle - 1], order[middle]) };
        prop_assert!((median(&mut values.clone()).unwrap() - expected).abs() < 1e-9);
        let place = percent / 100.0 * (order.len() - 1) as f64;
        let (below, above) = (order[place.floor() as usize], order[place.ceil() as usize]);
        let expected = below + (above - below) * place.fract();
        prop_assert!((percentile(&mut values.clone(), percent).unwrap() - expected).abs() < 1e-9);
        prop_assert_eq!(percentile(&mut values.clone(), 0.0), order.first().copied());
        prop_assert_eq!(percentile(&mut values.clone(), 100.0), order.last().copied());
    }

    #[test]
    fn spread_does_not_depend_on_where_zero_is(values in vec(-100.0..100.0_f64, 2..50), shift in -1e4..1e4_f64) {
        let n = values.len() as f64;
        let centre = values.iter().sum::<f64>() / n;
        let expected = (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        prop_assert!((standard_deviation(&values).unwrap() - expected).abs() < 1e-9);
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        prop_assert!((standard_deviation(&shifted).unwrap() - expected).abs() < 1e-6);
        prop_assert!((mean(&shifted).unwrap() - centre - shift).abs() < 1e-6);
    }

    #[test]
    fn bins_of_time_hold_the_mean_of_their_samples(values in vec(-10.0..10.0_f64, 1..200), factor in 1_usize..6) {
        let found = resample_mean(&values, 25.0 * factor as f64, 25.0).unwrap();
        let expected: Vec<f64> = values.chunks(factor).map(|bin| bin.iter().sum::<f64>() / bin.len() as f64).collect();
        let whole = values.len() / factor;
        prop_assert!(found.len() >= whole && found.len() <= expected.len());
        for (found, expected) in found.iter().zip(&expected).take(whole) {
            prop_assert!((found - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn peaks_are_those_of_the_definition(
        levels in vec(-8_i32..8, 0..60), distance in 1_usize..8, prominence in 0.0..6.0_f64,
    ) {
        // Nearly all different, so that the order of equal heights cannot matter, and some plateaus.
        let values: Vec<f64> = levels.iter().enumerate().map(|(at, level)| f64::from(*level) + (at / 3) as f64 * 1e-6).collect();
        prop_assert_eq!(find_peaks(&values, distance, prominence), slow_peaks(&values, distance, prominence));
    }

    #[test]
    fn a_spline_goes_through_its_points(steps in vec(0.2..2.0_f64, 3..20), heights in vec(-50.0..50.0_f64, 20)) {
        // Points at multiples of a tenth, so that the resampled grid meets them.
        let mut tenths = vec![0_u32];
        for step in &steps {
            tenths.push(tenths[tenths.len() - 1] + (step * 10.0) as u32);
        }
        let times: Vec<f64> = tenths.iter().map(|tenth| f64::from(*tenth) * 0.1).collect();
        let values = &heights[..times.len().min(20)];
        let times = &times[..values.len()];
        let end = times[times.len() - 1];
        let found = resample_natural(times, values, 0.1, end).unwrap();
        for (tenth, value) in tenths.iter().zip(values) {
            if let Some(found) = found.get(*tenth as usize) {
                prop_assert!((found - value).abs() < 1e-6, "{} at {}", found, tenth);
            }
        }
    }

    #[test]
    fn a_straight_line_stays_straight_and_has_no_trend_left(slope in -5.0..5.0_f64, level in -100.0..100.0_f64) {
        let times: Vec<f64> = (0..12).map(f64::from).collect();
        let values: Vec<f64> = times.iter().map(|time| level + slope * time).collect();
        for (at, value) in resample_natural(&times, &values, 0.25, 11.0).unwrap().iter().enumerate() {
            prop_assert!((value - level - slope * at as f64 * 0.25).abs() < 1e-9);
        }
        let mut rest = values;
        subtract_linear_trend(&mut rest);
        prop_assert!(rest.iter().all(|value| value.abs() < 1e-9));
    }

    /// A filter is linear: what it does to a sum is the sum of what it does.
    #[test]
    fn filters_are_linear(one in vec(-5.0..5.0_f64, 40), other in vec(-5.0..5.0_f64, 40), factor in -3.0..3.0_f64) {
        let filter = Filter::band_pass(0.6, 3.0, 25.0).unwrap();
        let sum: Vec<f64> = one.iter().zip(&other).map(|(one, other)| one + factor * other).collect();
        let [one, other, sum] = [&one, &other, &sum].map(|values| filter.zero_phase(values).unwrap());
        for ((one, other), sum) in one.iter().zip(&other).zip(&sum) {
            prop_assert!((one + factor * other - sum).abs() < 1e-9);
        }
    }

    #[test]
    fn running_a_filter_backwards_in_time_mirrors_what_it_gives(values in vec(-5.0..5.0_f64, 60..120)) {
        let filter = Filter::low_pass(2.0, 25.0).unwrap();
        let mut mirrored = values.clone();
        mirrored.reverse();
        let mut back = filter.zero_phase(&mirrored).unwrap();
        back.reverse();
        // The ends differ: forwards first and backwards first settle from different sides.
        for (one, other) in filter.zero_phase(&values).unwrap().iter().zip(&back).skip(25).take(values.len() - 50) {
            prop_assert!((one - other).abs() < 0.05, "{} {}", one, other);
        }
    }

    /// Parseval: the integral of a one-sided density of the whole length is the mean square of the windowed signal.
    #[test]
    fn power_is_kept_by_the_spectrum(values in vec(-5.0..5.0_f64, 16..128)) {
        let length = values.len();
        let mut welch = Welch::default();
        let spectrum = welch.density(&values, 4.0, length).unwrap();
        let weights: Vec<f64> = (0..length).map(|i| 0.5 - 0.5 * (TAU * i as f64 / length as f64).cos()).collect();
        let centre = values.iter().sum::<f64>() / length as f64;
        let energy: f64 = values.iter().zip(&weights).map(|(value, weight)| ((value - centre) * weight).powi(2)).sum();
        let expected = energy / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let found = spectrum.density.iter().sum::<f64>() * spectrum.step_hz;
        prop_assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "{} {}", found, expected);
    }

    /// Welch of one segment against a Fourier sum written out.
    #[test]
    fn a_density_is_that_of_the_fourier_sum(values in vec(-5.0..5.0_f64, 8..40)) {
        let length = values.len();
        let mut welch = Welch::default();
        let spectrum = welch.density(&values, 2.0, length).unwrap();
        let weights: Vec<f64> = (0..length).map(|i| 0.5 - 0.5 * (TAU * i as f64 / length as f64).cos()).collect();
        let centre = values.iter().sum::<f64>() / length as f64;
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        for (bin, found) in spectrum.density.iter().enumerate() {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (i, (value, weight)) in values.iter().zip(&weights).enumerate() {
                let angle = TAU * (bin * i) as f64 / length as f64;
                real += (value - centre) * weight * angle.cos();
                imaginary -= (value - centre) * weight * angle.sin();
            }
            let sides = if bin == 0 || (length % 2 == 0 && bin == length / 2) { 1.0 } else { 2.0 };
            let expected = sides * (real * real + imaginary * imaginary) / (2.0 * squares);
            prop_assert!((found - expected).abs() < 1e-6 * expected.max(1.0));
        }
    }

    /// Scargle's formula with its offset, frequency by frequency.
    #[test]
    fn a_periodogram_is_that_of_scargles_formula(steps in vec(0.4..1.6_f64, 4..30), heights in vec(-20.0..20.0_f64, 30)) {
        let times: Vec<f64> = steps.iter().scan(0.0, |time, step| { *time += step; Some(*time) }).collect();
        let values = &heights[..times.len()];
        let spectrum = lomb_scargle(&times, values, 0.05, 0.5).unwrap();
        let n = times.len() as f64;
        let centre = values.iter().sum::<f64>() / n;
        let span_s = times[times.len() - 1] - times[0];
        for (bin, found) in spectrum.density.iter().enumerate().skip(1) {
            let omega = TAU * 0.05 * bin as f64;
            let sum = |of: &dyn Fn(f64, f64) -> f64| times.iter().zip(values).map(|(t, v)| of(*t, *v - centre)).sum::<f64>();
            let tau = sum(&|t, _| (2.0 * omega * t).sin()).atan2(sum(&|t, _| (2.0 * omega * t).cos())) / (2.0 * omega);
            let cos = |t: f64| (omega * (t - tau)).cos();
            let sin = |t: f64| (omega * (t - tau)).sin();
            let part = |wave: &dyn Fn(f64) -> f64| {
                let squares = sum(&|t, _| wave(t).powi(2));
                if squares > 1e-9 * n { sum(&|t, v| v * wave(t)).powi(2) / squares } else { 0.0 }
            };
            let expected = (part(&cos) + part(&sin)) * span_s / (n - 1.0);
            prop_assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "bin {}: {} {}", bin, found, expected);
        }
    }
}

#[test]
fn what_has_no_answer_is_refused() {
    assert_eq!((mean(&[]), mean(&[f64::INFINITY])), (None, None));
    assert_eq!((standard_deviation(&[1.0]), standard_deviation(&[])), (None, None));
    assert_eq!((median(&mut []), median(&mut [1.0, f64::NAN])), (None, None));
    assert_eq!((percentile(&mut [1.0], -1.0), percentile(&mut [1.0], 100.1)), (None, None));
    assert_eq!(resample_mean(&[1.0], 25.0, 50.0), None, "nothing is invented between samples");
    assert_eq!(resample_mean(&[], 50.0, 25.0), None);
    assert_eq!(resample_mean(&[f64::NAN], 50.0, 25.0), None);
    for (times, values) in [
        (&[0.0, 1.0][..], &[1.0, 2.0][..]),
        (&[0.0, 1.0, 1.0], &[1.0, 2.0, 3.0]),
        (&[0.0, 2.0, 1.0], &[1.0, 2.0, 3.0]),
        (&[0.5, 1.0, 2.0], &[1.0, 2.0, 3.0]),
        (&[0.0, 1.0, 2.0], &[1.0, f64::NAN, 3.0]),
        (&[0.0, 1.0, 2.0], &[1.0, 2.0]),
    ] {
        assert_eq!(resample_natural(times, values, 0.5, 1.0), None, "{times:?} {values:?}");
    }
    assert_eq!(Welch::default().density(&[1.0], 4.0, 8), None);
    assert_eq!(Welch::default().density(&[1.0; 8], 0.0, 8), None);
    assert_eq!(Welch::default().density(&[f64::NAN; 8], 4.0, 8), None);
    assert_eq!(lomb_scargle(&[0.0, 1.0], &[1.0, 2.0], 0.1, 0.5), None);
    assert_eq!(lomb_scargle(&[1.0; 3], &[1.0, 2.0, 3.0], 0.1, 0.5), None);
    assert!(find_peaks(&[], 1, 0.0).is_empty() && find_peaks(&[1.0, 2.0], 1, 0.0).is_empty());
}

#[test]
fn band_power_is_the_area_over_the_bins_of_the_band() {
    let spectrum = spectrum::Spectrum { step_hz: 0.1, density: vec![0.0, 1.0, 3.0, 1.0, 0.0].into() };
    assert!((spectrum.band_power(0.1, 0.35) - 0.4).abs() < 1e-9, "two trapezoids of 2 on 0.1 Hz");
    assert!(spectrum.band_power(0.15, 0.25).abs() < 1e-9, "one bin has no width");
    assert!(spectrum.band_power(0.3, 0.1).abs() < 1e-9);
    assert!((spectrum.peak_hz(0.0, 0.5).unwrap() - 0.2).abs() < 1e-9);
    assert_eq!(spectrum.peak_hz(0.6, 0.9), None);
}
