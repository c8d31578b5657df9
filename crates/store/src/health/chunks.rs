//! Chunks: what syncs brought, in the order it arrived.

use std::borrow::Cow;

use boxed_futures::boxed_futures;
use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::DAY_US;

use super::db::HealthDb;
use super::stored_chunk::{ChunkKey, StoredChunk, check_found, chunk_columns};
use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    INSERT_CHUNK = "INSERT INTO chunk
        (patient, data_type, channel, first_us, arrival, last_us, row_count, sum, payload)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    /// A chunk lies within one UTC day, so none that reaches into a range ends more than a day after it.
    FIND_OVERLAPPING = concat!("SELECT ", chunk_columns!(), " FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND last_us <= $4 AND first_us <= $5
        ORDER BY arrival");
    DELETE_CHUNK = "DELETE FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us = $3 AND channel = $4 AND arrival = $5 AND first_us = $6";
    COUNT_CHUNKS = "SELECT COUNT(*) FROM chunk WHERE patient = $1";
}

/// Rows within one UTC day with the row of the table that they are stored as, which is made before the transaction.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub block: Block,
    row: StoredChunk,
    /// Sum of the payload.
    content: u32,
}

impl Prepared {
    pub(crate) fn of(block: Block) -> Result<Prepared> {
        let row = StoredChunk::of(&block)?;
        Ok(Prepared { content: row.content(), row, block })
    }
}

/// Returns the most rows that one chunk holds, so that a small window decodes little. Waveforms have a hundred rows a
/// second, and nothing reads a few seconds of them often.
fn rows_of_a_chunk(data_type: DataType) -> usize {
    if data_type.is_waveform() { 65_536 } else { 8_192 }
}

/// Cuts ordered rows into chunks: one UTC day each, and not too many rows.
pub(crate) fn cut(block: Block) -> Result<Vec<Prepared>> {
    let mut prepared = Vec::new();
    let mut start = 0;
    let most = rows_of_a_chunk(block.data_type);
    while start < block.rows() {
        let day_end_us = (block.times_us[start].div_euclid(DAY_US) + 1) * DAY_US;
        let end = block.times_us.partition_point(|time| *time < day_end_us).min(start + most);
        // A live sync is one chunk: it is encoded as it is and not copied.
        if start == 0 && end == block.rows() {
            prepared.push(Prepared::of(block)?);
            return Ok(prepared);
        }
        prepared.push(Prepared::of(block.slice(start..end))?);
        start = end;
    }
    Ok(prepared)
}

/// Stores chunks that one sync brought. `arrival` is its number.
pub(crate) async fn insert_all(
    tx: &Tx<'_>,
    patient: &PatientId,
    arrival: i64,
    chunks: &[Cow<'_, Prepared>],
) -> Result<()> {
    let sum = |chunk: &Cow<'_, Prepared>| chunk.row.sum_of(patient, chunk.block.data_type, arrival, chunk.content);
    let sums: Vec<i64> = chunks.iter().map(sum).collect();
    let rows = chunks.iter().zip(&sums).map(|(chunk, sum)| chunk.row.params(&patient, &arrival, sum));
    tx.put_rows(INSERT_CHUNK, &rows.collect::<Vec<_>>()).await
}

/// Returns the chunks of all channels that reach into a range (µs, both ends included), in the order they arrived:
/// whole, not clipped.
pub(crate) async fn overlapping(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    from_us: i64,
    to_us: i64,
) -> Result<Vec<Block>> {
    let found = stored_around(tx, patient, data_type, (from_us, to_us)).await?;
    found.iter().map(|chunk| chunk.rows(patient)).collect()
}

/// Does the same with the rows still closed.
pub(super) async fn stored_around(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    (from_us, to_us): (i64, i64),
) -> Result<Vec<StoredChunk>> {
    // The key is ordered by the end of a chunk, so an upper bound of the end keeps the search from reading all that is
    // newer.
    let latest_end_us = to_us.saturating_add(DAY_US);
    let number = data_type.number();
    let params: [&dyn Param; 5] = [&patient, &number, &from_us, &latest_end_us, &to_us];
    let found = tx.query(FIND_OVERLAPPING, &params, StoredChunk::read).await?;
    check_found(data_type, &found, (from_us, to_us))?;
    Ok(found)
}

/// Takes a chunk away.
pub(super) async fn delete(tx: &Tx<'_>, patient: &PatientId, data_type: DataType, key: &ChunkKey) -> Result<()> {
    let number = data_type.number();
    let key: [&dyn Param; 6] = [&patient, &number, &key.last_us, &key.channel.0, &key.arrival, &key.first_us];
    tx.put(DELETE_CHUNK, &key).await
}

#[boxed_futures]
impl HealthDb {
    /// Returns the number of chunks of a patient that are not sealed.
    pub async fn chunk_count(&self, patient: &PatientId) -> Result<u64> {
        let patient = patient.clone();
        let count = self
            .db
            .read(async move |tx| tx.query_opt(COUNT_CHUNKS, &[&patient], |row| row.get::<i64>(0)).await)
            .await?;
        Ok(count.unwrap_or(0) as u64)
    }
}
