//! Storing one sync: the transaction behind "200 means durable".
//!
//! On PostgreSQL it is two flights. The first asks, in one statement, for everything that decides what is written: the
//! patient's row, the stored rows around the new ones, an earlier sync of the same id. The second writes and commits.
//! Nothing is locked between them. Instead the sync takes the next number of the patient's events: where another
//! transaction has taken it meanwhile, or the patient is gone, the event's row cannot be written, the whole transaction
//! fails and is made again, then with the patient's row held from the start.

mod around;
mod event;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use vitals::block::Block;
use vitals::merge::in_time_order;
use vitals::registry::DataType;

use self::around::SealedRows;
use super::HealthDb;
use super::chunks::{self, Prepared};
use super::devices::DeviceReport;
use crate::error::{Result, StoreError};

pub(super) use self::event::{TouchedRange, touched_ranges};

/// A sync that has been read and found well-formed.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Whose samples these are.
    pub patient: String,
    /// When it arrived, ms since 1970.
    pub received_ms: i64,
    /// The app's own name for this sync, with a hash of its content.
    pub id: Option<SyncId>,
    /// The bracelet that it came from.
    pub device: Option<DeviceReport>,
    /// Samples by type and channel, in any order.
    pub blocks: Vec<Block>,
}

/// The app's own name for a sync.
#[derive(Clone, Debug)]
pub struct SyncId {
    /// The name.
    pub id: String,
    /// What tells whether the same name comes with other content.
    pub content_hash: Vec<u8>,
}

/// How the rows of one type counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that were not there before.
    pub stored: u64,
    /// Rows that are there already.
    pub duplicate: u64,
    /// Rows that took the place of another.
    pub replaced: u64,
}

/// What became of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    /// Its rows are durable; the counts by type.
    Stored(BTreeMap<DataType, Counts>),
    /// There is no such patient.
    UnknownPatient,
    /// The sync's id was used before with other content. Nothing was stored.
    IdReused,
}

/// Chunks of one type and channel with the counts that ordering gave.
#[derive(Clone, Debug)]
struct ChannelChunks {
    data_type: DataType,
    chunks: Vec<Prepared>,
    counts: Counts,
    /// The first copies of rows that came several times.
    firsts: Block,
}

/// How one try to write a sync ended.
enum Written {
    /// It is stored, or refused.
    Done(SyncOutcome),
    /// Sealed rows lie around the new ones that have not been read yet. Nothing was written.
    NeedsSealed(Vec<around::SealedRange>),
}

/// How often a sync reads sealed rows: each time another one has sealed the period meanwhile, which takes longer than a
/// look at it.
const LOOKS: usize = 20;
/// Rows of a sync that are cheap enough to encode where the request is handled.
const FEW_ROWS: usize = 512;

impl HealthDb {
    /// Stores a sync. When this returns, the counted rows are durable and every reader sees them.
    pub async fn store_sync(&self, mut sync: Sync) -> Result<SyncOutcome> {
        let blocks = std::mem::take(&mut sync.blocks);
        let channels = Arc::new(prepare_all(blocks).await?);
        let sync = Arc::new(sync);
        let mut sealed = Arc::new(SealedRows::default());
        let mut holds_patient = false;
        for _ in 0..LOOKS {
            let (sync, channels, known) = (sync.clone(), channels.clone(), sealed.clone());
            let patient = sync.patient.clone();
            let written =
                self.db.write(async move |tx| write::write(tx, &sync, &channels, &known, holds_patient).await).await;
            match written {
                Ok(Written::Done(outcome)) => return Ok(outcome),
                Ok(Written::NeedsSealed(ranges)) => match self.read_sealed(ranges).await {
                    Ok(rows) => sealed = Arc::new(rows),
                    // The objects of an erased patient go after the rows, so a look may find them named and then gone.
                    Err(_) if self.patient(&patient).await?.is_none() => return Ok(SyncOutcome::UnknownPatient),
                    Err(error) => return Err(error),
                },
                // Another transaction has taken the number.
                Err(StoreError::Conflict(_)) if !holds_patient => holds_patient = true,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unavailable("the sealed rows around a sync change all the time".to_owned()))
    }
}

/// Every statement of a sync, for the test that prepares each on both engines.
#[cfg(test)]
pub(super) const TEXTS: [&[&str]; 2] = [around::TEXTS, write::TEXTS];

async fn prepare_all(blocks: Vec<Block>) -> Result<Vec<ChannelChunks>> {
    let rows: usize = blocks.iter().map(Block::rows).sum();
    let prepare_blocks = move || blocks.into_iter().map(prepare).collect();
    if rows <= FEW_ROWS { prepare_blocks() } else { crate::engine::blocking(prepare_blocks).await }
}

fn prepare(block: Block) -> Result<ChannelChunks> {
    let data_type = block.data_type;
    let ordered = in_time_order(block);
    let counts = Counts { stored: 0, duplicate: ordered.duplicate, replaced: ordered.replaced };
    Ok(ChannelChunks { data_type, chunks: chunks::cut(ordered.block)?, counts, firsts: ordered.firsts })
}
