//! The signals look like those of a person, and like the scenario they play.
#![allow(clippy::unwrap_used)]

use bracelet::signals::acc::acceleration;
use bracelet::signals::ecg::ecg;
use bracelet::signals::hrv::{analyse, hrv_rows};
use bracelet::signals::ppg::{TRANSIT_MS, ppg};
use bracelet::signals::rr::{BLOCK_MS, BeatBlock, rr_intervals};
use bracelet::{Course, HOUR_MS, MINUTE_MS, Movement, Patient, Scenario, Stage, Wear};

/// 2025-11-20T00:00:00Z
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn patient(index: u64, scenario: Scenario) -> Patient {
    Patient::new(23, index, scenario, MIDNIGHT_MS, "Europe/Zurich").unwrap()
}

fn course(patient: &Patient) -> Course<'_> {
    Course::new(patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS).unwrap()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    assert!(!values.is_empty());
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn mean_intervals_agree_with_the_heart_rate_in_every_scenario() {
    for scenario in [Scenario::Healthy, Scenario::AtrialFibrillation, Scenario::Deteriorating] {
        for index in 0..4 {
            let patient = patient(index, scenario);
            let course = course(&patient);
            for block in (0..288).step_by(3) {
                let from_ms = MIDNIGHT_MS + block * BLOCK_MS;
                let minutes = from_ms / MINUTE_MS..from_ms / MINUTE_MS + 6;
                let rates: Vec<f64> = minutes.map(|m| course.minute(m).heart_rate).collect();
                // Trapezoid over the five minutes.
                let ends = f64::midpoint(rates[0], rates[5]);
                let expected = (rates[1..5].iter().sum::<f64>() + ends) / 5.0;
                let beats = BeatBlock::new(&course, from_ms / BLOCK_MS).intervals_ms().len() as f64;
                let tolerance = if scenario == Scenario::AtrialFibrillation { 0.06 } else { 0.015 };
                assert!(
                    (beats / 5.0 / expected - 1.0).abs() < tolerance,
                    "{scenario} {index} {block}: {beats} beats, rate {expected}"
                );
            }
        }
    }
}

#[test]
fn intervals_join_without_gap_and_no_two_beats_share_a_millisecond() {
    let patient = patient(1, Scenario::AtrialFibrillation);
    let course = course(&patient);
    let rows = rr_intervals(&course, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS);
    let mut gaps = 0;
    for pair in rows.windows(2) {
        assert!(pair[1].timestamp_ms > pair[0].timestamp_ms);
        if pair[1].timestamp_ms - pair[0].timestamp_ms != pair[1].rr_ms {
            gaps += 1;
        }
    }
    assert_eq!(gaps, 1, "only while the bracelet is charged");
}

/// Median of successive differences over the mean interval: the usual first feature of fibrillation.
fn irregularity(block: &BeatBlock) -> f64 {
    let intervals = block.intervals_ms();
    let differences = intervals.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(differences) / mean(intervals.iter().copied())
}

#[test]
fn fibrillation_is_irregular_and_sinus_rhythm_is_not() {
    for index in 0..6 {
        let (healthy, ill) = (patient(index, Scenario::Healthy), patient(index, Scenario::AtrialFibrillation));
        let (healthy, ill) = (course(&healthy), course(&ill));
        for block in (0..288).step_by(7) {
            let number = MIDNIGHT_MS / BLOCK_MS + block;
            let regular = irregularity(&BeatBlock::new(&healthy, number));
            let irregular = irregularity(&BeatBlock::new(&ill, number));
            assert!(regular < 0.05, "{index} {block}: {regular}");
            assert!(irregular > 0.12, "{index} {block}: {irregular}");
            // Before the onset the heart is in sinus rhythm.
            let before = irregularity(&BeatBlock::new(&ill, number - 288));
            assert!(before < 0.05, "{index} {block}: {before}");
        }
    }
}

#[test]
fn sinus_rhythm_breathes() {
    // The rate of the high-frequency peak is not looked for; its power must dominate at rest in the young.
    let patient = (0..50)
        .map(|index| patient(index, Scenario::Healthy))
        .find(|patient| patient.baseline.age_years < 32.0)
        .unwrap();
    let course = course(&patient);
    let rows = hrv_rows(&course, MIDNIGHT_MS, MIDNIGHT_MS + 4 * HOUR_MS);
    assert_eq!(rows.len(), 48);
    for row in &rows {
        assert!((15.0..110.0).contains(&row.rmssd_ms), "{row:?}");
        assert!((15.0..150.0).contains(&row.sdnn_ms), "{row:?}");
        assert!(row.bands_ms2.iter().all(|power| *power > 0.0));
    }
    let high = mean(rows.iter().map(|row| row.bands_ms2[2]));
    let low = mean(rows.iter().map(|row| row.bands_ms2[1]));
    assert!(high > low, "HF {high} LF {low}");
    // Parseval: the bands hold about the variance of the intervals.
    let variance = mean(rows.iter().map(|row| row.sdnn_ms.powi(2)));
    let total = mean(rows.iter().map(|row| row.bands_ms2.iter().sum()));
    assert!((0.6..1.4).contains(&(total / variance)), "{total} of {variance}");
}

