//! Recordings of a patient, and the syncs in which they arrive.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL, TestKind};
use vitals::zone::ZoneRuns;

/// 2025-10-24T20:00Z: the night to the clock change of autumn is not far.
pub(super) const START_MS: i64 = 1_761_336_000_000;
pub(super) const HOUR_MS: i64 = 3_600_000;
pub(super) const MINUTE_MS: i64 = 60_000;

/// Returns a recording of some days with gaps of hours, travel, poor rows, and spot measurements.
pub(super) fn recording(random: &mut ChaCha8Rng, sessions: usize) -> Vec<Block> {
    let mut time_ms = START_MS;
    let mut activity_ms = Vec::new();
    let mut temperature_ms = Vec::new();
    let mut still = Vec::new();
    for _ in 0..sessions {
        if random.random_bool(0.5) {
            // Five hours of rest.
            still.push(activity_ms.len()..activity_ms.len() + 60);
            activity_ms.extend((0..60).map(|window| time_ms + window * 5 * MINUTE_MS));
            time_ms += 5 * HOUR_MS;
        }
        for _ in 0..random.random_range(1..60) {
            activity_ms.push(time_ms);
            if random.random_bool(0.3) {
                temperature_ms.push(time_ms + 1);
            }
            time_ms += if random.random_bool(0.1) { 5 * MINUTE_MS } else { random.random_range(10_000..MINUTE_MS) };
        }
        time_ms += [MINUTE_MS * 20, HOUR_MS, 11 * HOUR_MS, 13 * HOUR_MS, 12 * HOUR_MS][random.random_range(0..5)];
    }
    let rows = activity_ms.len();
    let mut activity = Block::empty(DataType::Activity, Channel::default());
    let zone_change = random.random_range(0..=rows);
    activity.zones = ZoneRuns::constant("Europe/Zurich".into(), zone_change);
    activity.zones.push("America/New_York".into(), rows - zone_change);
    for (name, low, high, null_share) in [
        ("bpm", 0, 180, 0.1),
        ("bpm_q", 0, 5, 0.2),
        ("respiration_rate", 0, 300, 0.5),
        ("spo2", 850, 1001, 0.4),
        ("core_temp", 3480, 3950, 0.6),
        ("nibp_systolic_combine", 80, 230, 0.9),
        ("nibp_diastolic_combine", 0, 100, 0.9),
        ("last_steps", 0, 80, 0.3),
        ("wearing", 0, 5, 0.5),
    ] {
        activity.columns[DataType::Activity.column_index(name).unwrap()] =
            Cells::Values((0..rows).map(|_| cell(random, low, high, null_share)).collect());
    }
    for (name, value) in [("bpm", 55), ("bpm_q", 4), ("last_steps", 0), ("wearing", 4)] {
        let column = &mut activity.columns[DataType::Activity.column_index(name).unwrap()];
        let Cells::Values(cells) = column else { unreachable!() };
        for row in still.iter().cloned().flatten() {
            cells[row] = value + (row % 3) as i32 * i32::from(value > 4);
        }
    }
    activity.times_us = activity_ms.iter().map(|ms| ms * 1000).collect();

    let mut temperature = Block::empty(DataType::Temperature, Channel::default());
    temperature.zones = ZoneRuns::constant("Europe/Zurich".into(), temperature_ms.len());
    temperature.columns[0] =
        Cells::Values(temperature_ms.iter().map(|_| cell(random, 3000, 3600, 0.1)).collect()).simplified();
    temperature.times_us = temperature_ms.iter().map(|ms| ms * 1000).collect();

    let mut blocks = vec![activity, temperature];
    blocks.extend(nights(random, time_ms));
    blocks.push(beats(random, time_ms));
    blocks.push(movements(random));
    for name in ["heart_rate", "blood_pressure_systolic", "blood_pressure_diastolic", "weight"] {
        let count = random.random_range(0..4);
        let mut spot = Block::empty(DataType::Tests, Channel::of_test(TestKind::code(name).unwrap()));
        let mut times: Vec<i64> = (0..count).map(|_| random.random_range(START_MS..time_ms) * 1000).collect();
        times.sort_unstable();
        times.dedup();
        spot.zones = ZoneRuns::constant("UTC".into(), times.len());
        spot.columns[1] = Cells::Values(times.iter().map(|_| random.random_range(60_000..120_000)).collect());
        spot.times_us = times;
        blocks.push(spot);
    }
    blocks.retain(|block| !block.is_empty());
    for cells in blocks.iter_mut().flat_map(|block| &mut block.columns) {
        *cells = cells.clone().simplified();
    }
    blocks
}

