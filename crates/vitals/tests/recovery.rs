//! Recovery: which parts are null, the direction of each part, limits.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

use proptest::prelude::*;
use vitals::activity::Sex;
use vitals::recovery::{Day, age_gender_factor, recovery, temperature_deviation_factor};
use vitals::zone::LocalDay;

const DAY: LocalDay = LocalDay(20_412);

fn day(rmssd_ms: f64, resting_bpm: f64, skin_temperature: f64) -> Day {
    Day { rmssd_ms: Some(rmssd_ms), resting_bpm: Some(resting_bpm), skin_temperature: Some(skin_temperature) }
}

/// Sixty days that alternate around 40 ms and 60 per minute, at 34 °C.
fn past() -> Vec<Day> {
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    (0..60).map(|i| day(40.0 + 4.0 * sign(i), 60.0 + 2.0 * sign(i), 34.0)).collect()
}

#[test]
fn an_ordinary_day_scores_seventy() {
    let found = recovery(DAY, &day(40.0, 60.0, 34.0), &past(), Some(70.0), 1.0).unwrap();
    assert_eq!(found.value, 70);
    assert!((found.recovery_hrv_score.unwrap() - 70.0).abs() < 1e-9);
    assert!((found.recovery_rhr_score.unwrap() - 70.0).abs() < 1e-9);
    assert!(found.avg_hrv_delta.unwrap().0.abs() < 1e-9);
    assert!((found.avg_hrv_delta_factor.unwrap() - 1.0).abs() < 1e-9);
    assert!(found.temperature_deviation.unwrap().0.abs() < 1e-9);
    assert_eq!(found.temperature_deviation_factor, Some(1.0));
}

#[test]
fn recovery_of_a_better_day_is_as_calculated_by_hand() {
    let found = recovery(DAY, &day(44.0, 57.0, 35.0), &past(), Some(90.0), 0.98).unwrap();
    // The baselines have standard deviations of 4·sqrt(60/59) and 2·sqrt(60/59).
    let spread = (60.0_f64 / 59.0).sqrt();
    let hrv = 70.0 + 30.0 * (1.0 / spread).tanh();
    let rhr = 70.0 + 30.0 * (1.5 / spread).tanh();
    assert!((found.recovery_hrv_score.unwrap() - hrv).abs() < 1e-9);
    assert!((found.recovery_rhr_score.unwrap() - rhr).abs() < 1e-9);
    assert!((found.avg_hrv_delta.unwrap().0 - 10.0).abs() < 1e-9);
    assert!((found.resting_bpm_delta.unwrap().0 + 5.0).abs() < 1e-9);
    assert!((found.temperature_deviation_factor.unwrap() - 0.85).abs() < 1e-9);
    let expected = (0.4 * hrv + 0.3 * rhr + 0.3 * 90.0) * 0.85 * 0.98;
    assert_eq!(found.value, expected.round() as u8);
}

#[test]
fn recovery_without_values_of_today_or_of_the_past_is_none() {
    let today = day(40.0, 60.0, 34.0);
    assert_eq!(recovery(DAY, &Day { rmssd_ms: None, ..today }, &past(), None, 1.0), None);
    assert_eq!(recovery(DAY, &Day { resting_bpm: None, ..today }, &past(), None, 1.0), None);
    assert_eq!(recovery(DAY, &Day { rmssd_ms: Some(f64::NAN), ..today }, &past(), None, 1.0), None);
    assert_eq!(recovery(DAY, &today, &[], None, 1.0), None);
    assert_eq!(recovery(DAY, &today, &[Day::default(); 60], None, 1.0), None);
}

#[test]
fn scores_need_seven_days_and_averages_three() {
    let today = day(40.0, 60.0, 34.0);
    for (days, temperature, scores) in
        [(1, false, false), (2, false, false), (3, true, false), (6, true, false), (7, true, true)]
    {
        let found = recovery(DAY, &today, &past()[..days], None, 1.0).unwrap();
        assert_eq!(found.avg_temperature_past_7_days.is_some(), temperature, "{days}");
        assert_eq!(found.avg_rmssd_past_7_days.is_some(), temperature, "{days}");
        assert_eq!(found.temperature_deviation.is_some(), temperature, "{days}");
        assert_eq!(found.recovery_hrv_score.is_some(), scores, "{days}");
        assert_eq!(found.recovery_rhr_score.is_some(), scores, "{days}");
        assert_eq!(found.avg_hrv_delta.is_some(), scores, "{days}");
        assert_eq!(found.resting_bpm_delta.is_some(), scores, "{days}");
    }
    let days_beyond_sixty: Vec<Day> = past().into_iter().chain([day(4000.0, 200.0, 40.0); 9]).collect();
    let found = recovery(DAY, &today, &days_beyond_sixty, None, 1.0);
    assert_eq!(found, recovery(DAY, &today, &past(), None, 1.0));
}

#[test]
fn a_constant_past_does_not_divide_by_zero() {
    let found = recovery(DAY, &day(41.0, 60.0, 34.0), &[day(40.0, 60.0, 34.0); 60], None, 1.0).unwrap();
    assert!((found.recovery_rhr_score.unwrap() - 70.0).abs() < 1e-9);
    assert!((found.recovery_hrv_score.unwrap() - (70.0 + 30.0 * 2.5_f64.tanh())).abs() < 1e-9);
}

#[test]
fn factors_follow_their_tables() {
    for (deviation, factor) in [(0.0, 1.0), (0.5, 1.0), (-0.5, 1.0), (1.0, 0.85), (-1.5, 0.7), (9.0, 0.7)] {
        assert!((temperature_deviation_factor(deviation) - factor).abs() < 1e-12);
    }
    for (age, sex, factor) in [
        (None, Some(Sex::Male), 1.0),
        (Some(80.0), None, 1.0),
        (Some(30.0), Some(Sex::Male), 1.0),
        (Some(60.0), Some(Sex::Male), 0.98),
        (Some(60.0), Some(Sex::Female), 0.985),
        (Some(100.0), Some(Sex::Other), 0.95),
        (Some(f64::NAN), Some(Sex::Other), 1.0),
    ] {
        assert!((age_gender_factor(age, sex) - factor).abs() < 1e-12, "{age:?} {sex:?}");
    }
}

proptest! {
    #[test]
    fn better_values_never_lower_the_score(
        rmssd in 5.0..150.0f64, resting in 35.0..110.0f64, sleep in 0.0..100.0f64,
        more in 0.1..20.0f64, temperature in 30.0..38.0f64,
    ) {
        let value = |rmssd, resting, sleep, temperature| {
            recovery(DAY, &day(rmssd, resting, temperature), &past(), Some(sleep), 1.0).unwrap().value
        };
        let score = value(rmssd, resting, sleep, temperature);
        prop_assert!(score <= 100);
        prop_assert!(value(rmssd + more, resting, sleep, temperature) >= score);
        prop_assert!(value(rmssd, resting - more, sleep, temperature) >= score);
        prop_assert!(value(rmssd, resting, (sleep + more).min(100.0), temperature) >= score);
        prop_assert!(value(rmssd, resting, sleep, 34.0) >= score);
    }
}
