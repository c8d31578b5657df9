//! The published NEWS2 chart, entry by entry, and how a total follows from it.
//!
//! Source: Royal College of Physicians, National Early Warning Score (NEWS) 2, 2017, chart 1 and the table of thresholds
//! and triggers. Each row below is one printed band with both of its ends.

use proptest::prelude::*;

use super::*;

/// First and last measurement of a band, and its sub-score.
type Band = (f64, f64, u8);

const RESPIRATION: [Band; 5] = [(1.0, 8.0, 3), (9.0, 11.0, 1), (12.0, 20.0, 0), (21.0, 24.0, 2), (25.0, 120.0, 3)];
const SCALE_ONE: [Band; 4] = [(1.0, 91.0, 3), (92.0, 93.0, 2), (94.0, 95.0, 1), (96.0, 100.0, 0)];
const SCALE_TWO_ON_AIR: [Band; 4] = [(1.0, 83.0, 3), (84.0, 85.0, 2), (86.0, 87.0, 1), (88.0, 100.0, 0)];
const SCALE_TWO_ON_OXYGEN: [Band; 7] = [
    (1.0, 83.0, 3),
    (84.0, 85.0, 2),
    (86.0, 87.0, 1),
    (88.0, 92.0, 0),
    (93.0, 94.0, 1),
    (95.0, 96.0, 2),
    (97.0, 100.0, 3),
];
const SYSTOLIC: [Band; 5] =
    [(20.0, 90.0, 3), (91.0, 100.0, 2), (101.0, 110.0, 1), (111.0, 219.0, 0), (220.0, 350.0, 3)];
const PULSE: [Band; 6] =
    [(1.0, 40.0, 3), (41.0, 50.0, 1), (51.0, 90.0, 0), (91.0, 110.0, 1), (111.0, 130.0, 2), (131.0, 350.0, 3)];
const TEMPERATURE: [Band; 5] = [(20.0, 35.0, 3), (35.1, 36.0, 1), (36.1, 38.0, 0), (38.1, 39.0, 1), (39.1, 46.0, 2)];

/// Scores a measurement.
type Score = fn(f64) -> Option<u8>;

/// Each parameter with its bands and the step that the chart is printed in.
const CHART: [(&str, &[Band], f64, Score); 7] = [
    ("respiration", &RESPIRATION, 1.0, score_respiration),
    ("SpO2 scale 1", &SCALE_ONE, 1.0, |percent| score_spo2(percent, Spo2Bands::ScaleOne)),
    ("SpO2 scale 2, air", &SCALE_TWO_ON_AIR, 1.0, |percent| score_spo2(percent, Spo2Bands::ScaleTwoOnAir)),
    ("SpO2 scale 2, oxygen", &SCALE_TWO_ON_OXYGEN, 1.0, |percent| score_spo2(percent, Spo2Bands::ScaleTwoOnOxygen)),
    ("systolic", &SYSTOLIC, 1.0, score_systolic),
    ("pulse", &PULSE, 1.0, score_pulse),
    ("temperature", &TEMPERATURE, 0.1, score_temperature),
];

const T: i64 = 1_763_600_000_000;
const MINUTE_MS: i64 = 60_000;

fn measured(value: f64, age_ms: i64) -> Measurement {
    Measurement { value, time_ms: T - age_ms, good: true }
}

/// Returns all five measured now, each in its band of 0.
fn healthy() -> Measurements {
    Measurements {
        respiration_rate: Some(measured(16.0, 0)),
        spo2: Some(measured(98.0, 0)),
        blood_pressure: Some(measured(120.0, 0)),
        heart_rate: Some(measured(70.0, 0)),
        temperature: Some(measured(37.0, 0)),
    }
}

fn field(measurements: &mut Measurements, parameter: Parameter) -> &mut Option<Measurement> {
    match parameter {
        Parameter::RespirationRate => &mut measurements.respiration_rate,
        Parameter::Spo2 => &mut measurements.spo2,
        Parameter::BloodPressure => &mut measurements.blood_pressure,
        Parameter::HeartRate => &mut measurements.heart_rate,
        Parameter::Temperature => &mut measurements.temperature,
    }
}

#[test]
fn every_printed_value_scores_as_its_band() {
    for (name, bands, step, score) in CHART {
        for (first, last, expected) in bands {
            let steps = ((last - first) / step).round() as i32;
            for at in 0..=steps {
                let value = first + f64::from(at) * step;
                assert_eq!(score(value), Some(*expected), "{name} {value}");
            }
        }
    }
}

#[test]
fn bands_touch_each_other_and_cover_all_that_a_body_can_show() {
    for (name, bands, step, score) in CHART {
        for pair in bands.windows(2) {
            assert!((pair[1].0 - pair[0].1 - step).abs() < 1e-9, "{name}: nothing lies between {pair:?}");
        }
        let (lowest, highest) = (bands[0].0, bands[bands.len() - 1].1);
        assert_eq!(score(lowest - step), None, "{name}");
        assert_eq!(score(highest + step), None, "{name}");
    }
}

