//! Waveforms made of beats and breaths at known times: what is found in them must be those.

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;

/// Random numbers of a seed, -1 to 1: the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Times of beats of a rate that sways by a share with a breath.
fn beats_s(per_min: f64, sway: f64, breaths_per_min: f64, length_s: f64) -> Vec<f64> {
    let mut times = vec![0.8];
    while times[times.len() - 1] < length_s - 0.8 {
        let last = times[times.len() - 1];
        let breath = (TAU * breaths_per_min / 60.0 * last).sin();
        times.push(last + 60.0 / per_min * (1.0 + sway * breath));
    }
    times
}

/// Returns an ECG with a QRS of 40 ms at each beat, a T wave a third of a second later and some noise.
fn ecg(beats: &[f64], length_s: f64, rate_hz: f64, polarity: f64) -> Vec<f64> {
    let mut tremor = noise(3);
    let wave = |time: f64, centre: f64, width: f64| (-0.5 * ((time - centre) / width).powi(2)).exp();
    let value = |at: usize| {
        let time = at as f64 / rate_hz;
        let near = beats.iter().filter(|beat| (time - **beat).abs() < 0.6);
        let sum: f64 = near
            .map(|beat| {
                wave(time, *beat, 0.01) - 0.25 * wave(time, beat + 0.025, 0.01) + 0.25 * wave(time, beat + 0.3, 0.04)
            })
            .sum();
        polarity * sum + 0.2 * (TAU * 0.3 * time).sin() + 0.01 * tremor()
    };
    (0..(length_s * rate_hz) as usize).map(value).collect()
}

/// Returns a PPG with a pulse after each beat whose level, height and rate breathe.
fn ppg(beats: &[f64], breaths_per_min: f64, length_s: f64, rate_hz: f64) -> Vec<f64> {
    let mut tremor = noise(9);
    let value = |at: usize| {
        let time = at as f64 / rate_hz;
        let breath = (TAU * breaths_per_min / 60.0 * time).sin();
        let place = beats.partition_point(|beat| *beat <= time);
        let pulse = match place.checked_sub(1).map(|last| (beats[last], beats.get(place))) {
            Some((last, Some(next))) => {
                let phase = (time - last) / (next - last);
                (-0.5 * ((phase - 0.25) / 0.1).powi(2)).exp() + 0.3 * (-0.5 * ((phase - 0.55) / 0.1).powi(2)).exp()
            }
            _ => 0.0,
        };
        100.0 + 0.4 * breath + (1.0 + 0.15 * breath) * pulse + 0.01 * tremor()
    };
    (0..(length_s * rate_hz) as usize).map(value).collect()
}

/// Returns how many of the true beats away from the ends were found within a time, and how many were found at all.
fn matched(found_s: &[f64], beats: &[f64], within_s: f64, length_s: f64) -> (usize, usize, usize) {
    let is_inside = |time: &&f64| (1.5..length_s - 1.5).contains(*time);
    let is_found = |beat: &&f64| found_s.iter().any(|found| (found - **beat).abs() <= within_s);
    let inside: Vec<&f64> = beats.iter().filter(is_inside).collect();
    (inside.iter().copied().filter(is_found).count(), inside.len(), found_s.iter().filter(is_inside).count())
}

#[test]
fn every_beat_of_an_ecg_is_found_once_at_any_rate_and_polarity() {
    for per_min in [40.0, 60.0, 75.0, 110.0, 150.0] {
        for rate_hz in [100.0, 128.0, 250.0, 500.0] {
            for polarity in [1.0, -1.0] {
                let beats = beats_s(per_min, 0.04, 15.0, 30.0);
                let peaks = find_r_peaks(&ecg(&beats, 30.0, rate_hz, polarity), rate_hz).unwrap();
                let times: Vec<f64> = peaks.iter().map(|peak| *peak as f64 / rate_hz).collect();
                let (hits, truth, found) = matched(&times, &beats, 0.05, 30.0);
                assert_eq!((hits, found), (truth, truth), "{per_min}/min at {rate_hz} Hz, {polarity}");
            }
        }
    }
}

#[test]
fn the_rate_of_a_ppg_is_that_of_its_pulses() {
    for per_min in [45.0, 60.0, 80.0, 120.0] {
        for rate_hz in [25.0, 50.0, 100.0] {
            let beats = beats_s(per_min, 0.03, 14.0, 32.0);
            let pulses = find_pulses(&ppg(&beats, 14.0, 32.0, rate_hz), rate_hz).unwrap();
            let rate = pulse_rate(&pulses).unwrap();
            assert!((rate - per_min).abs() < 0.03 * per_min, "{rate} and not {per_min} at {rate_hz} Hz");
            assert!(pulses.windows(2).all(|pair| pair[0].time_s < pair[1].time_s));
            assert!(pulses.iter().all(|pulse| pulse.trough <= pulse.peak));
        }
    }
}

