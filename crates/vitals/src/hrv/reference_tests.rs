//! Heart rate variability and stress from their definitions, computed the slow way.

use proptest::collection::vec;
use proptest::prelude::*;

use super::windows::{WINDOW_MS, window};
use super::*;
use crate::beats::{Beat, missing_before, plausible};
use crate::signal::spectrum::Welch;
use crate::stress_index::stress_index;

fn row(time_ms: i64, rr_ms: f64) -> Beat {
    Beat { time_ms, rr_ms, good: true }
}

/// Rows whose times follow from their lengths.
fn beats(rr_ms: &[f64]) -> Vec<Beat> {
    let mut time_ms = 0.0;
    let next = |rr: &f64| {
        time_ms += rr;
        row(time_ms as i64, *rr)
    };
    rr_ms.iter().map(next).collect()
}

/// Rows as bracelets send them: most are plausible, some poor, too short, too long, or preceded by missing ones.
fn any_beats(most: usize) -> impl Strategy<Value = Vec<Beat>> {
    let length =
        prop_oneof![12 => 600.0..1100.0_f64, 1 => 100.0..320.0_f64, 1 => 1900.0..2300.0_f64, 1 => Just(f64::NAN)];
    let step = prop_oneof![15 => Just(0_i64), 1 => 1_900..2_100_i64, 1 => 5_000..60_000_i64];
    vec((length, step, prop::bool::weighted(0.95)), 0..most).prop_map(|rows| {
        let mut time_ms = 0;
        let next = |(rr_ms, late_ms, good): (f64, i64, bool)| {
            time_ms += if rr_ms.is_nan() { 800 } else { rr_ms as i64 } + late_ms;
            Beat { time_ms, rr_ms, good }
        };
        rows.into_iter().map(next).collect()
    })
}

