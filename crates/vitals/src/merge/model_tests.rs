//! Merging against the plainest model there is: a map from time to row.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::registry::{Channel, DataType, NULL};

/// Everything that a row holds but its zone.
type Row = Vec<(i32, Option<Arc<str>>)>;
/// Rows by time, each with its zone.
type Model = BTreeMap<i64, (Row, Arc<str>)>;

const TYPES: [DataType; 5] =
    [DataType::Activity, DataType::Temperature, DataType::Sleep, DataType::RrInterval, DataType::HeartRateVariability];

fn row_of(block: &Block, row: usize) -> Row {
    block.columns.iter().map(|cells| (cells.get(row), cells.text(row).cloned())).collect()
}

fn model_of(block: &Block) -> Model {
    (0..block.rows()).map(|row| (block.times_us[row], (row_of(block, row), block.zone_of(row).clone()))).collect()
}

/// Values of a row that another one in its place does not have.
fn lost(before: &Row, after: &Row) -> u64 {
    let is_there = |(cell, text): &(i32, Option<Arc<str>>)| *cell != NULL || text.is_some();
    before.iter().zip(after).filter(|(before, after)| is_there(before) && !is_there(after)).count() as u64
}

/// The later row wins, the first zone stays.
fn put(model: &mut Model, block: &Block) {
    for (time_us, (row, zone)) in model_of(block) {
        match model.get_mut(&time_us) {
            Some((known, _)) => *known = row,
            None => {
                model.insert(time_us, (row, zone));
            }
        }
    }
}

/// Blocks of one type whose times fall together often: twenty microseconds for up to fifteen rows.
fn any_blocks() -> impl Strategy<Value = Vec<Block>> {
    proptest::sample::select(TYPES.to_vec())
        .prop_flat_map(|data_type| vec(any_block(data_type, MIDNIGHT_US..MIDNIGHT_US + 20, 15), 1..6))
}

