//! R peaks, pulses and breaths against annotated and reference signals.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use proptest::prelude::*;
use recordings::numbers;
use vitals::waveform::{find_pulses, find_r_peaks, pulse_rate, respiration_rate};

/// Beats found within 150 ms of a reference beat: (found, missed, false).
fn compare(found: &[usize], truth: &[usize], rate_hz: f64) -> (usize, usize, usize) {
    let near = (0.15 * rate_hz) as usize;
    let (mut matched, mut next) = (0, 0);
    for &beat in truth {
        while next < found.len() && found[next] + near < beat {
            next += 1;
        }
        if next < found.len() && found[next] <= beat + near {
            matched += 1;
            next += 1;
        }
    }
    (matched, truth.len() - matched, found.len() - matched)
}

#[test]
fn r_peaks_are_found() {
    let cpsc = ["101_6", "101_8", "101_9", "21_7", "21_8", "21_9", "84_1", "84_2", "84_3"];
    let mut records: Vec<(String, String, f64)> = cpsc
        .iter()
        .map(|name| {
            let beats = format!("rr/cpsc2021_{name}_beats.csv");
            (format!("ecg/cpsc2021_{name}_ecg_200hz_uV.csv.gz"), beats, 200.0)
        })
        .collect();
    let mitdb = "ecg/mitdb_100_first10min";
    records.push((format!("{mitdb}_ecg_360hz_uV.csv.gz"), format!("{mitdb}_beats.csv"), 360.0));
    let mut sums = (0, 0, 0);
    for (signal, beats, rate_hz) in records {
        let Some(rows) = recordings::rows(&signal) else {
            return;
        };
        let Some(beats) = recordings::rows(&beats) else {
            return;
        };
        let truth: Vec<usize> = numbers(&beats, 0).iter().map(|sample| *sample as usize).collect();
        let found = find_r_peaks(&numbers(&rows, 0), rate_hz).unwrap();
        let (matched, missed, false_ones) = compare(&found, &truth, rate_hz);
        eprintln!("{signal}: {matched} found, {missed} missed, {false_ones} false");
        assert!(matched as f64 >= 0.95 * (matched + missed) as f64, "{signal}: missed {missed}");
        assert!(matched as f64 >= 0.95 * (matched + false_ones) as f64, "{signal}: {false_ones} false");
        sums = (sums.0 + matched, sums.1 + missed, sums.2 + false_ones);
    }
    assert!(sums.0 as f64 >= 0.99 * (sums.0 + sums.1) as f64, "{sums:?}");
    assert!(sums.0 as f64 >= 0.99 * (sums.0 + sums.2) as f64, "{sums:?}");
}

