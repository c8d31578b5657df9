//! Rows that differ from their checksums: nothing reads them as if they were sound, and nothing takes them over.

use vitals::block::{Block, Cells};
use vitals::derivation::{Output, keys_of_days};
use vitals::registry::{Channel, DataType};
use vitals::zone::{LocalDay, SECOND_US, ZoneRuns};

use super::derivations::{claim_of, enrol, nothing, section, slots};
use super::{Stores, activity_row, on_both_engines};
use crate::error::Result;
use crate::health::{Counts, DamageTarget, NotePosition, Walk, WalkPosition};
use crate::ids::PatientId;
use crate::segment::{SealedPeriod, UnsealedPeriod};
use crate::{DerivationCommit, HealthDb, InputRange, StoreError, Sync, SyncOutcome};

const NOON_MS: i64 = 1_763_640_000_000;
const LATER_MS: i64 = NOON_MS + 40 * 86_400_000;
const FAR_US: i64 = i64::MAX / 4;
const DAY: LocalDay = LocalDay(20_412);

on_both_engines! {
    every_column_of_a_chunk_is_covered
    chunk_of_another_patient_is_damage
    chunk_that_is_missing_is_damage
    damaged_chunk_is_neither_merged_nor_sealed
    rows_over_damaged_ones_are_stored_and_counted_when_they_are_back
    derivation_reads_no_waveform_that_is_not_compared_yet
    damaged_derived_values_are_found_wherever_they_are_read
    walks_find_every_damaged_row_and_go_on
    rows_of_before_checksums_are_read
}

fn ada() -> PatientId {
    PatientId::new("ada")
}

/// Two samples of movement.
fn movement() -> Block {
    let mut block = Block::empty(DataType::Acc, Channel::default());
    block.times_us = vec![NOON_MS * 1000, NOON_MS * 1000 + 40_000];
    block.columns.fill(Cells::Values(vec![10, 20]));
    block.zones = ZoneRuns::constant("UTC".into(), 2);
    block
}

async fn run(health: &HealthDb, text: &'static str) -> u64 {
    health.db.write(async move |tx| tx.execute(text, &[]).await).await.expect(text)
}

async fn store(health: &HealthDb, blocks: Vec<Block>) -> Counts {
    let sync = Sync { patient: ada(), received_ms: NOON_MS, id: None, device: None, blocks };
    let SyncOutcome::Stored(counts) = health.store_sync(sync).await.expect("stored") else { panic!("refused") };
    counts[&DataType::Activity]
}

/// Three minutes of heart rates, a chunk each.
async fn store_three(stores: &Stores) {
    enrol(stores, "ada").await;
    enrol(stores, "bob").await;
    for minute in 0..3 {
        store(&stores.health, vec![activity_row(NOON_MS + minute * 60_000, "bpm", 60 + minute as i32)]).await;
    }
}

async fn rows(health: &HealthDb) -> Result<usize> {
    let blocks = health.rows(&ada(), DataType::Activity, 0, FAR_US).await?;
    Ok(blocks.iter().map(Block::rows).sum())
}

fn is_named(result: &Result<usize>) -> bool {
    matches!(result, Err(StoreError::DamagedRows(rows)) if rows.what == "activity")
}

async fn every_column_of_a_chunk_is_covered(stores: Stores) {
    store_three(&stores).await;
    let health = &stores.health;
    assert_eq!(rows(health).await.expect("rows"), 3);
    for (damage, repair) in [
        ("UPDATE chunk SET channel = channel + 1", "UPDATE chunk SET channel = channel - 1"),
        ("UPDATE chunk SET first_us = first_us - 1", "UPDATE chunk SET first_us = first_us + 1"),
        ("UPDATE chunk SET last_us = last_us + 1", "UPDATE chunk SET last_us = last_us - 1"),
        ("UPDATE chunk SET arrival = arrival + 8", "UPDATE chunk SET arrival = arrival - 8"),
        ("UPDATE chunk SET row_count = row_count + 1", "UPDATE chunk SET row_count = row_count - 1"),
        ("UPDATE chunk SET sum = sum + 1", "UPDATE chunk SET sum = sum - 1"),
    ] {
        assert_eq!(run(health, damage).await, 3);
        let found = rows(health).await;
        assert!(is_named(&found), "{damage}: {found:?}");
        run(health, repair).await;
        assert_eq!(rows(health).await.expect(repair), 3);
    }
}

