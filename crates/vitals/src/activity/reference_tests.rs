//! Sums of activity from their definitions, and steps of walks whose number is known.

use std::f64::consts::TAU;

use proptest::collection::vec;
use proptest::prelude::*;

use super::daily::{ActivityRow, active_minutes, distance_m, goal_percent, move_every_hour};
use super::energy::{Body, calories_kcal, keytel_kcal_per_min, resting_kcal_per_day};
use super::*;

/// Random numbers of a seed, -1 to 1: the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Vector lengths of somebody who rests, walks so many steps, and rests again.
fn walk(steps: u32, per_minute: f64, height_g: f64, rate_hz: f64) -> Vec<f64> {
    let step_s = 60.0 / per_minute;
    let walking_s = f64::from(steps) * step_s;
    let samples = ((walking_s + 10.0) * rate_hz) as usize;
    let mut tremor = noise(u64::from(steps));
    let length = |at: usize| {
        let time_s = at as f64 / rate_hz - 5.0;
        let is_walking = (0.0..walking_s).contains(&time_s);
        let bounce = if is_walking { height_g * -(TAU * time_s / step_s).cos() } else { 0.0 };
        1.0 + bounce + 0.01 * tremor()
    };
    (0..samples).map(length).collect()
}

fn found(magnitude: &[f64], rate_hz: f64) -> usize {
    find_steps(magnitude, rate_hz).unwrap().times_s.len()
}

fn any_row() -> impl Strategy<Value = ActivityRow> {
    let speed = prop::option::of(prop_oneof![Just(0.0), 1.0..60.0_f64]);
    let rate = prop::option::of(40.0..190.0_f64);
    let energy = prop::option::of(0.0..20_000.0_f64);
    (0..600_000_i64, 5.0..60.0_f64, 0..150_u32, speed, rate, energy).prop_map(
        |(time_ms, duration_s, steps, speed_dm_per_s, per_min, energy_cal)| ActivityRow {
            time_ms,
            duration_s,
            steps,
            per_min,
            speed_dm_per_s,
            energy_cal,
        },
    )
}

