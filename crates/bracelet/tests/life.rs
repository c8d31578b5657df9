//! What a simulated life must be, no matter which patient lives it: days without gaps, nights in the night, sensors
//! that agree with each other.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

use bracelet::signals::acc::{COUNTS_PER_G, acceleration};
use bracelet::signals::ecg::ecg;
use bracelet::signals::eda::skin_conductance;
use bracelet::signals::gyro::rotation;
use bracelet::signals::hrv::analyse;
use bracelet::signals::ppg::ppg;
use bracelet::signals::rr::{BLOCK_MS, BeatBlock, rr_intervals};
use bracelet::{Course, DayPlan, HOUR_MS, MINUTE_MS, Movement, Patient, Scenario, Stage, Wear};
use jiff::civil::{Date, date};

/// 2025-11-20T00:00:00Z
const MIDNIGHT_MS: i64 = 1_763_596_800_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const ZONES: [&str; 5] = ["UTC", "Europe/Zurich", "America/St_Johns", "Asia/Kathmandu", "Pacific/Auckland"];

fn patient(index: u64, scenario: Scenario) -> Patient {
    Patient::new(53, index, scenario, MIDNIGHT_MS, ZONES[index as usize % ZONES.len()]).unwrap()
}

fn day_of(patient: &Patient) -> Course<'_> {
    Course::new(patient, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS).unwrap()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

#[test]
fn days_follow_each_other_without_gap_also_when_clocks_change() {
    for (zone, first) in [
        ("Europe/Zurich", date(2026, 3, 27)),
        ("Europe/Zurich", date(2026, 10, 23)),
        ("America/New_York", date(2026, 3, 6)),
        ("Australia/Lord_Howe", date(2026, 10, 2)),
        ("Asia/Kathmandu", date(2024, 2, 27)),
    ] {
        let patient = Patient::new(3, 1, Scenario::Healthy, 0, zone).unwrap();
        let mut day = first;
        let mut end_ms = None;
        for _ in 0..5 {
            let plan = DayPlan::new(&patient, day).unwrap();
            assert!(end_ms.is_none_or(|end_ms| end_ms == plan.start_ms), "{zone} {day}");
            let hours = (plan.end_ms - plan.start_ms) as f64 / HOUR_MS as f64;
            assert!((23.0..=25.0).contains(&hours), "{zone} {day}: {hours} h");
            end_ms = Some(plan.end_ms);
            day = day.tomorrow().unwrap();
        }
    }
}

#[test]
fn a_plan_has_a_life_in_the_right_order() {
    for index in 0..40 {
        let patient = patient(index, Scenario::Healthy);
        for day in 1..=20_i8 {
            let plan = DayPlan::new(&patient, Date::constant(2025, 11, day)).unwrap();
            assert!(
                plan.wake_ms() <= plan.charge_start_ms && plan.charge_start_ms < plan.charge_end_ms,
                "{index} {day}"
            );
            assert!(plan.charge_end_ms < plan.bed_ms, "{index} {day}");
            let hours = (plan.wake_ms() - plan.night.start_ms) as f64 / HOUR_MS as f64;
            assert!((5.0..11.0).contains(&hours), "{index} {day}: a night of {hours} h");
            for pair in plan.bouts.windows(2) {
                assert!(pair[0].end_ms + 5 * MINUTE_MS <= pair[1].start_ms, "{index} {day}: bouts are apart");
            }
            for bout in &plan.bouts {
                assert_eq!((bout.start_ms % MINUTE_MS, bout.end_ms % MINUTE_MS), (0, 0));
                assert!(plan.charge_end_ms <= bout.start_ms && bout.start_ms < plan.bed_ms, "{index} {day}");
                assert_eq!(bout.cadence > 0.0, bout.movement != Movement::Cycle);
                assert_eq!(plan.bout_at(bout.start_ms), Some(bout));
                assert_ne!(plan.bout_at(bout.end_ms), Some(bout), "the end is exclusive");
            }
        }
    }
}