#[test]
fn breaths_are_found_where_all_three_modulations_agree() {
    for breaths_per_min in [9.0, 12.0, 16.0, 22.0] {
        let beats = beats_s(75.0, 0.05, breaths_per_min, 64.0);
        let pulses = find_pulses(&ppg(&beats, breaths_per_min, 64.0, 100.0), 100.0).unwrap();
        let found = respiration_rate(&pulses).unwrap();
        let fused = found.fused.unwrap_or_else(|| panic!("{breaths_per_min}/min: {found:?}"));
        assert!((fused - breaths_per_min).abs() < 1.5, "{breaths_per_min}/min: {found:?}");
    }
}

#[test]
fn pulses_without_breathing_give_no_breaths() {
    let mut jitter = noise(11);
    let mut time_s = 0.0;
    let mut pulse = |at: i32| {
        time_s += 0.8 + 0.02 * jitter();
        Pulse { time_s, peak: 1.0 + 0.05 * jitter() + f64::from(at) * 1e-9, trough: 0.05 * jitter() }
    };
    let pulses: Vec<Pulse> = (0..40).map(&mut pulse).collect();
    let found = respiration_rate(&pulses);
    assert!(found.is_none_or(|found| found.fused.is_none()), "{found:?}");
}

#[test]
fn too_few_or_too_irregular_pulses_have_no_rate() {
    let pulses = |times: &[f64]| {
        times.iter().map(|time_s| Pulse { time_s: *time_s, peak: 1.0, trough: 0.0 }).collect::<Vec<_>>()
    };
    assert_eq!(pulse_rate(&pulses(&[0.0, 1.0, 2.0, 3.0])), None, "three intervals");
    assert_eq!(pulse_rate(&pulses(&[0.0, 1.0, 2.0, 3.0, 4.0])), Some(60.0));
    // Seven of ten intervals within a fifth of the median are enough, six are not.
    let mixed = |regular: usize| {
        let lengths = (0..10).map(|at| {
            if at < regular {
                1.0
            } else if at % 2 == 0 {
                0.4
            } else {
                2.5
            }
        });
        let mut times = vec![0.0];
        lengths.for_each(|length| times.push(times[times.len() - 1] + length));
        pulse_rate(&pulses(&times))
    };
    assert_eq!((mixed(7).is_some(), mixed(6).is_some()), (true, false));
    assert_eq!(respiration_rate(&pulses(&[0.0; 11])), None, "below twelve pulses");
    let quick: Vec<f64> = (0..14).map(|at| f64::from(at) * 0.5).collect();
    assert_eq!(respiration_rate(&pulses(&quick)), None, "below ten seconds");
}

#[test]
fn signals_without_an_answer_are_refused() {
    assert_eq!(find_r_peaks(&[0.0; 500], 40.0), None, "below 50 Hz");
    assert_eq!(find_r_peaks(&[0.0; 90], 100.0), None, "less than a second");
    assert_eq!(find_r_peaks(&[f64::NAN; 500], 100.0), None);
    assert_eq!(find_pulses(&[0.0; 500], 19.0), None, "below 20 Hz");
    assert_eq!(find_pulses(&[0.0; 90], 50.0), None, "less than two seconds");
    assert_eq!(find_pulses(&[f64::INFINITY; 500], 50.0), None);
    assert_eq!(find_r_peaks(&[1.0; 500], f64::NAN), None);
    assert!(find_r_peaks(&[1.0; 500], 100.0).is_some_and(|peaks| peaks.len() < 3), "a lead that is off");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Gain and offset of an amplifier are no physiology.
    #[test]
    fn peaks_do_not_depend_on_the_unit(per_min in 45.0..140.0_f64, gain in 0.01..1000.0_f64, offset in -500.0..500.0_f64) {
        let beats = beats_s(per_min, 0.02, 12.0, 12.0);
        let signal = ecg(&beats, 12.0, 128.0, 1.0);
        let scaled: Vec<f64> = signal.iter().map(|value| gain * value + offset).collect();
        let (one, other) = (find_r_peaks(&signal, 128.0).unwrap(), find_r_peaks(&scaled, 128.0).unwrap());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn any_signal_gives_peaks_in_order_and_apart(values in proptest::collection::vec(-5.0..5.0_f64, 200..600)) {
        let peaks = find_r_peaks(&values, 100.0).unwrap();
        prop_assert!(peaks.windows(2).all(|pair| pair[1] - pair[0] >= 20), "the heart cannot beat again within 0.2 s");
        prop_assert!(peaks.iter().all(|peak| *peak < values.len()));
        let pulses = find_pulses(&values, 50.0).unwrap();
        prop_assert!(pulses.windows(2).all(|pair| pair[1].time_s - pair[0].time_s >= 0.299));
        pulse_rate(&pulses);
        respiration_rate(&pulses);
    }
}
