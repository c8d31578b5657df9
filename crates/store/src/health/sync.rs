//! Storing one sync: the transaction behind "200 means durable".

use std::collections::BTreeMap;

use vitals::block::Block;
use vitals::merge::{admit, in_time_order, overlay, with_exact_times};
use vitals::registry::DataType;

use super::chunks::{self, Prepared};
use super::{HealthDb, due, hours, latest, tally};
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

sql! {
    /// Raising the number also makes the syncs of one patient wait for each other, on every node.
    NEXT_ARRIVAL = "UPDATE patient SET arrivals = arrivals + 1 WHERE uuid = $1 RETURNING arrivals";
    FIND_SYNC = "SELECT content_hash FROM sync WHERE patient = $1 AND sync_id = $2";
    INSERT_SYNC = "INSERT INTO sync (patient, sync_id, content_hash, arrival, received_ms) VALUES ($1, $2, $3, $4, $5)";
    UPSERT_DEVICE = "INSERT INTO device (patient, serial_number, device_type, firmware_version, battery_level, updated_ms)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (patient, serial_number) DO UPDATE SET
            device_type = COALESCE(excluded.device_type, device.device_type),
            firmware_version = COALESCE(excluded.firmware_version, device.firmware_version),
            battery_level = COALESCE(excluded.battery_level, device.battery_level),
            updated_ms = excluded.updated_ms";
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

/// A bracelet as a sync describes it.
#[derive(Clone, Debug, Default)]
pub struct DeviceReport {
    /// Serial number.
    pub serial_number: String,
    /// Model.
    pub device_type: Option<String>,
    /// Version of its firmware.
    pub firmware_version: Option<String>,
    /// Charge, percent.
    pub battery_level: Option<i64>,
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
}

impl HealthDb {
    /// Stores a sync. When this returns, the counted rows are durable and every reader sees them.
    pub async fn store_sync(&self, mut sync: Sync) -> Result<SyncOutcome> {
        let blocks = std::mem::take(&mut sync.blocks);
        let channels = crate::engine::blocking(move || blocks.into_iter().map(prepare).collect::<Result<Vec<_>>>());
        let channels = channels.await?;
        self.db.write(move |tx| write(tx, &sync, &channels)).await
    }
}

fn prepare(block: Block) -> Result<Channelful> {
    let data_type = block.data_type;
    let ordered = in_time_order(block);
    let counts = Counts { stored: 0, duplicate: ordered.duplicate, replaced: ordered.replaced };
    Ok(Channelful { data_type, chunks: chunks::cut(ordered.block)?, counts })
}

fn write(tx: &mut Tx<'_>, sync: &Sync, channels: &[Channelful]) -> Result<SyncOutcome> {
    let Some(arrival) = tx.query_opt(NEXT_ARRIVAL, &[&sync.patient], |row| row.get::<i64>(0))? else {
        return Ok(SyncOutcome::UnknownPatient);
    };
    if let Some(id) = &sync.id
        && !remember_id(tx, sync, id, arrival)?
    {
        return Ok(SyncOutcome::IdReused);
    }
    if let Some(device) = &sync.device {
        upsert_device(tx, &sync.patient, device, sync.received_ms)?;
    }
    let mut totals: BTreeMap<DataType, Counts> = BTreeMap::new();
    for channel in channels {
        let total = totals.entry(channel.data_type).or_default();
        total.duplicate += channel.counts.duplicate;
        total.replaced += channel.counts.replaced;
        for chunk in &channel.chunks {
            let counts = write_chunk(tx, sync, arrival, chunk)?;
            total.stored += counts.stored;
            total.duplicate += counts.duplicate;
            total.replaced += counts.replaced;
        }
    }
    let chunks = channels.iter().flat_map(|channel| &channel.chunks);
    latest::take_over(tx, &sync.patient, chunks, sync.received_ms)?;
    Ok(SyncOutcome::Stored(totals))
}

/// Whether the id is new or comes with the content it came with before.
fn remember_id(tx: &mut Tx<'_>, sync: &Sync, id: &SyncId, arrival: i64) -> Result<bool> {
    let known = tx.query_opt(FIND_SYNC, &[&sync.patient, &id.id], |row| row.get::<Vec<u8>>(0))?;
    if let Some(content_hash) = known {
        return Ok(content_hash == id.content_hash);
    }
    tx.execute(INSERT_SYNC, &[&sync.patient, &id.id, &id.content_hash, &arrival, &sync.received_ms])?;
    Ok(true)
}

fn upsert_device(tx: &mut Tx<'_>, patient: &str, device: &DeviceReport, now_ms: i64) -> Result<()> {
    tx.execute(
        UPSERT_DEVICE,
        &[
            &patient,
            &device.serial_number,
            &device.device_type,
            &device.firmware_version,
            &device.battery_level,
            &now_ms,
        ],
    )?;
    Ok(())
}

fn write_chunk(tx: &mut Tx<'_>, sync: &Sync, arrival: i64, chunk: &Prepared) -> Result<Counts> {
    let block = &chunk.block;
    let Some(stored) = stored_around(tx, &sync.patient, block)? else {
        // Nothing lies in its range: what was prepared outside the transaction is stored as it is.
        store_novel(tx, sync, arrival, chunk, &vec![false; block.rows()])?;
        return Ok(Counts { stored: block.rows() as u64, ..Counts::default() });
    };
    let incoming = if block.data_type.is_waveform() { with_exact_times(&stored, block.clone()) } else { block.clone() };
    let ordered = in_time_order(incoming);
    let admission = admit(&stored, ordered.block);
    let mut row = 0;
    // Exact times can move a row across midnight by less than a millisecond, so it may be cut again.
    for novel in chunks::cut(admission.novel.clone())? {
        let rows = novel.block.rows();
        store_novel(tx, sync, arrival, &novel, &admission.replaces[row..row + rows])?;
        row += rows;
    }
    Ok(Counts {
        stored: admission.stored(),
        duplicate: ordered.duplicate + admission.duplicate,
        replaced: ordered.replaced + admission.replaced(),
    })
}

/// What is stored in the range of a block, merged; `None` when nothing is.
fn stored_around(tx: &mut Tx<'_>, patient: &str, block: &Block) -> Result<Option<Block>> {
    let (Some(first_us), Some(last_us)) = (block.first_us(), block.last_us()) else {
        return Ok(None);
    };
    // A row at a whole millisecond may stand for any sample of that millisecond.
    let last_us = last_us.div_euclid(1000) * 1000 + 999;
    let mut found = chunks::overlapping(tx, patient, block.data_type, first_us, last_us)?;
    found.retain(|stored| stored.channel == block.channel);
    if found.is_empty() {
        return Ok(None);
    }
    let clipped: Vec<Block> = found.into_iter().map(|stored| stored.clipped(first_us, last_us)).collect();
    let stored = overlay(&clipped.iter().collect::<Vec<_>>());
    Ok((!stored.is_empty()).then_some(stored))
}

fn store_novel(tx: &mut Tx<'_>, sync: &Sync, arrival: i64, novel: &Prepared, replaces: &[bool]) -> Result<()> {
    chunks::insert(tx, &sync.patient, arrival, novel)?;
    hours::note(tx, &sync.patient, &novel.block, sync.received_ms)?;
    tally::add_new_rows(tx, &sync.patient, &novel.block, replaces)?;
    if !novel.block.data_type.is_waveform() {
        due::mark(tx, &sync.patient, arrival, &novel.block, sync.received_ms)?;
    }
    Ok(())
}
