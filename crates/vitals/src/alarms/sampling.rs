//! Samples of rows: of vital signs, of the history of NEWS and of records of the rhythm.

use std::cmp::Ordering;

use super::sample::{Reading, Reason, Sample};
use super::signal::Signal;
use crate::af::AfRecord;
use crate::block::Block;
use crate::latest::Readings;
use crate::news_timeline::NewsEntry;
use crate::news2::{Spo2Bands, score_pulse, score_respiration, score_spo2, score_systolic, score_temperature};
use crate::registry::DataType;
use crate::vital_rows::{ActivityRows, GOOD_QUALITY, SpotRows, SpotVital};

/// Returns the samples of a vital sign in blocks of activity and of spot measurements, in the order of time, one a
/// millisecond. Rows that do not measure it have none, unless the bracelet was not worn or charging.
pub fn vital_samples(signal: Signal, blocks: &[Block]) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(blocks.iter().map(|block| block.times_us.len()).sum());
    for block in blocks {
        match Readings::of(block) {
            Some(Readings::Activity(rows)) => {
                samples.extend(readings(block, |row| unworn(&rows, row).or_else(|| activity(&rows, row, signal))));
            }
            Some(Readings::Spot(rows)) if is_of(rows.vital, signal) => {
                samples.extend(readings(block, |row| Some(spot(&rows, row))));
            }
            _ => {}
        }
    }
    one_a_time(samples, signal)
}

/// Returns the evaluations of NEWS in blocks of activity and of spot measurements: at each row that measures anything
/// that NEWS scores, the entry that was the last one then. `before` is the last entry before the rows.
///
/// The history of NEWS leaves out what repeats, so that a silence cannot be seen in it: the rows show when it was
/// evaluated.
pub fn news_samples(before: Option<&NewsEntry>, entries: &[NewsEntry], blocks: &[Block]) -> Vec<Sample> {
    // Times of evaluations, and what keeps one from being judged. An unworn bracelet goes first in its millisecond.
    let mut times: Vec<(i64, Option<Reading>)> = entries.iter().map(|entry| (entry.time_ms, None)).collect();
    for block in blocks {
        let Some(readings) = Readings::of(block) else { continue };
        let unworn = |row| match readings {
            Readings::Activity(rows) => unworn(&rows, row),
            Readings::Spot(_) => None,
        };
        for (row, time_us) in block.times_us.iter().enumerate() {
            let (time_ms, reading) = (time_us.div_euclid(1000), unworn(row));
            let is_scored =
                || [readings.at(row, 0), readings.poor_at(row, 0)].iter().any(|at| at.scored_ms().is_some());
            if reading.is_some() || is_scored() {
                times.push((time_ms, reading));
            }
        }
    }
    times.sort_by_key(|(time_ms, reading)| (*time_ms, reading.is_none()));
    times.dedup_by_key(|(time_ms, _)| *time_ms);
    let at = |(time_ms, unworn): (i64, Option<Reading>)| {
        let count = entries.partition_point(|entry| entry.time_ms <= time_ms);
        let entry = count.checked_sub(1).and_then(|last| entries.get(last)).or(before);
        Some(Sample { time_ms, reading: unworn.or_else(|| entry.map(news))? })
    };
    times.into_iter().filter_map(at).collect()
}

