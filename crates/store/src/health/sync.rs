//! Storing one sync: the transaction behind "200 means durable".

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::try_join_all;
use vitals::block::Block;
use vitals::cells::Day;
use vitals::merge::{Ordered, admit, in_time_order, overlay, with_exact_times};
use vitals::registry::{Channel, DataType};

use super::chunks::{self, Prepared};
use super::devices::{self, DeviceReport};
use super::due::WaveformRanges;
use super::{HealthDb, due, hours, latest, tally};
use crate::engine::Tx;
use crate::error::{Result, StoreError};
use crate::segment::{SegmentRow, segments_between};
use crate::texts::sql;

sql! {
    /// Raising the number also makes the syncs of one patient wait for each other, on every node.
    NEXT_ARRIVAL = "UPDATE patient SET arrivals = arrivals + 1, last_sync_ms = $2 WHERE uuid = $1 RETURNING arrivals";
    FIND_SYNC = "SELECT content_hash FROM sync WHERE patient = $1 AND sync_id = $2";
    INSERT_SYNC = "INSERT INTO sync (patient, sync_id, content_hash, arrival, received_ms) VALUES ($1, $2, $3, $4, $5)";
}

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
struct Channelful {
    data_type: DataType,
    chunks: Vec<Prepared>,
    counts: Counts,
    /// The first copies of rows that came several times.
    firsts: Block,
}

impl HealthDb {
    /// Stores a sync. When this returns, the counted rows are durable and every reader sees them.
    pub async fn store_sync(&self, mut sync: Sync) -> Result<SyncOutcome> {
        let blocks = std::mem::take(&mut sync.blocks);
        let channels = crate::engine::blocking(move || blocks.into_iter().map(prepare).collect::<Result<Vec<_>>>());
        let channels = Arc::new(channels.await?);
        let sync = Arc::new(sync);
        loop {
            let sealed = match self.sealed_around(&sync.patient, &channels).await {
                Ok(sealed) => sealed,
                // The objects of an erased patient go after his rows, so a look may find them named and then gone.
                Err(_) if self.patient(&sync.patient).await?.is_none() => return Ok(SyncOutcome::UnknownPatient),
                Err(error) => return Err(error),
            };
            let (sync, channels) = (sync.clone(), channels.clone());
            let written = self.db.write(async move |tx| write(tx, &sync, &channels, &sealed).await).await;
            match written {
                // A period was sealed between the look and the write: look again.
                Err(StoreError::LeaseLost) => {}
                outcome => return outcome,
            }
        }
    }

    /// What is sealed in the range of each chunk. Segments are read before the transaction, which then checks that
    /// they are still the ones.
    async fn sealed_around(&self, patient: &str, channels: &[Channelful]) -> Result<Vec<Sealed>> {
        let ranges: Vec<Range> = channels.iter().flat_map(|channel| &channel.chunks).map(Range::around).collect();
        let owner = patient.to_owned();
        let looked_up = ranges.clone();
        let found = self.db.read(async move |tx| {
            let segments = |range: &Range| segments_between(tx, &owner, range.data_type, range.first_us, range.last_us);
            try_join_all(looked_up.iter().map(segments)).await
        });
        let mut around = Vec::new();
        for (range, segments) in ranges.into_iter().zip(found.await?) {
            let Range { data_type, channel, first_us, last_us } = range;
            let rows = self.sealed_rows(&segments, data_type, first_us, last_us, Some(channel)).await?;
            around.push(Sealed { segments, rows });
        }
        Ok(around)
    }
}

/// What is sealed in the range of a chunk.
#[derive(Clone, Debug)]
struct Sealed {
    segments: Vec<SegmentRow>,
    rows: Vec<Block>,
}

/// The range in which stored rows can be the same samples as those of a chunk: a row at a whole millisecond may stand
/// for any sample of that millisecond.
#[derive(Clone, Copy, Debug)]
struct Range {
    data_type: DataType,
    channel: Channel,
    first_us: i64,
    last_us: i64,
}

impl Range {
    fn around(chunk: &Prepared) -> Self {
        let block = &chunk.block;
        let (first_us, last_us) = (block.first_us().unwrap_or(0), block.last_us().unwrap_or(0));
        let last_us = last_us.div_euclid(1000) * 1000 + 999;
        Range { data_type: block.data_type, channel: block.channel, first_us, last_us }
    }
}

fn prepare(block: Block) -> Result<Channelful> {
    let data_type = block.data_type;
    let ordered = in_time_order(block);
    let counts = Counts { stored: 0, duplicate: ordered.duplicate, replaced: ordered.replaced };
    Ok(Channelful { data_type, chunks: chunks::cut(ordered.block)?, counts, firsts: ordered.firsts })
}

