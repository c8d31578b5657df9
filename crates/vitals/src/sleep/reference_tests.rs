//! Sleep from its definitions, computed the slow way, and each score at its limits.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use proptest::collection::vec;
use proptest::prelude::*;

use super::actigraphy::{cole_kripke, sadeh};
use super::night::{main_session, minute_of_day, sleep_day};
use super::scores::{circular_deviation_min, consistency, performance, tranquility};
use super::stages::{EPOCH_MS, SESSION_GAP_MS, Session, Stage, StageEpoch, sessions};
use super::wrist::{angle, sleep_period, sleep_session, sustained_inactivity, z_angles};

const MINUTE_MS: i64 = 60_000;
/// Noon of 2026-06-01 UTC.
const NOON_MS: i64 = 1_780_315_200_000;

fn stage(code: i64) -> Stage {
    Stage::from_state(code).unwrap()
}

/// Epochs as devices send them: mostly each thirty seconds, now and then sooner or much later.
fn any_epochs() -> impl Strategy<Value = Vec<StageEpoch>> {
    let step = prop_oneof![10 => Just(30_000_i64), 2 => 5_000..30_000_i64, 2 => 30_001..600_000_i64, 1 => 3_000_000..4_500_000_i64];
    vec((step, 0..4_i64), 0..120).prop_map(|rows| {
        let mut time_ms = NOON_MS;
        let next = |(step, code)| {
            time_ms += step;
            StageEpoch { time_ms, stage: stage(code) }
        };
        rows.into_iter().map(next).collect()
    })
}

/// Cuts epochs where an hour or more lies between the end of one and the start of the next.
fn apart_by_an_hour(epochs: &[StageEpoch]) -> Vec<Vec<StageEpoch>> {
    let mut runs: Vec<Vec<StageEpoch>> = Vec::new();
    for epoch in epochs {
        match runs.last_mut() {
            Some(run) if epoch.time_ms - run[run.len() - 1].time_ms - EPOCH_MS < SESSION_GAP_MS => run.push(*epoch),
            _ => runs.push(vec![*epoch]),
        }
    }
    runs
}

