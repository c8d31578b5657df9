//! Sleep against a scored night and scored counts, across clock changes, and from movement.
#![allow(clippy::unwrap_used, reason = "the lint spares tests but not their functions")]

mod recordings;

use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use vitals::sleep::scores::circular_deviation_min;
use vitals::sleep::{
    Session, Stage, StageEpoch, cole_kripke, consistency, main_session, performance, sadeh, sessions, sleep_day,
    sleep_period, sleep_session, sustained_inactivity, tranquility, z_angles,
};

const NIGHT: i64 = 1_763_500_000_000;
const HOUR_MS: i64 = 3_600_000;

fn epochs(start_ms: i64, stages: &[Stage]) -> Vec<StageEpoch> {
    let at = |(i, &stage): (usize, &Stage)| StageEpoch { time_ms: start_ms + i as i64 * 30_000, stage };
    stages.iter().enumerate().map(at).collect()
}

#[test]
fn sums_of_a_scored_night_are_exact() {
    let Some(rows) = recordings::rows("sleep/psg_yasa_full6h_30s.csv") else {
        return;
    };
    let Some(oracle) = recordings::json("sleep/psg_yasa_full6h_oracle.json") else {
        return;
    };
    let stage = |row: &Vec<String>| match row[1].as_str() {
        "0" => Stage::Awake,
        "1" | "2" => Stage::Light,
        "3" => Stage::Deep,
        "4" => Stage::Rem,
        other => panic!("stage {other}"),
    };
    let night: Vec<Stage> = rows.iter().map(stage).collect();
    let found = sessions(&epochs(NIGHT, &night));
    assert_eq!(found.len(), 1);
    let (session, sums) = (found[0], found[0].stages.unwrap());
    let truth = |key: &str| (oracle["yasa_0.8.1"][key].as_f64().unwrap() * 60.0) as i64;
    assert_eq!(session.end_ms - session.start_ms, truth("TIB") * 1000);
    assert_eq!(session.offset_ms - session.onset_ms, truth("SPT") * 1000);
    assert_eq!(session.sleep_duration_s, truth("TST"));
    assert_eq!(session.time_to_sleep_s(), truth("SOL"));
    assert_eq!(session.wake_after_onset_s, truth("WASO"));
    assert_eq!(session.awake_s, truth("TIB") - truth("TST"));
    assert_eq!(session.time_to_wake_up_s(), truth("TIB") - truth("SOL") - truth("SPT"));
    assert_eq!(sums.light_s, truth("N1") + truth("N2"));
    assert_eq!(sums.deep_s, truth("N3"));
    assert_eq!(sums.rem_s, truth("REM"));
    assert_eq!(u64::from(session.awakenings), oracle["awakenings"].as_u64().unwrap());
    assert!((performance(session.sleep_duration_s) - 100.0 * 338.5 / 480.0).abs() < 1e-9);
}

#[test]
fn counts_are_scored_as_by_the_oracle() {
    let Some(rows) = recordings::rows("sleep/synthetic_counts_oracle.csv") else {
        return;
    };
    let counts = recordings::numbers(&rows, 1);
    for (name, ours, column) in [("cole_kripke", cole_kripke(&counts), 2), ("sadeh", sadeh(&counts), 4)] {
        let theirs: Vec<bool> = recordings::numbers(&rows, column).iter().map(|v| *v > 0.5).collect();
        let scored: Vec<_> = ours.iter().zip(&theirs).filter_map(|(o, t)| o.map(|o| o == *t)).collect();
        assert!(scored.len() + 10 >= counts.len());
        let equal = scored.iter().filter(|equal| **equal).count();
        assert!(equal as f64 >= 0.999 * scored.len() as f64, "{name}: {equal} of {}", scored.len());
    }
}

#[test]
fn counts_without_a_neighbourhood_have_no_score() {
    assert!(cole_kripke(&[]).is_empty());
    assert_eq!(sadeh(&[0.0; 10]), vec![None; 10]);
    assert_eq!(sadeh(&[0.0; 11])[5], Some(true));
    assert_eq!(cole_kripke(&[0.0; 7])[4], Some(true));
    assert_eq!(cole_kripke(&[1000.0; 7]), [None, None, None, None, Some(false), None, None]);
    assert!(sadeh(&[f64::NAN; 30]).iter().all(Option::is_none));
    assert!(cole_kripke(&[f64::NAN; 30]).iter().all(Option::is_none));
}