/// Returns the median by sorting.
fn median_of(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// Returns whether an interval is normal: plausible, and within 20 % of the median of the five around it.
fn is_normal(beats: &[Beat], at: usize) -> bool {
    let around = (at as i64 - 2..=at as i64 + 2).filter_map(|near| beats.get(usize::try_from(near).ok()?));
    let median = median_of(around.map(|beat| beat.rr_ms).filter(|rr| rr.is_finite()).collect());
    let rr_ms = beats[at].rr_ms;
    beats[at].good
        && (300.0..=2000.0).contains(&rr_ms)
        && median.is_some_and(|median| (rr_ms - median).abs() <= 0.2 * median)
}

/// Returns whether a row directly follows the one before it: at most two seconds later than its own length allows.
fn is_next(beats: &[Beat], at: usize) -> bool {
    let late_ms = (beats[at].time_ms - beats[at - 1].time_ms) as f64 - beats[at].rr_ms;
    late_ms.is_nan() || late_ms <= 2000.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_intervals_that_stay_are_the_normal_ones(beats in any_beats(40)) {
        let cleaned = clean(&beats);
        let normal: Vec<usize> = (0..beats.len()).filter(|at| is_normal(&beats, *at)).collect();
        prop_assert_eq!(&cleaned.nn_ms, &normal.iter().map(|at| beats[*at].rr_ms).collect::<Vec<_>>());
        prop_assert_eq!(cleaned.total, beats.len());
        let follows = |at: &usize| *at > 0 && normal.contains(&(at - 1)) && is_next(&beats, *at);
        prop_assert_eq!(&cleaned.follows, &normal.iter().map(follows).collect::<Vec<_>>());
        prop_assert!(cleaned.elapsed_s.is_sorted());
        prop_assert_eq!(cleaned.elapsed_s.len(), normal.len());
    }

    /// Task Force 1996: SDNN, RMSSD and pNN50 written out as they are defined there.
    #[test]
    fn the_time_domain_is_that_of_the_definitions(beats in any_beats(60)) {
        let cleaned = clean(&beats);
        let nn = &cleaned.nn_ms;
        let differences: Vec<f64> =
            (1..nn.len()).filter(|at| cleaned.follows[*at]).map(|at| nn[at] - nn[at - 1]).collect();
        let Some(found) = time_domain(&cleaned) else {
            prop_assert!(differences.is_empty());
            return Ok(());
        };
        let n = nn.len() as f64;
        let mean = nn.iter().sum::<f64>() / n;
        let variance = nn.iter().map(|nn| (nn - mean) * (nn - mean)).sum::<f64>() / (n - 1.0);
        let mean_square = differences.iter().map(|difference| difference * difference).sum::<f64>() / differences.len() as f64;
        let above_50 = differences.iter().filter(|difference| difference.abs() > 50.0).count() as f64;
        prop_assert_eq!(found.count, nn.len());
        prop_assert!((found.mean_rr_ms - mean).abs() < 1e-6);
        prop_assert!((found.sdnn_ms - variance.sqrt()).abs() < 1e-6);
        prop_assert!((found.rmssd_ms - mean_square.sqrt()).abs() < 1e-6);
        prop_assert!((found.pnn50_percent - 100.0 * above_50 / differences.len() as f64).abs() < 1e-9);
        prop_assert!((found.heart_rate_per_min() * found.mean_rr_ms - 60_000.0).abs() < 1e-6);
    }

    /// Lengthening every interval alike changes the rate and nothing that is called variability.
    #[test]
    fn a_slower_heart_of_the_same_rhythm_has_the_same_variability(
        sway in vec(-30.0..30.0_f64, 5..80), slower_ms in 0.0..300.0_f64,
    ) {
        let of = |base: f64| Cleaned::assume_normal(&sway.iter().map(|ms| base + ms).collect::<Vec<_>>());
        let (fast, slow) = (time_domain(&of(700.0)).unwrap(), time_domain(&of(700.0 + slower_ms)).unwrap());
        prop_assert!((fast.sdnn_ms - slow.sdnn_ms).abs() < 1e-6);
        prop_assert!((fast.rmssd_ms - slow.rmssd_ms).abs() < 1e-6);
        prop_assert!((slow.mean_rr_ms - fast.mean_rr_ms - slower_ms).abs() < 1e-6);
    }

    /// Baevsky's index from a histogram that is counted bin by bin.
    #[test]
    fn the_stress_index_is_that_of_the_histogram(nn_ms in vec(301.0..1999.0_f64, 2..80)) {
        let mut bins = [0_u32; 40];
        for nn in &nn_ms {
            bins[(nn / 50.0).floor() as usize] += 1;
        }
        let fullest = *bins.iter().max().unwrap();
        let mode = bins.iter().position(|count| *count == fullest).unwrap() as f64;
        let (mode_s, share) = ((mode * 50.0 + 25.0) / 1000.0, 100.0 * f64::from(fullest) / nn_ms.len() as f64);
        let longest = nn_ms.iter().copied().fold(0.0, f64::max);
        let shortest = nn_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let found = stress_index(&nn_ms).unwrap();
        prop_assert!((found.mode_s - mode_s).abs() < 1e-9);
        prop_assert!((found.mode_share_percent - share).abs() < 1e-9);
        prop_assert!((found.range_s - (longest - shortest) / 1000.0).abs() < 1e-12);
        prop_assert!((found.si * (2.0 * mode_s * found.range_s) - share).abs() < 1e-6);
        prop_assert!((found.normalised().powi(2) - found.si).abs() <= 1e-9 * found.si);
    }

    #[test]
    fn the_order_of_intervals_does_not_change_the_stress_index(nn_ms in vec(300.0..2000.0_f64, 2..40)) {
        let mut backwards = nn_ms.clone();
        backwards.reverse();
        prop_assert_eq!(stress_index(&nn_ms), stress_index(&backwards));
    }

    /// Windows of five minutes are cut by the UTC clock, so each is what its own beats alone give.
    #[test]
    fn each_window_is_independent(start_ms in 0_i64..600_000, rr_ms in vec(650.0..950.0_f64, 300..900)) {
        let shifted: Vec<Beat> =
            beats(&rr_ms).into_iter().map(|beat| Beat { time_ms: beat.time_ms + start_ms, ..beat }).collect();
        let mut welch = Welch::default();
        let found = five_minute_windows(&shifted);
        for one in &found {
            prop_assert_eq!(one.start_ms % WINDOW_MS, 0);
            let within: Vec<Beat> = shifted
                .iter()
                .copied()
                .filter(|beat| (one.start_ms..one.start_ms + WINDOW_MS).contains(&beat.time_ms))
                .collect();
            prop_assert_eq!(window(&mut welch, &within), Some(*one));
        }
        let averages = day_averages(&found);
        let mean = |of: &dyn Fn(&Window) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
        if !found.is_empty() {
            prop_assert!((averages.avg_sdnn.unwrap() - mean(&|one| one.time.sdnn_ms)).abs() < 1e-9);
            prop_assert!((averages.avg_rmssd.unwrap() - mean(&|one| one.time.rmssd_ms)).abs() < 1e-9);
            prop_assert_eq!(averages.avg_hrv, averages.avg_rmssd);
        }
    }
}

/// A rhythm of one frequency has its whole power, half the square of its swing, in the band of that frequency.
#[test]
fn a_single_rhythm_has_its_power_in_its_own_band() {
    for (rhythm_hz, band) in [(0.02, 0), (0.1, 1), (0.25, 2)] {
        let mut rr_ms = Vec::new();
        let mut time_s: f64 = 0.0;
        while time_s < 600.0 {
            let rr = 800.0 + 20.0 * (std::f64::consts::TAU * rhythm_hz * time_s).sin();
            rr_ms.push(rr);
            time_s += rr / 1000.0;
        }
        let cleaned = clean(&beats(&rr_ms));
        let welch = frequency_domain(&mut Welch::default(), &cleaned).unwrap();
        let lomb = lomb_bands(&cleaned).unwrap();
        for (name, found) in [("Welch", welch), ("Lomb", lomb)] {
            let bands = [found.vlf_ms2, found.lf_ms2, found.hf_ms2];
            let power = 20.0_f64.powi(2) / 2.0;
            assert!((bands[band] - power).abs() < 0.2 * power, "{name} {rhythm_hz} Hz: {bands:?}");
            let others = bands.iter().sum::<f64>() - bands[band];
            assert!(others < 0.1 * power, "{name} {rhythm_hz} Hz: {bands:?}");
            let shares = [found.vlf_percent(), found.lf_percent(), found.hf_percent()].map(Option::unwrap);
            assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-9);
        }
    }
}