#[test]
fn a_night_has_the_shares_of_a_healthy_hypnogram() {
    for index in 0..30 {
        let patient = patient(index, Scenario::Healthy);
        let plan = DayPlan::new(&patient, date(2025, 11, 20)).unwrap();
        let stages = &plan.night.stages;
        let share = |stage| stages.iter().filter(|own| **own == stage).count() as f64 / stages.len() as f64;
        assert!((0.08..0.30).contains(&share(Stage::Deep)), "{index}: deep {}", share(Stage::Deep));
        assert!((0.10..0.35).contains(&share(Stage::Rem)), "{index}: REM {}", share(Stage::Rem));
        assert!((0.30..0.70).contains(&share(Stage::Light)), "{index}: light {}", share(Stage::Light));
        assert!((0.01..0.20).contains(&share(Stage::Awake)), "{index}: awake {}", share(Stage::Awake));
        let half = stages.len() / 2;
        let count = |stages: &[Stage], stage| stages.iter().filter(|own| **own == stage).count();
        assert!(
            count(&stages[..half], Stage::Deep) > count(&stages[half..], Stage::Deep),
            "{index}: deep sleep comes early"
        );
        assert!(
            count(&stages[..half], Stage::Rem) < count(&stages[half..], Stage::Rem),
            "{index}: REM sleep comes late"
        );
        assert_eq!((stages[0], stages[stages.len() - 1]), (Stage::Awake, Stage::Awake), "{index}");
        assert_eq!(plan.night.stage_at(plan.night.start_ms - 1), None);
        assert_eq!(plan.night.stage_at(plan.wake_ms()), None);
    }
}

#[test]
fn the_battery_never_jumps_but_on_the_charger() {
    for index in 0..10 {
        for scenario in [Scenario::Healthy, Scenario::Charging, Scenario::NotWorn] {
            let patient = patient(index, scenario);
            let course = day_of(&patient);
            let first = MIDNIGHT_MS / MINUTE_MS;
            let minutes: Vec<_> = (first..first + 1440).map(|minute| course.minute(minute)).collect();
            for pair in minutes.windows(2) {
                let gain = pair[1].battery_percent - pair[0].battery_percent;
                // A charging ends with a full battery; a scenario may put the bracelet on the charger at its onset.
                let is_charging = pair.iter().any(|minute| minute.wear == Wear::Charging);
                assert!(
                    is_charging || (-0.2..=0.0).contains(&gain),
                    "{scenario} {index}: {gain} at {}",
                    pair[1].start_ms
                );
            }
        }
    }
}

#[test]
fn scenarios_begin_at_their_onset_and_are_healthy_before() {
    for scenario in Scenario::ALL {
        let onset_ms = MIDNIGHT_MS + 15 * HOUR_MS;
        let reported = Patient::new(5, 2, scenario, onset_ms, "UTC").unwrap();
        let healthy = Patient::new(5, 2, Scenario::Healthy, onset_ms, "UTC").unwrap();
        let (reported_course, healthy_course) = (day_of(&reported), day_of(&healthy));
        for minute in (0..900).step_by(11) {
            let number = MIDNIGHT_MS / MINUTE_MS + minute;
            assert_eq!(reported_course.minute(number), healthy_course.minute(number), "{scenario} before its onset");
        }
        let changes = (900..1440).any(|minute| {
            let number = MIDNIGHT_MS / MINUTE_MS + minute;
            reported_course.minute(number) != healthy_course.minute(number)
        });
        let is_reported_by_data = !matches!(scenario, Scenario::Healthy | Scenario::LateSync | Scenario::DuplicateSync);
        assert_eq!(changes, is_reported_by_data, "{scenario} after its onset");
    }
}

#[test]
fn deterioration_rises_smoothly_and_stays() {
    let patient = patient(1, Scenario::Deteriorating);
    assert!(patient.deterioration(MIDNIGHT_MS - 1).abs() < 1e-12 && patient.deterioration(MIDNIGHT_MS).abs() < 1e-12);
    let mut last = 0.0;
    for minute in 0..600 {
        let now = patient.deterioration(MIDNIGHT_MS + minute * MINUTE_MS);
        assert!(now >= last && now - last < 0.01, "{minute}");
        last = now;
    }
    assert!((last - 1.0).abs() < 1e-12);
    assert!((patient.deterioration(MIDNIGHT_MS + 4 * HOUR_MS) - 0.5).abs() < 1e-9, "half of it after half the time");
}