/// The chart is printed for integers (temperature: tenths), so a value between two bands is rounded half up.
#[test]
fn half_a_step_below_a_band_belongs_to_it_and_less_does_not() {
    for (name, bands, step, score) in CHART {
        for pair in bands.windows(2) {
            let edge = pair[1].0 - step / 2.0;
            assert_eq!(score(edge), Some(pair[1].2), "{name} {edge}");
            assert_eq!(score(edge + step / 4.0), Some(pair[1].2), "{name} {edge}");
            assert_eq!(score(edge - step / 100.0), Some(pair[0].2), "{name} {edge}");
        }
    }
}

#[test]
fn oxygen_scores_two_and_any_level_below_alert_three() {
    assert_eq!((score_oxygen(false), score_oxygen(true)), (0, 2));
    for (letter, score) in [("A", 0), ("C", 3), ("V", 3), ("P", 3), ("U", 3)] {
        let level = Consciousness::from_letter(letter).unwrap();
        assert_eq!((score_consciousness(level), level.letter()), (score, letter));
    }
    for wrong in ["", "a", "AV", "D", "X"] {
        assert_eq!(Consciousness::from_letter(wrong), None, "{wrong}");
    }
}

#[test]
fn scales_are_numbered_as_on_the_chart() {
    for number in 0..=u8::MAX {
        let scale = Spo2Scale::from_number(number);
        assert_eq!(scale.map(Spo2Scale::number), [1, 2].contains(&number).then_some(number));
    }
    let bands = |spo2_scale, oxygen| Settings { spo2_scale, oxygen, ..Settings::default() }.spo2_bands();
    assert_eq!(bands(Spo2Scale::One, false), Spo2Bands::ScaleOne);
    assert_eq!(bands(Spo2Scale::One, true), Spo2Bands::ScaleOne, "oxygen does not change scale 1");
    assert_eq!(bands(Spo2Scale::Two, false), Spo2Bands::ScaleTwoOnAir);
    assert_eq!(bands(Spo2Scale::Two, true), Spo2Bands::ScaleTwoOnOxygen);
}

/// Every possible set of the seven sub-scores against the table of thresholds and triggers.
#[test]
fn risk_of_every_set_of_sub_scores_is_that_of_the_table() {
    for code in 0..4_u32.pow(7) {
        let scores: [u8; 7] = std::array::from_fn(|at| (code / 4_u32.pow(at as u32) % 4) as u8);
        let total: u32 = scores.iter().map(|score| u32::from(*score)).sum();
        let has_three = scores.contains(&3);
        let expected = if total >= 7 {
            "high"
        } else if total >= 5 {
            "medium"
        } else if has_three {
            "low-medium"
        } else {
            "low"
        };
        assert_eq!(risk(scores).name(), expected, "{scores:?}");
    }
}

#[test]
fn each_measurement_ages_at_its_own_limit() {
    for parameter in Parameter::ALL {
        let limit_ms = if parameter == Parameter::BloodPressure { 12 * 60 * MINUTE_MS } else { 30 * MINUTE_MS };
        for (age_ms, availability) in [
            (0, Availability::Fresh),
            (limit_ms, Availability::Fresh),
            (limit_ms + 1, Availability::Stale),
            (-1, Availability::Missing),
        ] {
            let mut measurements = healthy();
            let of_parameter = field(&mut measurements, parameter).as_mut().unwrap();
            of_parameter.time_ms = T - age_ms;
            let evaluation = evaluate(T, &measurements, &Settings::default());
            let part = evaluation.part(parameter);
            assert_eq!(part.availability, availability, "{} at {age_ms} ms", parameter.name());
            let is_fresh = availability == Availability::Fresh;
            assert_eq!(part.score.is_some(), is_fresh);
            assert_eq!((evaluation.total.is_some(), evaluation.risk().is_some()), (is_fresh, is_fresh));
            assert_eq!(evaluation.missing().collect::<Vec<_>>(), if is_fresh { vec![] } else { vec![parameter] });
            assert_eq!(part.age_s, (age_ms >= 0).then_some(age_ms / 1000));
        }
    }
}

