//! NEWS2 against the generated tables of the RCP bands, and the rules of an evaluation.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use proptest::prelude::*;
use vitals::news2::{
    Availability, Consciousness, Measurement, Measurements, Parameter, Risk, Settings, Spo2Bands, Spo2Scale, evaluate,
    score_consciousness, score_oxygen, score_pulse, score_respiration, score_spo2, score_systolic, score_temperature,
};

const T: i64 = 1_763_600_000_000;
const MINUTE: i64 = 60_000;

#[allow(clippy::unnecessary_wraps, reason = "measurements are optional fields")]
fn at(value: f64, age_ms: i64) -> Option<Measurement> {
    Some(Measurement { value, time_ms: T - age_ms, good: true })
}

fn healthy() -> Measurements {
    Measurements {
        respiration_rate: at(16.0, 0),
        spo2: at(98.0, MINUTE),
        blood_pressure: at(120.0, 11 * 60 * MINUTE),
        heart_rate: at(70.0, 0),
        temperature: at(36.8, 29 * MINUTE),
    }
}

#[test]
fn every_band_of_the_table() {
    let Some(rows) = recordings::rows("news2/subscores.csv") else {
        return;
    };
    assert_eq!(rows.len(), 599);
    for row in rows {
        let (name, text) = (row[0].as_str(), row[1].as_str());
        let number = text.parse().unwrap_or(f64::NAN);
        let score = match name {
            "respiration_rate" => score_respiration(number),
            "spo2_scale1" => score_spo2(number, Spo2Bands::ScaleOne),
            "spo2_scale2_air" => score_spo2(number, Spo2Bands::ScaleTwoOnAir),
            "spo2_scale2_oxygen" => score_spo2(number, Spo2Bands::ScaleTwoOnOxygen),
            "oxygen" => Some(score_oxygen(text == "oxygen")),
            "systolic" => score_systolic(number),
            "heart_rate" => score_pulse(number),
            "consciousness" => Some(score_consciousness(Consciousness::from_letter(text).unwrap())),
            "temperature" => score_temperature(number),
            other => panic!("unknown parameter {other}"),
        };
        assert_eq!(score, Some(row[2].parse().unwrap()), "{name} {text}");
    }
}

#[test]
fn every_total_vector() {
    let Some(rows) = recordings::rows("news2/total_vectors.csv") else {
        return;
    };
    assert_eq!(rows.len(), 200);
    for row in rows {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let measurements = Measurements {
            respiration_rate: at(number(0), 0),
            spo2: at(number(1), 0),
            blood_pressure: at(number(4), 0),
            heart_rate: at(number(5), 0),
            temperature: at(number(7), 0),
        };
        let settings = Settings {
            spo2_scale: Spo2Scale::from_number(row[2].parse().unwrap()).unwrap(),
            oxygen: &row[3] == "1",
            consciousness: Consciousness::from_letter(&row[6]).unwrap(),
        };
        let evaluation = evaluate(T, &measurements, &settings);
        let scores = [
            evaluation.respiration_rate.score,
            evaluation.spo2.score,
            Some(evaluation.score_oxygen),
            evaluation.blood_pressure.score,
            evaluation.heart_rate.score,
            Some(evaluation.score_consciousness),
            evaluation.temperature.score,
            evaluation.total,
        ];
        let expected: Vec<_> = (8..16).map(|column| row[column].parse().ok()).collect();
        assert_eq!(scores.to_vec(), expected, "{row:?}");
        assert_eq!(evaluation.single_three(), &row[16] == "1", "{row:?}");
        assert_eq!(evaluation.risk().unwrap().name(), row[17], "{row:?}");
    }
}

#[test]
fn settings_default_to_scale_one_air_alert() {
    let settings = Settings::default();
    assert_eq!(settings.spo2_scale.number(), 1);
    assert!(!settings.oxygen);
    assert_eq!(settings.consciousness.letter(), "A");
}

#[test]
fn a_full_set_has_a_total() {
    let evaluation = evaluate(T, &healthy(), &Settings::default());
    assert_eq!(evaluation.total, Some(0));
    assert_eq!(evaluation.risk(), Some(Risk::Low));
    assert_eq!(evaluation.missing().count(), 0);
    assert_eq!(evaluation.temperature.age_s, Some(29 * 60));
}

