//! The NEWS2 table: one function per parameter, measurement in, sub-score out.
//!
//! The table is printed for integers (tenths for temperature), so a measurement is rounded
//! half up to that grid before it is scored: otherwise 38.04 °C would fall between two bands.
//! What cannot be a measurement (NaN, zero, outside what a body can show) has no score; that
//! keeps a raw 0 and degrees Fahrenheit out.

#![allow(clippy::match_same_arms, reason = "the arms are in the order of the printed table")]

use super::terms::{Consciousness, Risk, Spo2Bands};

/// Slack for decimals that binary floats miss by a little: 38.05 is stored as 38.04999….
const DECIMAL_SLACK: f64 = 1e-9;

/// Half up to whole steps of `1 / per_unit`, counted in those steps; None outside `range`.
fn round_half_up(value: f64, per_unit: f64, range: std::ops::RangeInclusive<i32>) -> Option<i32> {
    let steps = (value * per_unit + 0.5 + DECIMAL_SLACK).floor();
    if !steps.is_finite() || steps < f64::from(*range.start()) || steps > f64::from(*range.end()) {
        return None;
    }
    Some(steps as i32)
}

/// Sub-score of the respiration rate in breaths per minute; None outside 1–120.
pub fn score_respiration(per_min: f64) -> Option<u8> {
    Some(match round_half_up(per_min, 1.0, 1..=120)? {
        ..=8 => 3,
        9..=11 => 1,
        12..=20 => 0,
        21..=24 => 2,
        25.. => 3,
    })
}

/// Sub-score of the oxygen saturation in percent, by one of the printed columns of bands; None outside 1–100.
pub fn score_spo2(percent: f64, bands: Spo2Bands) -> Option<u8> {
    let percent = round_half_up(percent, 1.0, 1..=100)?;
    Some(match bands {
        Spo2Bands::ScaleOne => match percent {
            ..=91 => 3,
            92..=93 => 2,
            94..=95 => 1,
            96.. => 0,
        },
        Spo2Bands::ScaleTwoOnAir => match percent {
            ..=83 => 3,
            84..=85 => 2,
            86..=87 => 1,
            // Only given oxygen can take the drive to breathe from these patients; on air no saturation is too high.
            88.. => 0,
        },
        Spo2Bands::ScaleTwoOnOxygen => match percent {
            ..=83 => 3,
            84..=85 => 2,
            86..=87 => 1,
            88..=92 => 0,
            93..=94 => 1,
            95..=96 => 2,
            97.. => 3,
        },
    })
}

/// Sub-score of supplemental oxygen: 2 when it is given.
pub fn score_oxygen(oxygen: bool) -> u8 {
    if oxygen { 2 } else { 0 }
}

/// Sub-score of the systolic pressure in mmHg; None outside 20–350.
pub fn score_systolic(mmhg: f64) -> Option<u8> {
    Some(match round_half_up(mmhg, 1.0, 20..=350)? {
        ..=90 => 3,
        91..=100 => 2,
        101..=110 => 1,
        111..=219 => 0,
        220.. => 3,
    })
}

/// Sub-score of the pulse in beats per minute; None outside 1–350.
pub fn score_pulse(per_min: f64) -> Option<u8> {
    Some(match round_half_up(per_min, 1.0, 1..=350)? {
        ..=40 => 3,
        41..=50 => 1,
        51..=90 => 0,
        91..=110 => 1,
        111..=130 => 2,
        131.. => 3,
    })
}

/// Sub-score of the level of consciousness: 3 for all but alert.
pub fn score_consciousness(level: Consciousness) -> u8 {
    if level == Consciousness::Alert { 0 } else { 3 }
}

/// Sub-score of the body temperature in °C (never a skin temperature); None outside 20–46.
pub fn score_temperature(celsius: f64) -> Option<u8> {
    Some(match round_half_up(celsius, 10.0, 200..=460)? {
        ..=350 => 3,
        351..=360 => 1,
        361..=380 => 0,
        381..=390 => 1,
        391.. => 2,
    })
}

/// Clinical risk by the sub-scores of all seven parameters.
pub fn risk(sub_scores: [u8; 7]) -> Risk {
    match sub_scores.iter().sum::<u8>() {
        7.. => Risk::High,
        5..=6 => Risk::Medium,
        // The chart asks for an urgent look at one parameter that is far off, however good the others are.
        _ if sub_scores.contains(&3) => Risk::LowMedium,
        _ => Risk::Low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_half_up_before_scoring() {
        assert_eq!(score_respiration(8.49), Some(3));
        assert_eq!(score_respiration(8.5), Some(1));
        assert_eq!(score_respiration(20.5), Some(2));
        assert_eq!(score_spo2(95.5, Spo2Bands::ScaleOne), Some(0));
        assert_eq!(score_spo2(95.49, Spo2Bands::ScaleOne), Some(1));
        assert_eq!(score_pulse(90.5), Some(1));
        assert_eq!(score_pulse(90.4), Some(0));
        assert_eq!(score_systolic(219.5), Some(3));
        assert_eq!(score_temperature(38.04), Some(0));
        assert_eq!(score_temperature(38.05), Some(1));
        assert_eq!(score_temperature(36.05), Some(0));
        assert_eq!(score_temperature(35.05), Some(1));
        assert_eq!(score_temperature(39.049), Some(1));
        assert_eq!(score_temperature(39.05), Some(2));
    }

    #[test]
    fn scale_two_counts_high_saturation_only_on_oxygen() {
        for (percent, on_oxygen) in [(92.0, 0), (93.0, 1), (94.0, 1), (95.0, 2), (96.0, 2), (97.0, 3), (100.0, 3)] {
            assert_eq!(score_spo2(percent, Spo2Bands::ScaleTwoOnOxygen), Some(on_oxygen));
            assert_eq!(score_spo2(percent, Spo2Bands::ScaleTwoOnAir), Some(0));
        }
        assert_eq!(score_spo2(83.0, Spo2Bands::ScaleTwoOnAir), Some(3));
    }

    #[test]
    fn what_is_no_measurement_has_no_score() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300] {
            assert_eq!(score_respiration(value), None);
            assert_eq!(score_spo2(value, Spo2Bands::ScaleOne), None);
            assert_eq!(score_spo2(value, Spo2Bands::ScaleTwoOnOxygen), None);
            assert_eq!(score_systolic(value), None);
            assert_eq!(score_pulse(value), None);
            assert_eq!(score_temperature(value), None);
        }
        assert_eq!(score_temperature(98.6), None, "degrees Fahrenheit");
        assert_eq!(score_spo2(101.0, Spo2Bands::ScaleOne), None);
    }

    #[test]
    fn risk_follows_total_then_single_three() {
        assert_eq!(risk([0; 7]), Risk::Low);
        assert_eq!(risk([2, 2, 0, 0, 0, 0, 0]), Risk::Low);
        assert_eq!(risk([0, 0, 0, 3, 0, 0, 0]), Risk::LowMedium);
        assert_eq!(risk([3, 1, 0, 0, 0, 0, 0]), Risk::LowMedium);
        assert_eq!(risk([3, 2, 0, 0, 0, 0, 0]), Risk::Medium);
        assert_eq!(risk([1, 1, 0, 1, 1, 0, 1]), Risk::Medium);
        assert_eq!(risk([2, 2, 0, 2, 0, 0, 0]), Risk::Medium);
        assert_eq!(risk([2, 2, 0, 2, 1, 0, 0]), Risk::High);
        assert_eq!(risk([3, 3, 2, 3, 3, 3, 3]), Risk::High);
    }
}