/// Returns the samples of records of the rhythm, each at its first beat. `blocks` say whether the bracelet was worn.
pub fn rhythm_samples(records: &[AfRecord], blocks: &[Block]) -> Vec<Sample> {
    let activity: Vec<(&Block, ActivityRows<'_>)> = blocks
        .iter()
        .filter(|block| block.data_type == DataType::Activity)
        .map(|block| (block, ActivityRows::of(block)))
        .collect();
    let unworn_within = |record: &AfRecord| {
        let within = |(block, rows): &(&Block, ActivityRows<'_>)| {
            block.rows_between(record.time_ms * 1000, record.end_ms * 1000).find_map(|row| unworn(rows, row))
        };
        activity.iter().find_map(within)
    };
    let sample = |record: &AfRecord| {
        let rhythm = Reading::Rhythm { fibrillation: record.af_detected, probability: record.final_probability };
        Sample { time_ms: record.time_ms, reading: unworn_within(record).unwrap_or(rhythm) }
    };
    records.iter().map(sample).collect()
}

fn readings(block: &Block, read: impl Fn(usize) -> Option<Reading>) -> impl Iterator<Item = Sample> {
    let rows = block.times_us.iter().enumerate();
    rows.filter_map(move |(row, time_us)| Some(Sample { time_ms: time_us.div_euclid(1000), reading: read(row)? }))
}

/// Returns why nothing that a row measures is the patient's.
fn unworn(rows: &ActivityRows<'_>, row: usize) -> Option<Reading> {
    // A bracelet on its charger is off the wrist too, and the charger is what somebody can do something about.
    if rows.is_charging(row) == Some(true) {
        return Some(Reading::Unknown(Reason::Charging));
    }
    (!rows.is_worn(row)).then_some(Reading::Unknown(Reason::NotWorn))
}

fn activity(rows: &ActivityRows<'_>, row: usize, signal: Signal) -> Option<Reading> {
    let value = |value: Option<i32>, steps: f64| value.map(|value| f64::from(value) / steps);
    // The rules say which quality is good enough, so poor values are read as well.
    let (value, quality, is_given) = match signal {
        Signal::HeartRate => (value(rows.stored_bpm(row), 1.0), rows.bpm_quality(row), rows.measures_heart_rate(row)),
        Signal::RespirationRate => {
            let tenths = rows.respiration_tenths(row).or_else(|| rows.poor_respiration_tenths(row));
            (value(tenths, 10.0), rows.respiration_quality(row), rows.measures_respiration(row))
        }
        Signal::Spo2 => {
            let tenths = rows.spo2_tenths(row).or_else(|| rows.poor_spo2_tenths(row));
            (value(tenths, 10.0), rows.spo2_quality(row), rows.measures_spo2(row))
        }
        // The registry has no column for the quality of the others, and most rows do not measure them: a raw 0 says no
        // more than an absent value.
        Signal::Temperature => (value(rows.core_temp_hundredths(row), 100.0), None, false),
        Signal::NibpSystolic => (value(rows.pressure(row).and_then(|pressure| pressure.systolic), 1.0), None, false),
        Signal::NibpDiastolic => (value(rows.pressure(row).and_then(|pressure| pressure.diastolic), 1.0), None, false),
        _ => return None,
    };
    measured(value, quality).or(is_given.then_some(Reading::Unknown(Reason::NoValue)))
}

fn spot(rows: &SpotRows<'_>, row: usize) -> Reading {
    let thousandths = rows.thousandths(row).or_else(|| rows.poor_thousandths(row));
    let value = thousandths.map(|thousandths| f64::from(thousandths) / 1000.0);
    measured(value, rows.quality(row)).unwrap_or(Reading::Unknown(Reason::NoValue))
}

fn measured(value: Option<f64>, quality: Option<i32>) -> Option<Reading> {
    let quality = quality.and_then(|quality| u8::try_from(quality).ok());
    value.map(|value| Reading::Value(value, quality))
}

fn news(entry: &NewsEntry) -> Reading {
    let parts = entry.parts.iter().filter_map(|part| part.score);
    let highest_part = parts.chain([entry.score_oxygen, entry.score_consciousness]).max().unwrap_or(0);
    Reading::News { total: entry.total, highest_part }
}

fn is_of(vital: SpotVital, signal: Signal) -> bool {
    let of_vital = match vital {
        SpotVital::HeartRate => Signal::HeartRate,
        SpotVital::RespirationRate => Signal::RespirationRate,
        SpotVital::Spo2 => Signal::Spo2,
        SpotVital::Temperature => Signal::Temperature,
        SpotVital::Systolic => Signal::NibpSystolic,
        SpotVital::Diastolic => Signal::NibpDiastolic,
    };
    of_vital == signal
}

/// Sorts samples by time and keeps the best of each millisecond.
fn one_a_time(mut samples: Vec<Sample>, signal: Signal) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.time_ms);
    samples.dedup_by(|next, kept| {
        let is_same = next.time_ms == kept.time_ms;
        if is_same && order(signal, &next.reading, &kept.reading).is_gt() {
            kept.reading = next.reading;
        }
        is_same
    });
    samples
}

/// Orders readings of one millisecond: what was measured by hand counts although the bracelet charges, a good value
/// counts more than a poor one, and of two good ones the graver, as among latest values.
fn order(signal: Signal, one: &Reading, other: &Reading) -> Ordering {
    let (Reading::Value(one, one_quality), Reading::Value(other, other_quality)) = (one, other) else {
        // Two reasons of one millisecond still need an order, or that of the blocks would show.
        let rank = |reading: &Reading| match reading {
            Reading::Unknown(reason) => *reason as i32,
            _ => -1,
        };
        return rank(other).cmp(&rank(one));
    };
    let is_good = |quality: &Option<u8>| quality.is_none_or(|quality| i32::from(quality) >= GOOD_QUALITY);
    let grave = |value: f64| match signal {
        Signal::HeartRate => score_pulse(value),
        Signal::RespirationRate => score_respiration(value),
        Signal::Spo2 => score_spo2(value, Spo2Bands::ScaleOne),
        Signal::Temperature => score_temperature(value),
        Signal::NibpSystolic => score_systolic(value),
        _ => None,
    };
    is_good(one_quality)
        .cmp(&is_good(other_quality))
        .then_with(|| grave(*one).cmp(&grave(*other)))
        .then_with(|| one.total_cmp(other))
        .then_with(|| one_quality.cmp(other_quality))
}
