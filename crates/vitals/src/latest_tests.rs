//! Latest values and the NEWS timeline against a plain search through all rows.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::block::{Block, Cells};
use crate::latest::{LatestValues, Timed, newest_in_rows, newest_of};
use crate::measured::Measured;
use crate::news_timeline::{LOOK_BACK_MS, NewsEntry, SettingsAt, Timeline, moments};
use crate::news2::{
    Availability, Parameter, Settings, Spo2Bands, score_pulse, score_respiration, score_spo2, score_temperature,
};
use crate::registry::{DataType, NULL, TestKind};

const HOUR_US: i64 = 3_600_000_000;

/// Returns a vital sign of every row that has a valid one: time in ms and value.
fn readings(block: &Block, columns: [&str; 2], steps: f64) -> Vec<Timed> {
    let cell = |name: &str, row: usize| Some(block.column(name).get(row)).filter(|cell| *cell != NULL);
    let is_worn = |row: &usize| cell("wearing", *row).is_none_or(|wearing| wearing >= 1);
    let is_good = |row: &usize| columns[1].is_empty() || cell(columns[1], *row).is_none_or(|quality| quality >= 2);
    let rows = (0..block.rows()).filter(|row| is_worn(row) && is_good(row));
    rows.filter_map(|row| {
        let value = cell(columns[0], row).filter(|value| *value > 0)?;
        Some(Timed { value: f64::from(value) / steps, timestamp_ms: block.times_us[row].div_euclid(1000) })
    })
    .collect()
}

/// Returns the newest of some readings; of one millisecond the one that scores highest, of these the largest.
fn newest(readings: &[Timed], score: impl Fn(f64) -> Option<u8>) -> Option<Timed> {
    let rank = |timed: &Timed| (timed.timestamp_ms, score(timed.value), timed.value);
    readings.iter().copied().max_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap())
}

fn any_timed() -> impl Strategy<Value = Option<Timed>> {
    prop::option::of(
        (0..6_i32, 0..5_i64)
            .prop_map(|(level, timestamp_ms)| Timed { value: 30.0 + 20.0 * f64::from(level), timestamp_ms }),
    )
}

fn any_values() -> impl Strategy<Value = LatestValues> {
    vec(any_timed(), 7).prop_map(|all| LatestValues {
        heart_rate: all[0],
        respiration_rate: all[1],
        temperature: all[2],
        spo2: all[3],
        nibp_systolic: all[4],
        nibp_diastolic: all[5],
        news_score: all[6],
    })
}

fn merged(one: &LatestValues, other: &LatestValues) -> LatestValues {
    let mut merged = *one;
    merged.merge_newer(other);
    merged
}

