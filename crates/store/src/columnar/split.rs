//! Rows of a batch to the channels they belong to.

use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use super::judge::Judge;

/// Values that one channel column can take: 0 to 255, and null.
const CODES: u32 = 257;

/// One block for each channel that has a row, in the order of the channels; refused rows are left out.
pub(super) fn by_channel(
    data_type: DataType,
    times_us: Vec<i64>,
    columns: Vec<Cells>,
    zones: &ZoneRuns,
    judge: &Judge,
) -> Vec<Block> {
    if times_us.is_empty() {
        return Vec::new();
    }
    let positions = data_type.channel_columns();
    let one_channel = positions.iter().all(|position| matches!(columns[*position], Cells::Constant(_)));
    if one_channel && judge.none_refused() {
        let channel = channel_of(data_type, &columns, 0);
        return vec![Block { data_type, channel, times_us, columns, zones: zones.clone() }];
    }
    let mut groups = rows_by_channel(data_type, &columns, times_us.len(), judge);
    groups.sort_by_key(|group| group.channel);
    let block = |Group { channel, rows }: Group| {
        let mut block = Block::empty(data_type, channel);
        for (position, cells) in columns.iter().enumerate() {
            block.columns[position] = match rows.first() {
                Some(row) if positions.contains(&position) => Cells::Constant(cells.get(*row as usize)),
                _ => picked(cells, &rows),
            };
        }
        block.times_us = rows.iter().map(|row| times_us[*row as usize]).collect();
        block.zones = picked_zones(zones, &rows);
        block
    };
    groups.into_iter().map(block).collect()
}

/// The rows of one channel, ascending.
struct Group {
    channel: Channel,
    rows: Vec<u32>,
}

fn channel_of(data_type: DataType, columns: &[Cells], row: usize) -> Channel {
    let cells: Vec<i32> = data_type.channel_columns().iter().map(|position| columns[*position].get(row)).collect();
    data_type.channel(&cells)
}

/// The rows of each channel. The channel's cells are the index into a table: a batch of many channels costs no more
/// than one of few. Rows are counted before they are listed, so that no list has to grow.
fn rows_by_channel(data_type: DataType, columns: &[Cells], rows: usize, judge: &Judge) -> Vec<Group> {
    let positions = data_type.channel_columns();
    let codes = channel_codes(columns, positions, rows);
    let mut counts = vec![0_u32; CODES.pow(positions.len() as u32) as usize];
    for code in &codes {
        counts[*code as usize] += 1;
    }
    let mut group_of_code = vec![0_u32; counts.len()];
    let mut groups: Vec<Group> = Vec::new();
    for (code, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        group_of_code[code] = groups.len() as u32;
        groups.push(Group { channel: Channel::default(), rows: Vec::with_capacity(*count as usize) });
    }
    for (row, code) in codes.iter().enumerate() {
        if !judge.is_refused(row) {
            groups[group_of_code[*code as usize] as usize].rows.push(row as u32);
        }
    }
    groups.retain(|group| !group.rows.is_empty());
    for group in &mut groups {
        group.channel = channel_of(data_type, columns, group.rows[0] as usize);
    }
    groups
}

/// One number a row that stands for its channel cells, made column by column.
fn channel_codes(columns: &[Cells], positions: &[usize], rows: usize) -> Vec<u32> {
    let mut codes = vec![0_u32; rows];
    for position in positions {
        match &columns[*position] {
            Cells::Values(cells) => {
                for (code, cell) in codes.iter_mut().zip(cells) {
                    *code = *code * CODES + code_of(*cell);
                }
            }
            constant => {
                let part = code_of(constant.get(0));
                for code in &mut codes {
                    *code = *code * CODES + part;
                }
            }
        }
    }
    codes
}

/// 0 for a null; a refused row can hold a null where the column allows none.
fn code_of(cell: i32) -> u32 {
    if cell == NULL { 0 } else { cell as u32 + 1 }
}

fn picked(cells: &Cells, rows: &[u32]) -> Cells {
    match cells {
        Cells::Constant(cell) => Cells::Constant(*cell),
        Cells::Values(cells) => Cells::Values(rows.iter().map(|row| cells[*row as usize]).collect()).simplified(),
        Cells::Text(texts) => Cells::Text(rows.iter().map(|row| texts[*row as usize].clone()).collect()).simplified(),
    }
}

fn picked_zones(zones: &ZoneRuns, rows: &[u32]) -> ZoneRuns {
    let mut picked = ZoneRuns::default();
    let mut rest = rows;
    for (run, zone) in zones.iter() {
        let inside = rest.partition_point(|row| (*row as usize) < run.end);
        picked.push(zone.clone(), inside);
        rest = &rest[inside..];
    }
    picked
}
