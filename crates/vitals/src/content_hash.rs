//! Decides whether two syncs bring the same content.
//!
//! Content is what the rows say, not how they were written: types, times, cells on their column's scale, texts and
//! zones. So the order of the rows, their form (rows, columns, Arrow), white space and compression leave the hash as
//! it is. Rows count before any of them is rejected, because that also depends on the clock.
//!
//! Each row is hashed by itself and the rows are added up. A column costs one multiplication a row, one that is the
//! same in all rows costs nothing. The hash keeps apart what a client mixes up by mistake; it is not made to withstand
//! an attack, which would only let a patient use an id of their own twice.

use std::ops::Range;

use crate::block::Cells;
use crate::intake::Batch;
use crate::registry::{DataType, NULL};

/// Digits of π behind the point, in binary: numbers with nothing up their sleeve.
const PI: [u64; 5] =
    [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344, 0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89, 0x4528_21e6_38d0_1377];
/// Rows that are hashed together, so that their sums stay in the nearest cache.
const ROWS_AT_ONCE: usize = 1024;

/// The zone of a sync, which its rows are in where they name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncZone<'name> {
    /// The sync names it: it is content.
    Named(&'name str),
    /// The sync leaves it out; it is that of the patient at the time, and no content.
    Assumed(&'name str),
}

impl<'name> SyncZone<'name> {
    /// Returns the name of the zone.
    pub const fn name(self) -> &'name str {
        match self {
            SyncZone::Named(name) | SyncZone::Assumed(name) => name,
        }
    }
}

/// The hash of the rows added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentHash {
    sum: u64,
    other_sum: u64,
}

impl ContentHash {
    /// Adds the rows of a batch.
    pub fn add(&mut self, data_type: DataType, batch: &Batch, zone: SyncZone<'_>) {
        let rows = batch.times_us.len();
        let term_of_zone = |name: &str| {
            // An app that leaves the zone out sends the same again after the patient has moved.
            if zone == SyncZone::Assumed(name) { 0 } else { mix(PI[1], hash_of_text(name)) }
        };
        let (constants, varied): (Vec<_>, Vec<_>) =
            // A column that is the same in all rows is hashed once and added to each row: most columns of a waveform
            // are.
            batch.columns.iter().enumerate().partition(|(_, cells)| matches!(cells, Cells::Constant(_)));
        let seed = |column: usize| mix(PI[2].wrapping_add(column as u64), data_type.number().unsigned_abs());
        let mut same_in_all =
            constants.iter().fold(0_u64, |sum, (column, cells)| sum.wrapping_add(term(seed(*column), cells.get(0))));
        if batch.zones.is_none() {
            same_in_all = same_in_all.wrapping_add(term_of_zone(zone.name()));
        }
        let time_seed = seed(usize::from(u8::MAX));
        let mut hashes = [0_u64; ROWS_AT_ONCE];
        for start in (0..rows).step_by(ROWS_AT_ONCE) {
            let part = start..rows.min(start + ROWS_AT_ONCE);
            let hashes = &mut hashes[..part.len()];
            for (hash, time_us) in hashes.iter_mut().zip(&batch.times_us[part.clone()]) {
                *hash = same_in_all.wrapping_add(mix(time_seed, time_us.cast_unsigned()));
            }
            for (column, cells) in &varied {
                add_column(hashes, seed(*column), cells, part.clone());
            }
            if let Some(zones) = &batch.zones {
                for (run, name) in zones.slice(part).iter() {
                    let term = term_of_zone(name);
                    for hash in &mut hashes[run] {
                        *hash = hash.wrapping_add(term);
                    }
                }
            }
            for hash in hashes {
                // Two sums of differently mixed hashes: rows that cancel each other out in one do not in the other.
                self.sum = self.sum.wrapping_add(mix(PI[3], *hash));
                self.other_sum = self.other_sum.wrapping_add(mix(PI[4], *hash));
            }
        }
    }

    /// Sixteen bytes.
    pub fn bytes(&self) -> [u8; 16] {
        (u128::from(self.sum) << 64 | u128::from(self.other_sum)).to_be_bytes()
    }
}