/// Two blocks that agree in about half of the rows that they share.
fn any_stored_and_incoming() -> impl Strategy<Value = (Block, Block)> {
    let of_type = |data_type| {
        let block = || any_block(data_type, MIDNIGHT_US..MIDNIGHT_US + 20, 15);
        (block(), block(), any::<u32>())
    };
    proptest::sample::select(TYPES.to_vec()).prop_flat_map(of_type).prop_map(|(stored, mut incoming, same)| {
        for (column, cells) in incoming.columns.iter_mut().enumerate() {
            let copied = |row: usize| {
                let twin = stored.times_us.binary_search(&incoming.times_us[row]).ok();
                let twin = twin.filter(|_| same & (1 << row) != 0);
                twin.map_or(cells.get(row), |twin| stored.columns[column].get(twin))
            };
            let all = (0..incoming.times_us.len()).map(copied).collect();
            *cells = Cells::Values(all).simplified();
        }
        (stored, incoming)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn merged_blocks_hold_the_last_row_of_each_time_with_the_first_zone(blocks in any_blocks()) {
        let merged = last_write_wins(&blocks.iter().collect::<Vec<_>>());
        let mut model = Model::new();
        for block in &blocks {
            put(&mut model, block);
        }
        prop_assert!(merged.times_us.is_sorted_by(|one, next| one < next));
        prop_assert_eq!(merged.zones.rows() as usize, merged.rows());
        prop_assert_eq!(model_of(&merged), model);
    }

    /// Segments are merged in steps, whichever come first: all at once or in any grouping must be the same.
    #[test]
    fn overlaying_in_steps_is_overlaying_at_once(blocks in any_blocks(), cut in 0_usize..6) {
        let all: Vec<&Block> = blocks.iter().collect();
        let (early, late) = all.split_at(cut.min(all.len()));
        let at_once = last_write_wins(&all);
        if !early.is_empty() && !late.is_empty() {
            prop_assert_eq!(model_of(&last_write_wins(&[&last_write_wins(early), &last_write_wins(late)])), model_of(&at_once));
        }
        prop_assert_eq!(model_of(&last_write_wins(&[&at_once, &at_once])), model_of(&at_once));
    }

    #[test]
    fn each_incoming_row_is_new_a_duplicate_or_a_replacement((stored, incoming) in any_stored_and_incoming()) {
        let (before, sent) = (model_of(&stored), model_of(&incoming));
        let none = Block::empty(stored.data_type, stored.channel);
        let admission = admit(&stored, incoming.clone(), &none);
        let is_same = |time_us: &i64| before.get(time_us).map(|known| known.0 == sent[time_us].0);
        let count = |wanted: Option<bool>| sent.keys().filter(|time_us| is_same(time_us) == wanted).count() as u64;
        prop_assert_eq!(admission.stored(), count(None));
        prop_assert_eq!(admission.duplicate, count(Some(true)));
        prop_assert_eq!(admission.replaced, count(Some(false)));
        let lost = |time_us: &i64| before.get(time_us).map_or(0, |known| lost(&known.0, &sent[time_us].0));
        prop_assert_eq!(admission.columns_removed, sent.keys().map(lost).sum::<u64>());

        let new_rows = model_of(&admission.new_rows);
        let expected: Vec<i64> = sent.keys().copied().filter(|time_us| is_same(time_us) != Some(true)).collect();
        prop_assert_eq!(new_rows.keys().copied().collect::<Vec<_>>(), expected);
        for (replaces, (time_us, (row, zone))) in admission.replaces.iter().zip(&new_rows) {
            prop_assert_eq!(*replaces, before.contains_key(time_us));
            prop_assert_eq!(row, &sent[time_us].0);
            prop_assert_eq!(zone, before.get(time_us).map_or(&sent[time_us].1, |known| &known.1));
        }
    }

    #[test]
    fn what_was_admitted_once_is_a_duplicate_the_second_time((stored, incoming) in any_stored_and_incoming()) {
        let none = Block::empty(stored.data_type, stored.channel);
        let first = admit(&stored, incoming.clone(), &none);
        let after = last_write_wins(&[&stored, &first.new_rows]);
        let second = admit(&after, incoming.clone(), &none);
        prop_assert_eq!((second.stored(), second.replaced, second.duplicate), (0, 0, incoming.rows() as u64));
        prop_assert!(second.new_rows.is_empty());
    }

    /// Rows of a sync in any order, some times several times: the last copy of each time stays.
    #[test]
    fn rows_put_in_order_keep_the_last_of_each_time(
        block in any_block(DataType::Temperature, MIDNIGHT_US..MIDNIGHT_US + 40, 20), times in vec(0_i64..8, 20),
    ) {
        let shuffled = Block { times_us: times[..block.rows()].to_vec(), ..block };
        let mut model = Model::new();
        let (mut repeats, mut changes, mut last): (u64, u64, BTreeMap<i64, usize>) = (0, 0, BTreeMap::new());
        let mut removed = 0;
        for row in 0..shuffled.rows() {
            let time_us = shuffled.times_us[row];
            if let Some(earlier) = last.insert(time_us, row) {
                let is_same = row_of(&shuffled, earlier) == row_of(&shuffled, row);
                repeats += u64::from(is_same);
                changes += u64::from(!is_same);
                removed += lost(&row_of(&shuffled, earlier), &row_of(&shuffled, row));
            }
            let zone = model.get(&time_us).map_or_else(|| shuffled.zone_of(row).clone(), |known| known.1.clone());
            model.insert(time_us, (row_of(&shuffled, row), zone));
        }
        let first_of = |time_us: &i64| shuffled.times_us.iter().position(|other| other == time_us);
        let ordered = in_time_order(shuffled.clone());
        prop_assert_eq!(model_of(&ordered.block), model);
        prop_assert_eq!((ordered.duplicate, ordered.replaced, ordered.columns_removed), (repeats, changes, removed));
        let several = last.keys().filter(|time_us| times[..shuffled.rows()].iter().filter(|one| one == time_us).count() > 1);
        prop_assert_eq!(&ordered.first_occurrences.times_us, &several.copied().collect::<Vec<_>>());
        for row in 0..ordered.first_occurrences.rows() {
            let first = first_of(&ordered.first_occurrences.times_us[row]).unwrap();
            prop_assert_eq!(row_of(&ordered.first_occurrences, row), row_of(&shuffled, first));
        }
    }

    /// A waveform that was read as whole milliseconds and comes back finds its samples, unless two share a millisecond.
    #[test]
    fn floored_times_find_the_only_sample_of_their_millisecond(steps in vec(100_i64..3000, 1..60)) {
        let times_us: Vec<i64> = steps.iter().scan(MIDNIGHT_US, |time, step| { *time += step; Some(*time) }).collect();
        let mut stored = Block::empty(DataType::Temperature, Channel::default());
        stored.zones = ZoneRuns::constant("UTC".into(), times_us.len());
        stored.times_us = times_us.clone();
        let floored = Block { times_us: times_us.iter().map(|time| time / 1000 * 1000).collect(), ..stored.clone() };
        let back = with_exact_times(&stored, floored.clone());
        for (row, time_us) in times_us.iter().enumerate() {
            let ms = floored.times_us[row];
            let is_alone = times_us.iter().filter(|other| *other / 1000 * 1000 == ms).count() == 1;
            prop_assert_eq!(back.times_us[row], if is_alone { *time_us } else { ms });
        }
    }
}

#[test]
fn a_sync_of_nothing_changes_nothing() {
    let none = Block::empty(DataType::Activity, Channel::default());
    let admission = admit(&none, none.clone(), &none);
    assert_eq!((admission.stored(), admission.duplicate, admission.replaced), (0, 0, 0));
    assert!(last_write_wins(&[&none, &none]).is_empty());
    let ordered = in_time_order(none.clone());
    assert!(ordered.block.is_empty() && ordered.first_occurrences.is_empty());
    assert!(with_exact_times(&none, none.clone()).is_empty());
}
