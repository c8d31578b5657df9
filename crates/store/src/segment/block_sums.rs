//! Checksums of a sealed file, block by block, so that a read of a few pages checks what it reads and no more.
//!
//! The library that writes Parquet writes no checksums of pages. So the file is cut into blocks of equal length, whose
//! sums are in its metadata; the end of the file, in which the metadata lie, has its own sum in the catalog. Readers of
//! other programs pass over both.

use std::ops::Range;

use bytes::Bytes;
use crc32fast::Hasher;

use crate::checksum;
use crate::error::{Result, StoreError};

/// Bytes of a block. A page of a signal has twice as many, so a read of one page checks a third more than it needs.
const BLOCK_BYTES: u64 = 16 << 10;
/// Blocks of a file at most; of a larger file they are longer, so that the list stays short against the pages.
const MOST_BLOCKS: usize = 4096;
/// Hexadecimal digits of a sum.
const DIGITS: usize = 8;

/// The end of a sealed file, behind its last page: what is read first, and leads to everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Length.
    pub bytes: u64,
    /// Its checksum.
    pub sum: u32,
}

impl Tail {
    /// Returns the end of a file that these bytes are.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Tail { bytes: bytes.len() as u64, sum: checksum::of_bytes(bytes) }
    }

    /// Returns whether these bytes are the end that was written.
    pub(super) fn is(self, bytes: &[u8]) -> bool {
        Tail::of(bytes) == self
    }
}

/// Sums of a file on its way.
#[derive(Debug, Default)]
pub(super) struct BlockSummer {
    whole: Vec<Hasher>,
    open: Hasher,
    /// Bytes of the open block.
    filled: u64,
}

impl BlockSummer {
    /// Takes the next bytes of the file.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (head, rest) = bytes.split_at(room.min(bytes.len()));
            self.open.update(head);
            self.filled += head.len() as u64;
            if self.filled == BLOCK_BYTES {
                self.whole.push(std::mem::take(&mut self.open));
                self.filled = 0;
            }
            bytes = rest;
        }
    }

    /// Returns the text that the file's metadata keep: length of a block, length of everything, and the sums.
    pub(super) fn finish(mut self) -> String {
        let covered = self.whole.len() as u64 * BLOCK_BYTES + self.filled;
        if self.filled > 0 {
            self.whole.push(self.open);
        }
        let mut block_bytes = BLOCK_BYTES;
        // Sums of neighbours can be joined without their bytes, so the file need not be read a second time.
        while self.whole.len() > MOST_BLOCKS {
            self.whole = self.whole.chunks(2).map(joined).collect();
            block_bytes *= 2;
        }
        let mut text = format!("{block_bytes} {covered} ");
        for block in self.whole {
            let sum = block.finalize().to_be_bytes();
            text.push_str(&crate::objects::hexadecimal(&sum));
        }
        text
    }
}

fn joined(blocks: &[Hasher]) -> Hasher {
    let mut joined = blocks[0].clone();
    for block in &blocks[1..] {
        joined.combine(block);
    }
    joined
}

/// Sums of a file that was written, as its metadata have them.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSums<'text> {
    block_bytes: u64,
    covered: u64,
    sums: &'text str,
}

impl<'text> BlockSums<'text> {
    /// Reads what [`BlockSummer::finish`] wrote.
    pub(super) fn read(text: &'text str) -> Result<Self> {
        let mut parts = text.splitn(3, ' ');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        let (block_bytes, covered) = (number(), number());
        match (block_bytes, covered, parts.next()) {
            (Some(block_bytes), Some(covered), Some(sums))
                if block_bytes > 0 && sums.len() as u64 == covered.div_ceil(block_bytes) * DIGITS as u64 =>
            {
                Ok(BlockSums { block_bytes, covered, sums })
            }
            _ => Err(StoreError::Damaged("the list of a segment's checksums cannot be read".to_owned())),
        }
    }

    /// Returns the whole blocks in which ranges lie, in the order of the file, each once.
    pub(super) fn around(&self, ranges: &[Range<u64>]) -> Result<Vec<Range<u64>>> {
        let mut blocks: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            if range.end > self.covered {
                return Err(StoreError::Damaged("a segment names pages behind its last one".to_owned()));
            }
            let start = range.start / self.block_bytes * self.block_bytes;
            let end = (range.end.div_ceil(self.block_bytes) * self.block_bytes).min(self.covered);
            blocks.push(start..end);
        }
        // Columns are asked for in the order of the reader and not in that of the file.
        blocks.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<u64>> = Vec::with_capacity(blocks.len());
        for range in blocks {
            match apart.last_mut() {
                // Small ranges of one block would otherwise be fetched once each.
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        Ok(apart)
    }

    /// Cuts ranges of whole blocks into lots of about so many bytes, each of whole blocks too.
    pub(super) fn in_lots(&self, blocks: Vec<Range<u64>>, lot_bytes: u64) -> Vec<Vec<Range<u64>>> {
        let lot_bytes = lot_bytes.next_multiple_of(self.block_bytes);
        let mut lots: Vec<Vec<Range<u64>>> = Vec::new();
        let mut room = 0;
        for mut range in blocks {
            while !range.is_empty() {
                if room == 0 {
                    lots.push(Vec::new());
                    room = lot_bytes;
                }
                let end = range.end.min(range.start + room);
                // The last block of a file is shorter than others, so what is left of a lot may be no whole block.
                room = (room - (end - range.start)) / self.block_bytes * self.block_bytes;
                if let Some(lot) = lots.last_mut() {
                    lot.push(range.start..end);
                }
                range.start = end;
            }
        }
        lots
    }

    /// Compares the bytes of whole blocks with their sums.
    pub(super) fn check(&self, at: &Range<u64>, bytes: &[u8]) -> Result<()> {
        let first = (at.start / self.block_bytes) as usize;
        let is_sound = |(block, bytes): (usize, &[u8])| {
            let digits = self.sums.get((first + block) * DIGITS..(first + block + 1) * DIGITS);
            digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) == Some(checksum::of_bytes(bytes))
        };
        let is_whole = bytes.len() as u64 == at.end - at.start;
        if is_whole && bytes.chunks(self.block_bytes as usize).enumerate().all(is_sound) {
            return Ok(());
        }
        Err(StoreError::Damaged(format!("a segment: bytes {} to {} are not what was sealed", at.start, at.end)))
    }
}