#[test]
fn limits_are_inclusive_and_longer_for_pressure() {
    for (parameter, limit_ms) in [
        (Parameter::RespirationRate, 30 * MINUTE),
        (Parameter::Spo2, 30 * MINUTE),
        (Parameter::BloodPressure, 12 * 60 * MINUTE),
        (Parameter::HeartRate, 30 * MINUTE),
        (Parameter::Temperature, 30 * MINUTE),
    ] {
        for (age_ms, fresh) in [(limit_ms, true), (limit_ms + 1, false)] {
            let mut measurements = healthy();
            let slot = match parameter {
                Parameter::RespirationRate => &mut measurements.respiration_rate,
                Parameter::Spo2 => &mut measurements.spo2,
                Parameter::BloodPressure => &mut measurements.blood_pressure,
                Parameter::HeartRate => &mut measurements.heart_rate,
                Parameter::Temperature => &mut measurements.temperature,
            };
            slot.as_mut().unwrap().time_ms = T - age_ms;
            let evaluation = evaluate(T, &measurements, &Settings::default());
            assert_eq!(evaluation.total.is_some(), fresh, "{parameter:?} {age_ms}");
            let part = evaluation.part(parameter);
            assert_eq!(part.age_s, Some(age_ms / 1000));
            let expected = if fresh { Availability::Fresh } else { Availability::Stale };
            assert_eq!(part.availability, expected);
            assert_eq!(part.score.is_some(), fresh);
        }
    }
}

#[test]
fn poor_missing_zero_and_future_measurements_leave_no_total() {
    let settings = Settings::default();
    let poor = Measurement { value: 70.0, time_ms: T, good: false };
    let future = Measurement { value: 70.0, time_ms: T + 1, good: true };
    for (measurement, availability, age_s) in [
        (Some(poor), Availability::LowQuality, Some(0)),
        (Some(future), Availability::Missing, None),
        (at(0.0, 0), Availability::Missing, None),
        (at(f64::NAN, 0), Availability::Missing, None),
        (None, Availability::Missing, None),
    ] {
        let measurements = Measurements { heart_rate: measurement, ..healthy() };
        let evaluation = evaluate(T, &measurements, &settings);
        assert_eq!(evaluation.heart_rate.availability, availability);
        assert_eq!(evaluation.heart_rate.age_s, age_s);
        assert_eq!(evaluation.heart_rate.score, None);
        assert_eq!(evaluation.total, None);
        assert_eq!(evaluation.risk(), None);
        assert_eq!(evaluation.missing().collect::<Vec<_>>(), [Parameter::HeartRate]);
        assert_eq!(evaluation.spo2.score, Some(0), "the other parts stay");
    }
}

#[test]
fn an_entry_is_due_when_scores_or_missing_parts_change() {
    let settings = Settings::default();
    let first = evaluate(T, &healthy(), &settings);
    let aged = evaluate(T + MINUTE / 2, &healthy(), &settings);
    assert!(!aged.changed_since(&first), "only the ages differ");
    let stale = evaluate(T + 2 * MINUTE, &healthy(), &settings);
    assert!(stale.changed_since(&first));
    let on_oxygen = Settings { oxygen: true, ..settings };
    assert!(evaluate(T, &healthy(), &on_oxygen).changed_since(&first));
    let fast = Measurements { heart_rate: at(95.0, 0), ..healthy() };
    assert!(evaluate(T, &fast, &settings).changed_since(&first));
}

proptest! {
    #[test]
    fn the_total_is_the_sum_of_its_parts(
        values in prop::array::uniform5(prop::option::of(-10.0..400.0f64)),
        ages_ms in prop::array::uniform5(-1000..50_000_000i64),
        good in prop::array::uniform5(any::<bool>()),
        two in any::<bool>(), oxygen in any::<bool>(), level in 0..5usize,
    ) {
        let m = |i: usize| values[i].map(|value| Measurement { value, time_ms: T - ages_ms[i], good: good[i] });
        let measurements = Measurements {
            respiration_rate: m(0), spo2: m(1), blood_pressure: m(2), heart_rate: m(3), temperature: m(4),
        };
        let settings = Settings {
            spo2_scale: if two { Spo2Scale::Two } else { Spo2Scale::One },
            oxygen,
            consciousness: Consciousness::from_letter(["A", "C", "V", "P", "U"][level]).unwrap(),
        };
        let evaluation = evaluate(T, &measurements, &settings);
        let parts: Option<u8> = Parameter::ALL.iter().map(|&p| evaluation.part(p).score).sum();
        let set = evaluation.score_oxygen + evaluation.score_consciousness;
        prop_assert_eq!(evaluation.total, parts.map(|sum| sum + set));
        prop_assert!(evaluation.total.unwrap_or(0) <= 20);
        prop_assert_eq!(evaluation.total.is_none(), evaluation.missing().count() > 0);
    }
}
