use super::*;
use crate::registry::{Channel, DataType};
use proptest::prelude::*;

fn block(rows: &[(i64, i32)]) -> Block {
    let mut block = Block::empty(DataType::Activity, Channel::default());
    block.times_us = rows.iter().map(|row| row.0).collect();
    block.columns[0] = Cells::Values(rows.iter().map(|row| row.1).collect()).simplified();
    block.zones = ZoneRuns::constant("UTC".into(), rows.len());
    block
}

fn none() -> Block {
    Block::empty(DataType::Activity, Channel::default())
}

fn rows(block: &Block) -> Vec<(i64, i32)> {
    (0..block.rows()).map(|row| (block.times_us[row], block.columns[0].get(row))).collect()
}

#[test]
fn the_later_arrival_wins_and_the_first_zone_stays() {
    let first = block(&[(10, 60), (20, 61)]);
    let mut second = block(&[(20, 99), (30, 62)]);
    second.zones = ZoneRuns::constant("Europe/Zurich".into(), 2);
    let both = last_write_wins(&[&first, &second]);
    assert_eq!(rows(&both), [(10, 60), (20, 99), (30, 62)]);
    assert_eq!(&**both.zone_of(1), "UTC");
    assert_eq!(&**both.zone_of(2), "Europe/Zurich");
}

#[test]
fn a_repeat_is_a_duplicate_until_another_value_has_replaced_it() {
    let a = block(&[(10, 60)]);
    let b = block(&[(10, 70)]);
    assert_eq!(admit(&a, a.clone(), &none()).duplicate, 1);
    assert_eq!(admit(&a, b.clone(), &none()).replaced, 1);
    let again = admit(&last_write_wins(&[&a, &b]), a.clone(), &none());
    assert_eq!((again.replaced, again.duplicate), (1, 0));
    assert_eq!(rows(&last_write_wins(&[&a, &b, &again.new_rows])), [(10, 60)]);
}

#[test]
fn rows_of_one_sync_are_ordered_and_counted() {
    let ordered = in_time_order(block(&[(30, 1), (10, 2), (30, 1), (10, 3), (20, 4)]));
    assert_eq!(rows(&ordered.block), [(10, 3), (20, 4), (30, 1)]);
    assert_eq!((ordered.duplicate, ordered.replaced), (1, 1));
}

#[test]
fn whole_milliseconds_find_their_exact_sample() {
    let stored = block(&[(1_007_813, 1), (1_015_625, 2), (1_020_100, 3), (1_020_900, 4)]);
    let back = with_exact_times(&stored, block(&[(1_007_000, 1), (1_015_000, 2), (1_020_000, 5), (1_030_000, 6)]));
    assert_eq!(back.times_us, [1_007_813, 1_015_625, 1_020_000, 1_030_000]);
    assert_eq!(admit(&stored, back, &none()).duplicate, 2);
}

proptest! {
    /// A sync counts as if its rows were sent one by one.
    #[test]
    fn copies_within_a_sync_count_as_if_sent_one_by_one(
        before in proptest::collection::vec((0_i64..6, 0_i32..3), 0..6),
        sent in proptest::collection::vec((0_i64..6, 0_i32..3), 1..14),
    ) {
        let stored = in_time_order(block(&before)).block;
        let mut one_by_one = stored.clone();
        let (mut new_rows, mut duplicate, mut replaced) = (0, 0, 0);
        for row in &sent {
            let admission = admit(&one_by_one, block(&[*row]), &none());
            new_rows += admission.stored();
            duplicate += admission.duplicate;
            replaced += admission.replaced;
            one_by_one = last_write_wins(&[&one_by_one, &admission.new_rows]);
        }
        let ordered = in_time_order(block(&sent));
        let admission = admit(&stored, ordered.block, &ordered.first_occurrences);
        prop_assert_eq!(admission.stored(), new_rows);
        prop_assert_eq!(admission.duplicate + ordered.duplicate, duplicate);
        prop_assert_eq!(admission.replaced + ordered.replaced, replaced);
        prop_assert_eq!(rows(&last_write_wins(&[&stored, &admission.new_rows])), rows(&one_by_one));
    }

    /// Cut, repeated and shuffled syncs of agreeing copies store the same rows, and count each once.
    #[test]
    fn order_and_cuts_do_not_matter(
        values in proptest::collection::btree_map(0_i64..200, 0_i32..5, 1..60),
        cuts in proptest::collection::vec((0_usize..60, 0_usize..60), 1..12),
    ) {
        let all: Vec<(i64, i32)> = values.into_iter().collect();
        let whole = block(&all);
        let mut parts: Vec<Block> = cuts
            .iter()
            .map(|(from, to)| {
                let (from, to) = (from.min(to) % all.len(), from.max(to) % all.len());
                block(&all[from.min(to)..=from.max(to)])
            })
            .collect();
        parts.push(whole.clone());

        let mut stored: Vec<Block> = Vec::new();
        let (mut new_rows, mut seen) = (0, 0);
        for part in parts {
            seen += part.rows() as u64;
            let before = if stored.is_empty() {
                Block::empty(DataType::Activity, Channel::default())
            } else {
                last_write_wins(&stored.iter().collect::<Vec<_>>())
            };
            let admission = admit(&before, part, &none());
            prop_assert_eq!(admission.replaced, 0);
            new_rows += admission.stored();
            seen -= admission.stored() + admission.duplicate;
            stored.push(admission.new_rows);
        }
        prop_assert_eq!(seen, 0);
        prop_assert_eq!(new_rows, all.len() as u64);
        prop_assert_eq!(rows(&last_write_wins(&stored.iter().collect::<Vec<_>>())), rows(&whole));
    }
}
