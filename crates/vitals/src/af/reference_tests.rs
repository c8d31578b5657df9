//! Atrial fibrillation: features from their definitions, classes at their thresholds, records as bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::record::{records_of_hour, with_times};
use super::*;
use crate::beats::{Beat, missing_before, plausible};

fn beats(rr_ms: &[f64]) -> Vec<Beat> {
    let mut time_ms = 0.0;
    let next = |rr: &f64| {
        time_ms += rr;
        Beat { time_ms: time_ms as i64, rr_ms: *rr, good: true }
    };
    rr_ms.iter().map(next).collect()
}

fn any_beats() -> impl Strategy<Value = Vec<Beat>> {
    let rr = prop_oneof![12 => 500.0..1200.0_f64, 1 => 150.0..310.0_f64, 1 => 1990.0..2500.0_f64];
    vec((rr, prop::bool::weighted(0.93), prop_oneof![20 => Just(0_i64), 1 => 2_500..9_000_i64]), 0..80).prop_map(
        |rows| {
            let mut time_ms = 0;
            let next = |(rr_ms, good, late_ms): (f64, bool, i64)| {
                time_ms += rr_ms as i64 + late_ms;
                Beat { time_ms, rr_ms, good }
            };
            rows.into_iter().map(next).collect()
        },
    )
}

