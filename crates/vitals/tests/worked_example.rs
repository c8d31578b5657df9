//! The worked examples of the crate's README, on the same recordings.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use recordings::assert_close;
use vitals::beats::Beat;
use vitals::hrv::{clean, five_minute_windows, frequency_domain, time_domain};
use vitals::signal::spectrum::Welch;
use vitals::stress_index::stress_index;

const MS_PER_SAMPLE: f64 = 1000.0 / 128.0;

/// Beats of nsr001, times in ms from the start of the recording.
fn nsr001() -> Option<Vec<Beat>> {
    let rows = recordings::rows("rr/nsr001_beats.csv.gz")?;
    let samples: Vec<f64> = rows.iter().filter(|row| row[1] != "~").map(|row| row[0].parse().unwrap()).collect();
    let interval = |pair: &[f64]| Beat {
        time_ms: (pair[1] * MS_PER_SAMPLE) as i64,
        rr_ms: (pair[1] - pair[0]) * MS_PER_SAMPLE,
        good: true,
    };
    Some(samples.windows(2).map(interval).collect())
}

#[test]
fn five_minutes_of_a_healthy_heart() {
    let Some(beats) = nsr001() else { return };
    let Some(oracle) = recordings::json("rr/nsr001_hrv_oracle.json") else {
        return;
    };
    let list = oracle["windows"][0]["nn_ms"].as_array().unwrap();
    let nn_ms: Vec<f64> = list.iter().map(|nn| nn.as_f64().unwrap()).collect();
    let first = beats
        .windows(nn_ms.len())
        .position(|run| run.iter().zip(&nn_ms).all(|(beat, nn)| (beat.rr_ms - nn).abs() < 1e-6));
    let window = &beats[first.unwrap()..][..nn_ms.len()];

    let cleaned = clean(window);
    assert_eq!(cleaned.nn_ms, nn_ms, "all 472 intervals are normal");
    let time = time_domain(&cleaned).unwrap();
    assert_eq!(time.count, 472);
    assert_close("mean", time.mean_rr_ms, 636.272, 1e-5);
    assert_close("sdnn", time.sdnn_ms, 39.5725, 1e-5);
    assert_close("rmssd", time.rmssd_ms, 14.6358, 1e-5);
    assert_close("pnn50", time.pnn50_percent, 1.06157, 1e-5);
    let bands = frequency_domain(&mut Welch::default(), &cleaned).unwrap();
    assert_close("lf", bands.lf_ms2, 109.546, 1e-5);
    assert_close("hf", bands.hf_ms2, 26.3991, 1e-5);
    let stress = stress_index(&cleaned.nn_ms).unwrap();
    assert_close("mo", stress.mode_s, 0.625, 1e-9);
    assert_close("amo", stress.mode_share_percent, 58.4746, 1e-5);
    assert_close("mxdmn", stress.range_s, 0.1875, 1e-9);
    assert_close("si", stress.si, 249.4915, 1e-5);
    assert_close("sqrt si", stress.normalised(), 15.7953, 1e-5);
}

#[test]
fn a_day_of_windows() {
    let Some(beats) = nsr001() else { return };
    let windows = five_minute_windows(&beats);
    assert!(windows.len() > 260, "{} of 272 windows are valid", windows.len());
    assert!(windows.windows(2).all(|pair| pair[0].start_ms < pair[1].start_ms));
    let with_spectrum = windows.iter().filter(|window| window.frequency.is_some()).count();
    assert!(with_spectrum > 250, "{with_spectrum}");
}
