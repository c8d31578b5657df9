//! AF detection against annotated recordings, and the rules of its windows.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use proptest::prelude::*;
use vitals::af::{AfWindow, Classification, WINDOW_BEATS, classify, classify_by_hour};
use vitals::beats::Beat;

/// Beats of a record; the rhythm of the beat that ends each interval, empty where not annotated.
fn record(name: &str, rate_hz: f64) -> Option<(Vec<Beat>, Vec<bool>)> {
    let rows = recordings::rows(name)?;
    let beats: Vec<_> = rows.iter().filter(|row| row.get(1).is_none_or(|symbol| symbol != "~")).collect();
    let ms = |row: &[String]| row[0].parse::<f64>().unwrap() * 1000.0 / rate_hz;
    let intervals = beats.windows(2).map(|pair| {
        let time_ms = ms(pair[1]);
        let beat = Beat { time_ms: time_ms.round() as i64, rr_ms: time_ms - ms(pair[0]), good: true };
        let af = |row: &[String]| row.get(2).is_some_and(|rhythm| rhythm == "AFIB" || rhythm == "AFL");
        (beat, af(pair[0]) && af(pair[1]))
    });
    Some(intervals.unzip())
}

fn found(window: &AfWindow) -> bool {
    window.classification == Classification::Af
}

#[test]
fn fibrillation_is_found_in_patients_84_and_101() {
    let (mut wholly, mut missed, mut outvoted) = (0, 0, 0);
    for name in ["84_1", "84_2", "84_3", "101_6", "101_8", "101_9"] {
        let Some((beats, af)) = record(&format!("rr/cpsc2021_{name}_beats.csv"), 200.0) else {
            return;
        };
        let windows = classify(&beats);
        assert_eq!(windows.len(), beats.len() / WINDOW_BEATS);
        for (window, af) in windows.iter().zip(af.chunks_exact(WINDOW_BEATS)) {
            if af.iter().all(|af| *af) {
                wholly += 1;
                missed += u32::from(!found(window));
                outvoted += u32::from(window.af_detected != Some(true));
            }
        }
    }
    assert!(wholly >= 18, "{wholly} windows");
    assert!(missed <= 1, "{missed} of {wholly} missed");
    assert!(outvoted <= 2, "{outvoted} of {wholly} outvoted");
}

#[test]
fn none_is_found_in_patient_21() {
    for name in ["21_7", "21_8", "21_9"] {
        let Some((beats, _)) = record(&format!("rr/cpsc2021_{name}_beats.csv"), 200.0) else {
            return;
        };
        let windows = classify(&beats);
        assert!(windows.len() >= 4);
        assert!(!windows.iter().any(found), "{name}");
        assert!(windows.iter().all(|window| window.af_detected == Some(false)));
    }
}

#[test]
fn hardly_any_false_window_in_a_day_of_normal_rhythm() {
    let Some((beats, _)) = record("rr/nsr001_beats.csv.gz", 128.0) else {
        return;
    };
    let windows = classify(&beats);
    assert!(windows.len() >= 1655, "{}", windows.len());
    let alarms = windows.iter().filter(|window| found(window)).count();
    assert!(alarms <= 3, "{alarms} false windows of {}", windows.len());
    let unclassified = windows.iter().filter(|w| w.classification == Classification::Unc).count();
    assert!(unclassified < windows.len() / 50, "{unclassified} unclassified");
    let voted = windows.iter().filter(|window| window.af_detected == Some(true)).count();
    assert!(voted <= alarms, "the majority calms, it does not alarm");
}

fn sinus(count: usize, start_ms: i64) -> Vec<Beat> {
    let mut time_ms = start_ms;
    (0..count)
        .map(|i| {
            let rr_ms = 850.0 + 25.0 * (i as f64 * 0.4).sin();
            time_ms += rr_ms as i64;
            Beat { time_ms, rr_ms, good: true }
        })
        .collect()
}