/// Returns the features written out: medians by sorting, matches by comparing every pair of pairs.
fn slow_features(beats: &[Beat]) -> Option<Features> {
    let is_good = |at: usize| plausible(&beats[at]);
    let is_joined =
        |at: usize| at > 0 && is_good(at - 1) && is_good(at) && missing_before(&beats[at - 1], &beats[at]) <= 0.0;
    let good: Vec<f64> = (0..beats.len()).filter(|at| is_good(*at)).map(|at| beats[at].rr_ms).collect();
    if good.len() < 12 {
        return None;
    }
    let mean = good.iter().sum::<f64>() / good.len() as f64;
    let ends: Vec<usize> = (1..beats.len()).filter(|at| is_joined(*at)).collect();
    let triples: Vec<usize> = ends.iter().copied().filter(|at| is_joined(at - 1)).collect();
    if triples.is_empty() {
        return None;
    }
    let rr = |at: usize| beats[at].rr_ms;
    let turns = triples.iter().filter(|at| {
        let middle = rr(**at - 1);
        (middle > rr(**at) && middle > rr(**at - 2)) || (middle < rr(**at) && middle < rr(**at - 2))
    });
    let mut differences: Vec<f64> = ends.iter().map(|at| (rr(*at) - rr(at - 1)).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let middle = differences.len() / 2;
    let median = if differences.len() % 2 == 1 {
        differences[middle]
    } else {
        f64::midpoint(differences[middle - 1], differences[middle])
    };

    let mut distances: Vec<(f64, f64)> = Vec::new();
    for (place, one) in ends.iter().enumerate() {
        for other in &ends[place + 1..] {
            let first = (rr(one - 1) - rr(other - 1)).abs();
            distances.push((first, first.max((rr(*one) - rr(*other)).abs())));
        }
    }
    let mut needed: Vec<f64> = distances.iter().map(|(_, both)| *both).collect();
    needed.sort_by(f64::total_cmp);
    let tolerance = needed.get(4)?.max(30.0);
    let first = distances.iter().filter(|(first, _)| *first <= tolerance).count() as f64;
    let both = distances.iter().filter(|(_, both)| *both <= tolerance).count() as f64;
    Some(Features {
        relative_difference: median / mean,
        cosen: (first / both).ln() + (2.0 * tolerance).ln() - mean.ln(),
        turning_point_ratio: turns.count() as f64 / triples.len() as f64,
    })
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9 * one.abs().max(1.0)
}

/// Random numbers of a seed, 0 to 1: the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn stored(records: Vec<AfRecord>) -> Vec<StoredRecord> {
    with_times(records, &[], 1_763_600_000_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn features_are_those_of_the_definitions(beats in any_beats()) {
        match (features(&beats), slow_features(&beats)) {
            (Some(found), Some(expected)) => {
                prop_assert!(is_near(found.relative_difference, expected.relative_difference));
                prop_assert!(is_near(found.cosen, expected.cosen), "{} {}", found.cosen, expected.cosen);
                prop_assert!(is_near(found.turning_point_ratio, expected.turning_point_ratio));
            }
            (found, expected) => prop_assert_eq!(found.is_some(), expected.is_some()),
        }
    }

    #[test]
    fn windows_are_sixty_four_beats_of_one_hour(beats in any_beats(), hours_ms in 0_i64..4_000_000) {
        let late: Vec<Beat> = beats.iter().map(|beat| Beat { time_ms: beat.time_ms + hours_ms, ..*beat }).collect();
        let mut expected = 0;
        for hour in 0..3 {
            expected += late.iter().filter(|beat| hour_of(beat.time_ms) == hour * HOUR_MS).count() / WINDOW_BEATS;
        }
        let windows = classify_by_hour(&late);
        prop_assert_eq!(windows.len(), expected);
        for window in &windows {
            prop_assert_eq!(hour_of(window.time_ms), hour_of(window.end_ms));
            let within = late.iter().filter(|beat| (window.time_ms..=window.end_ms).contains(&beat.time_ms));
            prop_assert!(within.count() >= WINDOW_BEATS);
            let is_unclassified = window.classification == Classification::Unc;
            prop_assert_eq!(window.features.is_none(), is_unclassified);
            prop_assert_eq!(window.classification == Classification::Af, window.afb_probability > 0.5);
            prop_assert!(!is_unclassified || window.afb_probability.abs() < 1e-12);
        }
    }

    #[test]
    fn records_are_read_as_they_were_packed(
        rr_ms in vec(400.0..1400.0_f64, 64..400), poor in vec(any::<prop::sample::Index>(), 0..30), offset_s in -43_200..50_400_i32,
    ) {
        let mut rows = beats(&rr_ms);
        for index in poor {
            let at = index.index(rows.len());
            rows[at].good = false;
        }
        let stored = stored(records_of_hour(&rows, |_| offset_s));
        let bytes = pack_hour(&stored);
        prop_assert_eq!(unpack_hour(&bytes).unwrap(), stored.clone());
        for length in 0..bytes.len() {
            prop_assert_eq!(unpack_hour(&bytes[..length]), None);
        }
    }

    #[test]
    fn damaged_records_do_no_harm(bytes in vec(any::<u8>(), 0..80), at in any::<prop::sample::Index>(), byte: u8) {
        unpack_hour(&bytes);
        unpack_hour(&[&[1], bytes.as_slice()].concat());
        let mut packed = pack_hour(&stored(records_of_hour(&beats(&[800.0; 130]), |_| 0)));
        let at = at.index(packed.len());
        packed[at] = byte;
        unpack_hour(&packed);
    }

    #[test]
    fn what_follows_from_a_record_is_rounded_to_its_digits(rr_ms in vec(400.0..1400.0_f64, 64..65)) {
        let record = records_of_hour(&beats(&rr_ms), |_| 0)[0];
        let is_rounded = |value: f64, digits: f64| ((value * digits).round() / digits - value).abs() < 1e-12;
        prop_assert!(is_rounded(record.afb_probability, 1e6) && is_rounded(record.good_quality_probability(), 1e6));
        for value in [record.avnn, record.sdnn, record.rmssd, record.pnn50, record.heart_rate()].into_iter().flatten() {
            prop_assert!(is_rounded(value, 1e3), "{}", value);
        }
        let complement = record.nsr_probability().map(|nsr| nsr + record.afb_probability);
        prop_assert!(complement.is_none_or(|sum| (sum - 1.0).abs() < 1e-9));
        prop_assert_eq!(record.lf_confidence().is_some(), record.lf.is_some());
    }
}

#[test]
fn irregular_irregularity_is_fibrillation_and_other_rhythms_are_not() {
    let mut random = noise(7);
    let of = |rr: &mut dyn FnMut(usize) -> f64| {
        let rr_ms: Vec<f64> = (0..64 * 3).map(rr).collect();
        classify(&beats(&rr_ms)).into_iter().map(|window| window.classification).collect::<Vec<_>>()
    };
    assert_eq!(of(&mut |_| 450.0 + 500.0 * random()), [Classification::Af; 3], "no pattern at all");
    let mut random = noise(8);
    assert_eq!(of(&mut |_| 850.0 + 12.0 * random()), [Classification::Nsr; 3], "a calm heart");
    assert_eq!(
        of(&mut |at| 850.0 + 70.0 * (at as f64 * 0.9).sin()),
        [Classification::Nsr; 3],
        "a young heart that follows the breath"
    );
    assert_eq!(
        of(&mut |at| if at % 2 == 0 { 600.0 } else { 1000.0 }),
        [Classification::Nsr; 3],
        "every second beat extra"
    );
    assert_eq!(of(&mut |at| 1000.0 - 4.0 * (at % 64) as f64), [Classification::Nsr; 3], "running off");
}

#[test]
fn a_window_between_two_others_is_outvoted() {
    let mut random = noise(3);
    let mut rr_ms = vec![800.0; 64];
    rr_ms.extend((0..64).map(|_| 450.0 + 500.0 * random()));
    rr_ms.extend([800.0; 64]);
    let windows = classify(&beats(&rr_ms));
    assert_eq!(windows.iter().map(|window| window.classification.name()).collect::<Vec<_>>(), ["NSR", "AF", "NSR"]);
    assert!(windows.iter().all(|window| window.af_detected == Some(false)));
    assert!(windows[1].afb_probability > 0.5 && windows[1].final_probability < 0.5);
    let alone = classify(&beats(&rr_ms[64..128]));
    assert_eq!((alone[0].af_detected, alone[0].af_time_ms), (Some(true), Some(alone[0].time_ms)), "nobody else votes");
}

#[test]
fn most_windows_have_to_be_classified_for_a_verdict() {
    let mut rows = beats(&[800.0; 64 * 3]);
    rows.iter_mut().take(128).for_each(|beat| beat.good = false);
    let windows = classify(&rows);
    assert_eq!(windows.iter().map(|window| window.classification.name()).collect::<Vec<_>>(), ["UNC", "UNC", "NSR"]);
    assert!(windows.iter().all(|window| window.af_detected.is_none()));
    assert_eq!(windows[0].nsr_probability, None);
}

#[test]
fn fifty_good_intervals_are_enough_and_one_less_is_not() {
    for (poor, class) in [(14, Classification::Nsr), (15, Classification::Unc)] {
        let mut rows = beats(&[800.0; 64]);
        rows.iter_mut().take(poor).for_each(|beat| beat.good = false);
        let window = classify(&rows)[0];
        assert_eq!((window.classification, window.good_ibi_number), (class, 64 - poor));
        assert!((window.good_quality_probability - (64 - poor) as f64 / 64.0).abs() < 1e-12);
    }
}

#[test]
fn hours_begin_at_the_hour_before_1970_too() {
    for (time_ms, hour_ms) in [(0, 0), (HOUR_MS - 1, 0), (HOUR_MS, HOUR_MS), (-1, -HOUR_MS), (-HOUR_MS, -HOUR_MS)] {
        assert_eq!(hour_of(time_ms), hour_ms, "{time_ms}");
    }
}

#[test]
fn records_keep_when_they_were_first_there() {
    let records = records_of_hour(&beats(&[800.0; 64 * 4]), |_| 0);
    let first = with_times(records[..3].to_vec(), &[], 100);
    assert!(first.iter().all(|one| (one.created_ms, one.updated_ms) == (100, 100)));
    let mut changed = records.clone();
    changed[0].offset_s = 3600;
    let second = with_times(changed, &first, 200);
    let times: Vec<(i64, i64)> = second.iter().map(|one| (one.created_ms, one.updated_ms)).collect();
    assert_eq!(times, [(100, 200), (100, 100), (100, 100), (200, 200)]);
    assert!(with_times(Vec::new(), &second, 300).is_empty(), "what is gone is gone");
}
