//! Rows of a batch to the channels they belong to.

use vitals::block::{Block, Cells};
use vitals::registry::{Channel, DataType, NULL};
use vitals::zone::ZoneRuns;

use super::judge::Judge;

/// Values that one channel column can take: 0 to 255, and null.
const CODES: usize = 257;

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
    groups.sort_by_key(|(channel, _)| *channel);
    let block = |(channel, rows): (Channel, Vec<u32>)| Block {
        data_type,
        channel,
        times_us: rows.iter().map(|row| times_us[*row as usize]).collect(),
        columns: columns.iter().map(|cells| picked(cells, &rows)).collect(),
        zones: picked_zones(zones, &rows),
    };
    groups.into_iter().map(block).collect()
}

fn channel_of(data_type: DataType, columns: &[Cells], row: usize) -> Channel {
    let cells: Vec<i32> = data_type.channel_columns().iter().map(|position| columns[*position].get(row)).collect();
    data_type.channel(&cells)
}

/// The rows of each channel, ascending. The channel's cells are the index into a table: a batch of many channels
/// costs no more than one of few.
fn rows_by_channel(data_type: DataType, columns: &[Cells], rows: usize, judge: &Judge) -> Vec<(Channel, Vec<u32>)> {
    const NO_GROUP: u32 = u32::MAX;
    let positions = data_type.channel_columns();
    let mut group_of_code = vec![NO_GROUP; CODES.pow(positions.len() as u32)];
    let mut groups: Vec<(Channel, Vec<u32>)> = Vec::new();
    for row in 0..rows {
        if judge.is_refused(row) {
            continue;
        }
        let code = positions.iter().fold(0, |code, position| code * CODES + code_of(columns[*position].get(row)));
        if group_of_code[code] == NO_GROUP {
            group_of_code[code] = groups.len() as u32;
            groups.push((channel_of(data_type, columns, row), Vec::new()));
        }
        groups[group_of_code[code] as usize].1.push(row as u32);
    }
    groups
}

fn code_of(cell: i32) -> usize {
    if cell == NULL { 0 } else { cell as usize + 1 }
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