async fn chunk_of_another_patient_is_damage(stores: Stores) {
    store_three(&stores).await;
    run(&stores.health, "UPDATE chunk SET patient = 'bob'").await;
    let of_bob = stores.health.rows(&PatientId::new("bob"), DataType::Activity, 0, FAR_US).await;
    assert!(matches!(of_bob, Err(StoreError::DamagedRows(_))), "{of_bob:?}");
    assert!(is_named(&rows(&stores.health).await));
}

async fn chunk_that_is_missing_is_damage(stores: Stores) {
    store_three(&stores).await;
    let health = &stores.health;
    assert_eq!(run(health, "DELETE FROM chunk WHERE arrival = 2").await, 1);
    let found = rows(health).await;
    assert!(is_named(&found), "{found:?}");
    // Of a quarter of before there were counts nothing is known.
    run(health, "UPDATE tally SET chunks = NULL").await;
    assert_eq!(rows(health).await.expect("rows"), 2);
}

async fn damaged_chunk_is_neither_merged_nor_sealed(stores: Stores) {
    const DUMP: &str = "SELECT COUNT(*) FROM chunk";
    store_three(&stores).await;
    let health = &stores.health;
    health.damage(&ada(), DamageTarget::Chunks).await.expect("damaged");
    let hour_us = (NOON_MS * 1000).div_euclid(3_600 * SECOND_US) * 3_600 * SECOND_US;
    let merged = health.merge_hour(&ada(), DataType::Activity, hour_us).await;
    assert!(merged.is_err_and(|error| error.is_damage()));
    let period = SealedPeriod::of(DataType::Activity, NOON_MS * 1000);
    let unsealed = UnsealedPeriod { patient: ada(), data_type: DataType::Activity, period };
    let sealed = health.seal_period(&unsealed, LATER_MS, 1).await;
    assert!(sealed.is_err_and(|error| error.is_damage()));
    let count = health.db.read(async |tx| tx.query_opt(DUMP, &[], |row| row.get::<i64>(0)).await).await;
    assert_eq!(count.expect("a count"), Some(3));
    assert_eq!(health.segment_of(&ada(), DataType::Activity, period).await.expect("an answer"), None);

    run(health, "UPDATE chunk SET sum = sum - 1").await;
    health.merge_hour(&ada(), DataType::Activity, hour_us).await.expect("merged");
    assert_eq!(rows(health).await.expect("rows"), 3);
    assert_eq!(health.seal_period(&unsealed, LATER_MS, 1).await.expect("sealed").rows, 3);
    assert_eq!(rows(health).await.expect("rows"), 3);
}

async fn rows_over_damaged_ones_are_stored_and_counted_when_they_are_back(stores: Stores) {
    store_three(&stores).await;
    let health = &stores.health;
    health.damage(&ada(), DamageTarget::Chunks).await.expect("damaged");
    // One that is there, one in the place of another, and a new one.
    let minute = |minute: i64, bpm| activity_row(NOON_MS + minute * 60_000, "bpm", bpm);
    let mut counts = Counts::default();
    for block in [minute(0, 60), minute(1, 99)] {
        counts.unverified += store(health, vec![block]).await.unverified;
    }
    assert_eq!(counts.unverified, 2);
    assert_eq!(store(health, vec![minute(9, 70)]).await, Counts { stored: 1, ..Counts::default() });
    assert!(is_named(&rows(health).await), "they do not hide the damage");
    let noted = health.unverified_rows(NotePosition::default(), 9).await.expect("notes").notes;
    assert_eq!(noted.len(), 2);
    for unverified in &noted {
        let verified = health.verify_rows(unverified, LATER_MS).await;
        assert!(verified.is_err_and(|error| error.is_damage()));
    }

    run(health, "UPDATE chunk SET sum = sum - 1 WHERE arrival <= 3").await;
    for unverified in &noted {
        assert!(health.verify_rows(unverified, LATER_MS).await.expect("verified"));
    }
    assert_eq!(health.unverified_rows(NotePosition::default(), 9).await.expect("notes").notes, []);
    assert_eq!(rows(health).await.expect("rows"), 4);
    let counted = health.count_local_day(&ada(), LocalDay::parse("2025-11-20").expect("a day")).await;
    assert_eq!(counted.expect("counts"), [(DataType::Activity, 4)]);
    let due = health.due_of(&ada(), LATER_MS).await.expect("marks");
    assert!(due.iter().any(|range| range.arrival == 0), "{due:?}");
}