/// Returns the bytes of ranges out of the blocks that [`BlockSums::around`] found around them.
pub(super) fn cut_out(ranges: &[Range<u64>], blocks: &[Range<u64>], data: &[Bytes]) -> Vec<Bytes> {
    let cut = |range: &Range<u64>| {
        let at = blocks.partition_point(|block| block.end < range.end.max(range.start + 1));
        let (Some(block), Some(data)) = (blocks.get(at), data.get(at)) else { return Bytes::new() };
        data.slice((range.start - block.start) as usize..(range.end - block.start) as usize)
    };
    ranges.iter().map(|range| if range.is_empty() { Bytes::new() } else { cut(range) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_hold_every_block_once_and_whole() {
        let sums = BlockSums { block_bytes: 10, covered: 95, sums: "" };
        let lots = sums.in_lots(vec![0..10, 30..95], 25);
        let ends: Vec<Vec<(u64, u64)>> =
            lots.iter().map(|lot| lot.iter().map(|range| (range.start, range.end)).collect()).collect();
        assert_eq!(ends, [vec![(0, 10), (30, 50)], vec![(50, 80)], vec![(80, 95)]]);
        assert!(lots.concat().iter().all(|range| range.start % 10 == 0));
        assert!(sums.in_lots(Vec::new(), 25).is_empty());
    }

    fn bytes(length: u64) -> Vec<u8> {
        (0..length).map(|at| ((at * at) >> 7) as u8).collect()
    }

    fn sums_of(bytes: &[u8], part: usize) -> String {
        let mut summer = BlockSummer::default();
        for part in bytes.chunks(part) {
            summer.add(part);
        }
        summer.finish()
    }

    #[test]
    fn sums_do_not_depend_on_how_the_bytes_came_and_cover_every_byte() {
        let bytes = bytes(2 * BLOCK_BYTES + 77);
        let text = sums_of(&bytes, 1000);
        assert_eq!(text, sums_of(&bytes, bytes.len()));
        let sums = BlockSums::read(&text).expect("sums");
        assert_eq!(sums.covered, bytes.len() as u64);
        let whole = 0..bytes.len() as u64;
        sums.check(&whole, &bytes).expect("sound");
        for place in [0, BLOCK_BYTES - 1, BLOCK_BYTES, 2 * BLOCK_BYTES + 76] {
            let mut flipped = bytes.clone();
            flipped[place as usize] ^= 4;
            assert!(sums.check(&whole, &flipped).is_err(), "byte {place}");
        }
    }

    #[test]
    fn blocks_of_a_large_file_are_longer() {
        let bytes = bytes(BLOCK_BYTES * (2 * MOST_BLOCKS as u64 + 3) + 5);
        let text = sums_of(&bytes, 1 << 20);
        let sums = BlockSums::read(&text).expect("sums");
        assert_eq!(sums.block_bytes, 4 * BLOCK_BYTES);
        sums.check(&(0..bytes.len() as u64), &bytes).expect("sound");
    }

    #[test]
    fn ranges_are_widened_to_blocks_and_cut_out_again() {
        let bytes = Bytes::from(bytes(5 * BLOCK_BYTES + 9));
        let text = sums_of(&bytes, 4096);
        let sums = BlockSums::read(&text).expect("sums");
        let end = 5 * BLOCK_BYTES + 9;
        let ranges = [end - 9..end, 10..20, BLOCK_BYTES - 1..BLOCK_BYTES + 1, 7..7, 3 * BLOCK_BYTES..4 * BLOCK_BYTES];
        let blocks = sums.around(&ranges).expect("blocks");
        assert_eq!(blocks, [0..2 * BLOCK_BYTES, 3 * BLOCK_BYTES..4 * BLOCK_BYTES, 5 * BLOCK_BYTES..end]);
        let slice = |range: &Range<u64>| bytes.slice(range.start as usize..range.end as usize);
        let data: Vec<Bytes> = blocks.iter().map(slice).collect();
        for (at, data) in blocks.iter().zip(&data) {
            sums.check(at, data).expect("sound");
        }
        assert_eq!(cut_out(&ranges, &blocks, &data), ranges.iter().map(slice).collect::<Vec<_>>());
        let beyond = 0..end + 1;
        assert!(sums.around(std::slice::from_ref(&beyond)).is_err());
    }

    #[test]
    fn list_that_does_not_fit_its_lengths_is_damage() {
        for text in ["", "16384", "16384 20", "16384 20000 0123456789", "0 0 ", "16384 20 0123456"] {
            assert!(BlockSums::read(text).is_err(), "{text:?}");
        }
        BlockSums::read("16384 0 ").expect("no bytes at all");
    }
}