#[test]
fn sessions_merge_below_an_hour() {
    let block = [Stage::Awake, Stage::Light, Stage::Deep, Stage::Rem];
    for (gap_ms, count) in [(HOUR_MS - 1, 1), (HOUR_MS, 2)] {
        let mut rows = epochs(NIGHT, &block);
        rows.extend(epochs(NIGHT + 4 * 30_000 + gap_ms, &block));
        let found = sessions(&rows);
        assert_eq!(found.len(), count);
        assert_eq!(found.iter().map(|session| session.sleep_duration_s).sum::<i64>(), 180);
    }
    assert!(sessions(&[]).is_empty());
    assert!(sessions(&epochs(NIGHT, &[Stage::Awake; 20])).is_empty(), "no sleep, no session");
}

fn ms(year: i16, month: i8, day: i8, hour: i8, minute: i8, zone: &TimeZone) -> i64 {
    let local = date(year, month, day).at(hour, minute, 0, 0);
    zone.to_zoned(local).unwrap().timestamp().as_millisecond()
}

#[test]
fn sleep_days_run_from_noon_to_noon_also_when_clocks_change() {
    let zone = TimeZone::get("Europe/Zurich").unwrap();
    // Clocks go forward on 29 March 2026 and back on 25 October 2026.
    for (year, month, day, hours) in [(2026, 3, 29, 23), (2026, 10, 25, 25), (2026, 6, 1, 24)] {
        let end_ms = ms(year, month, day, 12, 0, &zone);
        let start_ms = end_ms - hours * HOUR_MS;
        let this = date(year, month, day);
        assert_eq!(sleep_day(start_ms, &zone), Some(this));
        assert_eq!(sleep_day(start_ms - 1, &zone), this.yesterday().ok());
        assert_eq!(sleep_day(end_ms - 1, &zone), Some(this));
        assert_eq!(sleep_day(end_ms, &zone), this.tomorrow().ok());
    }
    assert_eq!(sleep_day(i64::MAX, &zone), None);
}

#[test]
fn the_longest_session_represents_its_day() {
    let zone = TimeZone::get("Europe/Zurich").unwrap();
    let nap = epochs(ms(2026, 3, 28, 14, 0, &zone), &[Stage::Light; 60]);
    let night = epochs(ms(2026, 3, 28, 23, 0, &zone), &[Stage::Deep; 720]);
    let lie_in = epochs(ms(2026, 3, 29, 11, 40, &zone), &[Stage::Light; 90]);
    let all = sessions(&[nap, night.clone(), lie_in].concat());
    assert_eq!(all.len(), 3);
    let main = main_session(&all, date(2026, 3, 29), &zone).unwrap();
    assert_eq!(main.start_ms, night[0].time_ms);
    let next = main_session(&all, date(2026, 3, 30), &zone).unwrap();
    assert_eq!(next.sleep_duration_s, 2700, "its midpoint lies after noon");
    assert_eq!(main_session(&all, date(2026, 3, 28), &zone), None);
}

#[test]
fn scores_of_nights() {
    assert!(performance(0).abs() < 1e-12);
    assert!((performance(4 * 3600) - 50.0).abs() < 1e-12);
    assert!((performance(10 * 3600) - 100.0).abs() < 1e-12);
    assert_eq!(consistency(&[180.0, 185.0]), None);
    assert!((consistency(&[180.0; 7]).unwrap() - 100.0).abs() < 1e-3);
    let around_midnight = consistency(&[1430.0, 10.0, 1430.0, 10.0]).unwrap();
    let around_three = consistency(&[170.0, 190.0, 170.0, 190.0]).unwrap();
    assert!((around_midnight - around_three).abs() < 1e-6);
    assert!((circular_deviation_min(&[170.0, 190.0]).unwrap() - 10.0).abs() < 0.01);
    assert!(consistency(&[0.0, 480.0, 960.0]).unwrap().abs() < 1e-12);
    assert_eq!(consistency(&[f64::NAN; 7]), None);
    let calm = sessions(&epochs(NIGHT, &[Stage::Light; 900]))[0];
    assert!((tranquility(&calm).unwrap() - 100.0).abs() < 1e-12);
}

/// Returns a day of forearm angles: restless, then eight still hours with a turn every 20 minutes and
/// half an hour up, then restless again.
fn day_of_angles() -> Vec<Option<f64>> {
    let per_hour = 720;
    (0..24 * per_hour)
        .map(|i| {
            let hour = i / per_hour;
            let restless = !(11..19).contains(&hour) || (14 * per_hour..14 * per_hour + 360).contains(&i);
            let noise = f64::from((i * 7919) % 1000) / 1000.0;
            Some(if restless { 80.0 * noise - 40.0 } else { f64::from(i / 240 % 7) * 20.0 + 0.02 * noise })
        })
        .collect()
}

