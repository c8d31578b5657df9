//! Reads some of a segment back, a piece at a time.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use futures::Stream;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::file::metadata::ParquetMetaData;
use vitals::block::Block;
use vitals::registry::{Channel, DataType};
use vitals::zone::ZoneName;

use super::layout::{PAGE_ROWS, Piece, is_of_present_format, read_pieces, read_zones};
use super::pages::bytes_of_rows;
use super::repeated::Repeated;
use super::sealed_file::{SealedFile, guarded};
use super::write::WrittenSegment;
use crate::columnar::{RowsOfBatch, block_of_rows};
use crate::engine::blocking;
use crate::error::{Result, StoreError, of_rows};
use crate::objects::Objects;

/// A segment whose metadata have been read. Clones share them.
#[derive(Clone, Debug)]
pub struct SegmentReader {
    file: SealedFile,
    data_type: DataType,
    /// First and last time of the rows as the catalog has them, µs.
    times_us: (i64, i64),
    metadata: ArrowReaderMetadata,
    pieces: Arc<[Piece]>,
}

impl SegmentReader {
    /// Reads the metadata of an object.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the object is not what was sealed.
    pub async fn open(objects: &Objects, object: &WrittenSegment, data_type: DataType) -> Result<Self> {
        let times_us = (object.first_us, object.last_us);
        let read = async {
            let file = SealedFile::of(objects, object)?;
            let metadata = file.metadata().await?;
            blocking(move || {
                guarded(move || {
                    let parts = metadata.file_metadata();
                    let pieces = read_pieces(parts.key_value_metadata(), parts.num_rows() as usize)?.into();
                    let metadata = ArrowReaderMetadata::try_new(metadata.into(), ArrowReaderOptions::new())?;
                    Ok(SegmentReader { file, data_type, times_us, metadata, pieces })
                })
            })
            .await
        };
        of_rows(read.await, data_type.name(), times_us)
    }

    /// Returns the channels that have rows, each once.
    pub fn channels(&self) -> Vec<Channel> {
        let mut channels: Vec<Channel> = self.pieces.iter().flat_map(|piece| &piece.runs).map(|run| run.0).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Returns the time zones of the rows, in the order of their names.
    pub fn zones(&self) -> Vec<ZoneName> {
        read_zones(self.metadata.metadata().file_metadata().key_value_metadata())
    }

    /// Returns whether the file is written as it would be today.
    pub fn is_of_present_format(&self) -> bool {
        is_of_present_format(self.metadata.metadata().file_metadata().key_value_metadata())
    }

    /// Compares all pages that [`SegmentReader::read`] would read of a range, µs, with their checksums, without decoding
    /// any; ends early where `go_on` says so.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when one is not what was sealed.
    pub async fn check(&self, times_us: RangeInclusive<i64>, go_on: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        let mut rows: Vec<Range<usize>> = Vec::new();
        let mut row = 0;
        for piece in self.pieces.iter() {
            let end = row + piece.runs.iter().map(|(_, rows)| rows).sum::<usize>();
            if piece.first_us <= *times_us.end() && piece.last_us >= *times_us.start() {
                rows.push(row..end);
            }
            row = end;
        }
        let metadata = self.metadata.metadata();
        let checked = async {
            let ranges = guarded(|| Ok(bytes_of_rows(metadata, &rows)))?;
            self.file.check(metadata, &ranges, go_on).await
        };
        of_rows(checked.await, self.data_type.name(), self.times_us)
    }

    /// Returns the rows whose times lie in the range, both ends included; of some channels, or of all.
    ///
    /// Fetches and decodes no more than the pages in which they lie.
    pub fn read(&self, times_us: RangeInclusive<i64>, channels: Option<&[Channel]>) -> Result<SegmentPieces> {
        let mut plan = VecDeque::new();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut row = 0;
        for piece in self.pieces.iter() {
            let overlaps = piece.first_us <= *times_us.end() && piece.last_us >= *times_us.start();
            let mut wanted = Vec::new();
            for (channel, rows) in &piece.runs {
                if overlaps && channels.is_none_or(|channels| channels.contains(channel)) {
                    wanted.push((*channel, *rows));
                    match ranges.last_mut() {
                        // Neighbouring runs are one range: each range of a selection is a jump of the decoder.
                        Some(range) if range.end == row => range.end += rows,
                        _ => ranges.push(row..row + rows),
                    }
                }
                row += rows;
            }
            if !wanted.is_empty() {
                plan.push_back(Planned { runs: wanted, is_repeated: piece.is_repeated });
            }
        }
        let decoder = guarded(|| {
            let decoder = ParquetPushDecoderBuilder::new_with_metadata(self.metadata.clone())
                .with_batch_size(PAGE_ROWS)
                .with_row_selection(RowSelection::from_consecutive_ranges(ranges.into_iter(), row))
                .build()?;
            Ok(decoder)
        })?;
        let state = Decoding { data_type: self.data_type, times_us, plan, decoder, batches: VecDeque::new() };
        Ok(SegmentPieces {
            file: self.file.clone(),
            rows_us: self.times_us,
            metadata: self.metadata.metadata().clone(),
            state: Some(Box::new(state)),
        })
    }
}

/// Rows of a segment on their way.
pub struct SegmentPieces {
    file: SealedFile,
    /// First and last time of the segment's rows, µs.
    rows_us: (i64, i64),
    metadata: Arc<ParquetMetaData>,
    /// `None` after an error.
    state: Option<Box<Decoding>>,
}

impl std::fmt::Debug for SegmentPieces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SegmentPieces").field("location", self.file.location()).finish_non_exhaustive()
    }
}