#[test]
fn a_window_of_waveforms_is_the_same_however_it_is_cut() {
    let patient = patient(4, Scenario::AtrialFibrillation);
    let course = day_of(&patient);
    let from_s = MIDNIGHT_MS / 1000 + 10 * 3600 + 290;
    // Over the border of two blocks and of two minutes.
    let cuts = [from_s, from_s + 3, from_s + 10, from_s + 11, from_s + 40];
    let whole = (from_s, from_s + 40);
    let pieces = || cuts.windows(2).map(|pair| (pair[0], pair[1]));
    let joined: Vec<f32> = pieces().flat_map(|(from, to)| ecg(&course, 128, from, to)).collect();
    assert_eq!(joined, ecg(&course, 128, whole.0, whole.1));
    for axis in 0..3 {
        let joined: Vec<i16> =
            pieces().flat_map(|(from, to)| acceleration(&course, 32, from, to).axes[axis].clone()).collect();
        assert_eq!(joined, acceleration(&course, 32, whole.0, whole.1).axes[axis]);
        let joined: Vec<f32> =
            pieces().flat_map(|(from, to)| rotation(&course, 32, from, to).axes[axis].clone()).collect();
        assert_eq!(joined, rotation(&course, 32, whole.0, whole.1).axes[axis]);
        let joined: Vec<u16> =
            pieces().flat_map(|(from, to)| ppg(&course, 64, from, to).values[axis].clone()).collect();
        assert_eq!(joined, ppg(&course, 64, whole.0, whole.1).values[axis]);
    }
    let joined: Vec<f64> = pieces().flat_map(|(from, to)| skin_conductance(&course, 4, from, to)).collect();
    assert_eq!(joined, skin_conductance(&course, 4, whole.0, whole.1));
}

#[test]
fn blocks_of_beats_are_full_and_join_at_their_ends() {
    for index in 0..6 {
        let patient = patient(index, if index % 2 == 0 { Scenario::Healthy } else { Scenario::AtrialFibrillation });
        let course = day_of(&patient);
        for number in 0..40 {
            let block = BeatBlock::new(&course, MIDNIGHT_MS / BLOCK_MS + number);
            for times in [&block.beats_ms, &block.breaths_ms] {
                assert!(
                    times[0].abs() < 1e-9 && (times[times.len() - 1] - BLOCK_MS as f64).abs() < 1e-9,
                    "{index} {number}"
                );
                assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{index} {number}");
            }
            let intervals = block.intervals_ms();
            assert!(intervals.iter().all(|rr| (290.0..2100.0).contains(rr)), "{index} {number}: {intervals:?}");
        }
    }
}

/// The device's own analysis, from the definitions.
#[test]
fn the_analysis_of_a_block_is_that_of_the_definitions() {
    for index in 0..6 {
        let patient = patient(index, Scenario::Healthy);
        let course = day_of(&patient);
        for number in (0..280).step_by(37) {
            let block = BeatBlock::new(&course, MIDNIGHT_MS / BLOCK_MS + number);
            let (row, rr) = (analyse(&block), block.intervals_ms());
            assert_eq!(row.timestamp_ms, block.start_ms + BLOCK_MS, "a row is stamped with the end of its block");
            assert!((row.mrr_ms - mean(&rr)).abs() < 1e-9);
            assert!((row.sdnn_ms - deviation(&rr)).abs() < 1e-9);
            let differences: Vec<f64> = rr.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let squares = differences.iter().map(|difference| difference * difference).collect::<Vec<_>>();
            assert!((row.rmssd_ms - mean(&squares).sqrt()).abs() < 1e-6);
            let large = differences.iter().filter(|difference| difference.abs() > 50.0).count() as f64;
            assert!((row.pnn50_percent - 100.0 * large / differences.len() as f64).abs() < 1e-6);
            let in_mode =
                rr.iter().filter(|rr| ((*rr / 50.0).floor() * 0.05 + 0.025 - row.mo_s).abs() < 1e-9).count() as f64;
            assert!((row.amo_percent - 100.0 * in_mode / rr.len() as f64).abs() < 1e-6);
            // The power of all bands is at most that of the whole signal.
            assert!(row.bands_ms2.iter().sum::<f64>() < 1.5 * row.sdnn_ms.powi(2) + 1.0, "{index} {number}");
        }
    }
}

