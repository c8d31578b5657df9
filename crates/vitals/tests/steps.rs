//! Steps against counted steps, and stillness.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use vitals::activity::{Steps, find_steps, magnitude};
use vitals::signal::median;

const STANDARD_GRAVITY: f64 = 9.806_65;

fn recording(name: &str) -> Option<(Vec<f64>, Vec<f64>)> {
    let rows = recordings::rows(&format!("acc/oxstep_{name}.csv.gz"))?;
    let axis = |column| recordings::numbers(&rows, column);
    let metres = magnitude(&axis(1), &axis(2), &axis(3));
    Some((axis(0), metres.iter().map(|metres| metres / STANDARD_GRAVITY).collect()))
}

#[test]
fn steps_are_counted_within_eight_percent_each() {
    let Some(truth) = recordings::json("acc/steps_truth.json") else {
        return;
    };
    let mut errors = Vec::new();
    for (name, file, key) in [
        ("oxstep_user1_hand", "user1_hand_100hz", "true_steps"),
        ("oxstep_user1_armband", "user1_armband_100hz", "true_steps"),
        ("oxstep_pixel_swingingarm_1", "pixel_swingingarm_1", "true_steps_derived_from_foot_switches"),
    ] {
        let Some((times_ms, lengths_g)) = recording(file) else {
            return;
        };
        let span_s = (times_ms[times_ms.len() - 1] - times_ms[0]) / 1000.0;
        let rate_hz = (times_ms.len() - 1) as f64 / span_s;
        let steps = find_steps(&lengths_g, rate_hz).unwrap().times_s.len() as f64;
        let true_steps = truth[name][key].as_f64().unwrap();
        let error = steps / true_steps - 1.0;
        eprintln!("{name}: {steps} of {true_steps} steps, {:+.1} %", 100.0 * error);
        assert!(error.abs() <= 0.08, "{name}: {steps} of {true_steps}");
        errors.push(error);
    }
    assert!(median(&mut errors).unwrap().abs() <= 0.05);
}

/// Noise of a still sensor: 1 g with a few mg of scatter, from a fixed linear congruence.
fn stillness(seconds: usize, rate_hz: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    (0..seconds * rate_hz).map(|_| 1.0 + 0.03 * noise()).collect()
}

#[test]
fn an_hour_of_stillness_has_no_step() {
    assert_eq!(find_steps(&stillness(3600, 32), 32.0), Some(Steps::default()));
}

#[test]
fn a_bout_needs_four_steps() {
    let shaken = |shakes: usize| {
        let mut signal = stillness(60, 32);
        for shake in 0..shakes {
            for (i, value) in signal[640 + 18 * shake..][..18].iter_mut().enumerate() {
                *value += 0.4 * (std::f64::consts::TAU * i as f64 / 18.0).sin();
            }
        }
        find_steps(&signal, 32.0).unwrap()
    };
    assert_eq!(shaken(2), Steps::default());
    let walk = shaken(20);
    assert!((19..=21).contains(&walk.times_s.len()), "{walk:?}");
    assert_eq!(walk.bouts, 1);
}

#[test]
fn unsound_input_has_no_steps() {
    assert_eq!(find_steps(&[], 32.0), None);
    assert_eq!(find_steps(&[1.0; 10], 32.0), None);
    assert_eq!(find_steps(&[1.0; 1000], 24.0), None);
    assert_eq!(find_steps(&[f64::NAN; 1000], 32.0), None);
    assert_eq!(find_steps(&[1.0; 1000], f64::NAN), None);
    assert_eq!(magnitude(&[3.0, 1.0], &[4.0], &[0.0]), [5.0]);
}
