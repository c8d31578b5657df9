//! Any order, repetition and splitting of syncs, with derivations between them, gives what one derivation of everything gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use store::{AHEAD_MS, Claim, DerivationCommit, DueRange, PatientId, Profile};
use vitals::af::{AfRecord, unpack_hour};
use vitals::block::{Block, Cells};
use vitals::derivation::{
    Answer, DERIVATIONS, NEWS_SETTING, Need, Output, Rows, Setting, Subject, day_of, figures, is_input,
};
use vitals::measured::Measured;
use vitals::merge::last_write_wins;
use vitals::registry::{Channel, DataType, NULL};
use vitals::summary::Section;
use vitals::zone::ZoneRuns;

use super::counts::DerivationCounts;
use super::derive::{Input, begin, commit_of, run, subject};
use super::reader::Reader;
use super::values::Values;

mod recordings;

use recordings::{HOUR_MS, MINUTE_MS, START_MS, end_ms, recording, signals, sparse, spoiled, syncs, whole_night};

/// When the patient is set to breathe oxygen, on the second scale.
const OXYGEN_MS: i64 = START_MS + 30 * HOUR_MS;

/// What the stores would hold of one patient.
#[derive(Clone, Debug)]
struct Memory {
    rows: BTreeMap<(DataType, Channel), Block>,
    derived: Values,
    latest: Measured,
    due: Vec<DueRange>,
    arrivals: i64,
    rows_read: Arc<AtomicUsize>,
    /// Looks beyond the days in hand.
    looks: Arc<AtomicUsize>,
    counts: DerivationCounts,
}

