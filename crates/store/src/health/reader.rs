//! The one way to read samples: chunks and segments laid over one another.

use std::collections::BTreeMap;

use vitals::block::Block;
use vitals::merge::overlay;
use vitals::registry::{Channel, DataType};

use super::{HealthDb, chunks};
use crate::error::Result;

impl HealthDb {
    /// The samples of a patient and type in a range (µs, both ends included): one block for each channel that has
    /// any, in the order of the channels.
    pub async fn rows(&self, patient: &str, data_type: DataType, from_us: i64, to_us: i64) -> Result<Vec<Block>> {
        let patient = patient.to_owned();
        self.db
            .read(move |tx| {
                let found = chunks::overlapping(tx, &patient, data_type, from_us, to_us)?;
                Ok(merge(found, from_us, to_us))
            })
            .await
    }
}

/// Merges blocks, given in the order of their arrival, channel by channel.
fn merge(arrived: Vec<Block>, from_us: i64, to_us: i64) -> Vec<Block> {
    let mut channels: BTreeMap<Channel, Vec<Block>> = BTreeMap::new();
    for block in arrived {
        let clipped = block.clipped(from_us, to_us);
        if !clipped.is_empty() {
            channels.entry(clipped.channel).or_default().push(clipped);
        }
    }
    channels.into_values().map(|blocks| overlay(&blocks.iter().collect::<Vec<_>>())).collect()
}
