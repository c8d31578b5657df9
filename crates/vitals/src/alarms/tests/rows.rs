//! Samples of stored rows.

use super::scene::*;
use crate::af::{AfRecord, records_of_hour};
use crate::alarms::*;
use crate::beats::Beat;
use crate::block::{Block, Cells};
use crate::measured::Measured;
use crate::news_timeline::{NewsEntry, SettingsAt, Timeline, moments};
use crate::registry::{Channel, DataType, NULL, TestKind};
use crate::zone::ZoneRuns;

fn block(data_type: DataType, channel: Channel, minutes: &[i64], columns: &[(&str, &[i32])]) -> Block {
    let mut block = Block::empty(data_type, channel);
    block.times_us = minutes.iter().map(|minute| minute * MINUTE_MS * 1000).collect();
    block.zones = ZoneRuns::constant("UTC".into(), minutes.len());
    for (name, cells) in columns {
        block.columns[data_type.column_index(name).unwrap()] = Cells::Values(cells.to_vec());
    }
    block
}

fn activity(minutes: &[i64], columns: &[(&str, &[i32])]) -> Block {
    block(DataType::Activity, Channel::default(), minutes, columns)
}

fn spot(kind: &str, minute: i64, thousandths: i32, quality: i32) -> Block {
    let kind = TestKind::code(kind).unwrap();
    let channel = Channel::of_test(kind);
    block(
        DataType::Tests,
        channel,
        &[minute],
        &[("test_type", &[kind]), ("value", &[thousandths]), ("quality", &[quality])],
    )
}

#[test]
fn row_is_read_with_its_quality_and_wear() {
    let rows = activity(
        &[1, 2, 3, 4, 5, 6],
        &[
            ("bpm", &[61, 62, 0, NULL, 65, 66]),
            ("bpm_q", &[4, 1, NULL, NULL, NULL, 4]),
            ("spo2", &[975, NULL, NULL, NULL, NULL, NULL]),
            ("spo2_q", &[1, NULL, NULL, NULL, NULL, NULL]),
            ("wearing", &[4, 4, 4, 4, 0, 4]),
            ("charging", &[0, 0, 0, 0, 1, NULL]),
        ],
    );
    let expected = [
        reading(1, Reading::Value(61.0, Some(4))),
        reading(2, Reading::Value(62.0, Some(1))),
        unknown(3, Reason::NoValue),
        // Minute 4 does not measure a heart rate.
        unknown(5, Reason::Charging),
        reading(6, Reading::Value(66.0, Some(4))),
    ];
    assert_eq!(vital_samples(Signal::HeartRate, std::slice::from_ref(&rows)), expected);
    let saturation = [reading(1, Reading::Value(97.5, Some(1))), unknown(5, Reason::Charging)];
    assert_eq!(vital_samples(Signal::Spo2, &[rows]), saturation);
    let off = activity(&[1], &[("bpm", &[61]), ("wearing", &[0])]);
    assert_eq!(vital_samples(Signal::HeartRate, &[off]), [unknown(1, Reason::NotWorn)]);
}

#[test]
fn each_vital_sign_has_its_columns_and_its_spot_measurement() {
    let rows = activity(
        &[1],
        &[
            ("bpm", &[61]),
            ("respiration_rate", &[145]),
            ("core_temp", &[3682]),
            ("nibp_systolic", &[120]),
            ("nibp_diastolic", &[80]),
        ],
    );
    let by_hand = |kind| spot(kind, 2, 42_500, NULL);
    for (signal, kind, value) in [
        (Signal::HeartRate, "heart_rate", 61.0),
        (Signal::RespirationRate, "respiration_rate", 14.5),
        (Signal::Temperature, "temperature", 36.82),
        (Signal::NibpSystolic, "blood_pressure_systolic", 120.0),
        (Signal::NibpDiastolic, "blood_pressure_diastolic", 80.0),
    ] {
        let expected = [reading(1, Reading::Value(value, None)), reading(2, Reading::Value(42.5, None))];
        let blocks = [by_hand("weight"), by_hand(kind), rows.clone()];
        assert_eq!(vital_samples(signal, &blocks), expected, "{signal:?}");
    }
}

fn value_of(reading: Reading) -> Option<f64> {
    match reading {
        Reading::Value(value, _) => Some(value),
        _ => None,
    }
}

