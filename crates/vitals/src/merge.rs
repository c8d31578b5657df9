//! What happens when samples come twice.
//!
//! A sample is identified by its channel and time. The later arrival wins; the zone first stored stays. Everything
//! that reads stored samples goes through [`last_write_wins`], everything that stores them through [`admit`], so a sync can
//! be sent again, cut elsewhere or out of order without changing an answer.

use std::cmp::Ordering;

use crate::block::{Block, Cells, Pick};
use crate::zone::ZoneRuns;

/// What a sync brings that is not stored yet, and how its rows count.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// Rows that are new or differ from what is stored.
    pub new_rows: Block,
    /// For each row of `new_rows`, whether it replaces a stored one.
    pub replaces: Vec<bool>,
    /// Rows that equal what is stored.
    pub duplicate: u64,
    /// Rows that take the place of another.
    pub replaced: u64,
    /// Values of replaced rows that have none in the row in their place.
    pub columns_removed: u64,
}

impl Admission {
    /// Everything is new.
    fn of_new(new_rows: Block) -> Self {
        Admission { replaces: vec![false; new_rows.rows()], new_rows, duplicate: 0, replaced: 0, columns_removed: 0 }
    }

    /// Returns how many rows are new.
    pub fn stored(&self) -> u64 {
        self.replaces.iter().filter(|replaces| !**replaces).count() as u64
    }
}

/// Lays blocks over one another: at equal times the row of the later block wins, with the zone of the first.
///
/// `blocks` are in the order of their arrival and belong to one channel; at least one is given.
pub fn last_write_wins(blocks: &[&Block]) -> Block {
    let mut in_time_order: Vec<&Block> = blocks.iter().copied().filter(|block| !block.is_empty()).collect();
    let Some(first) = in_time_order.first() else {
        return blocks[0].clone();
    };
    if in_time_order.len() == 1 {
        return (*first).clone();
    }
    // Segments of different months, the usual case, do not overlap: then nothing has to be compared row by row.
    in_time_order.sort_by_key(|block| block.first_us());
    let disjoint = in_time_order.windows(2).all(|pair| pair[0].last_us() < pair[1].first_us());
    if disjoint {
        return Block::concatenated(&in_time_order);
    }
    let arrived: Vec<&Block> = blocks.iter().copied().filter(|block| !block.is_empty()).collect();
    // Halves and not one after the other: each row is copied as often as halves are halved, and not once per block.
    let middle = arrived.len() / 2;
    last_write_wins_of_two(&last_write_wins(&arrived[..middle]), &last_write_wins(&arrived[middle..]))
}

fn last_write_wins_of_two(older: &Block, newer: &Block) -> Block {
    let mut picks = Vec::with_capacity(older.rows() + newer.rows());
    let mut zones = ZoneRuns::default();
    walk(older, newer, |older_row, newer_row| {
        // The first zone stays: an app that sends a day again after a flight must not move the day.
        let zone = older_row.map_or_else(|| newer.zone_of(newer_row.unwrap_or(0)), |row| older.zone_of(row));
        zones.push(zone.clone(), 1);
        picks.push(match newer_row {
            Some(row) => Pick { block: 1, row: row as u32 },
            None => Pick { block: 0, row: older_row.unwrap_or(0) as u32 },
        });
    });
    Block::gather(&[older, newer], &picks, zones)
}

