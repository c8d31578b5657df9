//! Blocks to the bytes of a segment.

use std::collections::BTreeSet;

use parquet::arrow::ArrowWriter;
use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::ZoneName;

use super::block_sums::{BlockSummer, Tail};
use super::layout::{Piece, properties, write_pieces, write_sums, write_zones};
use super::name::SegmentName;
use super::pieces::Pending;
use super::repeated::Repeated;
use crate::columnar::{Run, arrow_schema, batch_of_runs};
use crate::error::{Result, StoreError};

/// How a file ends.
pub(super) struct LastBytes {
    pub bytes: Vec<u8>,
    /// The last of these bytes, behind the last page.
    pub tail: Tail,
    pub pieces: Vec<Piece>,
}

/// Encodes one segment. Holds one row group at most.
pub(super) struct Encoder {
    data_type: DataType,
    pending: Pending,
    pieces: Vec<Piece>,
    zones: BTreeSet<ZoneName>,
    sums: BlockSummer,
    repeated: Option<Repeated>,
    writer: ArrowWriter<Vec<u8>>,
}

impl Encoder {
    pub(super) fn new(name: &SegmentName) -> Result<Self> {
        let properties = properties(name)?;
        let writer = ArrowWriter::try_new(Vec::new(), arrow_schema(name.data_type), Some(properties));
        Ok(Encoder {
            data_type: name.data_type,
            pending: Pending::default(),
            pieces: Vec::new(),
            zones: BTreeSet::new(),
            sums: BlockSummer::default(),
            repeated: Repeated::of(name.data_type),
            writer: writer?,
        })
    }

    /// Adds blocks, as [`Pending::add`] wants them; answers the bytes that are ready to be sent off.
    pub(super) fn add(&mut self, blocks: Vec<Block>) -> Result<Vec<u8>> {
        self.pending.add(blocks)?;
        while let Some(cut_us) = self.pending.next_cut_us() {
            self.write_piece(cut_us)?;
        }
        // Taken out at once, so that the file is never whole in memory.
        Ok(self.take_bytes())
    }

    fn take_bytes(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(self.writer.inner_mut());
        self.sums.add(&bytes);
        bytes
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> Result<LastBytes> {
        self.write_piece(i64::MAX)?;
        // All pages go out before the metadata, which list their checksums.
        self.writer.flush()?;
        self.writer.sync().map_err(|error| StoreError::Damaged(error.to_string()))?;
        let mut bytes = self.take_bytes();
        // At the end of the file, where readers begin: the pieces are known only now.
        self.writer.append_key_value_metadata(write_pieces(&self.pieces)?);
        self.writer.append_key_value_metadata(write_zones(&self.zones)?);
        self.writer.append_key_value_metadata(write_sums(self.sums));
        let end = self.writer.into_inner()?;
        let tail = Tail::of(&end);
        bytes.extend(end);
        Ok(LastBytes { bytes, tail, pieces: self.pieces })
    }

    fn write_piece(&mut self, cut_us: i64) -> Result<()> {
        let runs = self.pending.runs_before(cut_us);
        let Some(mut piece) = describe(&runs) else {
            return Ok(());
        };
        let mut batch = batch_of_runs(self.data_type, &runs)?;
        if let Some(repeated) = self.repeated.filter(|repeated| repeated.holds(&runs)) {
            batch = repeated.left_out(&batch)?;
            piece.is_repeated = true;
        }
        self.writer.write(&batch)?;
        for run in &runs {
            for (_, zone) in run.block.zones.slice(run.rows.clone()).iter() {
                if !self.zones.contains(zone) {
                    self.zones.insert(zone.clone());
                }
            }
        }
        self.pieces.push(piece);
        self.pending.drop_before(cut_us);
        Ok(())
    }
}

fn describe(runs: &[Run<'_>]) -> Option<Piece> {
    let first_us = runs.iter().map(|run| run.block.times_us[run.rows.start]).min()?;
    let last_us = runs.iter().map(|run| run.block.times_us[run.rows.end - 1]).max()?;
    let mut piece = Piece { first_us, last_us, runs: Vec::new(), is_repeated: false };
    for run in runs {
        match piece.runs.last_mut() {
            Some((channel, rows)) if *channel == run.block.channel => *rows += run.rows.len(),
            _ => piece.runs.push((run.block.channel, run.rows.len())),
        }
    }
    Some(piece)
}
