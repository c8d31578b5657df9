//! HRV against oracle values on recorded intervals, and the laws it must keep.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use proptest::prelude::*;
use recordings::assert_close;
use serde_json::Value;
use vitals::beats::Beat;
use vitals::hrv::{
    Cleaned, DayAverages, clean, day_averages, five_minute_windows, frequency_domain, lomb_bands, time_domain,
};
use vitals::signal::median;
use vitals::signal::spectrum::Welch;
use vitals::stress_index::stress_index;

const RECORDS: [&str; 11] = [
    "cpsc2021_101_6",
    "cpsc2021_101_8",
    "cpsc2021_101_9",
    "cpsc2021_21_7",
    "cpsc2021_21_8",
    "cpsc2021_21_9",
    "cpsc2021_84_1",
    "cpsc2021_84_2",
    "cpsc2021_84_3",
    "nsr001",
    "pyhrv_sample_long",
];

fn oracle_windows() -> Option<Vec<(String, Vec<f64>, Value)>> {
    let mut windows = Vec::new();
    for record in RECORDS {
        let json = recordings::json(&format!("rr/{record}_hrv_oracle.json"))?;
        for window in json["windows"].as_array().unwrap() {
            let numbers = window["nn_ms"].as_array().unwrap().iter();
            let nn_ms = numbers.map(|number| number.as_f64().unwrap()).collect();
            windows.push((record.to_owned(), nn_ms, window["oracle"].clone()));
        }
    }
    Some(windows)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn time_domain_and_stress_index_equal_the_oracle() {
    let Some(windows) = oracle_windows() else {
        return;
    };
    assert!(windows.len() > 40);
    for (record, nn_ms, oracle) in windows {
        let time = time_domain(&Cleaned::assume_normal(&nn_ms)).unwrap();
        let truth = &oracle["ref_time"];
        assert_eq!(time.count as u64, truth["n"].as_u64().unwrap());
        for (name, ours, key) in [
            ("mean", time.mean_rr_ms, "mean"),
            ("sdnn", time.sdnn_ms, "sdnn"),
            ("rmssd", time.rmssd_ms, "rmssd"),
            ("pnn50", time.pnn50_percent, "pnn50"),
            ("heart rate", time.heart_rate_per_min(), "hr_mean"),
        ] {
            assert_close(&format!("{record} {name}"), ours, number(&truth[key]), 1e-6);
        }
        let stress = stress_index(&nn_ms).unwrap();
        for (name, ours, key) in [
            ("mo", stress.mode_s, "mo_s"),
            ("amo", stress.mode_share_percent, "amo_pct"),
            ("mxdmn", stress.range_s, "mxdmn_s"),
            ("si", stress.si, "si"),
            ("sqrt si", stress.normalised(), "si_sqrt"),
        ] {
            assert_close(&format!("{record} {name}"), ours, number(&truth[key]), 1e-6);
        }
    }
}

#[test]
fn frequency_domain_equals_the_oracle() {
    let Some(windows) = oracle_windows() else {
        return;
    };
    let mut welch = Welch::default();
    for (record, nn_ms, oracle) in windows {
        let bands = frequency_domain(&mut welch, &Cleaned::assume_normal(&nn_ms)).unwrap();
        let truth = &oracle["ref_welch"];
        for (name, ours, key) in [
            ("vlf", bands.vlf_ms2, "vlf"),
            ("lf", bands.lf_ms2, "lf"),
            ("hf", bands.hf_ms2, "hf"),
            ("vlf %", bands.vlf_percent().unwrap(), "vlf_pct"),
            ("lf %", bands.lf_percent().unwrap(), "lf_pct"),
            ("hf %", bands.hf_percent().unwrap(), "hf_pct"),
            ("lf/hf", bands.lf_hf().unwrap(), "lf_hf"),
        ] {
            assert_close(&format!("{record} {name}"), ours, number(&truth[key]), 1e-6);
        }
        // Windows much shorter than five minutes have too few bins for another package to agree.
        if nn_ms.iter().sum::<f64>() > 290_000.0 {
            let systole = &oracle["systole_welch"];
            assert_close(&format!("{record} lf"), bands.lf_ms2, number(&systole["lf_power"]), 5e-3);
            assert_close(&format!("{record} hf"), bands.hf_ms2, number(&systole["hf_power"]), 5e-3);
        }
    }
}

/// Intervals of nsr001 between two normal beats: (end in s after the first beat, length in ms).
fn nsr001(rate_hz: f64) -> Option<Vec<(f64, f64)>> {
    let rows = recordings::rows("rr/nsr001_beats.csv.gz")?;
    let beats: Vec<&Vec<String>> = rows.iter().filter(|row| row[1] != "~").collect();
    let first = beats[0][0].parse::<f64>().unwrap();
    let sample = |row: &[String]| row[0].parse::<f64>().unwrap() - first;
    let normal = beats.windows(2).filter(|pair| pair[0][1] == "N" && pair[1][1] == "N");
    Some(
        normal
            .map(|pair| (sample(pair[1]) / rate_hz, sample(pair[1]) - sample(pair[0])))
            .map(|(end_s, samples)| (end_s, samples * 1000.0 / rate_hz))
            .collect(),
    )
}

#[test]
fn medians_of_a_day_agree_with_a_published_toolbox() {
    let Some(rows) = recordings::rows("rr/nsr001_clifford_toolbox_reference.csv") else {
        return;
    };
    let Some(intervals) = nsr001(125.0) else {
        return;
    };
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for row in &rows {
        let cell = |column: usize| row[column].parse::<f64>().unwrap_or(f64::NAN);
        let (start_s, end_s) = (cell(1), cell(2));
        let inside = intervals.iter().filter(|(time, _)| (start_s..end_s).contains(time));
        let beats: Vec<Beat> =
            inside.map(|&(time, rr_ms)| Beat { time_ms: (time * 1000.0) as i64, rr_ms, good: true }).collect();
        let cleaned = clean(&beats);
        let (Some(time), Some(lomb)) = (time_domain(&cleaned), lomb_bands(&cleaned)) else {
            continue;
        };
        let pairs = [
            (time.mean_rr_ms, cell(3)),
            (time.sdnn_ms, cell(10)),
            (time.rmssd_ms, cell(11)),
            (lomb.lf_hf().unwrap(), cell(20)),
        ];
        for (list, (ours, theirs)) in ratios.iter_mut().zip(pairs) {
            list.extend(Some(ours / theirs).filter(|ratio| ratio.is_finite()));
        }
    }
    let names = ["mean", "sdnn", "rmssd", "lomb lf/hf"];
    for ((ratios, name), tolerance) in ratios.iter_mut().zip(names).zip([1e-3, 1e-3, 1e-3, 5e-2]) {
        assert!(ratios.len() > 100, "{name}: {} windows", ratios.len());
        assert_close(name, median(ratios).unwrap(), 1.0, tolerance);
    }
}

/// `count` beats of about `mean_ms` with a slow and a fast rhythm in them.
fn rhythm(count: u32, mean_ms: f64) -> Vec<Beat> {
    let mut time_ms = 1_763_600_000_000_i64 / 300_000 * 300_000;
    (0..count)
        .map(|i| {
            let rr_ms = mean_ms + 30.0 * (f64::from(i) * 0.5).sin() + 20.0 * (f64::from(i) * 1.7).cos();
            time_ms += rr_ms as i64;
            Beat { time_ms, rr_ms, good: true }
        })
        .collect()
}

#[test]
fn a_window_needs_enough_valid_beats() {
    let beats = rhythm(60, 1000.0);
    assert_eq!(five_minute_windows(&beats).len(), 1);
    assert_eq!(five_minute_windows(&beats[..59]).len(), 0);
    let mut poor = rhythm(100, 1000.0);
    for beat in poor.iter_mut().take(20) {
        beat.good = false;
    }
    assert_eq!(five_minute_windows(&poor).len(), 1, "80 % is enough");
    poor[20].good = false;
    assert_eq!(five_minute_windows(&poor).len(), 0);
}

#[test]
fn a_gap_over_five_seconds_has_no_spectrum() {
    let mut beats = rhythm(200, 1000.0);
    assert!(five_minute_windows(&beats)[0].frequency.is_some());
    for beat in &mut beats[100..] {
        beat.time_ms += 6000;
    }
    let windows = five_minute_windows(&beats);
    assert_eq!(windows[0].frequency, None);
    let averages = day_averages(&windows);
    assert_eq!(averages.avg_lf, None);
    assert!(averages.avg_rmssd.is_some());
    assert_eq!(averages.avg_rmssd, averages.avg_hrv);
}

#[test]
fn nothing_in_nothing_out() {
    assert!(five_minute_windows(&[]).is_empty());
    assert_eq!(day_averages(&[]), DayAverages::default());
    assert_eq!(time_domain(&Cleaned::assume_normal(&[])), None);
    assert_eq!(time_domain(&Cleaned::assume_normal(&[800.0])), None);
    assert_eq!(time_domain(&Cleaned::assume_normal(&[800.0, f64::NAN])), None);
    assert_eq!(frequency_domain(&mut Welch::default(), &Cleaned::default()), None);
    assert_eq!(lomb_bands(&Cleaned::default()), None);
    let even = frequency_domain(&mut Welch::default(), &Cleaned::assume_normal(&[800.0; 400]));
    assert_eq!(even.unwrap().lf_percent(), None, "rounding is no rhythm");
    assert_eq!(even.unwrap().lf_hf(), None);
}

proptest! {
    #[test]
    fn any_rows_give_finite_answers(
        rows in prop::collection::vec((0..400i64, prop_oneof![
            9 => 250.0..2200.0f64, 1 => prop::num::f64::ANY], any::<bool>()), 0..400),
    ) {
        let mut time_ms = 0;
        let beats: Vec<Beat> = rows.into_iter().map(|(extra_ms, rr_ms, good)| {
            time_ms += 700 + extra_ms;
            Beat { time_ms, rr_ms, good }
        }).collect();
        for window in five_minute_windows(&beats) {
            prop_assert!(window.time.sdnn_ms.is_finite() && window.time.rmssd_ms >= 0.0);
            prop_assert!((0.0..=100.0).contains(&window.time.pnn50_percent));
            if let Some(bands) = window.frequency {
                prop_assert!(bands.vlf_ms2 >= 0.0 && bands.lf_ms2 >= 0.0 && bands.hf_ms2 >= 0.0);
                prop_assert!(bands.total_ms2().is_finite());
            }
        }
    }

    #[test]
    fn time_domain_scales_with_the_intervals(
        nn in prop::collection::vec(400.0..1200.0f64, 3..200), factor in 0.5..2.0f64,
    ) {
        let one = time_domain(&Cleaned::assume_normal(&nn)).unwrap();
        let scaled: Vec<f64> = nn.iter().map(|value| value * factor).collect();
        let two = time_domain(&Cleaned::assume_normal(&scaled)).unwrap();
        prop_assert!((two.sdnn_ms - factor * one.sdnn_ms).abs() < 1e-6);
        prop_assert!((two.rmssd_ms - factor * one.rmssd_ms).abs() < 1e-6);
        let reversed: Vec<f64> = nn.iter().rev().copied().collect();
        let back = time_domain(&Cleaned::assume_normal(&reversed)).unwrap();
        prop_assert!((back.rmssd_ms - one.rmssd_ms).abs() < 1e-6);
        prop_assert!((back.pnn50_percent - one.pnn50_percent).abs() < 1e-9);
        let stress = stress_index(&nn).zip(stress_index(&reversed));
        prop_assert!(stress.is_none_or(|(one, other)| one == other), "order does not matter");
    }

    #[test]
    fn power_scales_with_the_square(factor in 0.2..3.0f64) {
        let beats = rhythm(300, 900.0);
        let nn: Vec<f64> = beats.iter().map(|beat| beat.rr_ms).collect();
        let one = Cleaned::assume_normal(&nn);
        let mut two = one.clone();
        for value in &mut two.nn_ms {
            *value = 900.0 + factor * (*value - 900.0);
        }
        let mut welch = Welch::default();
        let (one, two) = (frequency_domain(&mut welch, &one).unwrap(), frequency_domain(&mut welch, &two).unwrap());
        prop_assert!((two.lf_ms2 / one.lf_ms2 / (factor * factor) - 1.0).abs() < 1e-6);
        prop_assert!((two.hf_ms2 / one.hf_ms2 / (factor * factor) - 1.0).abs() < 1e-6);
    }
}