#[test]
fn what_is_poor_or_no_measurement_is_said_to_be_so() {
    for parameter in Parameter::ALL {
        let with = |change: &dyn Fn(&mut Option<Measurement>)| {
            let mut measurements = healthy();
            change(field(&mut measurements, parameter));
            evaluate(T, &measurements, &Settings::default()).part(parameter)
        };
        let poor = with(&|found| found.as_mut().unwrap().good = false);
        assert_eq!((poor.availability, poor.score, poor.value.is_some()), (Availability::LowQuality, None, true));
        let old_and_poor = with(&|found| {
            *found = Some(Measurement { good: false, time_ms: T - 24 * 60 * MINUTE_MS, ..found.unwrap() });
        });
        assert_eq!(old_and_poor.availability, Availability::LowQuality, "poor stays poor with age");
        for nothing in [with(&|found| *found = None), with(&|found| found.as_mut().unwrap().value = 0.0)] {
            assert_eq!((nothing.availability, nothing.value, nothing.age_s), (Availability::Missing, None, None));
        }
    }
}

#[test]
fn an_entry_is_due_when_a_score_or_a_reason_changes_and_not_for_a_value_within_its_band() {
    let at_rest = evaluate(T, &healthy(), &Settings::default());
    let changed = |change: &dyn Fn(&mut Measurements)| {
        let mut measurements = healthy();
        change(&mut measurements);
        evaluate(T, &measurements, &Settings::default()).changed_since(&at_rest)
    };
    assert!(!changed(&|_| ()));
    assert!(!changed(&|all| all.heart_rate = Some(measured(90.0, 5 * MINUTE_MS))));
    assert!(changed(&|all| all.heart_rate = Some(measured(91.0, 0))));
    assert!(changed(&|all| all.spo2 = None));
    assert!(changed(&|all| all.spo2.as_mut().unwrap().good = false));
    let stale =
        evaluate(T, &Measurements { spo2: Some(measured(98.0, 31 * MINUTE_MS)), ..healthy() }, &Settings::default());
    let missing = evaluate(T, &Measurements { spo2: None, ..healthy() }, &Settings::default());
    assert!(stale.changed_since(&missing), "stale and missing are two reasons");
    let on_oxygen = evaluate(T, &healthy(), &Settings { oxygen: true, ..Settings::default() });
    assert!(on_oxygen.changed_since(&at_rest));
}

proptest! {
    #[test]
    fn a_total_is_the_sum_of_its_parts(
        respiration in 1.0..60.0_f64, spo2 in 50.0..100.0_f64, systolic in 40.0..260.0_f64,
        pulse in 20.0..220.0_f64, temperature in 30.0..43.0_f64, scale_two: bool, oxygen: bool, level in 0_usize..5,
    ) {
        let measurements = Measurements {
            respiration_rate: Some(measured(respiration, 0)),
            spo2: Some(measured(spo2, 0)),
            blood_pressure: Some(measured(systolic, 0)),
            heart_rate: Some(measured(pulse, 0)),
            temperature: Some(measured(temperature, 0)),
        };
        let consciousness = Consciousness::from_letter(["A", "C", "V", "P", "U"][level]).unwrap();
        let spo2_scale = if scale_two { Spo2Scale::Two } else { Spo2Scale::One };
        let settings = Settings { spo2_scale, oxygen, consciousness };
        let evaluation = evaluate(T, &measurements, &settings);
        let band = |bands: &[Band], value: f64, step: f64| {
            let rounded = (value / step + 0.5).floor() * step;
            bands.iter().find(|(first, last, _)| *first - 1e-6 <= rounded && rounded <= *last + 1e-6).unwrap().2
        };
        let spo2_bands: &[Band] = match (scale_two, oxygen) {
            (false, _) => &SCALE_ONE,
            (true, false) => &SCALE_TWO_ON_AIR,
            (true, true) => &SCALE_TWO_ON_OXYGEN,
        };
        let scores = [
            band(&RESPIRATION, respiration, 1.0),
            band(spo2_bands, spo2, 1.0),
            band(&SYSTOLIC, systolic, 1.0),
            band(&PULSE, pulse, 1.0),
            band(&TEMPERATURE, temperature, 0.1),
            if oxygen { 2 } else { 0 },
            if level == 0 { 0 } else { 3 },
        ];
        prop_assert_eq!(evaluation.total, Some(scores.iter().sum()));
        prop_assert_eq!(evaluation.risk(), Some(risk(scores)));
        prop_assert_eq!(evaluation.single_three(), scores.contains(&3));
    }

    /// Never a partial sum: with any part missing there is no total and no risk.
    #[test]
    fn a_total_needs_all_five(present in proptest::collection::vec(any::<bool>(), 5)) {
        let mut measurements = healthy();
        for (parameter, present) in Parameter::ALL.into_iter().zip(&present) {
            if !present {
                *field(&mut measurements, parameter) = None;
            }
        }
        let evaluation = evaluate(T, &measurements, &Settings::default());
        let is_whole = present.iter().all(|present| *present);
        prop_assert_eq!((evaluation.total.is_some(), evaluation.risk().is_some()), (is_whole, is_whole));
        prop_assert_eq!(evaluation.missing().count(), present.iter().filter(|present| !**present).count());
    }
}
