//! An archive that is being filled, and what it knows of the rows that go by.

use std::collections::BTreeSet;

use store::PatientId;
use store::segment::Verified;
use vitals::block::Block;
use vitals::zone::ZoneName;

use super::archive::WrittenEntry;
use super::local_range::{LocalRange, TouchedPeriod};
use super::manifest::FileOfArchive;
use super::request::ExportRequest;
use super::sink::Sink;
use crate::core::Core;
use crate::core::access::Readable;
use crate::core::error::{PlatformError, Result};

/// An archive that is being filled.
pub(super) struct Filling<'a> {
    pub core: &'a Core,
    pub patient: &'a Readable<PatientId>,
    pub request: &'a ExportRequest,
    pub range: LocalRange,
    pub sink: Sink,
    pub files: Vec<FileOfArchive>,
    pub zones: BTreeSet<ZoneName>,
    /// Segments that were compared with the catalog: each once for an archive, before its rows go out.
    pub verified: Verified,
    /// An error when the work should end early: it is no longer ours, or the process is about to end.
    pub interruption: &'a (dyn Fn() -> Result<()> + Send + Sync),
}

impl Filling<'_> {
    /// Of blocks of a period, the rows in the range; notes their zones.
    pub(super) fn within(&mut self, blocks: Vec<Block>, touched: &TouchedPeriod) -> Vec<Block> {
        let range = self.range;
        // Most periods of an export are whole, and asking the clock of every row is most of the work of reading.
        let keep = |block: Block| if touched.is_whole { Some(block) } else { range.clipped(block) };
        let blocks: Vec<Block> = blocks.into_iter().filter_map(keep).collect();
        for zone in blocks.iter().flat_map(|block| block.zones.iter()).map(|(_, zone)| zone) {
            if !self.zones.contains(zone) {
                self.zones.insert(zone.clone());
            }
        }
        blocks
    }
}

/// Counts the rows of a data file as they go by.
#[derive(Default)]
pub(super) struct Rows {
    count: u64,
    first_us: Option<i64>,
    last_us: Option<i64>,
}

impl Rows {
    pub(super) fn add(&mut self, blocks: &[Block]) {
        self.count += blocks.iter().map(|block| block.rows() as u64).sum::<u64>();
        let first_us = blocks.iter().filter_map(Block::first_us).min();
        // Pieces come in the order of time, channel after channel within each: the first piece holds the first row.
        self.first_us = self.first_us.or(first_us);
        self.last_us = blocks.iter().filter_map(Block::last_us).max().or(self.last_us);
    }

    /// Does the same of a file that is known without its rows.
    pub(super) fn known(count: u64, first_us: i64, last_us: i64) -> Self {
        Rows { count, first_us: Some(first_us), last_us: Some(last_us) }
    }

    pub(super) fn described(
        &self,
        name: String,
        data_type: &'static str,
        entry: WrittenEntry,
    ) -> Result<FileOfArchive> {
        let ms = |time_us: Option<i64>| {
            time_us.map(|us| us.div_euclid(1000)).ok_or_else(|| PlatformError::Internal("a file has no row".to_owned()))
        };
        Ok(FileOfArchive {
            name,
            data_type,
            rows: self.count,
            first_timestamp: ms(self.first_us)?,
            last_timestamp: ms(self.last_us)?,
            bytes: entry.bytes,
            sha256: entry.sha256,
        })
    }
}

#[cfg(test)]
mod tests {
    use vitals::registry::{Channel, DataType};
    use vitals::zone::ZoneRuns;

    use super::*;

    fn block(times_us: &[i64]) -> Block {
        let mut block = Block::empty(DataType::Sleep, Channel::default());
        block.times_us = times_us.to_vec();
        block.zones = ZoneRuns::constant("UTC".into(), times_us.len());
        block
    }

    fn described(rows: &Rows) -> Result<FileOfArchive> {
        rows.described("sleep.csv".to_owned(), "sleep", WrittenEntry { bytes: 7, sha256: "ab".to_owned() })
    }

    #[test]
    fn rows_are_counted_and_their_first_and_last_kept() {
        let mut rows = Rows::default();
        rows.add(&[block(&[1_000_000, 2_000_000]), block(&[500_999])]);
        rows.add(&[]);
        rows.add(&[block(&[3_000_000, 4_000_999])]);
        let file = described(&rows).expect("rows");
        assert_eq!((file.rows, file.first_timestamp, file.last_timestamp), (5, 500, 4_000), "whole milliseconds");
        assert_eq!((&*file.name, file.data_type, file.bytes, &*file.sha256), ("sleep.csv", "sleep", 7, "ab"));
    }

    #[test]
    fn a_file_that_is_known_without_its_rows_is_described_alike() {
        let mut counted = Rows::default();
        counted.add(&[block(&[-1_500, 2_500])]);
        let (counted, known) =
            (described(&counted).expect("rows"), described(&Rows::known(2, -1_500, 2_500)).expect("rows"));
        assert_eq!((counted.rows, counted.first_timestamp, counted.last_timestamp), (2, -2, 2), "before 1970 too");
        assert_eq!(
            (known.rows, known.first_timestamp, known.last_timestamp),
            (counted.rows, counted.first_timestamp, counted.last_timestamp)
        );
    }

    #[test]
    fn a_file_without_a_row_is_our_fault() {
        assert!(matches!(described(&Rows::default()), Err(PlatformError::Internal(_))));
        let mut empty = Rows::default();
        empty.add(&[block(&[])]);
        assert!(matches!(described(&empty), Err(PlatformError::Internal(_))));
    }
}