impl SegmentPieces {
    /// Returns the next rows: one block for each channel that has any, all later than what was answered before. `None`
    /// at the end. A block has at most 16,384 rows, all blocks together 262,144.
    pub async fn next(&mut self) -> Result<Option<Vec<Block>>> {
        let data_type = self.state.as_ref().map_or("rows", |state| state.data_type.name());
        of_rows(self.go_on().await, data_type, self.rows_us)
    }

    async fn go_on(&mut self) -> Result<Option<Vec<Block>>> {
        // Not put back after an error: a decoder that has failed in the middle would go on with other rows.
        let mut state = self.state.take().ok_or_else(|| StoreError::Damaged("reading has failed before".to_owned()))?;
        loop {
            let (back, step) = blocking(move || {
                let step = guarded(|| state.step())?;
                Ok((state, step))
            })
            .await?;
            state = back;
            match step {
                Step::Blocks(blocks) => {
                    self.state = Some(state);
                    return Ok(Some(blocks));
                }
                Step::End => {
                    self.state = Some(state);
                    return Ok(None);
                }
                Step::Fetch(ranges) => {
                    // Fetched outside the blocking half, whose threads are few.
                    let data = self.file.pages(&self.metadata, &ranges).await?;
                    guarded(|| Ok(state.decoder.push_ranges(ranges, data)?))?;
                }
            }
        }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &str {
        self.file.location().as_ref()
    }

    /// Does the same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Vec<Block>>> + Send {
        futures::stream::try_unfold(self, |mut pieces| async move {
            Ok(pieces.next().await?.map(|blocks| (blocks, pieces)))
        })
    }
}

/// What the blocking half of reading works on.
struct Decoding {
    data_type: DataType,
    times_us: RangeInclusive<i64>,
    /// What of each piece is still to be answered.
    plan: VecDeque<Planned>,
    decoder: ParquetPushDecoder,
    /// Decoded rows that have not been answered.
    batches: VecDeque<arrow_array::RecordBatch>,
}

/// What is wanted of a piece.
struct Planned {
    /// Channels, and how many rows each has.
    runs: Vec<(Channel, usize)>,
    /// Whether a column was left out because it repeats another.
    is_repeated: bool,
}

enum Step {
    Fetch(Vec<Range<u64>>),
    Blocks(Vec<Block>),
    End,
}

impl Decoding {
    /// Goes on until there is an answer or something must be fetched.
    fn step(&mut self) -> Result<Step> {
        while let Some(piece) = self.plan.front() {
            let wanted: usize = piece.runs.iter().map(|(_, rows)| rows).sum();
            if self.decoded_rows() < wanted {
                match self.decoder.try_decode()? {
                    DecodeResult::NeedsData(ranges) => return Ok(Step::Fetch(ranges)),
                    DecodeResult::Data(batch) => self.batches.push_back(batch),
                    DecodeResult::Finished => {
                        return Err(StoreError::Damaged("a segment ends early".to_owned()));
                    }
                }
                continue;
            }
            let Some(piece) = self.plan.pop_front() else { break };
            let repeated = Repeated::of(self.data_type).filter(|_| piece.is_repeated);
            let mut blocks = Vec::with_capacity(piece.runs.len());
            for (channel, rows) in piece.runs {
                let mut block = self.take_block(channel, rows)?;
                if let Some(repeated) = repeated {
                    repeated.restore(&mut block);
                }
                let block = block.clipped(*self.times_us.start(), *self.times_us.end());
                if !block.is_empty() {
                    blocks.push(block);
                }
            }
            if !blocks.is_empty() {
                return Ok(Step::Blocks(blocks));
            }
        }
        Ok(Step::End)
    }

    fn decoded_rows(&self) -> usize {
        self.batches.iter().map(arrow_array::RecordBatch::num_rows).sum()
    }

    fn take_block(&mut self, channel: Channel, rows: usize) -> Result<Block> {
        let mut parts = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let Some(batch) = self.batches.pop_front() else {
                break;
            };
            let taken = missing.min(batch.num_rows());
            if taken < batch.num_rows() {
                self.batches.push_front(batch.slice(taken, batch.num_rows() - taken));
            }
            missing -= taken;
            parts.push(batch.slice(0, taken));
        }
        let parts: Vec<_> = parts.iter().map(|batch| RowsOfBatch { batch, rows: 0..batch.num_rows() }).collect();
        block_of_rows(self.data_type, channel, &parts)
    }
}