/// Stages of some nights and naps, and what the bracelet says of heart-rate variability.
fn nights(random: &mut ChaCha8Rng, end_ms: i64) -> Vec<Block> {
    let mut stages = Block::empty(DataType::Sleep, Channel::default());
    let mut variability = Block::empty(DataType::HeartRateVariability, Channel::default());
    let (mut stage_cells, mut rmssd) = (Vec::new(), Vec::new());
    let mut time_ms = START_MS - random.random_range(0..8) * HOUR_MS;
    while time_ms < end_ms {
        for _ in 0..random.random_range(1..90) {
            stages.times_us.push(time_ms * 1000);
            stage_cells.push(cell(random, 0, 4, 0.02));
            if random.random_bool(0.1) {
                variability.times_us.push(time_ms * 1000 + 7);
                rmssd.push(cell(random, 9_000, 90_000, 0.1));
            }
            time_ms += 30_000;
        }
        time_ms +=
            [10 * MINUTE_MS, 59 * MINUTE_MS, 61 * MINUTE_MS, 5 * HOUR_MS, 14 * HOUR_MS][random.random_range(0..5)];
    }
    for (block, column, cells) in [(&mut stages, 0, stage_cells), (&mut variability, 4, rmssd)] {
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
        block.columns[column] = Cells::Values(cells);
    }
    vec![stages, variability]
}

/// Stretches of beats on some of the days.
fn beats(random: &mut ChaCha8Rng, end_ms: i64) -> Block {
    let mut block = Block::empty(DataType::RrInterval, Channel::default());
    let (mut intervals, mut qualities) = (Vec::new(), Vec::new());
    let mut time_us = START_MS * 1000 + random.random_range(0..HOUR_MS) * 1000;
    for _ in 0..random.random_range(0..4) {
        let spread = [4_000, 60_000, 400_000][random.random_range(0..3)];
        for _ in 0..random.random_range(1..700) {
            let interval = 800_000 + random.random_range(-spread..spread);
            time_us += i64::from(interval);
            block.times_us.push(time_us);
            intervals.push(cell(random, interval, interval + 1, 0.003));
            qualities.push(cell(random, 0, 40, 0.5).min(4));
        }
        time_us += random.random_range(0..20) * HOUR_MS * 1000;
        if time_us > end_ms * 1000 {
            break;
        }
    }
    let zurich = random.random_range(0..=block.rows());
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), zurich);
    block.zones.push("America/New_York".into(), block.rows() - zurich);
    block.columns[0] = Cells::Values(intervals);
    block.columns[1] = Cells::Values(qualities);
    block
}

/// Slow acceleration around the first midnight: long enough for a night without stages.
fn movements(random: &mut ChaCha8Rng) -> Block {
    let mut block = Block::empty(DataType::Acc, Channel::default());
    let mut axes: [Vec<i32>; 3] = Default::default();
    let seconds = if random.random_bool(0.3) { 4 * 3600 } else { 0 };
    let mut angle = 0;
    for second in 0..seconds {
        if random.random_bool(0.001) {
            angle = random.random_range(0..500);
        }
        block.times_us.push((START_MS + HOUR_MS + second * 1000) * 1000);
        for (axis, value) in axes.iter_mut().zip([angle, 20, 510 - angle]) {
            axis.push(value);
        }
    }
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
    for (column, cells) in (4..).zip(axes) {
        block.columns[column] = Cells::Values(cells);
    }
    block
}