#[test]
fn hrv_of_even_beats_is_that_of_a_metronome() {
    let beats_ms: Vec<f64> = (0..=375).map(|beat| f64::from(beat) * 800.0).collect();
    let row = analyse(&BeatBlock { start_ms: 0, beats_ms, breaths_ms: Vec::new() });
    assert!((row.mrr_ms - 800.0).abs() < 1e-9 && row.sdnn_ms < 1e-9 && row.rmssd_ms < 1e-9);
    assert!((row.amo_percent - 100.0).abs() < 1e-9 && (row.mo_s - 0.825).abs() < 1e-9);
    assert_eq!(row.timestamp_ms, BLOCK_MS);
}

/// Returns the published NEWS2 table, scale 1, on air, alert; values rounded as it demands.
fn news2(minute: &bracelet::Minute) -> u32 {
    let respiration = match minute.respiration_rate.round() as i64 {
        ..=8 | 25.. => 3,
        9..=11 => 1,
        12..=20 => 0,
        21..=24 => 2,
    };
    let oxygen = match minute.spo2.round() as i64 {
        ..=91 => 3,
        92..=93 => 2,
        94..=95 => 1,
        96.. => 0,
    };
    let pressure = match minute.systolic_mmhg.round() as i64 {
        ..=90 | 220.. => 3,
        91..=100 => 2,
        101..=110 => 1,
        111..=219 => 0,
    };
    let pulse = match minute.heart_rate.round() as i64 {
        ..=40 | 131.. => 3,
        41..=50 | 91..=110 => 1,
        51..=90 => 0,
        111..=130 => 2,
    };
    let temperature = match (minute.core_temp_c * 10.0).round() as i64 {
        ..=350 => 3,
        351..=360 | 381..=390 => 1,
        361..=380 => 0,
        391.. => 2,
    };
    respiration + oxygen + pressure + pulse + temperature
}

#[test]
fn deterioration_raises_news2_over_hours() {
    for index in 0..8 {
        let ill = patient(index, Scenario::Deteriorating);
        let course = course(&ill);
        let score_at = |hours: i64| {
            let first = (MIDNIGHT_MS + hours * HOUR_MS) / MINUTE_MS;
            mean((first..first + 30).map(|minute| f64::from(news2(&course.minute(minute)))))
        };
        let scores = [score_at(0), score_at(3), score_at(5), score_at(9)];
        assert!(scores[0] <= 2.0, "{index}: {scores:?}");
        assert!(scores.windows(2).all(|pair| pair[0] < pair[1]), "{index}: {scores:?}");
        assert!(scores[3] >= 7.0, "{index}: {scores:?}");
        let (before, after) =
            (course.minute(MIDNIGHT_MS / MINUTE_MS), course.minute((MIDNIGHT_MS + 9 * HOUR_MS) / MINUTE_MS));
        assert!(after.respiration_rate > before.respiration_rate + 8.0);
        assert!(after.heart_rate > before.heart_rate + 30.0);
        assert!(after.spo2 < before.spo2 - 5.0);
        assert!(after.core_temp_c > before.core_temp_c + 1.5);
    }
}

#[test]
fn a_healthy_day_has_its_rhythm() {
    for index in 0..8 {
        let patient = patient(index, Scenario::Healthy);
        let course = course(&patient);
        let minutes: Vec<_> = (0..1_440).map(|m| course.minute(MIDNIGHT_MS / MINUTE_MS + m)).collect();
        let resting = |minute: &&bracelet::Minute| minute.exertion < 0.02;
        let asleep = mean(minutes.iter().filter(|m| m.stage == Some(Stage::Deep)).map(|m| m.heart_rate));
        let awake = mean(minutes.iter().filter(resting).filter(|m| m.stage.is_none()).map(|m| m.heart_rate));
        assert!(asleep + 5.0 < awake, "{asleep} {awake}");
        let skin = |is_asleep: bool| {
            mean(minutes.iter().filter(resting).filter(|m| m.stage.is_some() == is_asleep).map(|m| m.skin_temp_c[0]))
        };
        assert!(skin(true) > skin(false) + 0.5);
        let walking: Vec<_> = minutes.iter().filter(|m| m.movement == Movement::Walk).collect();
        assert!(walking.len() > 10 && walking.iter().all(|m| m.steps > 80));
        assert!(mean(walking.iter().map(|m| m.heart_rate)) > awake + 5.0);
        assert!(minutes.iter().all(|m| m.stage.is_none() || m.steps == 0), "nobody walks in bed");
        let resting_news =
            mean(minutes.iter().filter(resting).filter(|m| m.stage.is_none()).map(|m| f64::from(news2(m))));
        assert!(resting_news < 1.0, "{resting_news}");
        let charging = minutes.iter().filter(|m| m.wear == Wear::Charging).count();
        assert!((40..65).contains(&charging));
        assert!(minutes.iter().all(|m| (2.0..=100.0).contains(&m.battery_percent)));
        assert!(minutes.iter().any(|m| m.battery_percent > 98.0));
    }
}