async fn write(tx: &Tx<'_>, sync: &Sync, channels: &[Channelful], sealed: &[Sealed]) -> Result<SyncOutcome> {
    let Some(arrival) =
        tx.query_opt(NEXT_ARRIVAL, &[&sync.patient, &sync.received_ms], |row| row.get::<i64>(0)).await?
    else {
        return Ok(SyncOutcome::UnknownPatient);
    };
    if let Some(id) = &sync.id
        && !remember_id(tx, sync, id, arrival).await?
    {
        return Ok(SyncOutcome::IdReused);
    }
    if let Some(device) = &sync.device {
        devices::report(tx, &sync.patient, device, sync.received_ms).await?;
    }
    let mut sealed = sealed.iter();
    let mut totals: BTreeMap<DataType, Counts> = BTreeMap::new();
    let mut waveforms = WaveformRanges::default();
    for channel in channels {
        let total = totals.entry(channel.data_type).or_default();
        total.duplicate += channel.counts.duplicate;
        total.replaced += channel.counts.replaced;
        for chunk in &channel.chunks {
            let sealed = sealed.next().ok_or(StoreError::LeaseLost)?;
            let counts = write_chunk(tx, sync, arrival, chunk, &channel.firsts, sealed, &mut waveforms).await?;
            total.stored += counts.stored;
            total.duplicate += counts.duplicate;
            total.replaced += counts.replaced;
        }
    }
    waveforms.mark(tx, &sync.patient, arrival, sync.received_ms).await?;
    let chunks = channels.iter().flat_map(|channel| &channel.chunks);
    latest::take_over(tx, &sync.patient, chunks, sync.received_ms).await?;
    Ok(SyncOutcome::Stored(totals))
}

/// Whether the id is new or comes with the content it came with before.
async fn remember_id(tx: &Tx<'_>, sync: &Sync, id: &SyncId, arrival: i64) -> Result<bool> {
    let known = tx.query_opt(FIND_SYNC, &[&sync.patient, &id.id], |row| row.get::<Vec<u8>>(0)).await?;
    if let Some(content_hash) = known {
        return Ok(content_hash == id.content_hash);
    }
    tx.put(INSERT_SYNC, &[&sync.patient, &id.id, &id.content_hash, &arrival, &sync.received_ms]).await?;
    Ok(true)
}

async fn write_chunk(
    tx: &Tx<'_>,
    sync: &Sync,
    arrival: i64,
    chunk: &Prepared,
    firsts: &Block,
    sealed: &Sealed,
    waveforms: &mut WaveformRanges,
) -> Result<Counts> {
    let block = &chunk.block;
    let Some(stored) = stored_around(tx, &sync.patient, chunk, sealed).await? else {
        // Nothing lies in its range: what was prepared outside the transaction is stored as it is.
        store_novel(tx, sync, arrival, chunk, &[], waveforms).await?;
        return Ok(Counts { stored: block.rows() as u64, ..Counts::default() });
    };
    let incoming = if block.data_type.is_waveform() { with_exact_times(&stored, block.clone()) } else { block.clone() };
    let ordered = in_time_order(incoming);
    let firsts = first_copies(&stored, firsts, &ordered);
    let admission = admit(&stored, ordered.block, &firsts);
    let mut row = 0;
    // Exact times can move a row across midnight by less than a millisecond, so it may be cut again.
    for novel in chunks::cut(admission.novel.clone())? {
        let rows = novel.block.rows();
        store_novel(tx, sync, arrival, &novel, &admission.replaces[row..row + rows], waveforms).await?;
        row += rows;
    }
    Ok(Counts {
        stored: admission.stored(),
        duplicate: ordered.duplicate + admission.duplicate,
        replaced: ordered.replaced + admission.replaced,
    })
}

/// The first copies among the rows of a chunk: those of the sync, and those that meet only at their exact times.
fn first_copies(stored: &Block, of_sync: &Block, ordered: &Ordered) -> Block {
    let (Some(first_us), Some(last_us)) = (ordered.block.first_us(), ordered.block.last_us()) else {
        return ordered.firsts.clone();
    };
    // An exact time lies up to a millisecond after the whole one that stood for it.
    let mut of_sync = of_sync.clone().clipped(first_us.div_euclid(1000) * 1000, last_us);
    if of_sync.data_type.is_waveform() {
        of_sync = in_time_order(with_exact_times(stored, of_sync)).block;
    }
    overlay(&[&ordered.firsts, &of_sync.clipped(first_us, last_us)])
}

/// What is stored in the range of a block, merged; `None` when nothing is.
async fn stored_around(tx: &Tx<'_>, patient: &str, chunk: &Prepared, sealed: &Sealed) -> Result<Option<Block>> {
    let Range { data_type, channel, first_us, last_us } = Range::around(chunk);
    if segments_between(tx, patient, data_type, first_us, last_us).await? != sealed.segments {
        return Err(StoreError::LeaseLost);
    }
    let found = chunks::overlapping(tx, patient, data_type, Some(channel), first_us, last_us).await?;
    if found.is_empty() && sealed.rows.is_empty() {
        return Ok(None);
    }
    let arrived = sealed.rows.iter().cloned().chain(found).map(|stored| stored.clipped(first_us, last_us));
    let arrived: Vec<Block> = arrived.collect();
    let stored = overlay(&arrived.iter().collect::<Vec<_>>());
    Ok((!stored.is_empty()).then_some(stored))
}

/// Stores a chunk. `replaces` says of each row whether it takes the place of another; it is empty when none does.
async fn store_novel(
    tx: &Tx<'_>,
    sync: &Sync,
    arrival: i64,
    novel: &Prepared,
    replaces: &[bool],
    waveforms: &mut WaveformRanges,
) -> Result<()> {
    chunks::insert(tx, &sync.patient, arrival, novel).await?;
    hours::note(tx, &sync.patient, &novel.block, sync.received_ms).await?;
    tally::add_new_rows(tx, &sync.patient, &novel.block, replaces).await?;
    let data_type = novel.block.data_type;
    if data_type.is_waveform() {
        if Day::TYPES.contains(&data_type) {
            waveforms.note(&novel.block);
        }
    } else {
        due::mark(tx, &sync.patient, arrival, &novel.block, sync.received_ms).await?;
    }
    Ok(())
}
