//! Small chunks of a closed hour become one chunk.
//!
//! Phones that sync every minute would otherwise leave a patient-day in thousands of rows. The rows that readers see
//! stay the same.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::PoisonError;

use boxed_futures::boxed_futures;
use vitals::merge::last_write_wins;
use vitals::registry::{Channel, DataType};
use vitals::zone::SECOND_US;

use super::around_damage::BY_INDEX;
use super::chunk_counts;
use super::chunks::{self, Prepared};
use super::commit::DerivationCommit;
use super::db::HealthDb;
use super::open_hours::{NotedHours, OpenHour};
use super::stored_chunk::{StoredChunk, check_found, chunk_columns};
use crate::engine::Tx;
use crate::error::Result;
use crate::ids::PatientId;
use crate::texts::{record, sql};

record! {
    closed_columns!(""), read_closed(row) -> ClosedHour { patient, data_type, hour_us }
}

sql! {
    FIND_CLOSED = concat!("SELECT ", closed_columns!(), " FROM open_hour WHERE ready_ms <= $1 ORDER BY ready_ms LIMIT $2");
    FIND_CLOSED_OF = concat!("SELECT ", closed_columns!(), " FROM open_hour WHERE patient = $1 AND ready_ms <= $2");
    FORGET = "DELETE FROM open_hour WHERE patient = $1 AND data_type = $2 AND hour_us = $3";
    /// Makes syncs of the patient wait, as they make each other wait.
    HOLD_SYNCS = "UPDATE patient SET arrivals = arrivals WHERE uuid = $1";
    FIND_CHUNKS = concat!("SELECT ", chunk_columns!(), " FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND last_us < $4 AND first_us < $5
        ORDER BY arrival");
}

const HOUR_US: i64 = 3600 * SECOND_US;
/// How long after the end of an hour, or after an arrival for an hour long past, the chunks are left alone.
const SETTLING_MS: i64 = 10 * 60 * 1000;
/// A chunk with at least as many rows is not small.
// Merging costs a rewrite of its rows, which pays only where rows in the table become much fewer.
const SMALL_ROWS: usize = 2_000;

impl NotedHours {
    /// Returns the hours that the syncs behind a derivation have opened and that were not noted yet.
    pub fn new_of(&self, commit: &DerivationCommit) -> Vec<OpenHour> {
        let touched = commit.dirty.iter().flat_map(|dirty| &dirty.touched);
        let mut hours: Vec<OpenHour> = Vec::new();
        let noted = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for (received_ms, range) in touched {
            let hour_us = range.last_us.div_euclid(HOUR_US) * HOUR_US;
            // What reaches over the beginning of an hour is not merged, and keeps the hour from being merged.
            if range.rows >= SMALL_ROWS as u64 || range.first_us < hour_us {
                continue;
            }
            let data_type = range.data_type.number();
            let key = (commit.claim.patient.clone(), data_type, hour_us);
            let is_noted = noted.get(&key).is_some_and(|ready_ms| ready_ms > received_ms)
                || hours.iter().any(|hour| (hour.data_type, hour.hour_us) == (data_type, hour_us));
            if !is_noted {
                let ready_ms = ((hour_us + HOUR_US) / 1000).max(*received_ms) + SETTLING_MS;
                hours.push(OpenHour { patient: key.0, data_type, hour_us, ready_ms });
            }
        }
        hours
    }
}

/// An hour that was noted; this version may not know its type.
struct ClosedHour {
    patient: PatientId,
    data_type: i64,
    hour_us: i64,
}

/// An hour of UTC in which chunks of a type lie.
#[derive(Clone, Copy)]
struct Hour {
    data_type: DataType,
    start_us: i64,
}

impl Hour {
    const fn end_us(self) -> i64 {
        self.start_us + HOUR_US
    }
}

#[boxed_futures]
impl HealthDb {
    /// Up to `limit` closed hours with small chunks: patient, type and start, µs. Those that wait longest come first, unless
    /// the list of all cannot be read: then they come by patient, without those who cannot be read.
    pub async fn closed_hours(&self, now_ms: i64, limit: i64) -> Result<Vec<(PatientId, DataType, i64)>> {
        let closed = self.db.read_single(async move |tx| tx.query(FIND_CLOSED, &[&now_ms, &limit], read_closed).await);
        let closed = match closed.await {
            Err(error) if error.is_damage() => self.closed_around_damage(now_ms, limit).await,
            closed => closed,
        };
        let known =
            |ClosedHour { patient, data_type, hour_us }| Some((patient, DataType::from_number(data_type)?, hour_us));
        Ok(closed?.into_iter().filter_map(known).collect())
    }

    async fn closed_around_damage(&self, now_ms: i64, limit: i64) -> Result<Vec<ClosedHour>> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut closed = Vec::new();
        for patient in self.all_readable_patients("").await? {
            let asked = patient.clone();
            let read = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                tx.query(FIND_CLOSED_OF, &[&asked, &now_ms], read_closed).await
            };
            match self.db.read(read).await {
                Ok(of_patient) => closed.extend(of_patient),
                // Its chunks stay small, and are read as they are.
                Err(error) if error.is_damage() => tracing::error!(%patient, %error, "closed hours cannot be read"),
                Err(error) => return Err(error),
            }
            if closed.len() >= limit {
                closed.truncate(limit);
                break;
            }
        }
        Ok(closed)
    }

    /// Merges the small chunks of an hour. Doing so again changes nothing.
    pub async fn merge_hour(&self, patient: &PatientId, data_type: DataType, hour_us: i64) -> Result<()> {
        let (owner, patient) = (patient, patient.clone());
        let hour = Hour { data_type, start_us: hour_us };
        self.db.write_of(owner.into(), async move |tx| merge_hour(tx, &patient, hour).await).await
    }
}