impl Reader for Memory {
    async fn read(&self, need: Need) -> store::Result<Answer> {
        if matches!(need, Need::VitalDaysBefore(_)) {
            self.looks.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(answer) = self.derived.answer(need) {
            return Ok(answer);
        }
        let Need::Rows { data_type, from_us, to_us } = need else { unreachable!() };
        let of_type = self.rows.iter().filter(|((found, _), _)| *found == data_type);
        let clipped = of_type.map(|(_, block)| block.slice(block.rows_between(from_us, to_us)));
        let blocks: Vec<Block> = clipped.filter(|block| !block.is_empty()).collect();
        let rows = blocks.iter().map(Block::rows).sum();
        self.rows_read.fetch_add(rows, Ordering::Relaxed);
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
    let oxygen = Setting { name: NEWS_SETTING.to_owned(), valid_from_ms: OXYGEN_MS, body };
    subject(&profile, vec![oxygen])
}

impl Memory {
    /// Returns a patient without any measurement. The change of settings is due, as the store marks it.
    fn new() -> Self {
        let oxygen = DueRange {
            arrival: 0,
            data_type: DataType::Activity.number(),
            first_us: OXYGEN_MS * 1000,
            last_us: OXYGEN_MS * 1000,
            ready_ms: OXYGEN_MS - AHEAD_MS,
        };
        Memory {
            rows: BTreeMap::new(),
            derived: Values::default(),
            latest: Measured::default(),
            due: vec![oxygen],
            arrivals: 0,
            rows_read: Arc::default(),
            looks: Arc::default(),
            counts: DerivationCounts::default(),
        }
    }

    /// Takes a sync in, as the store does.
    fn sync(&mut self, block: &Block, now_ms: i64) {
        self.arrivals += 1;
        let key = (block.data_type, block.channel);
        let merged = match self.rows.get(&key) {
            Some(stored) => last_write_wins(&[stored, block]),
            None => block.clone(),
        };
        self.rows.insert(key, merged);
        let not_after_us = (now_ms + AHEAD_MS) * 1000 + 999;
        self.latest.merge_newer(&Measured::of(block, not_after_us));
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

    /// Derives until nothing is due; returns in how many batches.
    async fn derive_due(&mut self, now_ms: i64) -> usize {
        for batches in 0..1000 {
            let due: Vec<DueRange> = self.due.iter().filter(|mark| mark.ready_ms <= now_ms).copied().collect();
            if due.is_empty() {
                return batches;
            }
            let (seen, kept_from_us) = (self.latest, BTreeMap::new());
            let newest_entry_ms = self.derived.of(Output::News).next_back().map(|(time_ms, _)| time_ms);
            let (plan, batch) = begin(Input { due, seen, subject: patient(), newest_entry_ms, kept_from_us, now_ms });
            let changes = run(&*self, batch, &plan, &self.counts).await.unwrap();
            let claim = Claim { patient: PatientId::new("p"), token: 1, failures: store::Failures::default() };
            self.commit(commit_of(claim, &plan, changes, &seen, now_ms));
        }
        panic!("deriving does not end");
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

    /// Returns the newest time that latest values or an entry of NEWS are of, ms.
    fn newest_scored_ms(&self) -> Option<i64> {
        let entry = self.derived.of(Output::News).next_back().map(|(time_ms, _)| time_ms);
        self.latest.scored_ms().max(entry)
    }

    /// Derives until only the change of settings can be left, the clock being at each time at which something becomes ready,
    /// as a worker's would. Returns the time of the last derivation, ms.
    async fn derive_to_the_end(&mut self, mut now_ms: i64) -> i64 {
        while let Some(ready_ms) = self
            .due
            .iter()
            .filter(|mark| now_ms >= mark.ready_ms || !is_of_oxygen(mark))
            .map(|mark| mark.ready_ms)
            .min()
        {
            now_ms = now_ms.max(ready_ms);
            self.derive_due(now_ms).await;
        }
        now_ms
    }

    /// Fails while anything is due but the change of settings, whose time may be to come.
    fn assert_done(&self, now_ms: i64, seed: u64) {
        let left: Vec<&DueRange> =
            self.due.iter().filter(|mark| now_ms >= mark.ready_ms || !is_of_oxygen(mark)).collect();
        assert!(left.is_empty(), "seed {seed}: {left:?}");
    }

    fn assert_same_as(&self, other: &Memory, seed: u64) {
        assert_eq!(self.rows, other.rows, "seed {seed}: the test sends other rows");
        // Whatever is in the list is compared; times at which records became known are the order of arrival.
        assert_eq!(self.derived.changes_to(&other.derived), [], "seed {seed}");
        assert_eq!(records(&self.derived), records(&other.derived), "seed {seed}");
        assert_eq!(self.latest, other.latest, "seed {seed}");
    }

    /// Fails unless everything is what one derivation of the rows gives that are stored now.
    async fn assert_complete(&self, now_ms: i64, seed: u64) {
        let rows: Vec<Block> = self.rows.values().cloned().collect();
        self.assert_same_as(&derived_at_once(&rows, now_ms).await, seed);
    }
}

fn is_of_oxygen(mark: &DueRange) -> bool {
    mark.ready_ms == OXYGEN_MS - AHEAD_MS
}

/// Records without the times at which they became known: those are the order of arrival.
fn records(derived: &Values) -> Vec<AfRecord> {
    let hours = derived.of(Output::AfHour);
    hours.flat_map(|(_, hour)| unpack_hour(hour).unwrap()).map(|stored| stored.record).collect()
}

async fn derived_at_once(recording: &[Block], now_ms: i64) -> Memory {
    let mut memory = Memory::new();
    for block in recording {
        memory.sync(block, now_ms);
    }
    memory.derive_due(now_ms).await;
    memory
}

/// Syncs that arrive while the clock runs from before what they hold to after it.
struct Replay {
    random: ChaCha8Rng,
    syncs: Vec<Block>,
    end_ms: i64,
    /// What one derivation at the end gives.
    expected: Memory,
}

impl Replay {
    async fn of_seed(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let recording = recording(&mut random, 4);
        let end_ms = end_ms(&recording) + HOUR_MS;
        let expected = derived_at_once(&recording, end_ms).await;
        let syncs = syncs(&mut random, &recording);
        Replay { random, syncs, end_ms, expected }
    }

    /// Time of the next sync, ms.
    fn next_ms(&mut self, now_ms: i64) -> i64 {
        (now_ms + self.random.random_range(0..8 * HOUR_MS)).min(self.end_ms)
    }
}

#[tokio::test]
async fn any_order_of_syncs_and_derivations_gives_the_same() {
    let (mut sections, mut numbers): (BTreeSet<i64>, BTreeSet<i64>) = Default::default();
    let (mut outputs, mut computed): (BTreeSet<Output>, BTreeSet<&str>) = Default::default();
    let mut types: BTreeSet<DataType> = BTreeSet::new();
    for seed in 0..150 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let sessions = random.random_range(1..9);
        let mut recording = recording(&mut random, sessions);
        recording.extend(signals(&mut random));
        if seed % 10 == 0 {
            recording.extend(whole_night(end_ms(&recording)));
        }
        let now_ms = end_ms(&recording) + HOUR_MS;
        let expected = derived_at_once(&recording, now_ms).await;
        assert!(expected.derived.of(Output::Slots).next().is_some());

        let mut memory = Memory::new();
        for sync in syncs(&mut random, &recording) {
            if random.random_bool(0.2) {
                memory.sync(&spoiled(&mut random, &sync), now_ms);
                if random.random_bool(0.5) {
                    memory.derive_due(now_ms).await;
                }
            }
            memory.sync(&sync, now_ms);
            if random.random_bool(0.5) {
                memory.derive_due(now_ms).await;
                if random.random_bool(0.1) {
                    memory.assert_complete(now_ms, seed).await;
                }
            }
        }
        memory.derive_due(now_ms).await;
        memory.assert_same_as(&expected, seed);
        memory.assert_done(now_ms, seed);
        sections.extend(expected.derived.of(Output::Section).map(|(key, _)| day_of(key).1));
        numbers.extend(expected.derived.of(Output::Extra).map(|(key, _)| day_of(key).1));
        computed.extend(expected.counts.all().iter().filter(|(_, count, _)| *count > 0).map(|(id, ..)| *id));
        types.extend(expected.derived.of(Output::Slots).filter_map(|(key, _)| DataType::from_number(day_of(key).1)));
        outputs.extend(Output::ALL.into_iter().filter(|output| expected.derived.of(*output).next().is_some()));
    }
    // The recordings hold something of each.
    assert_eq!(sections, Section::ALL.map(Section::number).into_iter().collect());
    assert_eq!(numbers, figures().map(|figure| figure.number).collect());
    let listed: BTreeSet<Output> = DERIVATIONS.iter().filter_map(|derivation| derivation.output).collect();
    assert_eq!(outputs, listed);
    assert_eq!(computed, DERIVATIONS.iter().map(|derivation| derivation.id).collect());
    assert_eq!(types, DataType::ALL.into_iter().filter(|data_type| is_input(*data_type)).collect());
}

#[tokio::test]
async fn rows_ahead_of_the_clock_count_when_their_time_has_come() {
    for seed in 1000..1060 {
        let mut replay = Replay::of_seed(seed).await;
        let mut memory = Memory::new();
        let mut now_ms = START_MS - HOUR_MS;
        for sync in std::mem::take(&mut replay.syncs) {
            memory.sync(&sync, now_ms);
            memory.derive_due(now_ms).await;
            assert!(memory.newest_scored_ms().is_none_or(|newest| newest <= now_ms + AHEAD_MS), "seed {seed}");
            memory.assert_complete(now_ms, seed).await;
            now_ms = replay.next_ms(now_ms);
        }
        let last_ms = memory.derive_to_the_end(now_ms).await;
        assert!(last_ms <= replay.end_ms);
        memory.assert_same_as(&replay.expected, seed);
    }
}

/// What was taken for good while the clock was ahead is taken back once it is right, and comes again in its time.
#[tokio::test]
async fn clock_that_was_ahead_and_is_right_again_leaves_nothing_from_ahead() {
    let mut taken_back = 0;
    for seed in 2000..2060 {
        let mut replay = Replay::of_seed(seed).await;
        let mut memory = Memory::new();
        let mut now_ms = START_MS - HOUR_MS;
        for sync in std::mem::take(&mut replay.syncs) {
            let is_ahead = replay.random.random_bool(0.4);
            let wrong_ms = now_ms + if is_ahead { replay.random.random_range(0..48 * HOUR_MS) } else { 0 };
            memory.sync(&sync, wrong_ms);
            memory.derive_due(wrong_ms).await;
            let of_ahead = memory.newest_scored_ms().is_some_and(|newest| newest > now_ms + AHEAD_MS);
            if replay.random.random_bool(0.7) {
                // The clock is right, and something comes, whatever it is.
                memory.sync(&sync, now_ms);
                memory.derive_due(now_ms).await;
                assert!(memory.newest_scored_ms().is_none_or(|newest| newest <= now_ms + AHEAD_MS), "seed {seed}");
                memory.assert_complete(now_ms, seed).await;
                taken_back += usize::from(of_ahead);
            }
            now_ms = replay.next_ms(now_ms);
        }
        memory.derive_to_the_end(now_ms).await;
        memory.assert_same_as(&replay.expected, seed);
    }
    assert!(taken_back > 20, "the clock was hardly ever ahead of a value: {taken_back}");
}

/// A batch spans days, and a clock can be ahead by weeks.
#[tokio::test]
async fn clock_that_was_weeks_ahead_is_soon_at_rest_and_leaves_nothing_from_ahead() {
    const MOST_BATCHES: usize = 40;
    for seed in 3000..3010 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let recording = recording(&mut random, 60);
        let end_ms = end_ms(&recording) + HOUR_MS;
        assert!(end_ms - START_MS > 14 * 24 * HOUR_MS);
        let expected = derived_at_once(&recording, end_ms).await;
        let mut memory = expected.clone();
        let now_ms = START_MS - random.random_range(1..40) * 24 * HOUR_MS;
        for _ in 0..2 {
            for block in &recording[..random.random_range(1..=recording.len())] {
                memory.sync(block, now_ms);
            }
            let batches = memory.derive_due(now_ms).await;
            assert!((1..=MOST_BATCHES).contains(&batches), "seed {seed}: {batches} batches");
            assert!(memory.newest_scored_ms().is_none_or(|newest| newest <= now_ms + AHEAD_MS));
        }
        // In one step: at each of the times that lie between, the days before it would be derived again.
        memory.derive_due(end_ms).await;
        memory.assert_same_as(&expected, seed);
    }
}

#[tokio::test]
async fn a_long_history_is_derived_in_parts() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let recording = recording(&mut random, 60);
    let now_ms = end_ms(&recording) + HOUR_MS;
    assert!(now_ms - START_MS > 14 * 24 * HOUR_MS);
    let expected = derived_at_once(&recording, now_ms).await;
    let mut memory = Memory::new();
    for sync in syncs(&mut random, &recording) {
        memory.sync(&sync, now_ms);
        if random.random_bool(0.1) {
            memory.derive_due(now_ms).await;
        }
    }
    memory.derive_due(now_ms).await;
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
    let mut memory = Memory::new();
    memory.sync(&block.slice(0..rows - 1), now_ms);
    memory.derive_due(now_ms).await;
    memory.rows_read.store(0, Ordering::Relaxed);
    memory.sync(&block.slice(rows - 1..rows), now_ms);
    memory.derive_due(now_ms).await;
    assert!(memory.rows_read.load(Ordering::Relaxed) <= 5);
    assert_eq!(memory.latest.valid.heart_rate.map(|timed| timed.timestamp_ms), Some(now_ms - MINUTE_MS));
    memory.assert_same_as(&derived_at_once(&[block], now_ms).await, 0);
}

#[tokio::test]
async fn history_without_vital_signs_is_not_searched_and_one_with_them_in_a_few_looks() {
    const DAYS: i64 = 400;
    let looks_of_last_row = async |block: Block, correction: Block| {
        let now_ms = START_MS + DAYS * 24 * HOUR_MS;
        let mut memory = Memory::new();
        memory.sync(&block, now_ms);
        memory.derive_due(now_ms).await;
        memory.looks.store(0, Ordering::Relaxed);
        memory.sync(&correction, now_ms);
        memory.derive_due(now_ms).await;
        memory.assert_complete(now_ms, 0).await;
        memory.looks.load(Ordering::Relaxed)
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