/// Returns an hour of rows that often share their millisecond.
fn any_hour() -> impl Strategy<Value = Block> {
    prop_oneof![
        any_block(DataType::Activity, MIDNIGHT_US..MIDNIGHT_US + HOUR_US, 30),
        any_block(DataType::Activity, MIDNIGHT_US..MIDNIGHT_US + 4000, 30),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_newest_values_are_those_that_a_search_finds(block in any_hour(), until_us in 0..HOUR_US) {
        let until_us = MIDNIGHT_US + until_us;
        let visible = block.clone().clipped(i64::MIN, until_us);
        let found = newest_of(&block, until_us);
        let spo2 = |percent| score_spo2(percent, Spo2Bands::ScaleOne);
        prop_assert_eq!(found.heart_rate, newest(&readings(&visible, ["bpm", "bpm_q"], 1.0), score_pulse));
        prop_assert_eq!(found.spo2, newest(&readings(&visible, ["spo2", "spo2_q"], 10.0), spo2));
        let breathing = readings(&visible, ["respiration_rate", "resp_q"], 10.0);
        prop_assert_eq!(found.respiration_rate, newest(&breathing, score_respiration));
        prop_assert_eq!(found.temperature, newest(&readings(&visible, ["core_temp", ""], 100.0), score_temperature));
        prop_assert_eq!(found.news_score, None, "a score comes from entries and never from rows");
    }

    /// Blocks are looked at in any order and any grouping.
    #[test]
    fn merging_is_a_choice_that_no_order_changes(one in any_values(), other in any_values(), third in any_values()) {
        prop_assert_eq!(merged(&one, &other), merged(&other, &one));
        prop_assert_eq!(merged(&merged(&one, &other), &third), merged(&one, &merged(&other, &third)));
        prop_assert_eq!(merged(&one, &one), one);
        let mut same = merged(&one, &other);
        prop_assert!(!same.merge_newer(&one) && !same.merge_newer(&other), "nothing is newer than what was taken");
    }

    #[test]
    fn a_block_cut_anywhere_has_the_same_newest_values(block in any_hour(), cut in 0_usize..31) {
        let cut = cut.min(block.rows());
        let parts = merged(&newest_in_rows(&block, 0..cut), &newest_in_rows(&block, cut..block.rows()));
        prop_assert_eq!(parts, newest_in_rows(&block, 0..block.rows()));
    }

    #[test]
    fn values_after_a_time_are_left_out_and_none_before(values in any_values(), time_ms in 0..6_i64) {
        let kept = values.not_after(time_ms);
        for (kept, of) in kept.signs().iter().zip(values.signs()) {
            prop_assert_eq!(*kept, of.filter(|timed| timed.timestamp_ms <= time_ms));
        }
        prop_assert_eq!(values.is_empty(), values.signs().iter().all(Option::is_none));
    }

    #[test]
    fn latest_values_are_read_as_they_were_stored(values in any_values()) {
        let json = serde_json::to_string(&values).unwrap();
        prop_assert_eq!(serde_json::from_str::<LatestValues>(&json).unwrap(), values);
        prop_assert!(json.len() < 40 * 7, "short names: {}", json);
    }

    /// A timeline that steps through all moments equals an evaluation of each moment from all rows up to it.
    #[test]
    fn each_entry_follows_from_the_rows_up_to_it(block in any_block(DataType::Activity, MIDNIGHT_US..MIDNIGHT_US + 26 * HOUR_US, 40)) {
        let settings = SettingsAt::default();
        let mut timeline = Timeline { known: Measured::default(), last: None };
        let mut before: Option<NewsEntry> = None;
        for moment in moments(std::slice::from_ref(&block), i64::MAX) {
            let entry = timeline.step(&moment, &settings);
            let known = Measured::in_rows(&block, block.rows_between(i64::MIN, moment.0 * 1000 + 999));
            let expected = NewsEntry::at(moment.0, &known, &settings, before.as_ref());
            prop_assert_eq!(entry, expected);
            prop_assert_eq!(entry.changed, before.is_none_or(|before| entry.differs_from(&before)));
            let is_whole = Parameter::ALL.iter().all(|parameter| entry.part(*parameter).score.is_some());
            prop_assert_eq!(entry.total.is_some(), is_whole, "never a partial sum");
            for parameter in Parameter::ALL {
                let part = entry.part(parameter);
                prop_assert_eq!(part.score.is_some(), part.availability == Availability::Fresh);
                prop_assert!(part.measured.is_none_or(|timed| moment.0 - timed.timestamp_ms <= LOOK_BACK_MS));
            }
            before = Some(entry);
        }
    }

    #[test]
    fn entries_are_read_as_they_were_stored(block in any_block(DataType::Activity, MIDNIGHT_US..MIDNIGHT_US + HOUR_US, 12), oxygen: bool) {
        let settings = SettingsAt { settings: Settings { oxygen, ..Settings::default() }, ..SettingsAt::default() };
        for (time_ms, values) in moments(&[block], i64::MAX) {
            let entry = NewsEntry::at(time_ms, &values, &settings, None);
            let json = serde_json::to_vec(&entry).unwrap();
            prop_assert_eq!(serde_json::from_slice::<NewsEntry>(&json).unwrap(), entry);
        }
    }

    /// Moments are one a millisecond, in the order of time, with the graver of two values.
    #[test]
    fn moments_of_overlapping_blocks_are_merged(one in any_hour(), other in any_hour()) {
        let found = moments(&[one.clone(), other.clone()], i64::MAX);
        prop_assert!(found.is_sorted_by(|earlier, later| earlier.0 < later.0));
        for (time_ms, measured) in &found {
            let at = |block: &Block| {
                let rows = block.rows_between(time_ms * 1000, time_ms * 1000 + 999);
                Measured::in_rows(block, rows)
            };
            let (mut both, mut found) = (at(&one), *measured);
            both.merge_newer(&at(&other));
            // Rows with a diastolic pressure alone are no moment, so that half may lie in another row.
            found.valid.nibp_diastolic = both.valid.nibp_diastolic;
            found.poor.nibp_diastolic = both.poor.nibp_diastolic;
            prop_assert_eq!(found, both);
        }
    }
}

/// Returns a spot measurement of a kind.
fn spot(kind: &str, time_ms: i64, thousandths: i32, quality: i32) -> Block {
    let code = TestKind::code(kind).unwrap();
    let mut block = Block::empty(DataType::Tests, DataType::Tests.channel(&[code]));
    block.times_us = vec![time_ms * 1000];
    block.columns[0] = Cells::Constant(code);
    block.columns[DataType::Tests.column_index("value").unwrap()] = Cells::Constant(thousandths);
    block.columns[DataType::Tests.column_index("quality").unwrap()] = Cells::Constant(quality);
    block
}

#[test]
fn each_kind_of_spot_measurement_becomes_its_vital_sign() {
    for (at, kind) in
        ["heart_rate", "respiration_rate", "temperature", "spo2", "blood_pressure_systolic", "blood_pressure_diastolic"]
            .into_iter()
            .enumerate()
    {
        let found = newest_of(&spot(kind, 5, 36_500, NULL), i64::MAX);
        for (other, sign) in found.signs().into_iter().enumerate() {
            assert_eq!(sign, (other == at).then_some(Timed { value: 36.5, timestamp_ms: 5 }), "{kind}");
        }
        assert!(newest_of(&spot(kind, 5, 36_500, 1), i64::MAX).is_empty(), "{kind} of poor quality");
        assert!(!newest_of(&spot(kind, 5, 36_500, 2), i64::MAX).is_empty(), "{kind} of good quality");
    }
    for kind in ["weight", "glucose", "other"] {
        assert!(newest_of(&spot(kind, 5, 70_000, NULL), i64::MAX).is_empty(), "{kind} is no vital sign");
    }
}

#[test]
fn what_was_measured_longer_ago_than_an_evaluation_looks_back_is_stale_and_not_missing() {
    let time_ms = MIDNIGHT_US / 1000;
    let measured = |age_ms: i64| LatestValues {
        heart_rate: Some(Timed { value: 70.0, timestamp_ms: time_ms }),
        temperature: Some(Timed { value: 37.0, timestamp_ms: time_ms - age_ms }),
        ..LatestValues::default()
    };
    for (age_ms, first, then) in [
        (LOOK_BACK_MS, Availability::Stale, Availability::Stale),
        (LOOK_BACK_MS + 1, Availability::Missing, Availability::Stale),
        (-1, Availability::Missing, Availability::Missing),
    ] {
        let mut entry = NewsEntry::at(time_ms, &measured(age_ms).into(), &SettingsAt::default(), None);
        assert_eq!(entry.part(Parameter::Temperature).availability, first, "{age_ms}");
        entry.name_forgotten(&measured(age_ms).into());
        assert_eq!(entry.part(Parameter::Temperature).availability, then, "{age_ms}");
        assert_eq!(entry.part(Parameter::Spo2).availability, Availability::Missing, "never measured");
        assert_eq!(entry.part(Parameter::HeartRate).availability, Availability::Fresh);
    }
}

#[test]
fn the_graver_of_two_values_of_one_millisecond_is_kept() {
    let at = |value: f64| LatestValues { spo2: Some(Timed { value, timestamp_ms: 9 }), ..LatestValues::default() };
    for (one, other, kept) in [(98.0, 90.0, 90.0), (90.0, 98.0, 90.0), (97.0, 98.0, 98.0), (85.0, 90.0, 90.0)] {
        assert_eq!(merged(&at(one), &at(other)), at(kept), "{one} {other}");
    }
    // No body has a saturation above 100 %: a value that cannot be scored never hides one that can.
    assert_eq!(merged(&at(120.0), &at(98.0)), at(98.0));
}
