//! Rows of several channels in the order of time.

use crate::block::Block;

/// Steps through the rows of several channels in the order of time; rows at the same time in the order of channels.
/// `row` is given the number of the block and of the row in it.
pub fn in_time_order(blocks: &[Block], mut row: impl FnMut(usize, usize)) {
    if let [only] = blocks {
        for number in 0..only.rows() {
            row(0, number);
        }
        return;
    }
    let mut next = vec![0_usize; blocks.len()];
    loop {
        let waiting = blocks.iter().zip(&next).enumerate();
        let times = waiting.filter_map(|(number, (block, next))| Some((*block.times_us.get(*next)?, number)));
        let Some((_, first)) = times.min() else {
            return;
        };
        row(first, next[first]);
        next[first] += 1;
    }
}
