//! Rows that came while what is stored at their time was damaged.
//!
//! They are durable as chunks of their own and lie over what was there, as any later arrival does, but nobody can say
//! which of them were there before: they are not counted. When the damaged rows can be read again, the quarters of an hour
//! are counted and derived again, and an event says so.

use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use serde_json::json;
use vitals::block::Block;
use vitals::registry::DataType;

use super::chunk_counts::quarters_of;
use super::claims::{self, DueRange};
use super::db::HealthDb;
use super::tally;
use crate::engine::{Param, Tx};
use crate::error::Result;
use crate::events::{EventType, NewEvent, append};
use crate::ids::PatientId;
use crate::texts::{record, sql};

record! {
    noted_columns!(""), read_noted(row) -> NotedRows { patient, data_type, first_us, last_us, arrival }
}

sql! {
    NOTE = "INSERT INTO unverified (patient, data_type, first_us, last_us, arrival) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, data_type, first_us, arrival) DO UPDATE SET
        last_us = CASE WHEN excluded.last_us > unverified.last_us THEN excluded.last_us ELSE unverified.last_us END";
    FIND = concat!("SELECT ", noted_columns!(), " FROM unverified
        ORDER BY patient, data_type, first_us, arrival LIMIT $1");
    FORGET = "DELETE FROM unverified WHERE patient = $1 AND data_type = $2 AND first_us = $3 AND arrival = $4";
    ARRIVALS = "SELECT arrivals FROM patient WHERE uuid = $1";
    /// Nothing where a sync has come since the rows were read.
    HOLD = "UPDATE patient SET arrivals = arrivals WHERE uuid = $1 AND arrivals = $2";
    CLEAR = "UPDATE tally SET samples = 0
        WHERE patient = $1 AND data_type = $2 AND quarter_us >= $3 AND quarter_us < $4";
    COUNT = "INSERT INTO tally (patient, data_type, quarter_us, offset_s, samples, chunks) VALUES ($1, $2, $3, $4, $5, 0)
        ON CONFLICT (patient, data_type, quarter_us, offset_s) DO UPDATE SET samples = excluded.samples";
}

/// Rows of one type and sync that were stored without having been compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnverifiedRows {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// First time, µs.
    pub first_us: i64,
    /// Last time, µs.
    pub last_us: i64,
    /// Number of the sync.
    arrival: i64,
}

/// A note as it is stored; this version may not know its type.
struct NotedRows {
    patient: PatientId,
    data_type: i64,
    first_us: i64,
    last_us: i64,
    arrival: i64,
}

/// Takes note of rows that a sync has stored so: type, first and last time.
pub(super) async fn note(tx: &Tx<'_>, patient: &PatientId, arrival: i64, rows: &[(DataType, i64, i64)]) -> Result<()> {
    for (data_type, first_us, last_us) in rows {
        tx.put(NOTE, &[patient, &data_type.number(), first_us, last_us, &arrival]).await?;
    }
    Ok(())
}

#[boxed_futures]
impl HealthDb {
    /// Up to `limit` notes of rows that were not compared.
    pub async fn unverified_rows(&self, limit: i64) -> Result<Vec<UnverifiedRows>> {
        let found = self.db.read_single(async move |tx| tx.query(FIND, &[&limit], read_noted).await);
        let known = |NotedRows { patient, data_type, first_us, last_us, arrival }| {
            let data_type = DataType::from_number(data_type)?;
            Some(UnverifiedRows { patient, data_type, first_us, last_us, arrival })
        };
        Ok(found.await?.into_iter().filter_map(known).collect())
    }

    /// Counts rows that were not compared, now that what is stored at their time can be read; false where a sync came
    /// between, and trying again is safe.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`](crate::StoreError::DamagedRows) while it cannot.
    pub async fn verify_rows(&self, unverified: &UnverifiedRows, now_ms: i64) -> Result<bool> {
        let UnverifiedRows { patient, data_type, first_us, last_us, .. } = unverified.clone();
        let asked = patient.clone();
        let read = async move |tx: &Tx<'_>| tx.query_opt(ARRIVALS, &[&asked], |row| row.get::<i64>(0)).await;
        let Some(arrivals) = self.db.read_single(read).await? else { return Ok(true) };
        // Whole quarters, because the tally can only be counted again as a whole.
        let (from_us, end_us) = quarters_of(first_us, last_us);
        let blocks = self.rows(&patient, data_type, from_us, end_us - 1).await?;
        let unverified = unverified.clone();
        self.db.write(async move |tx| settle(tx, &unverified, &blocks, (arrivals, now_ms)).await).await
    }
}

async fn settle(
    tx: &Tx<'_>,
    unverified: &UnverifiedRows,
    blocks: &[Block],
    (arrivals, now_ms): (i64, i64),
) -> Result<bool> {
    let UnverifiedRows { patient, data_type, first_us, last_us, arrival } = unverified;
    // The rows were read before this transaction: a sync that came since would be left out of the count.
    if tx.execute(HOLD, &[patient, &arrivals]).await? == 0 {
        return Ok(false);
    }
    let number = data_type.number();
    let (from_us, end_us) = quarters_of(*first_us, *last_us);
    // A zone that the quarter has no rows of any more must not keep its count.
    tx.put(CLEAR, &[patient, &number, &from_us, &end_us]).await?;
    let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for ((quarter_us, offset_s), samples) in blocks.iter().flat_map(|block| tally::count(&block.times_us, &block.zones))
    {
        *counts.entry((quarter_us, i64::from(offset_s))).or_default() += samples;
    }
    let rows = counts.iter().map(|((quarter_us, offset_s), samples)| {
        let row: [&dyn Param; 5] = [patient, &number, quarter_us, offset_s, samples];
        row
    });
    tx.put_rows(COUNT, &rows.collect::<Vec<_>>()).await?;
    tx.put(FORGET, &[patient, &number, first_us, arrival]).await?;
    let due = DueRange { arrival: 0, data_type: number, first_us: *first_us, last_us: *last_us, ready_ms: now_ms };
    claims::mark(tx, patient, &due).await?;
    let body = json!({ "type": data_type.name(), "from_us": first_us, "to_us": last_us });
    append(tx, patient, &[NewEvent { event_type: EventType::RowsVerified, time_ms: now_ms, body }]).await?;
    Ok(true)
}