#[test]
fn of_one_millisecond_the_better_and_graver_measurement_is_judged() {
    let bracelet =
        |bpm, quality, charging| activity(&[1], &[("bpm", &[bpm]), ("bpm_q", &[quality]), ("charging", &[charging])]);
    for (bracelet, by_hand, value) in [
        (bracelet(70, 4, 0), spot("heart_rate", 1, 140_000, 4), 140.0),
        (bracelet(70, 4, 0), spot("heart_rate", 1, 140_000, 1), 70.0),
        (bracelet(70, 4, 0), spot("heart_rate", 1, 80_000, NULL), 80.0),
        (bracelet(70, 4, 1), spot("heart_rate", 1, 60_000, 1), 60.0),
    ] {
        for blocks in [[bracelet.clone(), by_hand.clone()], [by_hand, bracelet]] {
            let samples = vital_samples(Signal::HeartRate, &blocks);
            let found: Vec<Option<f64>> = samples.iter().map(|sample| value_of(sample.reading)).collect();
            assert_eq!(found, [Some(value)]);
        }
    }
}

/// Stored entries of rows: those that differ from the one before.
fn history(blocks: &[Block]) -> Vec<NewsEntry> {
    let mut timeline = Timeline { known: Measured::default(), last: None };
    let steps = moments(blocks, i64::MAX);
    let entries = steps.iter().map(|moment| timeline.step(moment, &SettingsAt::default()));
    entries.filter(|entry| entry.changed).collect()
}

#[test]
fn news_is_evaluated_with_each_row_although_its_history_leaves_out_repeats() {
    let minutes: Vec<i64> = (1..=8).collect();
    let bpm = [70, 70, 95, 95, 95, 95, 70, 70];
    let rows = activity(
        &minutes,
        &[
            ("bpm", &bpm),
            ("respiration_rate", &[140; 8]),
            ("spo2", &[980; 8]),
            ("core_temp", &[3700; 8]),
            ("nibp_systolic", &[120; 8]),
            ("nibp_diastolic", &[80; 8]),
            ("charging", &[0, 0, 0, 0, 1, 0, 0, 0]),
        ],
    );
    let blocks = [rows];
    let entries = history(&blocks);
    assert_eq!(entries.iter().map(|entry| entry.time_ms / MINUTE_MS).collect::<Vec<_>>(), [1, 3, 7]);
    let samples = news_samples(None, &entries, &blocks);
    let expected = [
        news(1, 0, 0),
        news(2, 0, 0),
        news(3, 1, 1),
        news(4, 1, 1),
        unknown(5, Reason::Charging),
        news(6, 1, 1),
        news(7, 0, 0),
        news(8, 0, 0),
    ];
    assert_eq!(samples, expected);
    let after = [blocks[0].slice(3..8)];
    assert_eq!(news_samples(Some(&entries[1]), &entries[2..], &after), expected[3..], "from a later row on");
    let rule = Rule { above: Some(0.0), for_s: 60, ..Rule::on(Signal::NewsScore, Priority::Medium) };
    assert_eq!(times(&episodes(&always(rule), &samples)), [(3, 4, Some((7, Ending::Cleared)))]);
}

#[test]
fn silence_shows_in_news_although_its_history_has_no_entry_for_it() {
    let both = |bpm: [i32; 2]| {
        activity(
            &[1, 9],
            &[
                ("bpm", &bpm),
                ("respiration_rate", &[140; 2]),
                ("spo2", &[980; 2]),
                ("core_temp", &[3700; 2]),
                ("nibp_systolic", &[120; 2]),
                ("nibp_diastolic", &[80; 2]),
            ],
        )
    };
    let blocks = [both([95, 95])];
    let entries = history(&blocks);
    assert_eq!(entries.len(), 1);
    let rule = Rule { above: Some(0.0), for_s: 300, ..Rule::on(Signal::NewsScore, Priority::Medium) };
    assert!(episodes(&always(rule), &news_samples(None, &entries, &blocks)).is_empty(), "the count restarts");
}

#[test]
fn record_of_the_rhythm_counts_unless_the_bracelet_was_off() {
    let beats: Vec<Beat> = (0..64 * 5)
        .map(|at| Beat { time_ms: at * 700, rr_ms: 500.0 + f64::from((at * at * 37 % 401) as i32), good: true })
        .collect();
    let records: Vec<AfRecord> = records_of_hour(&beats, |_| 0);
    assert_eq!(records.len(), 5);
    let worn = rhythm_samples(&records, &[]);
    for (sample, record) in worn.iter().zip(&records) {
        let rhythm = Reading::Rhythm { fibrillation: Some(true), probability: record.final_probability };
        assert_eq!((sample.time_ms, sample.reading), (record.time_ms, rhythm));
    }
    let off = activity(&[1], &[("bpm", &[61]), ("wearing", &[0])]);
    let unworn = rhythm_samples(&records, &[off]);
    let expected: Vec<bool> =
        records.iter().map(|record| (record.time_ms..=record.end_ms).contains(&MINUTE_MS)).collect();
    let is_off = |sample: &Sample| sample.reading == Reading::Unknown(Reason::NotWorn);
    assert_eq!(unworn.iter().map(is_off).collect::<Vec<_>>(), expected);
    assert_eq!(expected.iter().filter(|off| **off).count(), 1);
}
