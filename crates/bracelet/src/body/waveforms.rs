//! Blocks of the waveforms: `start` and `rate_hz` instead of timestamps, one block per stretch of wear and channel.

use super::activity::ActivityRow;
use super::block::{Block, SignalRates, Window};
use super::column::{Column, round_to};
use super::rows::is_worn;
use crate::course::Course;
use crate::data_type::DataType;
use crate::signals::acc::acceleration;
use crate::signals::bioz::bioimpedance;
use crate::signals::ecg::ecg;
use crate::signals::eda::skin_conductance;
use crate::signals::gyro::rotation;
use crate::signals::ppg::{Colour, ppg};
use crate::time::MINUTE_MS;

/// Returns the blocks of a waveform type in the window; none for other types.
pub(super) fn blocks(course: &Course, window: Window, data_type: DataType, rates: &SignalRates) -> Vec<Block> {
    let mut blocks = Vec::new();
    for stretch in worn_stretches(course, window) {
        match data_type {
            DataType::Ppg1 => blocks.push(ppg1_block(course, stretch, rates.ppg1_hz)),
            DataType::Ppg2 => blocks.extend(ppg2_blocks(course, stretch, rates.ppg2_hz)),
            DataType::Acc => blocks.push(acc_block(course, stretch, rates.acc_hz)),
            DataType::Bioz => blocks.push(bioz_block(course, stretch, rates.bioz_hz)),
            DataType::Ecg => blocks.push(ecg_block(course, stretch, rates.ecg_hz)),
            DataType::Eda => blocks.push(eda_block(course, stretch, rates.eda_hz)),
            DataType::Gyro => blocks.push(gyro_block(course, stretch, rates.gyro_hz)),
            _ => {}
        }
    }
    blocks
}

/// Returns the parts of the window in which the bracelet is worn without a break.
fn worn_stretches(course: &Course, window: Window) -> Vec<Window> {
    let mut stretches: Vec<Window> = Vec::new();
    let mut from_ms = window.from_ms;
    while from_ms < window.to_ms {
        let next_minute_ms = (from_ms.div_euclid(MINUTE_MS) + 1) * MINUTE_MS;
        let to_ms = next_minute_ms.min(window.to_ms);
        if is_worn(course, from_ms) {
            match stretches.last_mut() {
                Some(last) if last.to_ms == from_ms => last.to_ms = to_ms,
                _ => stretches.push(Window { from_ms, to_ms }),
            }
        }
        from_ms = to_ms;
    }
    stretches
}

fn seconds(stretch: Window) -> (i64, i64) {
    (stretch.from_ms / 1_000, stretch.to_ms / 1_000)
}

fn ppg2_blocks(course: &Course, stretch: Window, rate_hz: u32) -> Vec<Block> {
    let (from_s, to_s) = seconds(stretch);
    let signal = ppg(course, rate_hz, from_s, to_s);
    Colour::ALL
        .into_iter()
        .zip(signal.values)
        .map(|(colour, values)| {
            Block::of_samples(
                stretch.from_ms,
                rate_hz,
                vec![
                    ("metric_id", Column::ConstantText(colour.metric_id())),
                    ("led_pd_pos", Column::Constant(colour.led_pd_pos())),
                    ("quality", Column::Constant(4)),
                    ("value", Column::Counts(values)),
                ],
            )
        })
        .collect()
}

/// Green light and acceleration in 1/64 g, with the heart rate of the minute next to each sample.
fn ppg1_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let [green, _, _] = ppg(course, rate_hz, from_s, to_s).values;
    let [x, y, z] = acceleration(course, rate_hz, from_s, to_s).axes;
    // From 1/512 g to 1/64 g.
    let in_64ths = |axis: Vec<i16>| -> Vec<i16> { axis.into_iter().map(|a| a / 8).collect() };
    let (x, y, z) = (in_64ths(x), in_64ths(y), in_64ths(z));
    let magnitude = x.iter().zip(&y).zip(&z).map(|((x, y), z)| {
        let square = [x, y, z].into_iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
        square.sqrt().round() as i16
    });
    let magnitude = magnitude.collect();
    let (mut bpm, mut bpm_q) = (Vec::new(), Vec::new());
    let mut at_ms = stretch.from_ms;
    while at_ms < stretch.to_ms {
        let minute = at_ms.div_euclid(MINUTE_MS);
        let end_ms = ((minute + 1) * MINUTE_MS).min(stretch.to_ms);
        let row = ActivityRow::new(course, minute);
        let samples = ((end_ms - at_ms) / 1_000) as usize * rate_hz as usize;
        bpm.extend(std::iter::repeat_n(row.bpm as u16, samples));
        bpm_q.extend(std::iter::repeat_n(row.bpm_q as u16, samples));
        at_ms = end_ms;
    }
    Block::of_samples(
        stretch.from_ms,
        rate_hz,
        vec![
            ("ppg", Column::Counts(green)),
            ("acc", Column::SignedCounts(magnitude)),
            ("accx", Column::SignedCounts(x)),
            ("accy", Column::SignedCounts(y)),
            ("accz", Column::SignedCounts(z)),
            ("bpm", Column::Counts(bpm)),
            ("bpm_q", Column::Counts(bpm_q)),
        ],
    )
}

fn acc_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let [x, y, z] = acceleration(course, rate_hz, from_s, to_s).axes;
    Block::of_samples(
        stretch.from_ms,
        rate_hz,
        vec![
            ("quality", Column::Constant(4)),
            ("accX", Column::SignedCounts(x)),
            ("accY", Column::SignedCounts(y)),
            ("accZ", Column::SignedCounts(z)),
        ],
    )
}

fn bioz_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let values = bioimpedance(course, rate_hz, from_s, to_s);
    Block::of_samples(stretch.from_ms, rate_hz, vec![("value", Column::Counts(values))])
}

/// Microvolts as raw counts, and millivolts.
fn ecg_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let millivolts = ecg(course, rate_hz, from_s, to_s);
    let microvolts = millivolts.iter().map(|mv| (mv * 1_000.0).round() as i16).collect();
    let rounded = millivolts.iter().map(|mv| round_to(f64::from(*mv), 3)).collect();
    Block::of_samples(
        stretch.from_ms,
        rate_hz,
        vec![("value", Column::SignedCounts(microvolts)), ("ecg", Column::Decimals(rounded))],
    )
}

fn eda_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let values = skin_conductance(course, rate_hz, from_s, to_s).into_iter().map(|value| round_to(value, 4)).collect();
    let columns = vec![("eda", Column::Decimals(values)), ("quality", Column::Constant(4))];
    Block::of_samples(stretch.from_ms, rate_hz, columns)
}

fn gyro_block(course: &Course, stretch: Window, rate_hz: u32) -> Block {
    let (from_s, to_s) = seconds(stretch);
    let rounded =
        |axis: Vec<f32>| Column::Decimals(axis.into_iter().map(|value| round_to(f64::from(value), 3)).collect());
    let [x, y, z] = rotation(course, rate_hz, from_s, to_s).axes.map(rounded);
    let columns = vec![("x", x), ("y", y), ("z", z), ("quality", Column::Constant(4))];
    Block::of_samples(stretch.from_ms, rate_hz, columns)
}