/// Steps through two blocks in the order of time; each step names the row of the first, of the second, or of both.
fn walk(older: &Block, newer: &Block, mut step: impl FnMut(Option<usize>, Option<usize>)) {
    let (mut older_row, mut newer_row) = (0, 0);
    while older_row < older.rows() || newer_row < newer.rows() {
        let order = match (older.times_us.get(older_row), newer.times_us.get(newer_row)) {
            (Some(older_time), Some(newer_time)) => older_time.cmp(newer_time),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        step((order != Ordering::Greater).then_some(older_row), (order != Ordering::Less).then_some(newer_row));
        older_row += usize::from(order != Ordering::Greater);
        newer_row += usize::from(order != Ordering::Less);
    }
}

/// Compares what arrives with what is stored in its range.
///
/// All are blocks of the same channel; `stored` is what [`last_write_wins`] gives for the range of `incoming`. `first_occurrences` are
/// the first copies of rows that came several times (of [`Ordered`]): the last copy is what is stored, but the first
/// one met what was stored before, so that one counts.
pub fn admit(stored: &Block, incoming: Block, first_occurrences: &Block) -> Admission {
    // Nearly every sync brings only new rows, and then nothing has to be compared.
    let matches = matching_rows(stored, &incoming);
    if matches.is_empty() {
        return Admission::of_new(incoming);
    }
    let equal = rows_equal(stored, &incoming, &matches);
    let (mut duplicate, mut replaced) = counted(&equal);
    let mut columns_removed = removed(stored, &incoming, &matches, &equal);
    if !first_occurrences.is_empty() {
        let first_matches = matching_rows(stored, first_occurrences);
        let first_equal = rows_equal(stored, first_occurrences, &first_matches);
        let (first_duplicate, first_replaced) = counted(&first_equal);
        let last_matches: Vec<(usize, usize)> = matches
            .iter()
            .copied()
            .filter(|(_, row)| first_occurrences.times_us.binary_search(&incoming.times_us[*row]).is_ok())
            .collect();
        let last_equal = rows_equal(stored, &incoming, &last_matches);
        let (last_duplicate, last_replaced) = counted(&last_equal);
        // Each time that came several times is counted by its first copy, which met what was stored; the copies after
        // it are counted by `in_time_order`.
        duplicate = duplicate + first_duplicate - last_duplicate;
        replaced = replaced + first_replaced - last_replaced;
        columns_removed = columns_removed + removed(stored, first_occurrences, &first_matches, &first_equal)
            - removed(stored, &incoming, &last_matches, &last_equal);
    }

    let mut next_match = matches.iter().zip(equal).peekable();
    let mut picks = Vec::with_capacity(incoming.rows());
    let mut replaces = Vec::with_capacity(incoming.rows());
    let mut zones = ZoneRuns::default();
    for row in 0..incoming.rows() {
        let twin = next_match.next_if(|((_, incoming_row), _)| *incoming_row == row);
        let zone = match twin {
            // A row that equals what is stored would only make another segment to merge.
            Some((_, true)) => continue,
            Some(((stored_row, _), false)) => stored.zone_of(*stored_row),
            None => incoming.zone_of(row),
        };
        zones.push(zone.clone(), 1);
        picks.push(Pick { block: 0, row: row as u32 });
        replaces.push(twin.is_some());
    }
    Admission { new_rows: Block::gather(&[&incoming], &picks, zones), replaces, duplicate, replaced, columns_removed }
}

/// Returns the rows of two blocks that are copies of one sample.
fn matching_rows(stored: &Block, incoming: &Block) -> Vec<(usize, usize)> {
    let mut matching_rows = Vec::new();
    if stored.is_empty() {
        return matching_rows;
    }
    walk(stored, incoming, |stored_row, incoming_row| {
        if let (Some(stored_row), Some(incoming_row)) = (stored_row, incoming_row) {
            matching_rows.push((stored_row, incoming_row));
        }
    });
    matching_rows
}

/// Returns how many rows are equal, and how many are not.
fn counted(equal: &[bool]) -> (u64, u64) {
    let duplicate = equal.iter().filter(|equal| **equal).count();
    (duplicate as u64, (equal.len() - duplicate) as u64)
}

/// Returns how many values rows have that are replaced, and that the rows in their place do not have.
fn removed(stored: &Block, incoming: &Block, matches: &[(usize, usize)], equal: &[bool]) -> u64 {
    // Nearly always there is none, and then no column is looked at.
    let replaced: Vec<(usize, usize)> =
        matches.iter().zip(equal).filter(|(_, is_equal)| !**is_equal).map(|(pair, _)| *pair).collect();
    if replaced.is_empty() {
        return 0;
    }
    let of_column = |(ours, theirs): (&Cells, &Cells)| {
        replaced.iter().filter(|(before, after)| ours.is_there(*before) && !theirs.is_there(*after)).count() as u64
    };
    stored.columns.iter().zip(&incoming.columns).map(of_column).sum()
}

fn rows_equal(stored: &Block, incoming: &Block, matches: &[(usize, usize)]) -> Vec<bool> {
    let mut equal = vec![true; matches.len()];
    for (ours, theirs) in stored.columns.iter().zip(&incoming.columns) {
        // Most columns of a waveform are the same in all rows: one comparison instead of one per row.
        if let (Cells::Constant(one), Cells::Constant(other)) = (ours, theirs)
            && one == other
        {
            continue;
        }
        for (equal, (stored_row, incoming_row)) in equal.iter_mut().zip(matches) {
            *equal = *equal && ours.row_equals(*stored_row, theirs, *incoming_row);
        }
    }
    equal
}

/// How the rows of one sync count among themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// The rows in the order of time, the last of each time.
    pub block: Block,
    /// Rows that repeat an earlier row of the same sync.
    pub duplicate: u64,
    /// Rows of the same sync that a later row replaced.
    pub replaced: u64,
    /// Values of those that have none in the row in their place.
    pub columns_removed: u64,
    /// The first copy of each row of which there are several.
    pub first_occurrences: Block,
}