/// Some seconds of the other waveforms, over the end of a window.
pub(super) fn signals(random: &mut ChaCha8Rng) -> Vec<Block> {
    if random.random_bool(0.7) {
        return Vec::new();
    }
    let begin_us = (START_MS + random.random_range(1..40) * HOUR_MS) * 1000 - 5_000_000;
    let green = (0x7e, 6);
    let waveforms = [
        (DataType::Ecg, Channel::default(), 256, "ecg"),
        (DataType::Ppg1, Channel::default(), 25, "ppg"),
        (DataType::Ppg2, Channel::of_ppg2(green.0, green.1), 32, "value"),
    ];
    let block = |(data_type, channel, rate_hz, column): (DataType, Channel, i64, &str)| {
        let mut block = Block::empty(data_type, channel);
        block.times_us = (0..10 * rate_hz).map(|row| begin_us + row * 1_000_000 / rate_hz).collect();
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
        // A beat a second.
        let beats = (0..10 * rate_hz).map(|row| if row % rate_hz < rate_hz / 8 { 900 } else { 100 });
        block.columns[data_type.column_index(column).unwrap()] = Cells::Values(beats.collect()).simplified();
        if data_type == DataType::Ppg2 {
            for (name, cell) in [("metric_id", green.0), ("led_pd_pos", green.1)] {
                block.columns[data_type.column_index(name).unwrap()] = Cells::Constant(cell);
            }
        }
        block
    };
    waveforms.map(block).to_vec()
}

fn cell(random: &mut ChaCha8Rng, low: i32, high: i32, null_share: f64) -> i32 {
    if random.random_bool(null_share) { NULL } else { random.random_range(low..high) }
}

/// Cuts a recording into syncs, some of them sent twice, in a random order.
pub(super) fn syncs(random: &mut ChaCha8Rng, recording: &[Block]) -> Vec<Block> {
    let mut syncs = Vec::new();
    for block in recording {
        let mut start = 0;
        while start < block.rows() {
            // Where rows are many, so are those of a sync.
            let longest = 40.max(block.rows() / 8);
            let end = (start + random.random_range(1..longest)).min(block.rows());
            syncs.push(block.slice(start..end));
            if random.random_bool(0.1) {
                syncs.push(block.slice(start.saturating_sub(5)..end));
            }
            start = end;
        }
    }
    for at in (1..syncs.len()).rev() {
        syncs.swap(at, random.random_range(0..=at));
    }
    syncs
}

/// Returns the same rows with other values: what a later sync will put right.
pub(super) fn spoiled(random: &mut ChaCha8Rng, block: &Block) -> Block {
    let mut spoiled = block.clone();
    let (column, values) = match block.data_type {
        DataType::Tests => (1, 30..220),
        DataType::Sleep => (0, 0..4),
        DataType::RrInterval => (0, 500_000..900_000),
        DataType::HeartRateVariability => (4, 9_000..90_000),
        DataType::Acc => (5, -500..500),
        DataType::Ecg => (3, -500..500),
        DataType::Ppg2 => (9, 30..220),
        _ => (0, 30..220),
    };
    let rows = block.rows();
    spoiled.columns[column] = Cells::Values((0..rows).map(|_| random.random_range(values.clone())).collect());
    spoiled
}

pub(super) fn end_ms(recording: &[Block]) -> i64 {
    recording.iter().filter_map(Block::last_us).max().unwrap_or(0) / 1000
}

/// Returns a row of every second day, with one value in a column.
pub(super) fn sparse(days: i64, column: &str, value: i32) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = (0..days / 2).map(|day| (START_MS + day * 48 * HOUR_MS) * 1000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
    block.columns[DataType::Activity.column_index(column).unwrap()] = Cells::Constant(value);
    block
}

/// A night that is slept through, in the evening behind a time: stages and pulse without a gap, which random rows hardly give.
pub(super) fn whole_night(behind_ms: i64) -> Vec<Block> {
    let begin_ms = (behind_ms / (24 * HOUR_MS) + 1) * 24 * HOUR_MS + 21 * HOUR_MS;
    let rows_of = |data_type: DataType, step_ms: i64, values: &[(&str, i32)]| {
        let mut block = Block::empty(data_type, Channel::default());
        block.times_us = (0..7 * HOUR_MS / step_ms).map(|at| (begin_ms + at * step_ms) * 1000).collect();
        block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
        for (name, value) in values {
            let column = data_type.column_index(name).unwrap();
            block.columns[column] = Cells::Values(vec![*value; block.rows()]);
        }
        block
    };
    vec![
        rows_of(DataType::Sleep, 30_000, &[("sleep_state", 1), ("quality", 4)]),
        rows_of(DataType::Activity, MINUTE_MS, &[("bpm", 55), ("bpm_q", 4), ("wearing", 4)]),
    ]
}
