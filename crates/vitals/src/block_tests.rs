//! Blocks against lists of rows: cutting, joining and picking loses and moves nothing.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::any_rows::{MIDNIGHT_US, any_block};
use crate::block::{Block, Cells, Pick};
use crate::registry::{Channel, DataType, NULL};
use crate::zone::{ZoneName, ZoneRuns};

const MINUTE_US: i64 = 60_000_000;

/// Time, cells and zone of each row.
fn rows(block: &Block) -> Vec<(i64, Vec<i32>, ZoneName)> {
    let cells = |row: usize| block.columns.iter().map(|cells| cells.get(row)).collect();
    (0..block.rows()).map(|row| (block.times_us[row], cells(row), block.zone_of(row).clone())).collect()
}

fn any_rows() -> impl Strategy<Value = Block> {
    let types = vec![DataType::Activity, DataType::Acc, DataType::Ecg, DataType::Sleep];
    let block = |data_type| any_block(data_type, MIDNIGHT_US..MIDNIGHT_US + 10 * MINUTE_US, 30);
    (proptest::sample::select(types).prop_flat_map(block), 0_usize..30).prop_map(|(mut block, travels)| {
        let travels = travels.min(block.rows());
        let mut zones = block.zones.slice(0..travels);
        zones.push("Pacific/Auckland".into(), block.rows() - travels);
        block.zones = zones;
        block
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_slice_holds_its_rows(block in any_rows(), from in 0_usize..31, to in 0_usize..31) {
        let (from, to) = (from.min(to).min(block.rows()), from.max(to).min(block.rows()));
        let part = block.slice(from..to);
        prop_assert_eq!(rows(&part), rows(&block)[from..to].to_vec());
        prop_assert_eq!(part.is_empty(), from == to);
    }

    #[test]
    fn cut_blocks_are_joined_to_what_they_were(block in any_rows(), cuts in vec(0_usize..31, 0..4)) {
        let mut edges: Vec<usize> = cuts.into_iter().map(|cut| cut.min(block.rows())).collect();
        edges.extend([0, block.rows()]);
        edges.sort_unstable();
        let parts: Vec<Block> = edges.windows(2).map(|pair| block.slice(pair[0]..pair[1])).collect();
        let joined = Block::concatenated(&parts.iter().collect::<Vec<_>>());
        prop_assert_eq!(rows(&joined), rows(&block));
        prop_assert_eq!(joined.zones, block.zones.clone());
    }

    #[test]
    fn picked_rows_come_in_the_order_picked(one in any_rows(), picked in vec((0_u32..2, 0_u32..30), 0..20)) {
        let other = one.slice(one.rows() / 2..one.rows());
        let blocks = [&one, &other];
        let picks: Vec<Pick> = picked
            .into_iter()
            .map(|(block, row)| Pick { block, row })
            .filter(|pick| (pick.row as usize) < blocks[pick.block as usize].rows())
            .collect();
        let gathered = Block::gather(&blocks, &picks, ZoneRuns::constant("UTC".into(), picks.len()));
        let lists = blocks.map(rows);
        prop_assert_eq!(gathered.rows(), picks.len());
        for (found, pick) in rows(&gathered).iter().zip(&picks) {
            let wanted = &lists[pick.block as usize][pick.row as usize];
            prop_assert_eq!((found.0, &found.1), (wanted.0, &wanted.1));
        }
    }

    #[test]
    fn ranges_are_found_as_a_filter_finds_them(
        block in any_rows(), from_us in -MINUTE_US..11 * MINUTE_US, length_us in -MINUTE_US..11 * MINUTE_US,
    ) {
        let (from_us, to_us) = (MIDNIGHT_US + from_us, MIDNIGHT_US + from_us + length_us);
        let wanted: Vec<_> = rows(&block).into_iter().filter(|row| (from_us..=to_us).contains(&row.0)).collect();
        let range = block.rows_between(from_us, to_us);
        prop_assert_eq!(range.len(), wanted.len());
        prop_assert_eq!(rows(&block.clone().clipped(from_us, to_us)), wanted);
    }

    #[test]
    fn alike_cells_are_equal_however_they_came_about(values in vec(prop_oneof![Just(NULL), 0..3_i32], 1..6)) {
        let simplified = Cells::Values(values.clone()).simplified();
        for (row, value) in values.iter().enumerate() {
            prop_assert_eq!(simplified.get(row), *value);
        }
        let is_constant = values.iter().all(|value| *value == values[0]);
        prop_assert_eq!(matches!(simplified, Cells::Constant(_)), is_constant);
        prop_assert_eq!(simplified.clone().simplified(), simplified);
    }
}

#[test]
fn the_first_and_last_times_are_those_of_the_rows() {
    let mut block = Block::empty(DataType::Sleep, Channel::default());
    assert_eq!((block.first_us(), block.last_us(), block.rows()), (None, None, 0));
    block.times_us = vec![5, 9];
    assert_eq!((block.first_us(), block.last_us(), block.rows()), (Some(5), Some(9), 2));
}

#[test]
fn texts_are_compared_as_texts() {
    let texts = Cells::Text(vec![Some("a".into()), None]);
    assert!(texts.row_equals(1, &Cells::Constant(NULL), 0), "no text is no value");
    assert!(!texts.row_equals(0, &Cells::Constant(NULL), 0));
    assert!(texts.row_equals(0, &Cells::Text(vec![Some("a".into())]), 0));
    assert!(texts.has_null() && !Cells::Constant(0).has_null() && Cells::Values(vec![1, NULL]).has_null());
}

#[test]
#[should_panic(expected = "activity has no column blood_sugar")]
fn a_column_that_no_type_has_is_a_fault_of_the_program() {
    Block::empty(DataType::Activity, Channel::default()).column("blood_sugar");
}