/// Returns what each instant of a run is, in steps of a second: the stage of the epoch that holds it, if any does.
fn seconds_of(run: &[StageEpoch], wanted: &dyn Fn(Stage) -> bool) -> f64 {
    let length_ms = |at: usize| run.get(at + 1).map_or(EPOCH_MS, |next| (next.time_ms - run[at].time_ms).min(EPOCH_MS));
    (0..run.len()).filter(|at| wanted(run[*at].stage)).map(length_ms).sum::<i64>() as f64 / 1000.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sessions_are_the_runs_with_sleep_in_them(epochs in any_epochs()) {
        let is_asleep = |stage: Stage| stage != Stage::Awake;
        let runs: Vec<Vec<StageEpoch>> =
            apart_by_an_hour(&epochs).into_iter().filter(|run| run.iter().any(|epoch| is_asleep(epoch.stage))).collect();
        let found = sessions(&epochs);
        prop_assert_eq!(found.len(), runs.len());
        for (session, run) in found.iter().zip(&runs) {
            let asleep: Vec<&StageEpoch> = run.iter().filter(|epoch| is_asleep(epoch.stage)).collect();
            let (first, last) = (asleep[0], asleep[asleep.len() - 1]);
            prop_assert_eq!((session.start_ms, session.end_ms), (run[0].time_ms, run[run.len() - 1].time_ms + EPOCH_MS));
            let after_ms = run.iter().map(|epoch| epoch.time_ms).find(|time_ms| *time_ms > last.time_ms);
            let offset_ms = (last.time_ms + EPOCH_MS).min(after_ms.unwrap_or(i64::MAX));
            prop_assert_eq!((session.onset_ms, session.offset_ms), (first.time_ms, offset_ms));
            let stages = session.stages.unwrap();
            // Each stage is in whole seconds, cut off.
            for (seconds, wanted) in [(stages.light_s, Stage::Light), (stages.deep_s, Stage::Deep), (stages.rem_s, Stage::Rem)] {
                prop_assert_eq!(seconds, seconds_of(run, &|stage| stage == wanted).floor() as i64);
            }
            prop_assert_eq!(session.sleep_duration_s, stages.light_s + stages.deep_s + stages.rem_s);
            prop_assert_eq!(session.awake_s, seconds_of(run, &|stage| stage == Stage::Awake).floor() as i64);
            let mut awakenings = 0;
            let mut slept = false;
            for epoch in run.iter().filter(|epoch| (session.onset_ms..session.offset_ms).contains(&epoch.time_ms)) {
                awakenings += u32::from(slept && epoch.stage == Stage::Awake);
                slept = epoch.stage != Stage::Awake;
            }
            prop_assert_eq!(session.awakenings, awakenings);
            prop_assert!(session.wake_after_onset_s <= session.awake_s);
            prop_assert_eq!(session.time_to_sleep_s(), (first.time_ms - run[0].time_ms) / 1000);
        }
    }

    /// Rest by its definition: an epoch rests when it lies in five minutes or more without a change above 5°.
    #[test]
    fn sustained_inactivity_is_that_of_the_definition(turns in vec((any::<bool>(), 1_usize..90), 0..12)) {
        let mut angles: Vec<Option<f64>> = Vec::new();
        for (at, (is_missing, length)) in turns.into_iter().enumerate() {
            let level = if at % 2 == 0 { 10.0 } else { 40.0 };
            angles.extend((0..length).map(|i| Some(level + (i % 2) as f64 * 4.9)));
            if is_missing {
                angles.push(None);
            }
        }
        let found = sustained_inactivity(&angles);
        let is_still = |at: usize| at > 0 && match (angles[at - 1], angles[at]) {
            (Some(before), Some(now)) => (now - before).abs() <= 5.0,
            _ => false,
        };
        for (at, is_inactive) in found.into_iter().enumerate() {
            let start = (0..=at).rev().find(|i| !is_still(*i)).unwrap_or(0);
            let end = (at + 1..angles.len()).find(|i| !is_still(*i)).unwrap_or(angles.len());
            prop_assert_eq!(is_inactive, end - start >= 60, "epoch {} of {}..{}", at, start, end);
        }
    }

    #[test]
    fn a_period_of_sleep_is_rest_of_more_than_half_an_hour(levels in vec(prop_oneof![Just(0.02), Just(3.0)], 1..40)) {
        // Blocks of ten minutes that are still or not.
        let mut angle = 0.0;
        let mut angles: Vec<Option<f64>> = Vec::new();
        for level in &levels {
            for i in 0..120 {
                angle += if i % 2 == 0 { *level } else { -*level };
                angles.push(Some(angle));
            }
        }
        let Some(period) = sleep_period(&angles) else {
            let is_same = |one: &f64, next: &f64| one.total_cmp(next).is_eq();
            let rests = levels.chunk_by(is_same).filter(|run| run[0] < 1.0).map(<[f64]>::len);
            prop_assert!(rests.max().unwrap_or(0) <= 3, "forty minutes of rest are a period");
            return Ok(());
        };
        prop_assert!(period.len() > 360 && period.end <= angles.len());
    }

    #[test]
    fn scorings_of_counts_are_those_of_their_formulas(counts in vec(0.0..400.0_f64, 0..40)) {
        let weights = [106.0, 54.0, 58.0, 76.0, 230.0, 74.0, 67.0];
        for (at, found) in cole_kripke(&counts).into_iter().enumerate() {
            let is_inside = at >= 4 && at + 2 < counts.len();
            let score = || (0..7).map(|i| weights[i] * counts[at + i - 4]).sum::<f64>() / 30_000.0;
            prop_assert_eq!(found, is_inside.then(|| score() < 1.0));
        }
        for (at, found) in sadeh(&counts).into_iter().enumerate() {
            let is_inside = at >= 5 && at + 5 < counts.len();
            let score = || {
                let around = &counts[at - 5..at + 6];
                let mean = around.iter().sum::<f64>() / 11.0;
                let nat = around.iter().filter(|count| **count > 50.0 && **count < 100.0).count() as f64;
                let six = &counts[at - 5..=at];
                let centre = six.iter().sum::<f64>() / 6.0;
                let spread = (six.iter().map(|count| (count - centre).powi(2)).sum::<f64>() / 5.0).sqrt();
                7.601 - 0.065 * mean - 1.08 * nat - 0.056 * spread - 0.703 * (counts[at + 1] + 1.0).ln()
            };
            prop_assert_eq!(found, is_inside.then(|| score() > 0.0));
        }
    }

    /// A clock has no first minute: turning all nights by the same time changes nothing.
    #[test]
    fn regularity_does_not_depend_on_when_one_sleeps(minutes in vec(0.0..1440.0_f64, 3..8), later in 0.0..1440.0_f64) {
        let shifted: Vec<f64> = minutes.iter().map(|minute| (minute + later) % 1440.0).collect();
        let (one, other) = (consistency(&minutes).unwrap(), consistency(&shifted).unwrap());
        prop_assert!((one - other).abs() < 1e-6);
        prop_assert!((0.0..=100.0).contains(&one));
    }

    /// For times that lie close together the circular deviation is the ordinary one.
    #[test]
    fn a_small_spread_on_the_circle_is_that_on_the_line(near in vec(-20.0..20.0_f64, 3..8)) {
        let minutes: Vec<f64> = near.iter().map(|minute| (minute + 1440.0) % 1440.0).collect();
        let centre = near.iter().sum::<f64>() / near.len() as f64;
        let spread = (near.iter().map(|minute| (minute - centre).powi(2)).sum::<f64>() / near.len() as f64).sqrt();
        prop_assert!((circular_deviation_min(&minutes).unwrap() - spread).abs() < 0.1 + 0.01 * spread);
    }

    #[test]
    fn angles_do_not_depend_on_the_unit_of_the_axes(
        x in -2.0..2.0_f64, y in -2.0..2.0_f64, z in -2.0..2.0_f64, unit in 0.01..1000.0_f64,
    ) {
        let one = angle(Some(x), Some(y), Some(z)).unwrap();
        let other = angle(Some(x * unit), Some(y * unit), Some(z * unit)).unwrap();
        prop_assert!((one - other).abs() < 1e-9 && (-90.0..=90.0).contains(&one));
        let expected = (z / (x * x + y * y + z * z).sqrt()).asin().to_degrees();
        prop_assert!((one - expected).abs() < 1e-6);
    }
}