fn add_column(hashes: &mut [u64], seed: u64, cells: &Cells, part: Range<usize>) {
    match cells {
        Cells::Constant(_) => {}
        Cells::Values(cells) => {
            for (hash, cell) in hashes.iter_mut().zip(&cells[part]) {
                *hash = hash.wrapping_add(term(seed, *cell));
            }
        }
        Cells::Text(texts) => {
            for (hash, text) in hashes.iter_mut().zip(&texts[part]) {
                let Some(text) = text else { continue };
                *hash = hash.wrapping_add(mix(seed, hash_of_text(text)));
            }
        }
    }
}

/// Returns what a cell adds to its row; nothing where there is no value, as where the column is left out.
fn term(seed: u64, cell: i32) -> u64 {
    if cell == NULL { 0 } else { mix(seed, u64::from(cell.cast_unsigned())) }
}

fn hash_of_text(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(mix(PI[2], text.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word))
    })
}

/// Both halves of a product laid over one another: each bit of both factors reaches all bits.
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ PI[0]) * u128::from(other ^ PI[1]);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::ZoneRuns;
    use std::collections::BTreeSet;

    fn batch(rows: &[(i64, i32, i32)]) -> Batch {
        let mut columns = vec![Cells::Constant(NULL); DataType::RrInterval.columns().len()];
        columns[0] = Cells::Values(rows.iter().map(|row| row.1).collect()).simplified();
        columns[1] = Cells::Values(rows.iter().map(|row| row.2).collect()).simplified();
        Batch { times_us: rows.iter().map(|row| row.0).collect(), columns, faults: Vec::new(), zones: None }
    }

    fn hash(batches: &[Batch]) -> ContentHash {
        let mut hash = ContentHash::default();
        for batch in batches {
            hash.add(DataType::RrInterval, batch, SyncZone::Assumed("UTC"));
        }
        hash
    }

    #[test]
    fn order_and_cuts_leave_it_as_it_is() {
        let rows: Vec<(i64, i32, i32)> = (0..5000).map(|row| (row * 800_000, 800_000 + row as i32 % 7, 4)).collect();
        let whole = hash(&[batch(&rows)]);
        let mut backwards = rows.clone();
        backwards.reverse();
        assert_eq!(hash(&[batch(&backwards)]), whole);
        assert_eq!(hash(&[batch(&rows[3000..]), batch(&rows[..1]), batch(&rows[1..3000])]), whole);
        let mut unsimplified = batch(&rows);
        unsimplified.columns[1] = Cells::Values(vec![4; rows.len()]);
        assert_eq!(hash(&[unsimplified]), whole);
    }

    #[test]
    fn every_other_content_has_another() {
        let rows = [(1, 2, 3), (4, 5, 6)];
        let mut different = vec![
            hash(&[]),
            hash(&[batch(&rows)]),
            hash(&[batch(&rows[..1])]),
            hash(&[batch(&rows), batch(&rows[..1])]),
            hash(&[batch(&[(1, 3, 2), (4, 5, 6)])]),
            hash(&[batch(&[(1, 5, 3), (4, 2, 6)])]),
            hash(&[batch(&[(1, 2, 6), (4, 5, 3)])]),
            hash(&[batch(&[(1, NULL, 3), (4, 5, 6)])]),
            hash(&[batch(&[(1, 0, 3), (4, 5, 6)])]),
            hash(&[batch(&[(2, 2, 3), (4, 5, 6)])]),
        ];
        let mut other = ContentHash::default();
        other.add(DataType::Sleep, &batch(&rows), SyncZone::Assumed("UTC"));
        different.push(other);
        let mut named = ContentHash::default();
        named.add(DataType::RrInterval, &batch(&rows), SyncZone::Named("UTC"));
        different.push(named);
        let seen: BTreeSet<[u8; 16]> = different.iter().map(ContentHash::bytes).collect();
        assert_eq!(seen.len(), different.len());
    }

    #[test]
    fn a_zone_counts_where_it_is_named() {
        let rows = [(1, 2, 3), (4, 5, 6)];
        let of = |zones: Option<ZoneRuns>, zone: SyncZone<'_>| {
            let mut hash = ContentHash::default();
            hash.add(DataType::RrInterval, &Batch { zones, ..batch(&rows) }, zone);
            hash
        };
        let runs = |zone: &str| Some(ZoneRuns::constant(zone.into(), 2));
        assert_eq!(of(None, SyncZone::Assumed("UTC")), of(None, SyncZone::Assumed("Asia/Tokyo")));
        assert_eq!(of(None, SyncZone::Assumed("UTC")), of(runs("UTC"), SyncZone::Assumed("UTC")));
        assert_eq!(of(None, SyncZone::Named("Asia/Tokyo")), of(runs("Asia/Tokyo"), SyncZone::Assumed("UTC")));
        assert_ne!(of(None, SyncZone::Named("Asia/Tokyo")), of(None, SyncZone::Named("UTC")));
        assert_ne!(of(runs("Asia/Tokyo"), SyncZone::Assumed("UTC")), of(None, SyncZone::Assumed("UTC")));
    }

    #[test]
    fn texts_are_distinguished_by_their_row() {
        let with = |texts: [Option<&str>; 2]| {
            let mut batch = batch(&[(1, 2, 3), (4, 5, 6)]);
            batch.columns[1] = Cells::Text(texts.map(|text| text.map(Into::into)).into());
            hash(&[batch])
        };
        let all = [
            [None, None],
            [Some(""), None],
            [Some("a"), Some("b")],
            [Some("b"), Some("a")],
            [Some("eight by\0"), None],
            [Some("eight by"), None],
        ];
        let seen: BTreeSet<[u8; 16]> = all.map(with).iter().map(ContentHash::bytes).collect();
        assert_eq!(seen.len(), all.len());
    }
}

