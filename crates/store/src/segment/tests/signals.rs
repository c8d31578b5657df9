//! Signals that are like recordings in what matters to their size: a slow course, a pulse, and noise.

use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use crate::random_blocks::DAY_START_US;

/// A small generator of pseudo-random numbers (xorshift), so that every run has the same signal.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Close to a normal distribution of variance 1: twelve uniform numbers added up.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

fn wave(time_s: f64, frequency_hz: f64) -> f64 {
    (std::f64::consts::TAU * frequency_hz * time_s).sin()
}

fn block(data_type: DataType, channel: Channel, rate_hz: i64, rows: i64) -> Block {
    let mut block = Block::empty(data_type, channel);
    block.times_us = (0..rows).map(|row| DAY_START_US + (row * 2_000_000 + rate_hz) / (2 * rate_hz)).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), rows as usize);
    block
}

fn set(block: &mut Block, name: &str, cells: Cells) {
    let position = block.data_type.column_index(name).unwrap();
    block.columns[position] = cells.simplified();
}

/// Returns the packet that each sample came in.
fn packets(rows: i64, rows_per_packet: i64) -> Cells {
    Cells::Values((0..rows).map(|row| (row / rows_per_packet) as i32).collect())
}

/// Three colours at 128 Hz, with everything that a bracelet sends with the value.
pub(super) fn ppg2(rows: i64) -> Vec<Block> {
    let colours = [(0x7b, 45_000.0, 900.0), (0x7c, 31_000.0, 500.0), (0x7e, 18_000.0, 1200.0)];
    let of_colour = |(metric_id, level, pulse): (i32, f64, f64)| {
        let mut noise = Noise(0x9e37_79b9 + metric_id as u64);
        let mut block = block(DataType::Ppg2, Channel::of_ppg2(metric_id, 6), 128, rows);
        let value = |row: i64| {
            let time_s = row as f64 / 128.0;
            let course = level + 2000.0 * wave(time_s, 0.002) + pulse * 0.3 * wave(time_s, 0.25);
            let beat = pulse * (wave(time_s, 1.1) + 0.3 * wave(time_s, 2.2));
            (course + beat + 25.0 * noise.normal()) as i32
        };
        let values = (0..rows).map(value).collect();
        set(&mut block, "metric_id", Cells::Constant(metric_id));
        set(&mut block, "led_pd_pos", Cells::Constant(6));
        set(&mut block, "chunk_index", packets(rows, 64));
        set(&mut block, "quality", Cells::Values((0..rows).map(|row| (row / 40_000 % 3) as i32).collect()));
        set(&mut block, "body_pose", Cells::Values((0..rows).map(|row| (row / 90_000 % 2) as i32).collect()));
        set(&mut block, "offset", Cells::Constant(0));
        set(&mut block, "exp", Cells::Constant(12));
        set(&mut block, "led", Cells::Values((0..rows).map(|row| 40 + (row / 50_000 % 4) as i32).collect()));
        set(&mut block, "gain", Cells::Constant(3));
        set(&mut block, "value", Cells::Values(values));
        block
    };
    colours.into_iter().map(of_colour).collect()
}

/// Three axes at 32 Hz: rest with bouts of movement.
pub(super) fn acc(rows: i64) -> Vec<Block> {
    let mut noise = Noise(0x1234_5678);
    let mut block = block(DataType::Acc, Channel::default(), 32, rows);
    for (axis, rest) in [("accX", 120.0), ("accY", -300.0), ("accZ", 390.0)] {
        let value = |row: i64| {
            let time_s = row as f64 / 32.0;
            let moving = if row / 9_600 % 4 == 3 { 150.0 } else { 0.0 };
            let cell =
                rest + 30.0 * wave(time_s, 0.003) + moving * wave(time_s, 1.8) + (6.0 + moving / 5.0) * noise.normal();
            (cell as i32).clamp(-4096, 4096)
        };
        let values = (0..rows).map(value).collect();
        set(&mut block, axis, Cells::Values(values));
    }
    set(&mut block, "metric_id", Cells::Constant(0x40));
    set(&mut block, "chunk_index", packets(rows, 32));
    set(&mut block, "quality", Cells::Constant(NULL));
    set(&mut block, "body_pose", Cells::Values((0..rows).map(|row| (row / 20_000 % 5) as i32).collect()));
    vec![block]
}

