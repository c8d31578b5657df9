//! Cuts a stream of blocks into the pieces of a segment.
//!
//! Where the cuts fall depends on the samples alone and not on how they were handed over: a piece ends before the
//! time at which one channel would have more than [`CHANNEL_ROWS`] rows in it. So the same samples give the same file.

use std::collections::{BTreeMap, VecDeque};

use vitals::block::Block;
use vitals::registry::Channel;

use super::layout::PAGE_ROWS;
use crate::columnar::Run;
use crate::error::{Result, StoreError};

/// The most rows of one channel in a piece: a page, so that a piece of a type with one channel is one page.
const CHANNEL_ROWS: usize = PAGE_ROWS;
/// The most rows of all channels in a piece, so that many channels do not need much memory.
const PIECE_ROWS: usize = 16 * PAGE_ROWS;

/// Blocks that are not yet part of a piece.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queues: BTreeMap<Channel, Queue>,
    /// The last time of what was handed over before.
    handed_over_to_us: Option<i64>,
}

#[derive(Debug, Default)]
struct Queue {
    blocks: VecDeque<Block>,
    /// Rows of the first block that are already part of a piece.
    taken: usize,
    /// Rows that are not.
    rows: usize,
}

impl Pending {
    /// Adds blocks. All of them must begin after everything handed over before has ended, and the blocks of one
    /// channel must follow one another.
    pub(super) fn add(&mut self, blocks: Vec<Block>) -> Result<()> {
        let before_us = self.handed_over_to_us;
        for block in blocks {
            let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else {
                continue;
            };
            let queue = self.queues.entry(block.channel).or_default();
            let follows = queue.blocks.back().and_then(Block::last_us).is_none_or(|last_us| last_us < first_us);
            // Pieces are cut by time, and what is handed over is gone: a row that comes late would lie behind its place
            // and not be found.
            if !follows || before_us.is_some_and(|before_us| first_us <= before_us) {
                return Err(StoreError::Conflict("blocks of a segment are not in the order of time".to_owned()));
            }
            self.handed_over_to_us = self.handed_over_to_us.max(Some(last_us));
            queue.rows += block.rows();
            queue.blocks.push_back(block);
        }
        Ok(())
    }

    /// Returns the time before which the next piece ends, when it is certain.
    pub(super) fn next_cut_us(&self) -> Option<i64> {
        let by_channel = self.queues.values().filter_map(|queue| queue.time_of(CHANNEL_ROWS)).min();
        let cut_us = self.time_of_merged_row(PIECE_ROWS, by_channel.unwrap_or(i64::MAX)).or(by_channel)?;
        // With more channels than a piece has rows, all may begin at the cut; they make a piece all the same.
        let first_us = self.queues.values().filter_map(|queue| queue.time_of(0)).min()?;
        Some(cut_us.max(first_us + 1))
    }

    /// Returns the time of a row in the order of time, when so many rows lie before the given time.
    fn time_of_merged_row(&self, row: usize, before_us: i64) -> Option<i64> {
        let runs = self.runs_before(before_us);
        let rows: usize = runs.iter().map(|run| run.rows.len()).sum();
        if rows <= row {
            return None;
        }
        let times = runs.iter().flat_map(|run| &run.block.times_us[run.rows.clone()]);
        let mut times: Vec<i64> = times.copied().collect();
        Some(*times.select_nth_unstable(row).1)
    }

    /// Returns the rows before a time, channel after channel.
    pub(super) fn runs_before(&self, cut_us: i64) -> Vec<Run<'_>> {
        self.queues.values().flat_map(|queue| queue.runs_before(cut_us)).collect()
    }

    /// Forgets the rows before a time.
    pub(super) fn drop_before(&mut self, cut_us: i64) {
        for queue in self.queues.values_mut() {
            queue.drop_before(cut_us);
        }
        self.queues.retain(|_, queue| queue.rows > 0);
    }
}

impl Queue {
    fn time_of(&self, row: usize) -> Option<i64> {
        let mut row = row + self.taken;
        for block in &self.blocks {
            if let Some(time_us) = block.times_us.get(row) {
                return Some(*time_us);
            }
            row -= block.rows();
        }
        None
    }

    fn runs_before(&self, cut_us: i64) -> Vec<Run<'_>> {
        let mut runs = Vec::new();
        let mut taken = self.taken;
        for block in &self.blocks {
            let end = block.times_us.partition_point(|time_us| *time_us < cut_us);
            if end > taken {
                runs.push(Run { block, rows: taken..end });
            }
            taken = 0;
        }
        runs
    }

    fn drop_before(&mut self, cut_us: i64) {
        while let Some(block) = self.blocks.front() {
            let end = block.times_us.partition_point(|time_us| *time_us < cut_us);
            self.rows -= end.max(self.taken) - self.taken;
            if end < block.rows() {
                self.taken = self.taken.max(end);
                return;
            }
            self.blocks.pop_front();
            self.taken = 0;
        }
    }
}
