//! The NEWS2 table: one function per parameter, measurement in, sub-score out.
//!
//! The table is printed for whole numbers (tenths for temperature), so a measurement is rounded
//! half up to that grid before it is scored: otherwise 38.04 °C would fall between two bands.
//! What cannot be a measurement (NaN, zero, outside what a body can show) has no score; that
//! keeps a raw 0 and degrees Fahrenheit out.

#![allow(clippy::match_same_arms, reason = "the arms stand in the order of the printed table")]

use super::{Consciousness, Risk, Spo2Scale};

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

/// Sub-score of the oxygen saturation in percent; None outside 1–100. On scale 2 a high
/// saturation scores only while oxygen is given.
pub fn score_spo2(percent: f64, scale: Spo2Scale, oxygen: bool) -> Option<u8> {
    let percent = round_half_up(percent, 1.0, 1..=100)?;
    Some(match (scale, percent) {
        (Spo2Scale::One, ..=91) | (Spo2Scale::Two, ..=83) => 3,
        (Spo2Scale::One, 92..=93) | (Spo2Scale::Two, 84..=85) => 2,
        (Spo2Scale::One, 94..=95) | (Spo2Scale::Two, 86..=87) => 1,
        (Spo2Scale::One, 96..) | (Spo2Scale::Two, 88..=92) => 0,
        (Spo2Scale::Two, _) if !oxygen => 0,
        (Spo2Scale::Two, 93..=94) => 1,
        (Spo2Scale::Two, 95..=96) => 2,
        (Spo2Scale::Two, 97..) => 3,
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

/// Clinical risk of a total; `single_three` says whether any one parameter scored 3.
pub fn risk(total: u8, single_three: bool) -> Risk {
    match total {
        7.. => Risk::High,
        5..=6 => Risk::Medium,
        _ if single_three => Risk::LowMedium,
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
        assert_eq!(score_spo2(95.5, Spo2Scale::One, false), Some(0));
        assert_eq!(score_spo2(95.49, Spo2Scale::One, false), Some(1));
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
            assert_eq!(score_spo2(percent, Spo2Scale::Two, true), Some(on_oxygen));
            assert_eq!(score_spo2(percent, Spo2Scale::Two, false), Some(0));
        }
        assert_eq!(score_spo2(83.0, Spo2Scale::Two, false), Some(3));
    }

    #[test]
    fn what_is_no_measurement_has_no_score() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300] {
            assert_eq!(score_respiration(value), None);
            assert_eq!(score_spo2(value, Spo2Scale::One, false), None);
            assert_eq!(score_spo2(value, Spo2Scale::Two, true), None);
            assert_eq!(score_systolic(value), None);
            assert_eq!(score_pulse(value), None);
            assert_eq!(score_temperature(value), None);
        }
        assert_eq!(score_temperature(98.6), None, "degrees Fahrenheit");
        assert_eq!(score_spo2(101.0, Spo2Scale::One, false), None);
    }

    #[test]
    fn risk_follows_total_then_single_three() {
        assert_eq!(risk(0, false), Risk::Low);
        assert_eq!(risk(4, false), Risk::Low);
        assert_eq!(risk(3, true), Risk::LowMedium);
        assert_eq!(risk(5, true), Risk::Medium);
        assert_eq!(risk(6, false), Risk::Medium);
        assert_eq!(risk(7, false), Risk::High);
        assert_eq!(risk(20, true), Risk::High);
    }
}
