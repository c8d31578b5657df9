//! Looking at what a long answer will read before its first byte is sent: once it has begun, damage can only break it off.
//!
//! Bytes are compared with their checksums and nothing is decoded, which costs a small part of reading the rows.

use std::time::Duration;

use boxed_futures::boxed_futures;
use runtime::Instant;
use vitals::registry::DataType;
use vitals::zone::DAY_US;

use super::chunk_counts;
use super::db::HealthDb;
use super::stored_chunk::{ChunkKey, StoredChunk, check_found, chunk_columns};
use crate::engine::{Param, Row, Tx};
use crate::error::Result;
use crate::ids::PatientId;
use crate::segment::catalog::SegmentRow;
use crate::segment::catalog::segments_between;
use crate::texts::sql;

sql! {
    /// A chunk lies within one UTC day, so none that reaches into a range ends more than a day after it.
    NEXT_CHUNKS = concat!("SELECT ", chunk_columns!(), " FROM chunk
        WHERE patient = $1 AND data_type = $2 AND (last_us, channel, arrival, first_us) > ($3, $4, $5, $6)
        AND last_us <= $7 AND first_us <= $8
        ORDER BY last_us, channel, arrival, first_us LIMIT $9");
}

/// Chunks that are looked at in one statement: a few megabytes of a waveform.
const CHUNKS_AT_ONCE: i64 = 32;

/// Rows that an answer will read.
#[derive(Clone, Debug)]
pub struct RowsAhead {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// First time, µs.
    pub from_us: i64,
    /// Last time, µs.
    pub to_us: i64,
}

#[boxed_futures]
impl HealthDb {
    /// Compares everything that reading some rows will read with its checksums. After `longest` it ends where it is:
    /// what it has not come to is compared when it is read. That all sealed files are there is looked at in any case.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`](crate::StoreError::DamagedRows) when something is missing or damaged.
    pub async fn check_ahead(&self, rows: &RowsAhead, longest: Duration) -> Result<()> {
        let begun = Instant::now();
        let go_on = move || begun.elapsed() < longest;
        let asked = rows.clone();
        let segments = self.db.read(async move |tx: &Tx<'_>| {
            let RowsAhead { patient, data_type, from_us, to_us } = &asked;
            chunk_counts::compare(tx, patient, *data_type, (*from_us, *to_us)).await?;
            segments_between(tx, patient, *data_type, *from_us, *to_us).await
        });
        let segments = segments.await?;
        // All of them before the pages of any: what is missing is found however long the pages take.
        for segment in segments.iter().skip(1) {
            self.open_sealed(segment).await?;
        }
        for segment in &segments {
            self.check_pages_ahead(segment, rows, &go_on).await?;
        }
        self.check_chunks_ahead(rows, &go_on).await
    }

    async fn check_pages_ahead(
        &self,
        segment: &SegmentRow,
        rows: &RowsAhead,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        if !go_on() {
            return Ok(());
        }
        let reader = self.open_sealed(segment).await?;
        let checked = reader.check(rows.from_us..=rows.to_us, go_on).await;
        self.noting_damage(&segment.object.path, checked).await
    }

    // By their keys and not by steps of time: a range without rows costs one statement.
    async fn check_chunks_ahead(&self, rows: &RowsAhead, go_on: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        let mut behind = Some([rows.from_us.saturating_sub(1), i64::MAX, i64::MAX, i64::MAX]);
        while let Some(key) = behind.filter(|_| go_on()) {
            let rows = rows.clone();
            behind = self.db.read_single(async move |tx: &Tx<'_>| check_next_chunks(tx, &rows, key).await).await?;
        }
        Ok(())
    }
}

/// Checks the next chunks behind a key; returns the last key, or `None` at the end.
async fn check_next_chunks(tx: &Tx<'_>, rows: &RowsAhead, behind: [i64; 4]) -> Result<Option<[i64; 4]>> {
    let RowsAhead { patient, data_type, from_us, to_us } = rows;
    let [last_us, channel, arrival, first_us] = &behind;
    let latest_end_us = to_us.saturating_add(DAY_US);
    let number = data_type.number();
    let params: [&dyn Param; 9] =
        [patient, &number, last_us, channel, arrival, first_us, &latest_end_us, to_us, &CHUNKS_AT_ONCE];
    let read = |row: &Row<'_>| {
        let chunk = StoredChunk::read(row)?;
        check_found(*data_type, std::slice::from_ref(&chunk), (*from_us, *to_us))?;
        chunk.check(patient)?;
        Ok(chunk.key())
    };
    let found = tx.query(NEXT_CHUNKS, &params, read).await?;
    let key_of = |key: &ChunkKey| [key.last_us, key.channel.0, key.arrival, key.first_us];
    Ok(found.last().filter(|_| found.len() as i64 == CHUNKS_AT_ONCE).map(key_of))
}
