//! The order of rows in answers: by time, and by channel at equal times.

use vitals::block::{Block, Pick};
use vitals::zone::ZoneRuns;

/// Returns the rows of blocks of one type, ordered by (time, channel), as one block whose rows are of several channels.
///
/// Such a block is only good for being written out: its `channel` is that of the first.
pub(super) fn merged(blocks: &[&Block]) -> Block {
    let mut by_channel = blocks.to_vec();
    by_channel.sort_by_key(|block| (block.channel, block.first_us()));
    let mut picks = Vec::with_capacity(blocks.iter().map(|block| block.rows()).sum());
    for (number, block) in by_channel.iter().enumerate() {
        picks.extend((0..block.rows() as u32).map(|row| Pick { block: number as u32, row }));
    }
    // The stable sort finds the runs that the blocks are, merges them, and keeps channels in order at equal times.
    picks.sort_by_key(|pick| by_channel[pick.block as usize].times_us[pick.row as usize]);
    let zones = picked_zones(&by_channel, &picks);
    Block::gather(&by_channel, &picks, zones)
}

fn picked_zones(blocks: &[&Block], picks: &[Pick]) -> ZoneRuns {
    let mut distinct = blocks.iter().flat_map(|block| block.zones.iter()).map(|(_, zone)| zone);
    let Some(first) = distinct.next() else {
        return ZoneRuns::default();
    };
    // Somebody who does not travel has one zone, which need not be picked row by row.
    if distinct.all(|zone| zone == first) {
        return ZoneRuns::constant(first.clone(), picks.len());
    }
    let mut zones = ZoneRuns::default();
    for pick in picks {
        zones.push(blocks[pick.block as usize].zone_of(pick.row as usize).clone(), 1);
    }
    zones
}