#[test]
fn fewer_than_fifty_good_intervals_are_unclassified() {
    for (poor, class) in [(14, Classification::Nsr), (15, Classification::Unc)] {
        let mut beats = sinus(64, 0);
        for beat in &mut beats[20..20 + poor] {
            beat.good = false;
        }
        let window = classify(&beats)[0];
        assert_eq!(window.classification, class);
        assert_eq!(window.good_ibi_number, 64 - poor);
        assert_eq!(window.nsr_probability.is_some(), class == Classification::Nsr);
        assert_eq!(window.af_detected.is_some(), class == Classification::Nsr);
    }
}

#[test]
fn counting_begins_again_each_hour() {
    let hour_ms = 3_600_000;
    let beats = sinus(10_000, hour_ms * 489_000 - 50 * 850);
    let windows = classify_by_hour(&beats);
    let first_of_hour = beats.iter().find(|beat| beat.time_ms >= hour_ms * 489_000).unwrap();
    assert!(beats[..64].iter().any(|beat| beat.time_ms >= hour_ms * 489_000));
    assert_eq!(windows[0].time_ms, first_of_hour.time_ms, "the short first hour has no window");
    let later: Vec<Beat> = beats.iter().copied().filter(|b| b.time_ms >= hour_ms * 489_001).collect();
    let alone = classify_by_hour(&later);
    assert_eq!(windows[windows.len() - alone.len()..], alone[..], "hours are independent");
}

#[test]
fn slow_windows_have_a_low_frequency_power() {
    let slow: Vec<Beat> =
        (1..=64).map(|i| Beat { time_ms: i * 1900, rr_ms: 1900.0 + (i as f64).sin(), good: true }).collect();
    let window = classify(&slow)[0];
    assert!(window.lf.unwrap() > 0.0);
    assert_eq!(window.lf_confidence, Some(1.0));
    assert_eq!(classify(&sinus(64, 0))[0].lf, None);
}

#[test]
fn nothing_in_nothing_out() {
    assert!(classify(&[]).is_empty());
    assert!(classify(&sinus(63, 0)).is_empty());
    let absurd = vec![Beat { time_ms: i64::MAX, rr_ms: f64::NAN, good: true }; 64];
    let window = classify(&absurd)[0];
    assert_eq!(window.classification, Classification::Unc);
    assert_eq!((window.avnn, window.heart_rate, window.features), (None, None, None));
}

proptest! {
    #[test]
    fn any_rows_give_probabilities(
        rows in prop::collection::vec((0..3000i64, prop_oneof![
            9 => 250.0..2200.0f64, 1 => prop::num::f64::ANY], any::<bool>()), 0..300),
    ) {
        let mut time_ms = 0;
        let beats: Vec<Beat> = rows.into_iter().map(|(step_ms, rr_ms, good)| {
            time_ms += step_ms;
            Beat { time_ms, rr_ms, good }
        }).collect();
        for window in classify(&beats) {
            prop_assert!((0.0..=1.0).contains(&window.afb_probability));
            prop_assert!((0.0..=1.0).contains(&window.final_probability));
            prop_assert!((0.0..=1.0).contains(&window.good_quality_probability));
            prop_assert!(window.sdnn.is_none_or(f64::is_finite));
            prop_assert_eq!(found(&window), window.afb_probability > 0.5);
            prop_assert_eq!(window.af_time_ms.is_some(), window.af_detected == Some(true));
        }
    }

    #[test]
    fn the_rule_is_the_probability(noise in prop::collection::vec(-1.0..1.0f64, 64), spread in 0.0..0.5f64) {
        let mut time_ms = 0;
        let beats: Vec<Beat> = noise.iter().map(|noise| {
            let rr_ms = 800.0 * (1.0 + spread * noise);
            time_ms += rr_ms as i64;
            Beat { time_ms, rr_ms, good: true }
        }).collect();
        let window = classify(&beats)[0];
        let features = window.features.unwrap();
        let rule = features.relative_difference > 0.06 && features.cosen > -1.4;
        prop_assert_eq!(found(&window), rule);
    }
}