/// A day of intervals in whole milliseconds, as most devices measure them.
pub(super) fn intervals() -> Vec<Block> {
    let mut noise = Noise(0x0051_a7e5);
    let mut block = Block::empty(DataType::RrInterval, Channel::default());
    let (mut time_us, mut cells) = (DAY_START_US, Vec::new());
    while time_us < DAY_START_US + 86_400_000_000 {
        let hours = (time_us - DAY_START_US) as f64 / 3.6e9;
        let course = 850.0 + 150.0 * wave(hours, 1.0 / 24.0) + 40.0 * wave(hours * 3600.0, 0.25);
        let interval_ms = (course + 25.0 * noise.normal()) as i32;
        cells.push(interval_ms * 1000);
        block.times_us.push(time_us);
        time_us += i64::from(interval_ms) * 1000;
    }
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), cells.len());
    set(&mut block, "rr", Cells::Values(cells));
    set(&mut block, "quality", Cells::Constant(4));
    vec![block]
}

/// Minutes of a day, as a bracelet sums them up: a course and noise in steps of the device.
fn minutes(data_type: DataType, columns: &[(&str, f64, f64, f64)]) -> Vec<Block> {
    let mut noise = Noise(0x0ddb_a115);
    let mut block = Block::empty(data_type, Channel::default());
    block.times_us = (0..1440).map(|row| DAY_START_US + row * 60_000_000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), 1440);
    for (name, level, swing, step) in columns {
        let steps = f64::from(data_type.column(name).unwrap().steps_per_unit());
        let mut value = |row: i64| level + swing * wave(row as f64, 1.0 / 1440.0) + step * noise.normal();
        let cells = (0..1440).map(|row| ((value(row) / step).round() * step * steps).round() as i32).collect();
        set(&mut block, name, Cells::Values(cells));
    }
    vec![block]
}

/// A day of what is measured each minute.
pub(super) fn activity() -> Vec<Block> {
    let columns = [
        ("bpm", 68.0, 12.0, 1.0),
        ("last_steps", 20.0, 15.0, 1.0),
        ("respiration_rate", 15.0, 2.0, 0.5),
        ("spo2", 96.0, 1.0, 1.0),
        ("core_temp", 36.8, 0.4, 0.05),
    ];
    minutes(DataType::Activity, &columns)
}

/// A day of skin temperatures.
pub(super) fn temperature() -> Vec<Block> {
    minutes(DataType::Temperature, &[("temp_sk1", 33.0, 1.0, 0.06), ("temp_amb", 26.0, 2.0, 0.06)])
}

/// Millivolts at 256 Hz: spikes on a wandering line.
pub(super) fn ecg(rows: i64) -> Vec<Block> {
    let mut noise = Noise(0x0bad_cafe);
    let mut block = block(DataType::Ecg, Channel::default(), 256, rows);
    let value = |row: i64| {
        let time_s = row as f64 / 256.0;
        let phase = (time_s * 1.15).fract();
        let spike = 1.2 * (-((phase - 0.3) / 0.012).powi(2)).exp() + 0.3 * (-((phase - 0.6) / 0.05).powi(2)).exp();
        ((spike + 0.2 * wave(time_s, 0.3) + 0.01 * noise.normal()) * 1000.0) as i32
    };
    let values = (0..rows).map(value).collect();
    set(&mut block, "ecg", Cells::Values(values));
    set(&mut block, "metric_id", Cells::Constant(0x30));
    set(&mut block, "chunk_index", packets(rows, 128));
    vec![block]
}