/// Puts the rows of one sync in the order of time. `block.times_us` may be in any order and repeat.
pub fn in_time_order(block: Block) -> Ordered {
    // Apps send rows in order nearly always; checking is far cheaper than sorting.
    if block.times_us.is_sorted_by(|earlier, later| earlier < later) {
        let first_occurrences = Block::empty(block.data_type, block.channel);
        return Ordered { block, duplicate: 0, replaced: 0, columns_removed: 0, first_occurrences };
    }
    let mut order: Vec<u32> = (0..block.rows() as u32).collect();
    // A stable sort: of equal times the one sent later comes later, and wins.
    order.sort_by_key(|row| block.times_us[*row as usize]);
    let mut picks: Vec<Pick> = Vec::with_capacity(order.len());
    let mut first_occurrences: Vec<Pick> = Vec::new();
    let mut zones = ZoneRuns::default();
    let (mut duplicate, mut replaced, mut columns_removed) = (0, 0, 0);
    let time_us = |pick: &Pick| block.times_us[pick.row as usize];
    for row in order {
        if let Some(last) = picks.last_mut()
            && block.times_us[last.row as usize] == block.times_us[row as usize]
        {
            let (earlier, later) = (last.row as usize, row as usize);
            let same = block.columns.iter().all(|cells| cells.row_equals(earlier, cells, later));
            duplicate += u64::from(same);
            replaced += u64::from(!same);
            let is_removed = |cells: &&Cells| cells.is_there(earlier) && !cells.is_there(later);
            columns_removed += block.columns.iter().filter(is_removed).count() as u64;
            if first_occurrences.last().is_none_or(|first| time_us(first) != time_us(last)) {
                first_occurrences.push(*last);
            }
            last.row = row;
            continue;
        }
        picks.push(Pick { block: 0, row });
        zones.push(block.zone_of(row as usize).clone(), 1);
    }
    let mut first_zones = ZoneRuns::default();
    for first in &first_occurrences {
        first_zones.push(block.zone_of(first.row as usize).clone(), 1);
    }
    let first_occurrences = Block::gather(&[&block], &first_occurrences, first_zones);
    Ordered { block: Block::gather(&[&block], &picks, zones), duplicate, replaced, columns_removed, first_occurrences }
}

/// Gives rows at whole milliseconds the exact time of the stored sample that they are a rounded copy of.
///
/// JSON and CSV show whole milliseconds. A waveform row that comes back with the floor of exactly one stored
/// sample's time is that sample; so what was read can be sent again and nothing is stored twice. The answer may
/// repeat times: put it in order afterwards.
#[must_use]
pub fn with_exact_times(stored: &Block, mut incoming: Block) -> Block {
    if stored.is_empty() {
        return incoming;
    }
    for time in incoming.times_us.iter_mut().filter(|time| **time % 1000 == 0) {
        let same_ms = stored.rows_between(*time, *time + 999);
        // Above 1 kHz two samples share a millisecond, and which of them is meant cannot be known.
        if same_ms.len() == 1 {
            *time = stored.times_us[same_ms.start];
        }
    }
    incoming
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