#[test]
fn twice_the_swing_is_four_times_the_power() {
    let of = |swing: f64| {
        let rr: Vec<f64> = (0..400).map(|at| 800.0 + swing * (f64::from(at) * 0.5).sin()).collect();
        frequency_domain(&mut Welch::default(), &Cleaned::assume_normal(&rr)).unwrap().total_ms2()
    };
    assert!((of(20.0) / of(10.0) - 4.0).abs() < 0.05);
}

#[test]
fn a_spectrum_needs_fifty_seconds_and_no_gap_above_five() {
    let bands = |beats: &[Beat]| frequency_domain(&mut Welch::default(), &clean(beats));
    let swaying = |count: usize| -> Vec<f64> { (0..count).map(|at| 1000.0 + f64::from(at as i32 % 7)).collect() };
    assert!(bands(&beats(&swaying(45))).is_none());
    assert!(bands(&beats(&swaying(55))).is_some());
    for (missing_ms, is_given) in [(2_500, true), (3_900, true), (4_100, false), (60_000, false)] {
        let mut rows = beats(&swaying(120));
        for late in &mut rows[60..] {
            late.time_ms += missing_ms;
        }
        assert_eq!(bands(&rows).is_some(), is_given, "{missing_ms} ms");
    }
}

#[test]
fn a_window_needs_sixty_intervals_and_four_fifths_of_its_rows() {
    let mut welch = Welch::default();
    let steady = |count: usize| beats(&vec![1000.0; count]);
    assert!(window(&mut welch, &steady(59)).is_none());
    assert!(window(&mut welch, &steady(60)).is_some());
    for (poor, is_valid) in [(0, true), (20, true), (21, false), (60, false)] {
        let mut rows = steady(100);
        rows.iter_mut().take(poor).for_each(|beat| beat.good = false);
        assert_eq!(window(&mut welch, &rows).is_some(), is_valid, "{poor} poor of 100");
    }
    assert!(window(&mut welch, &[]).is_none());
}

#[test]
fn a_metronome_has_no_variability_and_no_stress_index() {
    let found = window(&mut Welch::default(), &beats(&[800.0; 370])).unwrap();
    assert!(found.time.sdnn_ms.abs() < 1e-9 && found.time.rmssd_ms.abs() < 1e-9);
    assert!(found.time.pnn50_percent.abs() < 1e-9);
    assert_eq!(found.stress, None, "its range would divide by zero");
    let bands = found.frequency.unwrap();
    assert!(bands.total_ms2() < 1e-9);
    assert_eq!((bands.lf_percent(), bands.lf_hf()), (None, None), "shares of nothing");
}

#[test]
fn pnn50_counts_differences_above_fifty_and_not_fifty() {
    let percent = |difference: f64| {
        let rr: Vec<f64> = (0..11).map(|at| 800.0 + difference * f64::from(at % 2)).collect();
        time_domain(&Cleaned::assume_normal(&rr)).unwrap().pnn50_percent
    };
    assert!(percent(50.0).abs() < 1e-9);
    assert!((percent(50.1) - 100.0).abs() < 1e-9);
}

#[test]
fn plausible_intervals_and_missing_rows_have_sharp_limits() {
    for (rr_ms, is_plausible) in [
        (299.9, false),
        (300.0, true),
        (2000.0, true),
        (2000.1, false),
        (f64::NAN, false),
        (0.0, false),
        (-800.0, false),
    ] {
        assert_eq!(plausible(&row(0, rr_ms)), is_plausible, "{rr_ms}");
        assert!(!plausible(&Beat { good: false, ..row(0, rr_ms) }));
    }
    for (time_ms, missing_ms) in
        [(800, 0.0), (2_799, 0.0), (2_800, 0.0), (2_801, 2001.0), (10_800, 10_000.0), (100, 0.0)]
    {
        let found = missing_before(&row(0, 800.0), &row(time_ms, 800.0));
        assert!((found - missing_ms).abs() < 1e-9, "{time_ms}");
    }
}
