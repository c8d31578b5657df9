//! Recovery from its definition, and each of its limits.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::activity::Sex;
use crate::recovery::{
    Day, LONG_BASELINE_DAYS, SHORT_BASELINE_DAYS, age_gender_factor, recovery, temperature_deviation_factor,
};
use crate::zone::LocalDay;

const DAY: LocalDay = LocalDay(20_412);

fn any_value(low: f64, high: f64) -> impl Strategy<Value = Option<f64>> {
    prop_oneof![8 => (low..high).prop_map(Some), 2 => Just(None), 1 => Just(Some(f64::NAN)), 1 => Just(Some(0.0))]
}

fn any_day() -> impl Strategy<Value = Day> {
    (any_value(5.0, 150.0), any_value(35.0, 100.0), any_value(28.0, 37.0))
        .prop_map(|(rmssd_ms, resting_bpm, skin_temperature)| Day { rmssd_ms, resting_bpm, skin_temperature })
}

/// Returns the valid values of the first days.
fn values(days: &[Day], count: usize, of: fn(&Day) -> Option<f64>) -> Vec<f64> {
    days.iter().take(count).filter_map(of).filter(|value| value.is_finite() && *value > 0.0).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// 70 + 30·tanh of the distance from the mean in standard deviations, which are at least a hundredth of the mean.
fn score(today: f64, past: &[f64], good_is_up: f64) -> Option<f64> {
    let centre = mean(past);
    let variance = past.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (past.len() as f64 - 1.0);
    let spread = variance.sqrt().max(0.01 * centre);
    (past.len() >= 7).then(|| 70.0 + 30.0 * (good_is_up * (today - centre) / spread).tanh())
}

fn is_near(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-6 * other.abs().max(1.0),
        (one, other) => one.is_none() && other.is_none(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn recovery_is_that_of_the_definition(
        today in any_day(), past in vec(any_day(), 0..80),
        sleep_score in prop::option::of(0.0..100.0_f64), factor in 0.95..=1.0_f64,
    ) {
        let valid = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
        let rmssd = values(&past, LONG_BASELINE_DAYS, |day| day.rmssd_ms);
        let resting = values(&past, LONG_BASELINE_DAYS, |day| day.resting_bpm);
        let found = recovery(DAY, &today, &past, sleep_score, factor);
        let (Some(rmssd_today), Some(resting_today)) = (valid(today.rmssd_ms), valid(today.resting_bpm)) else {
            prop_assert_eq!(found, None);
            return Ok(());
        };
        if rmssd.is_empty() || resting.is_empty() {
            prop_assert_eq!(found, None);
            return Ok(());
        }
        let found = found.unwrap();
        let hrv_score = score(rmssd_today, &rmssd, 1.0);
        let rhr_score = score(resting_today, &resting, -1.0);
        prop_assert!(is_near(found.recovery_hrv_score, hrv_score), "{:?} {:?}", found.recovery_hrv_score, hrv_score);
        prop_assert!(is_near(found.recovery_rhr_score, rhr_score));
        let delta = |today: f64, past: &[f64]| (past.len() >= 7).then(|| 100.0 * (today / mean(past) - 1.0));
        prop_assert!(is_near(found.avg_hrv_delta.map(f64::from), delta(rmssd_today, &rmssd)));
        prop_assert!(is_near(found.resting_bpm_delta.map(f64::from), delta(resting_today, &resting)));
        prop_assert!(is_near(found.avg_hrv_delta_factor, (rmssd.len() >= 7).then(|| rmssd_today / mean(&rmssd))));

        let short = |of| Some(values(&past, SHORT_BASELINE_DAYS, of)).filter(|values| values.len() >= 3).map(|values| mean(&values));
        prop_assert!(is_near(found.avg_rmssd_past_7_days.map(f64::from), short(|day| day.rmssd_ms)));
        let warmth = short(|day| day.skin_temperature);
        prop_assert!(is_near(found.avg_temperature_past_7_days.map(f64::from), warmth));
        let deviation = valid(today.skin_temperature).zip(warmth).map(|(now, before)| now - before);
        prop_assert!(is_near(found.temperature_deviation.map(f64::from), deviation));

        let parts = [(0.4, hrv_score), (0.3, rhr_score), (0.3, sleep_score)];
        let known: Vec<(f64, f64)> = parts.into_iter().filter_map(|(weight, score)| Some((weight, score?))).collect();
        let weights: f64 = known.iter().map(|(weight, _)| weight).sum();
        let mixed = if known.is_empty() { 70.0 } else { known.iter().map(|(weight, score)| weight * score).sum::<f64>() / weights };
        let value = mixed * factor * deviation.map_or(1.0, temperature_deviation_factor);
        prop_assert!((f64::from(found.value) - value).abs() <= 0.5 + 1e-6, "{} {}", found.value, value);
    }

    /// Days beyond the baselines, today's order among them apart, do not count.
    #[test]
    fn the_order_within_a_baseline_and_days_beyond_it_do_not_count(
        today in any_day(), past in vec(any_day(), 60..61), beyond in vec(any_day(), 0..5),
    ) {
        let at_first = recovery(DAY, &today, &past, None, 1.0);
        let longer: Vec<Day> = past.iter().chain(&beyond).copied().collect();
        prop_assert_eq!(&recovery(DAY, &today, &longer, None, 1.0), &at_first);
        let mut turned = past;
        turned[SHORT_BASELINE_DAYS..].reverse();
        let again = recovery(DAY, &today, &turned, None, 1.0);
        prop_assert_eq!(again.map(|found| found.value), at_first.map(|found| found.value));
    }

    #[test]
    fn more_variability_and_a_slower_heart_are_never_worse(
        past in vec((20.0..80.0_f64, 45.0..75.0_f64), 7..60), rmssd in 10.0..120.0_f64, bpm in 40.0..90.0_f64, more in 0.0..30.0_f64,
    ) {
        let day = |rmssd: f64, bpm: f64| Day { rmssd_ms: Some(rmssd), resting_bpm: Some(bpm), skin_temperature: None };
        let past: Vec<Day> = past.into_iter().map(|(rmssd, bpm)| day(rmssd, bpm)).collect();
        let value = |today: Day| recovery(DAY, &today, &past, None, 1.0).unwrap().value;
        prop_assert!(value(day(rmssd + more, bpm)) >= value(day(rmssd, bpm)));
        prop_assert!(value(day(rmssd, bpm + more)) <= value(day(rmssd, bpm)));
    }
}

#[test]
fn the_factor_of_age_begins_later_for_women_and_ends_at_a_twentieth() {
    for (age, sex, factor) in [
        (18.0, Sex::Male, 1.0),
        (40.0, Sex::Male, 1.0),
        (41.0, Sex::Male, 0.999),
        (45.0, Sex::Female, 1.0),
        (46.0, Sex::Female, 0.999),
        (46.0, Sex::Other, 0.994),
        (90.0, Sex::Male, 0.95),
        (95.0, Sex::Female, 0.95),
        (120.0, Sex::Male, 0.95),
    ] {
        assert!((age_gender_factor(Some(age), Some(sex)) - factor).abs() < 1e-9, "{age} {sex:?}");
    }
    for unknown in [(None, Some(Sex::Male)), (Some(80.0), None), (Some(f64::NAN), Some(Sex::Male)), (None, None)] {
        assert!((age_gender_factor(unknown.0, unknown.1) - 1.0).abs() < 1e-12, "{unknown:?}");
    }
}

#[test]
fn warmth_counts_beyond_half_a_degree_in_either_direction() {
    for (deviation, factor) in [(0.0, 1.0), (0.5, 1.0), (0.6, 0.97), (1.0, 0.85), (1.5, 0.7), (3.0, 0.7)] {
        for sign in [1.0, -1.0] {
            assert!((temperature_deviation_factor(sign * deviation) - factor).abs() < 1e-9, "{deviation}");
        }
    }
}
