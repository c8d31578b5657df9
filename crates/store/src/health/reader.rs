//! The one way to read samples: chunks and segments laid over one another.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::merge::last_write_wins;
use vitals::registry::{Channel, DataType};

use super::db::HealthDb;
use super::{chunk_counts, chunks};
use crate::engine::blocking;
use crate::error::Result;
use crate::ids::PatientId;
use crate::segment::catalog::segments_between;

#[boxed_futures]
impl HealthDb {
    /// Returns the samples of a patient and type in a range (µs, both ends included): one block for each channel that
    /// has any, in the order of the channels.
    ///
    /// What is sealed and what is not are looked up in one snapshot. A segment that is replaced meanwhile can still be
    /// read: dead objects are kept longer than any reading takes.
    pub async fn rows(&self, patient: &PatientId, data_type: DataType, from_us: i64, to_us: i64) -> Result<Vec<Block>> {
        let patient = patient.clone();
        let found = self.db.read(async move |tx| {
            let segments = segments_between(tx, &patient, data_type, from_us, to_us).await?;
            chunk_counts::compare(tx, &patient, data_type, (from_us, to_us)).await?;
            let chunks = chunks::overlapping(tx, &patient, data_type, from_us, to_us).await?;
            if segments.is_empty() {
                return Ok((segments, merge(chunks, from_us, to_us)));
            }
            Ok((segments, chunks))
        });
        let (segments, chunks) = found.await?;
        if segments.is_empty() {
            return Ok(chunks);
        }
        let mut arrived = self.sealed_rows(&segments, from_us, to_us, None).await?;
        arrived.extend(chunks);
        blocking(move || Ok(merge(arrived, from_us, to_us))).await
    }
}

/// Merges blocks, given in the order of their arrival, channel by channel.
pub(crate) fn merge(arrived: Vec<Block>, from_us: i64, to_us: i64) -> Vec<Block> {
    let mut channels: BTreeMap<Channel, Vec<Block>> = BTreeMap::new();
    for block in arrived {
        let clipped = block.clipped(from_us, to_us);
        if !clipped.is_empty() {
            channels.entry(clipped.channel).or_default().push(clipped);
        }
    }
    channels.into_values().map(|blocks| last_write_wins(&blocks.iter().collect::<Vec<_>>())).collect()
}