#[test]
fn the_electrocardiogram_has_a_peak_at_every_beat() {
    const RATE: usize = 256;
    for scenario in [Scenario::Healthy, Scenario::AtrialFibrillation] {
        let patient = patient(2, scenario);
        let course = course(&patient);
        let block = BeatBlock::new(&course, (MIDNIGHT_MS + 13 * HOUR_MS) / BLOCK_MS);
        let from_s = block.start_ms / 1_000;
        let signal = ecg(&course, RATE as u32, from_s, from_s + 300);
        assert_eq!(signal.len(), 300 * RATE);
        let peaks: Vec<usize> = (1..signal.len() - 1)
            .filter(|&i| signal[i] > 0.75 && signal[i] >= signal[i - 1] && signal[i] > signal[i + 1])
            .collect();
        let expected: Vec<f64> = block.beats_ms.iter().filter(|b| **b > 5.0 && **b < 299_990.0).copied().collect();
        assert_eq!(peaks.len().abs_diff(expected.len()), 0, "{scenario}");
        for beat_ms in expected {
            let nearest =
                peaks.iter().map(|p| (*p as f64 * 1_000.0 / RATE as f64 - beat_ms).abs()).fold(f64::MAX, f64::min);
            assert!(nearest < 6.0, "{scenario}: beat at {beat_ms}, nearest peak {nearest} ms away");
        }
    }
}

#[test]
fn every_pulse_darkens_the_light_once_and_red_follows_the_saturation() {
    const RATE: usize = 128;
    let patient = patient(3, Scenario::Deteriorating);
    let course = course(&patient);
    let ratio_at = |hours: i64| {
        let block = BeatBlock::new(&course, (MIDNIGHT_MS + hours * HOUR_MS) / BLOCK_MS);
        let from_s = block.start_ms / 1_000;
        let signal = ppg(&course, RATE as u32, from_s, from_s + 300);
        let depth = |channel: usize| {
            let values: Vec<f64> = signal.values[channel].iter().map(|v| f64::from(*v)).collect();
            let depths = block.beats_ms.windows(2).skip(1).filter_map(|pair| {
                let index = |ms: f64| ((ms + TRANSIT_MS) * RATE as f64 / 1_000.0) as usize;
                let cycle = values.get(index(pair[0])..index(pair[1]))?;
                let high = cycle.iter().copied().fold(f64::MIN, f64::max);
                let low = cycle.iter().copied().fold(f64::MAX, f64::min);
                // The darkest moment lies in the first half of the cycle.
                let darkest = cycle.iter().position(|v| *v <= low)?;
                assert!(darkest * 2 < cycle.len(), "{darkest} of {}", cycle.len());
                Some((high - low) / high)
            });
            median(depths.collect())
        };
        let infra_red = depth(2);
        assert!((0.008..0.02).contains(&infra_red), "{infra_red}");
        depth(1) / infra_red
    };
    assert!(ratio_at(8) > ratio_at(0) * 1.3, "less oxygen, more red light taken");
}

#[test]
fn acceleration_is_one_g_at_rest_and_counts_the_steps_of_a_walk() {
    const RATE: usize = 32;
    let patient = patient(4, Scenario::Healthy);
    let course = course(&patient);
    let magnitudes = |minute: i64| -> Vec<f64> {
        let [x, y, z] = acceleration(&course, RATE as u32, minute * 60, minute * 60 + 60).axes;
        x.iter()
            .zip(&y)
            .zip(&z)
            .map(|((x, y), z)| [x, y, z].into_iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt() / 512.0)
            .collect()
    };
    let first = MIDNIGHT_MS / MINUTE_MS;
    for minute in first..first + 1_440 {
        let truth = course.minute(minute);
        if truth.movement == Movement::Rest && minute % 10 == 0 {
            assert!((mean(magnitudes(minute).into_iter()) - 1.0).abs() < 0.05);
        }
        if truth.movement == Movement::Walk {
            let values = magnitudes(minute);
            // One upward crossing of a smoothed signal per step.
            let smooth: Vec<f64> = values.windows(5).map(|w| w.iter().sum::<f64>() / 5.0).collect();
            let centre = mean(smooth.iter().copied());
            let crossings = smooth.windows(2).filter(|w| w[0] < centre && w[1] >= centre).count();
            assert!(crossings.abs_diff(truth.steps as usize) <= 6, "{crossings} for {} steps", truth.steps);
        }
    }
}
