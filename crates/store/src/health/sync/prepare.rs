//! Rows of a sync as chunks, before the transaction.

use vitals::block::Block;
use vitals::merge::in_time_order;
use vitals::registry::DataType;

use super::super::chunks;
use super::super::chunks::Prepared;
use super::request::Counts;
use crate::error::Result;

/// Chunks of one type and channel with the counts that ordering gave.
#[derive(Clone, Debug)]
pub(super) struct ChannelChunks {
    pub data_type: DataType,
    pub chunks: Vec<Prepared>,
    pub counts: Counts,
    /// The first copies of rows that came several times.
    pub first_occurrences: Block,
}

/// Rows of a sync that are cheap enough to encode where the request is handled.
const FEW_ROWS: usize = 512;

pub(super) async fn prepare_all(blocks: Vec<Block>) -> Result<Vec<ChannelChunks>> {
    let rows: usize = blocks.iter().map(Block::rows).sum();
    let prepare_blocks = move || blocks.into_iter().map(prepare).collect();
    // A trip to a blocking thread costs more than to encode a minute of one bracelet.
    if rows <= FEW_ROWS { prepare_blocks() } else { crate::engine::blocking(prepare_blocks).await }
}

fn prepare(block: Block) -> Result<ChannelChunks> {
    let data_type = block.data_type;
    let ordered = in_time_order(block);
    let counts = Counts {
        duplicate: ordered.duplicate,
        replaced: ordered.replaced,
        columns_removed: ordered.columns_removed,
        ..Counts::default()
    };
    Ok(ChannelChunks {
        data_type,
        chunks: chunks::cut(ordered.block)?,
        counts,
        first_occurrences: ordered.first_occurrences,
    })
}
