//! The rows of one period as a stream, for what reads much: exports.
//!
//! A sealed period that nothing has come for since is streamed piece by piece as it lies in its file. Otherwise segment
//! and chunks are merged step by step, as a sealing does it. Chunks can be merged or sealed while they are being read;
//! the look at the catalog is then taken again, and reading goes on behind the last row that was answered.

use boxed_futures::boxed_futures;
use futures::future::try_join_all;
use std::ops::RangeInclusive;

use vitals::block::Block;
use vitals::registry::{Channel, DataType};

use super::catalog::SegmentRow;
use super::catalog::segment_of;
use super::period::SealedPeriod;
use super::read::{SegmentPieces, SegmentReader};
use super::seal::{chunk_block, chunks_of_period, step_us};
use super::verify::Verified;
use crate::engine::blocking;
use crate::error::{Result, StoreError};
use crate::health::chunk_counts;
use crate::health::db::HealthDb;
use crate::health::reader::merge;
use crate::health::stored_chunk::ChunkKey;
use crate::ids::PatientId;

/// Number of times that the catalog is looked at again without having got further.
const LOOKS: usize = 5;

/// What is stored of a period at one moment.
#[derive(Clone, Debug, Default)]
pub struct PeriodContent {
    /// Its segment.
    pub segment: Option<SegmentRow>,
    /// What has come since, or was never sealed.
    pub chunks: Vec<ChunkKey>,
}

/// Rows of a period on their way.
#[derive(Debug)]
pub struct PeriodRows {
    health: HealthDb,
    patient: PatientId,
    data_type: DataType,
    period: SealedPeriod,
    /// What is still to be read.
    times_us: RangeInclusive<i64>,
    /// Of one channel, or of all.
    channel: Option<Channel>,
    /// None before the first look, and after one that no longer holds.
    source: Option<Source>,
    looks: usize,
    /// Segments that need not be verified again; none when nothing is verified.
    verified: Option<Verified>,
}

#[derive(Debug)]
struct Source {
    reader: Option<SegmentReader>,
    chunks: Vec<ChunkKey>,
    /// The pieces of a segment that nothing has to be merged with.
    straight: Option<SegmentPieces>,
    /// Chunks that reach into the next step.
    decoded: Vec<(ChunkKey, Block)>,
}

#[boxed_futures]
impl HealthDb {
    /// Returns what is stored of a period now.
    pub async fn period_content(
        &self,
        patient: &PatientId,
        data_type: DataType,
        period: SealedPeriod,
    ) -> Result<PeriodContent> {
        let patient = patient.clone();
        let look = self.db.read(async move |tx| {
            let segment = segment_of(tx, &patient, data_type, period.start_us).await?;
            chunk_counts::compare(tx, &patient, data_type, (period.start_us, period.end_us - 1)).await?;
            Ok(PeriodContent { segment, chunks: chunks_of_period(tx, &patient, data_type, period).await? })
        });
        look.await
    }

    /// Returns the channels that have rows in a period, in their order. Its segment is verified first.
    pub async fn channels_of_period(
        &self,
        patient: &PatientId,
        data_type: DataType,
        period: SealedPeriod,
        verified: &Verified,
    ) -> Result<Vec<Channel>> {
        for _ in 0..LOOKS {
            let content = self.period_content(patient, data_type, period).await?;
            let mut channels: Vec<Channel> = content.chunks.iter().map(|chunk| chunk.channel).collect();
            if let Some(row) = &content.segment {
                // Before a row is handed out: an export cannot take rows back.
                let checked = verified.check(&self.objects, &row.object).await;
                self.noting_damage(&row.object.path, checked).await?;
                match self.open_sealed(row).await {
                    Ok(reader) => channels.extend(reader.channels()),
                    Err(StoreError::LeaseLost) => continue,
                    Err(error) => return Err(error),
                }
            }
            channels.sort_unstable();
            channels.dedup();
            return Ok(channels);
        }
        Err(StoreError::LeaseLost)
    }

    /// Returns the rows of a period within a range of times (µs, both ends included), of one channel or of all.
    pub fn period_rows(
        &self,
        patient: &PatientId,
        data_type: DataType,
        period: SealedPeriod,
        times_us: RangeInclusive<i64>,
        channel: Option<Channel>,
    ) -> PeriodRows {
        let first_us = period.start_us.max(*times_us.start());
        let last_us = (period.end_us - 1).min(*times_us.end());
        PeriodRows {
            health: self.clone(),
            patient: patient.clone(),
            data_type,
            period,
            times_us: first_us..=last_us,
            channel,
            source: None,
            looks: 0,
            verified: None,
        }
    }
}

impl PeriodRows {
    /// Reads a segment whole and compares it with the catalog before any of its rows is answered, but for those that
    /// were verified before.
    #[must_use]
    pub fn verifying(self, verified: &Verified) -> Self {
        PeriodRows { verified: Some(verified.clone()), ..self }
    }