#[test]
fn a_day_on_the_table_and_a_night_in_bed_are_distinguished_by_the_longest_rest() {
    // Six hours of wakefulness, seven of sleep with a short turn every twenty minutes, eleven of wakefulness.
    let mut angles: Vec<Option<f64>> = Vec::new();
    let wake = |hours: usize| (0..hours * 720).map(|i| Some(f64::from((i * 37 % 90) as i32) - 45.0));
    angles.extend(wake(6));
    angles.extend((0..7 * 720).map(|i| Some(if i / 240 % 2 == 0 { 20.0 } else { -30.0 })));
    angles.extend(wake(11));
    let night = sleep_session(NOON_MS, &angles).unwrap();
    let hour_ms = 3_600_000;
    let near = |one: i64, other: i64| (one - other).abs() < 10 * MINUTE_MS;
    assert!(near(night.onset_ms, NOON_MS + 6 * hour_ms), "{night:?}");
    assert!(near(night.offset_ms, NOON_MS + 13 * hour_ms), "{night:?}");
    assert_eq!(night.stages, None, "movement shows no stages");
    assert!(night.sleep_duration_s > 6 * 3600 && night.sleep_duration_s <= 7 * 3600 + 600);
}

#[test]
fn angles_of_whole_epochs_come_from_medians() {
    // Two whole epochs of 25 samples at 5 Hz and a part of a third; one knock in each.
    let mut z = vec![1.0; 60];
    (z[7], z[30]) = (-50.0, 90.0);
    assert_eq!(z_angles(&[0.0; 60], &[0.0; 60], &z, 5.0), [Some(90.0), Some(90.0)]);
    assert_eq!(z_angles(&[1.0; 25], &[0.0; 25], &[0.0; 25], 5.0), [Some(0.0)]);
    assert_eq!(z_angles(&[0.0; 25], &[0.0; 25], &[0.0; 25], 5.0), [None], "no direction in free fall");
    assert_eq!(z_angles(&[f64::NAN; 25], &[0.0; 25], &[1.0; 25], 5.0), [None]);
    for rate_hz in [0.0, 0.1, -5.0, f64::NAN, f64::INFINITY] {
        assert!(z_angles(&[0.0; 25], &[0.0; 25], &[1.0; 25], rate_hz).is_empty(), "{rate_hz}");
    }
    assert!(z_angles(&[0.0; 24], &[0.0; 25], &[1.0; 25], 5.0).is_empty());
}

#[test]
fn scores_have_their_documented_ends() {
    for (seconds, percent) in [(-5, 0.0), (0, 0.0), (14_400, 50.0), (28_800, 100.0), (40_000, 100.0)] {
        assert!((performance(seconds) - percent).abs() < 1e-9, "{seconds}");
    }
    assert_eq!(consistency(&[60.0, 60.0]), None, "two nights are no habit");
    assert!((consistency(&[60.0; 3]).unwrap() - 100.0).abs() < 1e-3);
    assert!(consistency(&[0.0, 360.0, 720.0, 1080.0]).unwrap().abs() < 1e-9, "around the clock");
    assert!(consistency(&[1430.0, 10.0, 0.0]).unwrap() > 90.0, "midnight is no border");
    assert_eq!((consistency(&[f64::NAN; 3]), circular_deviation_min(&[])), (None, None));
}