fn any_body() -> impl Strategy<Value = Body> {
    let sex = prop_oneof![Just(Sex::Female), Just(Sex::Male), Just(Sex::Other)];
    (sex, 1.0..110.0_f64, 60.0..220.0_f64, 4.0..250.0_f64).prop_map(|(sex, age_years, height_cm, weight_kg)| Body {
        sex,
        age_years,
        height_cm,
        weight_kg,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn distance_is_speed_by_time_or_steps_by_stride(rows in vec(any_row(), 0..20), height_cm in 100.0..210.0_f64, is_woman: bool) {
        let (sex, factor) = if is_woman { (Sex::Female, 0.413) } else { (Sex::Male, 0.415) };
        let mut expected = 0.0;
        for row in &rows {
            expected += match row.speed_dm_per_s {
                Some(speed) if speed > 0.0 => speed * 0.1 * row.duration_s,
                _ => f64::from(row.steps) * height_cm * 0.01 * factor,
            };
        }
        let found = distance_m(&rows, Some(height_cm), sex).unwrap();
        prop_assert!((found - expected).abs() < 1e-6 * expected.max(1.0));
        let needs_height = rows.iter().any(|row| row.steps > 0 && row.speed_dm_per_s.is_none_or(|speed| speed <= 0.0));
        prop_assert_eq!(distance_m(&rows, None, sex).is_none(), needs_height);
    }

    #[test]
    fn a_minute_is_active_by_its_steps_or_its_mean_heart_rate(mut rows in vec(any_row(), 0..40), highest in 120.0..210.0_f64) {
        rows.sort_by_key(|row| row.time_ms);
        let mut expected = 0;
        for minute in 0..10 {
            let within: Vec<&ActivityRow> = rows.iter().filter(|row| row.time_ms / 60_000 == minute).collect();
            let steps: u32 = within.iter().map(|row| row.steps).sum();
            let rates: Vec<f64> = within.iter().filter_map(|row| row.per_min).collect();
            let is_fast = !rates.is_empty() && rates.iter().sum::<f64>() / rates.len() as f64 >= highest / 2.0;
            expected += u32::from(steps >= 60 || is_fast);
        }
        prop_assert_eq!(active_minutes(&rows, Some(highest)), expected);
    }

    #[test]
    fn energy_is_uploaded_or_of_the_heart_or_of_rest(rows in vec(any_row(), 0..20), body in any_body()) {
        let rest = resting_kcal_per_day(&body).unwrap() / 1440.0;
        let mut expected = 0.0;
        for row in &rows {
            expected += match (row.energy_cal, row.per_min) {
                (Some(cal), _) => cal / 1000.0,
                (None, Some(rate)) if rate > 90.0 => keytel_kcal_per_min(&body, rate).unwrap().max(rest) * row.duration_s / 60.0,
                _ => rest * row.duration_s / 60.0,
            };
        }
        let found = calories_kcal(&rows, Some(&body)).unwrap();
        prop_assert!((found - expected).abs() < 1e-6 * expected.max(1.0));
        prop_assert_eq!(calories_kcal(&rows, None).is_none(), rows.iter().any(|row| row.energy_cal.is_none()));
    }

    /// For who states neither, formulas give the mean of both.
    #[test]
    fn others_lie_half_way_between_women_and_men(body in any_body(), rate in 91.0..200.0_f64) {
        let of = |sex| Body { sex, ..body };
        let middle = |of: &dyn Fn(&Body) -> Option<f64>, women: f64, men: f64, other: f64| {
            // Energy is never negative: where a formula is cut off, so is its mean.
            women <= 0.0 || men <= 0.0 || (f64::midpoint(women, men) - other).abs() < 1e-6 || of(&body).is_none()
        };
        let resting = |sex| resting_kcal_per_day(&of(sex)).unwrap();
        prop_assert!(middle(&resting_kcal_per_day, resting(Sex::Female), resting(Sex::Male), resting(Sex::Other)));
        let active = |sex| keytel_kcal_per_min(&of(sex), rate).unwrap();
        prop_assert!(middle(&|body| keytel_kcal_per_min(body, rate), active(Sex::Female), active(Sex::Male), active(Sex::Other)));
    }

    #[test]
    fn movement_does_not_depend_on_how_the_sensor_is_calibrated(swing in vec(-0.5..0.5_f64, 10..200), offset in -0.05..0.05_f64) {
        let at = |level: f64| swing.iter().map(|swing| level + swing).collect::<Vec<_>>();
        prop_assert_eq!(movement_level(&at(1.0)), movement_level(&at(1.0 + offset)));
    }

    #[test]
    fn the_length_of_a_vector_does_not_depend_on_how_the_arm_is_turned(x in -3.0..3.0_f64, y in -3.0..3.0_f64, z in -3.0..3.0_f64) {
        let length = magnitude(&[x], &[y], &[z])[0];
        prop_assert!((length * length - (x * x + y * y + z * z)).abs() < 1e-9);
        prop_assert_eq!(magnitude(&[z], &[x], &[y]).len(), 1);
        prop_assert!((magnitude(&[-z], &[x], &[y])[0] - length).abs() < 1e-12);
    }

    #[test]
    fn hours_and_goals_are_counted_as_they_are_defined(steps in vec(0..120_u32, 24), goal in 1..20_000_u32, total in 0..60_000_u64) {
        let hours: [u32; 24] = steps.clone().try_into().unwrap();
        let expected = (8..20).filter(|hour| steps[*hour] >= 50).count() as u32;
        prop_assert_eq!(move_every_hour(&hours), expected);
        let percent = goal_percent(total, goal).unwrap();
        prop_assert!((0.0..=100.0).contains(&percent));
        prop_assert_eq!(percent >= 100.0, total >= u64::from(goal));
    }
}

#[test]
fn steps_of_walks_and_runs_are_counted_at_every_pace_and_rate() {
    for per_minute in [70.0, 90.0, 110.0, 130.0, 160.0] {
        for (steps, rate_hz) in [(40, 25.0), (100, 50.0), (100, 100.0), (200, 32.0)] {
            let counted = found(&walk(steps, per_minute, 0.3, rate_hz), rate_hz);
            let error = counted.abs_diff(steps as usize);
            assert!(error <= 2, "{counted} of {steps} at {per_minute}/min and {rate_hz} Hz");
        }
    }
}

#[test]
fn what_is_no_walking_has_no_steps() {
    let mut tremor = noise(5);
    let still: Vec<f64> = (0..25 * 600).map(|_| 1.0 + 0.02 * tremor()).collect();
    assert_eq!(found(&still, 25.0), 0, "ten minutes at rest");
    let turned: Vec<f64> = (0..25 * 60).map(|at| 1.0 + 0.1 * (f64::from(at) / 500.0)).collect();
    assert_eq!(found(&turned, 25.0), 0, "a drift of the sensor");
    let mut knocked = vec![1.0; 25 * 60];
    for at in [200, 700, 1200] {
        knocked[at] = 4.0;
    }
    assert_eq!(found(&knocked, 25.0), 0, "single knocks far from each other");
    assert_eq!(found(&walk(3, 100.0, 0.3, 50.0), 50.0), 0, "three peaks are a gesture");
    assert_eq!(found(&walk(100, 100.0, 0.02, 50.0), 50.0), 0, "a bus that rocks");
}

#[test]
fn bouts_with_a_pause_between_them_are_two() {
    let mut both = walk(30, 100.0, 0.3, 50.0);
    both.extend(walk(50, 120.0, 0.3, 50.0));
    let steps = find_steps(&both, 50.0).unwrap();
    assert_eq!(steps.bouts, 2);
    assert!(steps.times_s.is_sorted() && steps.times_s.len().abs_diff(80) <= 3, "{}", steps.times_s.len());
    // The pause of ten seconds holds no step.
    let end_s = 5.0 + 30.0 * 0.6;
    assert!(!steps.times_s.iter().any(|time_s| (end_s + 1.0..end_s + 9.0).contains(time_s)));
}

#[test]
fn signals_that_are_too_slow_short_or_broken_have_no_answer() {
    let walk = walk(40, 100.0, 0.3, 50.0);
    assert_eq!(find_steps(&walk, 20.0), None, "below 25 Hz");
    assert_eq!(find_steps(&walk[..10], 50.0), None, "too short");
    assert_eq!(find_steps(&[], 50.0), None);
    assert_eq!(find_steps(&[f64::NAN; 100], 50.0), None);
    assert_eq!(find_steps(&walk, f64::NAN), None);
}

#[test]
fn bodies_beyond_all_persons_have_no_energy() {
    let body = Body { sex: Sex::Male, age_years: 40.0, height_cm: 180.0, weight_kg: 80.0 };
    for (age_years, height_cm, weight_kg, is_person) in [
        (0.0, 30.0, 1.0, true),
        (130.0, 280.0, 500.0, true),
        (130.1, 180.0, 80.0, false),
        (-0.1, 180.0, 80.0, false),
        (40.0, 29.9, 80.0, false),
        (40.0, 280.1, 80.0, false),
        (40.0, 180.0, 0.9, false),
        (40.0, 180.0, 500.1, false),
        (40.0, 1.8, 80.0, false),
        (40.0, 180.0, f64::NAN, false),
    ] {
        let body = Body { age_years, height_cm, weight_kg, ..body };
        assert_eq!(resting_kcal_per_day(&body).is_some(), is_person, "{body:?}");
        assert_eq!(keytel_kcal_per_min(&body, 120.0).is_some(), is_person, "{body:?}");
    }
    for (rate, is_rate) in [(0.0, true), (300.0, true), (-0.1, false), (300.1, false), (f64::NAN, false)] {
        assert_eq!(keytel_kcal_per_min(&body, rate).is_some(), is_rate, "{rate}");
    }
}