#[cfg(test)]
mod property_tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::any_rows::{MIDNIGHT_US, any_block};
    use crate::block::{Block, Pick};
    use crate::zone::ZoneRuns;

    fn batch(block: &Block) -> Batch {
        Batch {
            times_us: block.times_us.clone(),
            columns: block.columns.clone(),
            faults: Vec::new(),
            zones: Some(block.zones.clone()),
        }
    }

    fn hash(blocks: &[Block]) -> ContentHash {
        let mut hash = ContentHash::default();
        for block in blocks {
            hash.add(block.data_type, &batch(block), SyncZone::Assumed("UTC"));
        }
        hash
    }

    fn any_rows() -> impl Strategy<Value = Block> {
        let types = vec![DataType::Activity, DataType::Sleep, DataType::Acc, DataType::Ppg2];
        proptest::sample::select(types)
            .prop_flat_map(|data_type| any_block(data_type, MIDNIGHT_US..MIDNIGHT_US + 5_000, 20))
    }

    proptest! {
        /// The same rows in any order and in any number of batches are the same content.
        #[test]
        fn cuts_and_orders_leave_the_hash(block in any_rows(), cut in 0_usize..21, seed in vec(any::<u32>(), 20)) {
            let whole = hash(std::slice::from_ref(&block));
            let cut = cut.min(block.rows());
            prop_assert_eq!(hash(&[block.slice(cut..block.rows()), block.slice(0..cut)]), whole);
            let mut picks: Vec<Pick> = (0..block.rows() as u32).map(|row| Pick { block: 0, row }).collect();
            picks.sort_by_key(|pick| seed[pick.row as usize]);
            let mut zones = ZoneRuns::default();
            for pick in &picks {
                zones.push(block.zone_of(pick.row as usize).clone(), 1);
            }
            prop_assert_eq!(hash(&[Block::gather(&[&block], &picks, zones)]), whole);
        }

        /// One cell, one time, one zone or one row more make another content.
        #[test]
        fn any_change_is_another_content(block in any_rows(), at in any::<prop::sample::Index>(), which in any::<prop::sample::Index>()) {
            prop_assume!(!block.is_empty());
            let whole = hash(std::slice::from_ref(&block));
            let row = at.index(block.rows());
            let column = which.index(block.columns.len());
            let mut cells: Vec<i32> = (0..block.rows()).map(|row| block.columns[column].get(row)).collect();
            cells[row] = cells[row].wrapping_add(1);
            let mut other = block.clone();
            other.columns[column] = Cells::Values(cells);
            prop_assert_ne!(hash(&[other]), whole);
            let mut later = block.clone();
            later.times_us[row] += 1;
            prop_assert_ne!(hash(&[later]), whole);
            let moved = Block { zones: ZoneRuns::constant("Asia/Tokyo".into(), block.rows()), ..block.clone() };
            prop_assert_ne!(hash(&[moved]), whole);
            prop_assert_ne!(hash(&[block.clone(), block.slice(row..row + 1)]), whole);
        }
    }
}
