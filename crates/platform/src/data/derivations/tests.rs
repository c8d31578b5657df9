//! Any order, repetition and splitting of syncs, with folds between them, gives what one fold of everything gives.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use store::{AHEAD_MS, Claim, DerivationCommit, DueRange, PatientId, Profile};
use vitals::af::{AfRecord, unpack_hour};
use vitals::block::{Block, Cells};
use vitals::derivation::{Answer, DERIVATIONS, NEWS_SETTING, Need, Output, Rows, Setting, Subject, day_of, figures};
use vitals::latest::{LatestValues, newest_of};
use vitals::merge::overlay;
use vitals::registry::{Channel, DataType, NULL, TestKind};
use vitals::summary::Section;
use vitals::zone::ZoneRuns;

use super::counts::DerivationCounts;
use super::derive::{Input, begin, commit_of, run, subject};
use super::reader::Reader;
use super::values::Values;

/// What the stores would hold of one patient.
#[derive(Clone, Debug, Default)]
struct Memory {
    rows: BTreeMap<(DataType, Channel), Block>,
    derived: Values,
    latest: LatestValues,
    due: Vec<DueRange>,
    arrivals: i64,
    rows_read: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    /// Looks beyond the days in hand.
    looks: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Reader for Memory {
    async fn read(&self, need: Need) -> store::Result<Answer> {
        if matches!(need, Need::VitalDaysBefore(_)) {
            self.looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        if let Some(answer) = self.derived.answer(need) {
            return Ok(answer);
        }
        let Need::Rows { data_type, from_us, to_us } = need else { unreachable!() };
        let of_type = self.rows.iter().filter(|((found, _), _)| *found == data_type);
        let clipped = of_type.map(|(_, block)| block.slice(block.rows_between(from_us, to_us)));
        let blocks: Vec<Block> = clipped.filter(|block| !block.is_empty()).collect();
        let rows = blocks.iter().map(Block::rows).sum();
        self.rows_read.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
        Ok(Answer::Rows(Rows { data_type, from_us, to_us, blocks }))
    }
}

fn patient() -> Subject {
    let profile = Profile {
        birthday: Some("1980-05-01".to_owned()),
        gender: Some(store::Gender::Female),
        height: Some(170.0),
        weight: Some(65.0),
        time_zone: Some("Europe/Zurich".to_owned()),
        ..Profile::default()
    };
    let body = r#"{"spo2_scale": 2, "oxygen": true, "consciousness": "A"}"#.to_owned();
    let oxygen = Setting { name: NEWS_SETTING.to_owned(), valid_from_ms: START_MS + 30 * HOUR_MS, body };
    subject(&profile, vec![oxygen])
}

impl Memory {
    /// Takes a sync in, as the store does.
    fn sync(&mut self, block: &Block, now_ms: i64) {
        self.arrivals += 1;
        let key = (block.data_type, block.channel);
        let merged = match self.rows.get(&key) {
            Some(stored) => overlay(&[stored, block]),
            None => block.clone(),
        };
        self.rows.insert(key, merged);
        let not_after_us = (now_ms + AHEAD_MS) * 1000 + 999;
        self.latest.merge_newer(&newest_of(block, not_after_us));
        let (first_us, last_us) = (block.first_us().unwrap(), block.last_us().unwrap());
        let mark = |first_us, ready_ms| DueRange {
            arrival: self.arrivals,
            data_type: block.data_type.number(),
            first_us,
            last_us,
            ready_ms,
        };
        self.due.push(mark(first_us, now_ms));
        if let Some(ahead_us) = block.times_us.iter().find(|time| **time > not_after_us) {
            self.due.push(mark(*ahead_us, ahead_us.div_euclid(1000) - AHEAD_MS));
        }
    }

    /// Folds until nothing is due.
    async fn fold(&mut self, now_ms: i64) {
        for _ in 0..1000 {
            let due: Vec<DueRange> = self.due.iter().filter(|mark| mark.ready_ms <= now_ms).copied().collect();
            if due.is_empty() {
                return;
            }
            let (seen, kept_from_us) = (self.latest, BTreeMap::new());
            let (plan, batch) = begin(Input { due, seen, subject: patient(), kept_from_us, now_ms });
            let changes = run(&*self, batch, &plan, &DerivationCounts::default()).await.unwrap();
            let claim = Claim { patient: PatientId::new("p"), token: 1, failures: store::Failures::default() };
            self.commit(commit_of(claim, &plan, changes, seen, now_ms));
        }
        panic!("folding does not end");
    }

    fn commit(&mut self, commit: DerivationCommit) {
        if let Some(change) = &commit.latest {
            assert_eq!(change.seen, self.latest);
            self.latest = change.computed;
        }
        self.derived.apply(commit.rows);
        self.due.retain(|mark| !commit.done.contains(mark));
        for mark in commit.due {
            if !self.due.contains(&mark) {
                self.due.push(mark);
            }
        }
    }

    fn assert_same_as(&self, other: &Memory, seed: u64) {
        assert_eq!(self.rows, other.rows, "seed {seed}: the test sends other rows");
        // Whatever is in the list is compared; times at which records became known are the order of arrival.
        assert_eq!(self.derived.changes_to(&other.derived), [], "seed {seed}");
        assert_eq!(records(&self.derived), records(&other.derived), "seed {seed}");
        assert_eq!(self.latest, other.latest, "seed {seed}");
    }

    /// Fails unless everything is what one fold of the rows gives that are stored now.
    async fn assert_complete(&self, now_ms: i64, seed: u64) {
        let rows: Vec<Block> = self.rows.values().cloned().collect();
        self.assert_same_as(&folded_at_once(&rows, now_ms).await, seed);
    }
}

/// Records without the times at which they became known: those are the order of arrival.
fn records(derived: &Values) -> Vec<AfRecord> {
    let hours = derived.of(Output::AfHour);
    hours.flat_map(|(_, hour)| unpack_hour(hour).unwrap()).map(|stored| stored.record).collect()
}

/// 2025-10-24T20:00Z: the night to the clock change of autumn is not far.
const START_MS: i64 = 1_761_336_000_000;
const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;

/// A recording of some days with gaps of hours, travel, poor rows, and spot measurements.
fn recording(random: &mut ChaCha8Rng, sessions: usize) -> Vec<Block> {
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

fn cell(random: &mut ChaCha8Rng, low: i32, high: i32, null_share: f64) -> i32 {
    if random.random_bool(null_share) { NULL } else { random.random_range(low..high) }
}

/// Cuts a recording into syncs, some of them sent twice, in a random order.
fn syncs(random: &mut ChaCha8Rng, recording: &[Block]) -> Vec<Block> {
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

/// The same rows with other values: what a later sync will put right.
fn spoiled(random: &mut ChaCha8Rng, block: &Block) -> Block {
    let mut spoiled = block.clone();
    let (column, values) = match block.data_type {
        DataType::Tests => (1, 30..220),
        DataType::Sleep => (0, 0..4),
        DataType::RrInterval => (0, 500_000..900_000),
        DataType::HeartRateVariability => (4, 9_000..90_000),
        DataType::Acc => (5, -500..500),
        _ => (0, 30..220),
    };
    let rows = block.rows();
    spoiled.columns[column] = Cells::Values((0..rows).map(|_| random.random_range(values.clone())).collect());
    spoiled
}

async fn folded_at_once(recording: &[Block], now_ms: i64) -> Memory {
    let mut memory = Memory::default();
    for block in recording {
        memory.sync(block, now_ms);
    }
    memory.fold(now_ms).await;
    memory
}

fn end_ms(recording: &[Block]) -> i64 {
    recording.iter().filter_map(Block::last_us).max().unwrap_or(0) / 1000
}

#[tokio::test]
async fn any_order_of_syncs_and_folds_gives_the_same() {
    let (mut sections, mut numbers): (BTreeSet<i64>, BTreeSet<i64>) = Default::default();
    let mut outputs: BTreeSet<Output> = BTreeSet::new();
    for seed in 0..150 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let sessions = random.random_range(1..9);
        let recording = recording(&mut random, sessions);
        let now_ms = end_ms(&recording) + HOUR_MS;
        let expected = folded_at_once(&recording, now_ms).await;
        assert!(expected.derived.of(Output::Slots).next().is_some());

        let mut memory = Memory::default();
        for sync in syncs(&mut random, &recording) {
            if random.random_bool(0.2) {
                memory.sync(&spoiled(&mut random, &sync), now_ms);
                if random.random_bool(0.5) {
                    memory.fold(now_ms).await;
                }
            }
            memory.sync(&sync, now_ms);
            if random.random_bool(0.5) {
                memory.fold(now_ms).await;
                if random.random_bool(0.1) {
                    memory.assert_complete(now_ms, seed).await;
                }
            }
        }
        memory.fold(now_ms).await;
        memory.assert_same_as(&expected, seed);
        assert!(memory.due.is_empty(), "seed {seed}: {:?}", memory.due);
        sections.extend(expected.derived.of(Output::Section).map(|(key, _)| day_of(key).1));
        numbers.extend(expected.derived.of(Output::Extra).map(|(key, _)| day_of(key).1));
        outputs.extend(Output::ALL.into_iter().filter(|output| expected.derived.of(*output).next().is_some()));
    }
    // The recordings hold something of each.
    assert_eq!(sections, Section::ALL.map(Section::number).into_iter().collect());
    assert_eq!(numbers, figures().map(|figure| figure.number).collect());
    let listed: BTreeSet<Output> = DERIVATIONS.iter().filter_map(|derivation| derivation.output).collect();
    assert_eq!(outputs, listed);
}

#[tokio::test]
async fn rows_ahead_of_the_clock_count_when_their_time_has_come() {
    for seed in 1000..1060 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let recording = recording(&mut random, 4);
        let end_ms = end_ms(&recording) + HOUR_MS;
        let expected = folded_at_once(&recording, end_ms).await;
        let mut memory = Memory::default();
        let mut now_ms = START_MS - HOUR_MS;
        for sync in syncs(&mut random, &recording) {
            memory.sync(&sync, now_ms);
            memory.fold(now_ms).await;
            let newest =
                memory.latest.scored_ms().max(memory.derived.of(Output::News).next_back().map(|(time_ms, _)| time_ms));
            assert!(newest.is_none_or(|newest| newest <= now_ms + AHEAD_MS), "seed {seed}");
            memory.assert_complete(now_ms, seed).await;
            now_ms = (now_ms + random.random_range(0..8 * HOUR_MS)).min(end_ms);
        }
        // The clock stops wherever something is due, as the worker's would.
        while let Some(ready_ms) = memory.due.iter().map(|mark| mark.ready_ms).min() {
            now_ms = now_ms.max(ready_ms);
            memory.fold(now_ms).await;
        }
        assert!(now_ms <= end_ms);
        memory.assert_same_as(&expected, seed);
    }
}

#[tokio::test]
async fn a_long_history_is_folded_in_parts() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let recording = recording(&mut random, 60);
    let now_ms = end_ms(&recording) + HOUR_MS;
    assert!(now_ms - START_MS > 14 * 24 * HOUR_MS);
    let expected = folded_at_once(&recording, now_ms).await;
    let mut memory = Memory::default();
    for sync in syncs(&mut random, &recording) {
        memory.sync(&sync, now_ms);
        if random.random_bool(0.1) {
            memory.fold(now_ms).await;
        }
    }
    memory.fold(now_ms).await;
    memory.assert_same_as(&expected, 7);
}

#[tokio::test]
async fn a_live_sync_reads_only_its_own_windows() {
    let minutes = 24 * 60;
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = (0..minutes).map(|minute| (START_MS + minute * MINUTE_MS) * 1000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
    block.columns[0] = Cells::Values((0..minutes as i32).map(|minute| 60 + minute % 9).collect());
    let now_ms = START_MS + minutes * MINUTE_MS;
    let rows = block.rows();
    let mut memory = Memory::default();
    memory.sync(&block.slice(0..rows - 1), now_ms);
    memory.fold(now_ms).await;
    memory.rows_read.store(0, std::sync::atomic::Ordering::Relaxed);
    memory.sync(&block.slice(rows - 1..rows), now_ms);
    memory.fold(now_ms).await;
    assert!(memory.rows_read.load(std::sync::atomic::Ordering::Relaxed) <= 5);
    assert_eq!(memory.latest.heart_rate.map(|timed| timed.timestamp_ms), Some(now_ms - MINUTE_MS));
    memory.assert_same_as(&folded_at_once(&[block], now_ms).await, 0);
}

/// A row of every second day, with one value in a column.
fn sparse(days: i64, column: &str, value: i32) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = (0..days / 2).map(|day| (START_MS + day * 48 * HOUR_MS) * 1000).collect();
    block.zones = ZoneRuns::constant("Europe/Zurich".into(), block.rows());
    block.columns[DataType::Activity.column_index(column).unwrap()] = Cells::Constant(value);
    block
}

#[tokio::test]
async fn history_without_vital_signs_is_not_searched_and_one_with_them_in_a_few_looks() {
    const DAYS: i64 = 400;
    let looks_of_last_row = async |block: Block, correction: Block| {
        let now_ms = START_MS + DAYS * 24 * HOUR_MS;
        let mut memory = Memory::default();
        memory.sync(&block, now_ms);
        memory.fold(now_ms).await;
        memory.looks.store(0, std::sync::atomic::Ordering::Relaxed);
        memory.sync(&correction, now_ms);
        memory.fold(now_ms).await;
        memory.assert_complete(now_ms, 0).await;
        memory.looks.load(std::sync::atomic::Ordering::Relaxed)
    };
    let steps = sparse(DAYS, "last_steps", 7);
    let last = steps.slice(steps.rows() - 1..steps.rows());
    let looks = looks_of_last_row(steps, last).await;
    assert!(looks <= 1, "nothing was ever scored, so at most the look-back is asked for: {looks}");

    // The only oxygen saturation is taken back, so no other is found.
    let mut rates = sparse(DAYS, "bpm", 60);
    let (column, rows) = (DataType::Activity.column_index("spo2").unwrap(), rates.rows());
    rates.columns[column] = Cells::Values((1..=rows).map(|row| if row == rows { 970 } else { NULL }).collect());
    let mut without = rates.slice(rows - 1..rows);
    without.columns[column] = Cells::Constant(NULL);
    let looks = looks_of_last_row(rates, without).await;
    assert!((1..=8).contains(&looks), "{looks}");
}