#[test]
fn a_night_is_found_from_the_angle_of_the_arm() {
    let angles = day_of_angles();
    let period = sleep_period(&angles).unwrap();
    assert!(period.start.abs_diff(11 * 720) <= 30, "{period:?}");
    assert!(period.end.abs_diff(19 * 720) <= 30, "{period:?}");
    let session = sleep_session(NIGHT, &angles).unwrap();
    assert!((session.sleep_duration_s - 27_000).abs() < 300, "{session:?}");
    assert!((session.wake_after_onset_s - 1800).abs() < 300, "{session:?}");
    assert_eq!(session.awakenings, 1);
    assert_eq!(session.stages, None);
}

#[test]
fn missing_angles_are_no_rest() {
    assert_eq!(sleep_period(&[]), None);
    assert_eq!(sleep_period(&vec![None; 5000]), None);
    assert_eq!(sleep_session(NIGHT, &vec![None; 5000]), None);
    assert!(sustained_inactivity(&[None; 100]).iter().all(|inactive| !inactive));
    let still = [Some(10.0); 60];
    assert!(sustained_inactivity(&still).iter().all(|inactive| *inactive));
    assert!(sustained_inactivity(&still[..59]).iter().all(|inactive| !inactive));
    let mut turned = [Some(10.0); 119];
    turned[59] = Some(15.1);
    assert!(sustained_inactivity(&turned)[..59].iter().all(|inactive| !inactive));
}

#[test]
fn angles_from_acceleration() {
    let (flat, up) = (vec![0.0; 500], vec![1.0; 500]);
    let upright = z_angles(&flat, &flat, &up, 50.0);
    assert_eq!(upright, [Some(90.0), Some(90.0)]);
    let tilted = z_angles(&up, &flat, &up, 50.0);
    assert!((tilted[0].unwrap() - 45.0).abs() < 1e-12);
    assert_eq!(z_angles(&flat, &flat, &flat, 50.0), [None, None], "free fall has no direction");
    assert_eq!(z_angles(&[f64::NAN; 500], &flat, &up, 50.0), [None, None]);
    assert!(z_angles(&flat, &flat, &up[..10], 50.0).is_empty());
    assert!(z_angles(&flat, &flat, &up, 0.1).is_empty());
    assert_eq!(z_angles(&flat, &flat, &up, 32.0).len(), 3, "500 samples of 32 Hz are 15.6 s");
}

proptest! {
    #[test]
    fn the_parts_of_a_session_add_up(codes in prop::collection::vec(0..4i64, 1..400)) {
        let stages: Vec<Stage> = codes.iter().map(|&code| Stage::from_state(code).unwrap()).collect();
        for session in sessions(&epochs(NIGHT, &stages)) {
            let sums = session.stages.unwrap();
            prop_assert_eq!(sums.rem_s + sums.light_s + sums.deep_s, session.sleep_duration_s);
            let length_s = (session.end_ms - session.start_ms) / 1000;
            prop_assert_eq!(session.sleep_duration_s + session.awake_s, length_s);
            let around = session.time_to_sleep_s() + session.time_to_wake_up_s();
            prop_assert_eq!(around + session.wake_after_onset_s, session.awake_s);
            prop_assert!((0.0..=100.0).contains(&tranquility(&session).unwrap()));
        }
    }

    #[test]
    fn more_wake_is_never_more_tranquil(wake_s in 0..7200i64, more_s in 1..7200i64, awakenings in 0..40u32) {
        let session = Session {
            start_ms: 0, end_ms: 8 * HOUR_MS, onset_ms: 0, offset_ms: 8 * HOUR_MS,
            sleep_duration_s: 28_800 - wake_s, awake_s: wake_s, wake_after_onset_s: wake_s,
            awakenings, stages: None,
        };
        let worse = Session { wake_after_onset_s: wake_s + more_s, ..session };
        prop_assert!(tranquility(&worse).unwrap() <= tranquility(&session).unwrap());
    }

    #[test]
    fn any_angles_give_an_answer(angles in prop::collection::vec(prop::option::of(-90.0..90.0f64), 0..2000)) {
        let inactive = sustained_inactivity(&angles);
        prop_assert_eq!(inactive.len(), angles.len());
        if let Some(session) = sleep_session(NIGHT, &angles) {
            prop_assert!(session.sleep_duration_s > 0);
        }
    }
}
