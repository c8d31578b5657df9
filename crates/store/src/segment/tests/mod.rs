//! Segments written and read back, their size, and the catalog.

mod catalog;
mod flips;
mod formats;
mod metadata;
mod repeated;
mod round_trip;
mod signals;
mod size;

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::memory::InMemory;
use vitals::block::Block;
use vitals::registry::{Channel, DataType};

use super::{SealedPeriod, SegmentName, SegmentReader, SegmentWriter, WrittenSegment};
use crate::ids::PatientId;
use crate::objects::Objects;
use crate::random_blocks::DAY_START_US;

/// Objects in memory.
fn objects() -> Objects {
    Objects::of_test(Arc::new(InMemory::new()))
}

fn name(data_type: DataType, generation: i64) -> SegmentName {
    let period = SealedPeriod::of(data_type, DAY_START_US);
    SegmentName {
        patient: PatientId::new("00000000-0000-0000-0000-0000000005e9"),
        data_type,
        period,
        generation,
        random: 7,
    }
}

/// Writes blocks, handed over in several calls.
async fn write(objects: &Objects, data_type: DataType, generation: i64, calls: Vec<Vec<Block>>) -> WrittenSegment {
    let mut writer = SegmentWriter::new(objects, &name(data_type, generation)).unwrap();
    for blocks in calls {
        writer.push(blocks).await.unwrap();
    }
    writer.finish().await.unwrap().unwrap()
}

async fn open(objects: &Objects, data_type: DataType, written: &WrittenSegment) -> SegmentReader {
    SegmentReader::open(objects, written, data_type).await.unwrap()
}

/// Returns all rows of a range, one block a channel, after a check that they come in the order of time.
async fn read(reader: &SegmentReader, from_us: i64, to_us: i64, channels: Option<&[Channel]>) -> Vec<Block> {
    let mut pieces = reader.read(from_us..=to_us, channels).unwrap();
    let mut by_channel: BTreeMap<Channel, Vec<Block>> = BTreeMap::new();
    let mut before_us = i64::MIN;
    while let Some(blocks) = pieces.next().await.unwrap() {
        assert!(blocks.iter().all(|block| { block.first_us().is_some_and(|first_us| first_us > before_us) }));
        before_us = blocks.iter().filter_map(Block::last_us).max().unwrap();
        for block in blocks {
            by_channel.entry(block.channel).or_default().push(block);
        }
    }
    by_channel.into_values().map(|blocks| simplified(Block::concatenated(&blocks.iter().collect::<Vec<_>>()))).collect()
}

fn simplified(mut block: Block) -> Block {
    block.columns = block.columns.into_iter().map(vitals::block::Cells::simplified).collect();
    block
}