    /// Returns the next rows: one block for each channel that has any, all later than what was answered before. `None`
    /// at the end.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when what is stored changes faster than it can be read.
    pub async fn next(&mut self) -> Result<Option<Vec<Block>>> {
        while !self.times_us.is_empty() {
            match self.advance().await {
                Ok(Some(blocks)) => {
                    self.looks = 0;
                    return Ok(Some(blocks));
                }
                Ok(None) => {}
                // Bounded, since a period that is sealed again and again would never end; a look that got further
                // counts from the beginning.
                Err(StoreError::LeaseLost) if self.looks < LOOKS => self.source = None,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Goes on by a step; none when there was nothing in it.
    async fn advance(&mut self) -> Result<Option<Vec<Block>>> {
        if self.source.is_none() {
            self.looks += 1;
            self.source = Some(self.look().await?);
        }
        let Some(source) = &mut self.source else { return Ok(None) };
        if let Some(pieces) = &mut source.straight {
            let blocks = pieces.next().await;
            let blocks = self.health.noting_damage(pieces.path(), blocks).await?;
            // What was answered is noted by time, so that a later look goes on behind it whatever the file then looks
            // like.
            let last_us = blocks.iter().flatten().filter_map(Block::last_us).max();
            self.times_us = last_us.map_or(i64::MAX, |last_us| last_us + 1)..=*self.times_us.end();
            return Ok(blocks);
        }
        let from_us = *self.times_us.start();
        let step_us = step_us(self.data_type);
        // Ends of steps are the same wherever reading begins, so that it may be broken off and taken up again.
        let to_us = (from_us.div_euclid(step_us) * step_us + step_us - 1).min(*self.times_us.end());
        let mut arrived: Vec<Block> = Vec::new();
        if let Some(reader) = &source.reader {
            let mut pieces = reader.read(from_us..=to_us, self.channel.as_ref().map(std::slice::from_ref))?;
            while let Some(blocks) = pieces.next().await? {
                arrived.extend(blocks);
            }
        }
        arrived.extend(source.chunk_rows(&self.health, &self.patient, self.data_type, from_us, to_us).await?);
        self.times_us = to_us + 1..=*self.times_us.end();
        if arrived.is_empty() {
            return Ok(None);
        }
        let blocks = blocking(move || Ok(merge(arrived, from_us, to_us))).await?;
        Ok((!blocks.is_empty()).then_some(blocks))
    }

    /// Takes `&mut self` although it changes nothing: a decoder can be handed to another thread, but not be shared.
    async fn look(&mut self) -> Result<Source> {
        let PeriodContent { segment, mut chunks } =
            self.health.period_content(&self.patient, self.data_type, self.period).await?;
        let times_us = self.times_us.clone();
        chunks.retain(|chunk| {
            let is_asked_for = self.channel.is_none_or(|channel| channel == chunk.channel);
            is_asked_for && chunk.first_us <= *times_us.end() && chunk.last_us >= *times_us.start()
        });
        let reader = match segment {
            Some(row) => {
                if let Some(verified) = &self.verified {
                    let checked = verified.check(&self.health.objects, &row.object).await;
                    self.health.noting_damage(&row.object.path, checked).await?;
                }
                Some(self.health.open_sealed(&row).await?)
            }
            None => None,
        };
        let straight = match &reader {
            Some(reader) if chunks.is_empty() => {
                Some(reader.read(times_us, self.channel.as_ref().map(std::slice::from_ref))?)
            }
            _ => None,
        };
        Ok(Source { reader, chunks, straight, decoded: Vec::new() })
    }
}

impl Source {
    /// Returns the chunks that reach into a range, whole, in the order of their arrival.
    async fn chunk_rows(
        &mut self,
        health: &HealthDb,
        patient: &PatientId,
        data_type: DataType,
        from_us: i64,
        to_us: i64,
    ) -> Result<Vec<Block>> {
        // A chunk may reach over several steps and is decoded once.
        self.decoded.retain(|(key, _)| key.last_us >= from_us);
        let overlaps = |key: &&ChunkKey| key.first_us <= to_us && key.last_us >= from_us;
        let wanted: Vec<ChunkKey> = self.chunks.iter().filter(overlaps).copied().collect();
        let is_decoded = |key: &ChunkKey| self.decoded.iter().any(|(known, _)| known == key);
        let missing: Vec<ChunkKey> = wanted.iter().filter(|key| !is_decoded(key)).copied().collect();
        if !missing.is_empty() {
            let patient = patient.clone();
            let read = health.db.read(async move |tx| {
                let blocks = missing.iter().map(|key| chunk_block(tx, &patient, data_type, key));
                let blocks = try_join_all(blocks).await?;
                Ok(missing.iter().copied().zip(blocks).collect::<Vec<_>>())
            });
            self.decoded.extend(read.await?);
        }
        let block_of = |key: &ChunkKey| self.decoded.iter().find(|(known, _)| known == key);
        let blocks = wanted.iter().filter_map(block_of);
        Ok(blocks.map(|(_, block)| block.slice(block.rows_between(from_us, to_us))).collect())
    }
}