async fn merge_hour(tx: &Tx<'_>, patient: &PatientId, hour: Hour) -> Result<()> {
    let number = hour.data_type.number();
    // A sync that looked at the small chunks would otherwise store rows by what it saw, after these have gone.
    tx.put(HOLD_SYNCS, &[&patient]).await?;
    // Before the chunks are read: a chunk that comes after this transaction notes the hour again.
    tx.put(FORGET, &[&patient, &number, &hour.start_us]).await?;
    let latest_end_us = hour.end_us() + 24 * HOUR_US;
    let found = tx
        .query(FIND_CHUNKS, &[&patient, &number, &hour.start_us, &latest_end_us, &hour.end_us()], StoredChunk::read)
        .await?;
    chunk_counts::compare(tx, patient, hour.data_type, (hour.start_us, hour.end_us() - 1)).await?;
    check_found(hour.data_type, &found, (hour.start_us, hour.end_us() - 1))?;
    let mut channels: BTreeMap<Channel, Vec<StoredChunk>> = BTreeMap::new();
    for chunk in found {
        channels.entry(chunk.key().channel).or_default().push(chunk);
    }
    for chunks in channels.into_values() {
        merge_channel(tx, patient, hour, &chunks).await?;
    }
    Ok(())
}

async fn merge_channel(tx: &Tx<'_>, patient: &PatientId, hour: Hour, arrived: &[StoredChunk]) -> Result<()> {
    let data_type = hour.data_type;
    let inside = |chunk: &StoredChunk| chunk.key().first_us >= hour.start_us && chunk.key().last_us < hour.end_us();
    // A chunk that reaches beyond the hour may have arrived between two of its small ones: merging those past it
    // would let an older row replace a newer one.
    let Some(last) = arrived.last().filter(|_| arrived.len() > 1 && arrived.iter().all(inside)) else {
        return Ok(());
    };
    // Nothing is merged where one is damaged: its bytes stay as they are, and are found.
    let blocks = arrived.iter().map(|chunk| chunk.rows(patient)).collect::<Result<Vec<_>>>()?;
    let block = last_write_wins(&blocks.iter().collect::<Vec<_>>());
    // What is too large for one payload stays as it is.
    let Ok(merged) = Prepared::of(block) else { return Ok(()) };
    for chunk in arrived {
        chunks::delete(tx, patient, data_type, &chunk.key()).await?;
    }
    let keys = arrived.iter().map(StoredChunk::key);
    chunk_counts::change(tx, patient, data_type, keys, merged.block.last_us()).await?;
    // As the last of them arrived: readers lay chunks over one another in this order, and nothing of the hour came
    // later.
    chunks::insert_all(tx, patient, last.key().arrival, &[Cow::Owned(merged)]).await
}