#[test]
fn the_gyroscope_turns_as_the_accelerometer_says() {
    let patient = patient(0, Scenario::Healthy);
    let course = day_of(&patient);
    let from_s = MIDNIGHT_MS / 1000 + 3 * 3600;
    let still = |from_s: i64| {
        let turned = rotation(&course, 32, from_s, from_s + 60);
        turned.axes.iter().flatten().map(|dps| f64::from(dps.abs())).fold(0.0, f64::max)
    };
    let g = acceleration(&course, 32, from_s, from_s + 600);
    let length = |at: usize| g.axes.iter().map(|axis| (f32::from(axis[at]) / COUNTS_PER_G).powi(2)).sum::<f32>().sqrt();
    let lengths: Vec<f64> = (0..g.axes[0].len()).map(|at| f64::from(length(at))).collect();
    assert!((mean(&lengths) - 1.0).abs() < 0.02, "asleep there is nothing but gravity: {}", mean(&lengths));
    assert!(still(from_s) < 60.0, "a sleeping arm hardly turns");
    let walk = course.days().iter().flat_map(|day| &day.bouts).find(|bout| bout.movement == Movement::Walk).unwrap();
    assert!(still(walk.start_ms / 1000) > 60.0, "a walking arm swings");
}

#[test]
fn what_a_minute_shows_is_what_the_stage_and_the_bouts_say() {
    for index in 0..8 {
        let patient = patient(index, Scenario::Healthy);
        let course = day_of(&patient);
        let first = MIDNIGHT_MS / MINUTE_MS;
        let (mut asleep, mut awake) = (Vec::new(), Vec::new());
        for number in first..first + 1440 {
            let minute = course.minute(number);
            let day = course.day_at(minute.start_ms);
            assert_eq!(minute.stage, course.sleep_at(minute.start_ms).map(|(stage, _)| stage));
            if let Some(bout) = day.bout_at(minute.start_ms) {
                assert_eq!(minute.movement, bout.movement);
                assert!((f64::from(minute.steps) - bout.cadence).abs() < 15.0, "{minute:?}");
            }
            match minute.stage {
                Some(Stage::Deep | Stage::Light) => asleep.push(minute.heart_rate),
                None if minute.movement == Movement::Rest && minute.exertion < 0.05 => awake.push(minute.heart_rate),
                _ => {}
            }
            assert!((0.0..=1.0).contains(&minute.exertion));
        }
        assert!(mean(&asleep) < mean(&awake) - 3.0, "{index}: {} asleep, {} awake", mean(&asleep), mean(&awake));
    }
}

#[test]
fn beats_are_uploaded_only_from_the_wrist_and_in_order() {
    for scenario in [Scenario::Healthy, Scenario::NotWorn, Scenario::Charging] {
        let patient = patient(6, scenario);
        let course = day_of(&patient);
        let rows = rr_intervals(&course, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS);
        assert!(rows.windows(2).all(|pair| pair[0].timestamp_ms < pair[1].timestamp_ms));
        let is_worn = |at_ms: i64| course.wear_at(at_ms / MINUTE_MS * MINUTE_MS) == Wear::Worn;
        assert!(rows.iter().all(|row| is_worn(row.timestamp_ms)), "{scenario}");
        assert_eq!(rows.is_empty(), scenario != Scenario::Healthy, "{scenario}");
    }
}

#[test]
fn persons_are_plausible_and_no_two_alike() {
    let mut seen = std::collections::BTreeSet::new();
    for index in 0..200 {
        let patient = patient(index, Scenario::Healthy);
        let person = &patient.person;
        let body_mass_index = f64::from(person.weight) / (f64::from(person.height) / 100.0).powi(2);
        assert!((19.0..31.0).contains(&body_mass_index), "{person:?}");
        assert!(person.birthday.parse::<Date>().is_ok(), "{person:?}");
        assert!((1..=6).contains(&person.skin_color) && (1..=4).contains(&person.hair_density));
        assert!(patient.baseline.systolic_mmhg > patient.baseline.diastolic_mmhg + 20.0);
        assert!(seen.insert(format!("{:?} {:?}", person, patient.baseline)), "{person:?}");
    }
    assert!(Patient::new(1, 1, Scenario::Healthy, 0, "Mars/Olympus").is_err());
}