#[test]
fn pulse_and_breath_of_the_open_recording() {
    let Some(rows) = recordings::rows("ppg/bidmc01_open_125hz.csv.gz") else {
        return;
    };
    let Some(truth) = recordings::json("ppg/bidmc01_open_truth_oracle.json") else {
        return;
    };
    let ppg = numbers(&rows, 2);
    let (mut heart_errors, mut breath_errors) = (Vec::new(), Vec::new());
    let windows = truth["windows"].as_array().unwrap();
    for window in windows {
        let sample = |key: &str| (window[key].as_f64().unwrap() * 125.0) as usize;
        let pulses = find_pulses(&ppg[sample("start_s")..sample("end_s")], 125.0).unwrap();
        let true_rate = window["hr_ecg"].as_f64().unwrap();
        let true_breath = window["rr_ref_spectral"].as_f64().unwrap();
        let rate = pulse_rate(&pulses);
        let breath = respiration_rate(&pulses);
        heart_errors.extend(rate.map(|rate| (rate - true_rate).abs()));
        let fused = breath.and_then(|breath| breath.fused);
        breath_errors.extend(fused.map(|fused| (fused - true_breath).abs()));
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    eprintln!("{} {} / {} {}", heart_errors.len(), mean(&heart_errors), breath_errors.len(), mean(&breath_errors));
    assert!(heart_errors.len() * 10 >= windows.len() * 7, "{} good windows", heart_errors.len());
    assert!(mean(&heart_errors) <= 3.0, "{heart_errors:?}");
    assert!(breath_errors.len() >= 3, "{} windows kept", breath_errors.len());
    assert!(mean(&breath_errors) <= 3.5, "{breath_errors:?}");
}

/// Returns a pulse wave of `per_min` with a breath of `breaths_per_min` in baseline, height and rate.
fn synthetic_ppg(per_min: f64, breaths_per_min: f64, rate_hz: f64, seconds: f64) -> Vec<f64> {
    let mut phase = 0.0;
    let count = (seconds * rate_hz) as usize;
    (0..count)
        .map(|i| {
            let breath = (std::f64::consts::TAU * breaths_per_min / 60.0 * i as f64 / rate_hz).sin();
            phase += std::f64::consts::TAU * per_min / 60.0 * (1.0 + 0.05 * breath) / rate_hz;
            1000.0 + 40.0 * breath + (100.0 + 15.0 * breath) * phase.sin()
        })
        .collect()
}

#[test]
fn synthetic_pulses_and_breaths() {
    for (per_min, breaths) in [(60.0, 12.0), (75.0, 18.0), (100.0, 25.0), (140.0, 9.0)] {
        let pulses = find_pulses(&synthetic_ppg(per_min, breaths, 64.0, 40.0), 64.0).unwrap();
        let rate = pulse_rate(&pulses).unwrap();
        assert!((rate - per_min).abs() < 3.0, "{rate} instead of {per_min}");
        let found = respiration_rate(&pulses).unwrap();
        assert!((found.fused.unwrap() - breaths).abs() < 1.0, "{found:?} instead of {breaths}");
    }
}

#[test]
fn no_signal_no_answer() {
    assert_eq!(find_r_peaks(&[], 200.0), None);
    assert_eq!(find_r_peaks(&[1.0; 100], 200.0), None);
    assert_eq!(find_r_peaks(&[f64::NAN; 1000], 200.0), None);
    assert_eq!(find_r_peaks(&[1.0; 1000], 30.0), None);
    assert_eq!(find_r_peaks(&[0.0; 1000], 200.0), Some(vec![]));
    assert_eq!(find_pulses(&[], 64.0), None);
    assert_eq!(find_pulses(&[1.0; 1000], f64::NAN), None);
    assert_eq!(find_pulses(&[f64::INFINITY; 1000], 64.0), None);
    assert_eq!(find_pulses(&[0.0; 1000], 64.0), Some(vec![]));
    assert_eq!(pulse_rate(&[]), None);
    assert_eq!(respiration_rate(&[]), None);
}

proptest! {
    #[test]
    fn any_signal_gives_peaks_in_order(
        signal in prop::collection::vec(-2000.0..2000.0f64, 200..2000), scale in 0.01..100.0f64,
    ) {
        let peaks = find_r_peaks(&signal, 128.0).unwrap();
        prop_assert!(peaks.windows(2).all(|pair| pair[1] - pair[0] >= 25), "0.2 s apart");
        prop_assert!(peaks.iter().all(|peak| *peak < signal.len()));
        let scaled: Vec<f64> = signal.iter().map(|value| value * scale).collect();
        prop_assert_eq!(find_r_peaks(&scaled, 128.0).unwrap(), peaks, "the unit does not matter");
        let pulses = find_pulses(&signal, 64.0).unwrap();
        prop_assert!(pulses.windows(2).all(|pair| pair[0].time_s < pair[1].time_s));
        prop_assert!(pulses.iter().all(|pulse| pulse.trough <= pulse.peak));
        prop_assert!(pulse_rate(&pulses).is_none_or(|rate| rate > 0.0 && rate <= 200.0));
        if let Some(breath) = respiration_rate(&pulses) {
            prop_assert!([breath.riiv, breath.riav, breath.rifv].iter().all(|r| (4.0..=42.0).contains(r)));
        }
    }
}