#[test]
fn tranquility_falls_to_nothing_at_a_quarter_awake_and_six_awakenings_an_hour() {
    let session = |wake_s: i64, awakenings: u32| Session {
        start_ms: 0,
        end_ms: 28_800_000,
        onset_ms: 0,
        offset_ms: 28_800_000,
        sleep_duration_s: 3600,
        awake_s: wake_s,
        wake_after_onset_s: wake_s,
        awakenings,
        stages: None,
    };
    for (wake_s, awakenings, points) in
        [(0, 0, 100.0), (7200, 0, 40.0), (9000, 0, 40.0), (0, 6, 60.0), (0, 60, 60.0), (3600, 3, 50.0), (7200, 6, 0.0)]
    {
        assert!((tranquility(&session(wake_s, awakenings)).unwrap() - points).abs() < 1e-9, "{wake_s} {awakenings}");
    }
    assert_eq!(tranquility(&Session { offset_ms: 0, ..session(0, 0) }), None);
    assert_eq!(tranquility(&Session { sleep_duration_s: 0, ..session(0, 0) }), None);
}

#[test]
fn a_sleep_day_ends_at_noon_of_the_wall_clock_whatever_the_clock_does() {
    let zurich = TimeZone::get("Europe/Zurich").unwrap();
    let ms = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    for (time, day) in [
        ("2026-03-28T10:59:59Z", "2026-03-28"),
        ("2026-03-28T11:00:00Z", "2026-03-29"),
        // Summer time began in the night: noon comes an hour sooner.
        ("2026-03-29T09:59:59Z", "2026-03-29"),
        ("2026-03-29T10:00:00Z", "2026-03-30"),
        ("2026-10-25T10:59:59Z", "2026-10-25"),
        ("2026-10-25T11:00:00Z", "2026-10-26"),
        ("2024-02-28T11:00:00Z", "2024-02-29"),
        ("2026-12-31T11:00:00Z", "2027-01-01"),
    ] {
        assert_eq!(sleep_day(ms(time), &zurich), Some(day.parse::<Date>().unwrap()), "{time}");
    }
    assert_eq!(minute_of_day(ms("2026-03-29T01:00:30Z"), &zurich), Some(180.5), "two o'clock did not happen");
    assert_eq!((sleep_day(i64::MAX, &zurich), minute_of_day(i64::MIN, &zurich)), (None, None));
}

#[test]
fn the_longest_session_of_a_day_represents_it_and_of_equal_ones_the_first() {
    let utc = TimeZone::UTC;
    let session = |start_h: i64, length_h: i64| {
        let epoch =
            |at: i64| StageEpoch { time_ms: NOON_MS + start_h * 3_600_000 + at * EPOCH_MS, stage: Stage::Light };
        sessions(&(0..length_h * 120).map(epoch).collect::<Vec<_>>())[0]
    };
    let day: Date = "2026-06-02".parse().unwrap();
    let (nap, night, second, next) = (session(2, 1), session(10, 7), session(20, 1), session(30, 8));
    assert_eq!(main_session(&[nap, night, second, next], day, &utc), Some(night));
    assert_eq!(main_session(&[nap, second], day, &utc), Some(nap));
    assert_eq!(main_session(&[next], day, &utc), None);
    assert_eq!(main_session(&[], day, &utc), None);
}

#[test]
fn stages_are_numbered_as_the_data_type_has_them() {
    for code in -2..8 {
        assert_eq!(Stage::from_state(code).map(Stage::state), (0..4).contains(&code).then_some(code));
    }
}

/// Rows that come thicker than their epochs: the night ends where the first waking row says, and not up to 30 s later.
#[test]
fn an_epoch_that_waking_cuts_short_ends_the_sleep() {
    for step_ms in [15_000, 20_000, 30_000, 40_000] {
        let epoch = |at: i64| StageEpoch { time_ms: NOON_MS + at * step_ms, stage: stage(i64::from(at < 100)) };
        let session = sessions(&(0..120).map(epoch).collect::<Vec<_>>())[0];
        let last_ms = NOON_MS + 99 * step_ms;
        assert_eq!(session.offset_ms, last_ms + step_ms.min(EPOCH_MS), "{step_ms}");
        assert_eq!(session.time_to_wake_up_s(), (session.end_ms - session.offset_ms) / 1000);
        assert_eq!(session.wake_after_onset_s, 0, "{step_ms}");
    }
}