/// Some of its samples can be copies of stored ones at another time.
async fn derivation_reads_no_waveform_that_is_not_compared_yet(stores: Stores) {
    enrol(&stores, "ada").await;
    let health = &stores.health;
    let sync = || Sync { patient: ada(), received_ms: NOON_MS, id: None, device: None, blocks: vec![movement()] };
    health.store_sync(sync()).await.expect("stored");
    health.damage(&ada(), DamageTarget::Chunks).await.expect("damaged");
    health.store_sync(sync()).await.expect("stored");
    run(health, "UPDATE chunk SET sum = sum - 1 WHERE arrival = 1").await;
    let wanted = InputRange {
        outputs: [].into(),
        news_ms: (NOON_MS, NOON_MS),
        types: vec![DataType::Acc],
        rows_us: (NOON_MS * 1000, NOON_MS * 1000 + SECOND_US),
        waveforms_us: (NOON_MS * 1000, NOON_MS * 1000 + SECOND_US),
    };
    let read = async || health.derivation_inputs(&ada(), wanted.clone()).await.expect("an answer").rows;
    let noted = health.unverified_rows(NotePosition::default(), 9).await.expect("notes").notes;
    assert_eq!((noted.len(), read().await), (1, [].into()), "the caller asks for them by themselves, and is refused");
    assert!(health.verify_rows(&noted[0], LATER_MS).await.expect("verified"));
    let rows: usize = read().await[&DataType::Acc].iter().map(Block::rows).sum();
    assert_eq!(rows, 2, "once it was compared");
}

async fn damaged_derived_values_are_found_wherever_they_are_read(stores: Stores) {
    enrol(&stores, "ada").await;
    let health = &stores.health;
    let claim = claim_of(&stores, "ada").await;
    let rows = vec![
        slots(DAY, DataType::Activity, Some(vec![1, 2, 3])),
        section(DAY, vitals::summary::Section::Spo2, Some("{}")),
    ];
    let commit = DerivationCommit { rows, ..nothing(&claim) };
    health.commit_derivations(vec![commit]).await.expect("committed");
    assert_eq!(health.all_derived(&ada()).await.expect("rows").len(), 2);
    for output in [Output::Slots, Output::Section] {
        health.damage(&ada(), DamageTarget::Derived(output)).await.expect("damaged");
    }
    for output in [Output::Slots, Output::Section] {
        let of_day = keys_of_days(DAY, DAY);
        assert!(health.derived(&ada(), output, of_day).await.is_err_and(|error| error.is_damage()));
        let of_patients = health.derived_of_patients(vec![ada()], DAY, [output; 2]).await;
        assert!(of_patients.is_err_and(|error| error.is_damage()));
    }
    let of_types = health.slots_of_types(&ada(), DAY, DAY, [DataType::Activity; 2]).await;
    assert!(of_types.is_err_and(|error| error.is_damage()));
    assert!(health.slots_of_patients(vec![ada()], DAY, [DataType::Activity; 2]).await.is_err());
    assert!(health.all_derived(&ada()).await.is_err_and(|error| error.is_damage()));
    let (sound, damaged) = health.sound_derived(&ada()).await.expect("an answer");
    assert_eq!((sound.len(), damaged.len()), (0, 2));
}

async fn walks_find_every_damaged_row_and_go_on(stores: Stores) {
    store_three(&stores).await;
    let health = &stores.health;
    run(health, "UPDATE chunk SET sum = sum + 1 WHERE arrival = 2").await;
    let (mut position, mut rows, mut findings) = (Some(WalkPosition::default()), 0, Vec::new());
    while let Some(behind) = position {
        let part = health.verify_part(Walk::Chunks, behind, 2).await.expect("a part");
        rows += part.rows;
        findings.extend(part.findings);
        position = part.next;
    }
    assert_eq!((rows, findings.len()), (3, 1));
    assert_eq!(findings[0].patient, ada());
    health.damage(&ada(), DamageTarget::Latest).await.expect("damaged");
    let part = health.verify_part(Walk::Patients, WalkPosition::default(), 9).await.expect("a part");
    assert_eq!((part.rows, part.findings.len()), (2, 1));
    for walk in [Walk::Derived, Walk::Settings] {
        assert_eq!(health.verify_part(walk, WalkPosition::default(), 9).await.expect("a part").rows, 0);
    }
}

async fn rows_of_before_checksums_are_read(stores: Stores) {
    store_three(&stores).await;
    run(&stores.health, "UPDATE chunk SET sum = NULL").await;
    assert_eq!(rows(&stores.health).await.expect("rows"), 3);
}
