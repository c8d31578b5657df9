//! Rows that came while what is stored at their time was damaged.
//!
//! They are durable as chunks of their own and lie over what was there, as any later arrival does, but nobody can say
//! which of them were there before: they are not counted. When the damaged rows can be read again, the quarters of an hour
//! are counted and derived again, and an event says so.
//!
//! A row of a waveform at a whole millisecond can be a copy of a sample within it. Which, only what is stored says: until it
//! does, nothing reads the waveform there, merges it or seals it (`chunk_counts::compare`), and then such rows get
//! their exact times.

use std::borrow::Cow;
use std::collections::BTreeMap;

use boxed_futures::boxed_futures;
use serde_json::json;
use vitals::block::Block;
use vitals::merge::{in_time_order, last_write_wins, with_exact_times};
use vitals::registry::DataType;

use super::around_damage::BY_INDEX;
use super::chunk_counts::{self, quarters_of};
use super::chunks::{self, Prepared};
use super::claims::{self, DueRange};
use super::db::HealthDb;
use super::reader::merge;
use super::stored_chunk::{ChunkKey, StoredChunk};
use super::tally;
use crate::engine::{Param, Tx, blocking};
use crate::error::Result;
use crate::events::{EventType, NewEvent, append};
use crate::ids::PatientId;
use crate::segment::catalog::SegmentRow;
use crate::segment::catalog::segments_between;
use crate::texts::{record, sql};

record! {
    noted_columns!(""), read_noted(row) -> NotedRows { patient, data_type, first_us, last_us, arrival }
}

sql! {
    NOTE = "INSERT INTO unverified (patient, data_type, first_us, last_us, arrival) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (patient, data_type, first_us, arrival) DO UPDATE SET
        last_us = CASE WHEN excluded.last_us > unverified.last_us THEN excluded.last_us ELSE unverified.last_us END";
    FIND = concat!("SELECT ", noted_columns!(), " FROM unverified
        WHERE (patient, data_type, arrival, first_us) > ($1, $2, $3, $4)
        ORDER BY patient, data_type, arrival, first_us LIMIT $5");
    FIND_OF = concat!("SELECT ", noted_columns!(), " FROM unverified WHERE patient = $1
        ORDER BY data_type, arrival, first_us");
    EARLIER = "SELECT COUNT(*) FROM unverified
        WHERE patient = $1 AND data_type = $2 AND arrival < $3 AND first_us < $5 AND last_us >= $4";
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

/// Where a walk over notes goes on; begins with the default.
#[derive(Clone, Debug)]
pub struct NotePosition(NotedRows);

impl Default for NotePosition {
    fn default() -> Self {
        let patient = PatientId::new("");
        NotePosition(NotedRows { patient, data_type: i64::MIN, first_us: i64::MIN, last_us: 0, arrival: i64::MIN })
    }
}

/// Notes behind a position, and where the walk goes on; nowhere at its end.
#[derive(Clone, Debug)]
pub struct NotePage {
    /// The notes.
    pub notes: Vec<UnverifiedRows>,
    /// Position behind them.
    pub next: Option<NotePosition>,
}

/// A note as it is stored; this version may not know its type.
#[derive(Clone, Debug)]
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
    /// Up to `limit` notes of rows that were not compared, behind a position; all that can be read, where the list of them
    /// cannot.
    pub async fn unverified_rows(&self, behind: NotePosition, limit: i64) -> Result<NotePage> {
        let patient = behind.0.patient.clone();
        let read = async move |tx: &Tx<'_>| {
            let NotePosition(NotedRows { patient, data_type, arrival, first_us, .. }) = &behind;
            tx.query(FIND, &[patient, data_type, arrival, first_us, &limit], read_noted).await
        };
        let (found, limit) = match self.db.read_single(read).await {
            Err(error) if error.is_damage() => (self.unverified_around_damage(patient).await?, i64::MAX),
            found => (found?, limit),
        };
        // The last of all, since those of types that this version does not know are left out.
        let next = (found.len() as i64 == limit).then(|| found.last().cloned().map(NotePosition)).flatten();
        let known = |NotedRows { patient, data_type, first_us, last_us, arrival }| {
            let data_type = DataType::from_number(data_type)?;
            Some(UnverifiedRows { patient, data_type, first_us, last_us, arrival })
        };
        Ok(NotePage { notes: found.into_iter().filter_map(known).collect(), next })
    }

    /// The notes of a patient and of those behind, each patient by itself; looking at one twice does no harm.
    async fn unverified_around_damage(&self, first: PatientId) -> Result<Vec<NotedRows>> {
        let (mut found, behind) = (Vec::new(), self.all_readable_patients(first.as_str()).await?);
        for patient in std::iter::once(first).chain(behind) {
            let asked = patient.clone();
            let read = async move |tx: &Tx<'_>| {
                tx.query_opt(BY_INDEX, &[], |_| Ok(())).await?;
                tx.query(FIND_OF, &[&asked], read_noted).await
            };
            match self.db.read(read).await {
                Ok(of_patient) => found.extend(of_patient),
                Err(error) if error.is_damage() => tracing::error!(%patient, %error, "notes of rows cannot be read"),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Counts rows that were not compared, now that what is stored at their time can be read; false where a sync came
    /// between, or rows that came earlier are to be compared before, and trying again is safe.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`](crate::StoreError::DamagedRows) while it cannot.
    pub async fn verify_rows(&self, unverified: &UnverifiedRows, now_ms: i64) -> Result<bool> {
        let asked = unverified.clone();
        let Some(found) = self.db.read(async move |tx: &Tx<'_>| look(tx, &asked).await).await? else {
            return Ok(true);
        };
        if found.has_earlier {
            return Ok(false);
        }
        let (from_us, end_us) = unverified.quarters();
        let sealed = self.sealed_rows(&found.segments, from_us, end_us - 1, None).await?;
        let (unverified, arrivals) = (unverified.clone(), found.arrivals);
        let settled = blocking(move || settle(&unverified, sealed, &found.chunks)).await?;
        self.db.write(async move |tx| settled.write(tx, (arrivals, now_ms)).await).await
    }
}

impl UnverifiedRows {
    /// Returns whether the rows lie, in whole or in part, in a stretch of time, µs.
    pub fn touches(&self, (first_us, last_us): (i64, i64)) -> bool {
        let (from_us, end_us) = self.quarters();
        from_us <= last_us && first_us < end_us
    }

    /// Returns the whole quarters in which the rows lie: the tally can only be counted again as a whole.
    fn quarters(&self) -> (i64, i64) {
        // An exact time lies up to a millisecond behind the whole one.
        let later_us = if self.data_type.is_waveform() { 999 } else { 0 };
        quarters_of(self.first_us, self.last_us.saturating_add(later_us))
    }
}

/// What is stored around rows that were not compared.
struct Around {
    /// Number of the patient's last sync.
    arrivals: i64,
    /// Whether earlier rows there are not compared either.
    has_earlier: bool,
    segments: Vec<SegmentRow>,
    /// In the order of their arrival.
    chunks: Vec<StoredChunk>,
}

/// Returns `None` where the patient is gone.
async fn look(tx: &Tx<'_>, unverified: &UnverifiedRows) -> Result<Option<Around>> {
    let UnverifiedRows { patient, data_type, arrival, .. } = unverified;
    let data_type = *data_type;
    let Some(arrivals) = tx.query_opt(ARRIVALS, &[patient], |row| row.get::<i64>(0)).await? else { return Ok(None) };
    let (from_us, end_us) = unverified.quarters();
    let params: [&dyn Param; 5] = [patient, &data_type.number(), arrival, &from_us, &end_us];
    let earlier = tx.query_opt(EARLIER, &params, |row| row.get::<i64>(0)).await?;
    let times_us = (from_us, end_us - 1);
    chunk_counts::compare_all(tx, patient, data_type, times_us).await?;
    Ok(Some(Around {
        arrivals,
        // Later rows can be copies of earlier ones, whose exact times come first.
        has_earlier: data_type.is_waveform() && earlier != Some(0),
        segments: segments_between(tx, patient, data_type, times_us.0, times_us.1).await?,
        chunks: chunks::stored_around(tx, patient, data_type, times_us).await?,
    }))
}

/// What comes of rows that have been compared.
struct Settled {
    unverified: UnverifiedRows,
    /// Everything stored in the quarters, as it is from now on.
    rows: Vec<Block>,
    /// Chunks whose rows get other times, and those that take their place.
    gone: Vec<ChunkKey>,
    came: Vec<Prepared>,
}

/// Compares rows with everything that is stored around them.
fn settle(unverified: &UnverifiedRows, sealed: Vec<Block>, chunks: &[StoredChunk]) -> Result<Settled> {
    let UnverifiedRows { patient, data_type, first_us, last_us, arrival } = unverified;
    let (mut gone, mut came) = (Vec::new(), Vec::new());
    let mut arrived = sealed;
    for chunk in chunks {
        let block = chunk.rows(patient)?;
        let is_of_note = chunk.key().arrival == *arrival && chunk.reaches_into((*first_us, *last_us));
        if !is_of_note || !data_type.is_waveform() {
            arrived.push(block);
            continue;
        }
        let exact = with_exact_times(&stored_around(&arrived, &block), block.clone());
        if exact.times_us == block.times_us {
            arrived.push(block);
            continue;
        }
        let exact = in_time_order(exact).block;
        gone.push(chunk.key());
        came.extend(chunks::cut(exact.clone())?);
        arrived.push(exact);
    }
    let (from_us, end_us) = unverified.quarters();
    Ok(Settled { unverified: unverified.clone(), rows: merge(arrived, from_us, end_us - 1), gone, came })
}

/// Returns what had arrived, of the channel of a block and at its times.
fn stored_around(arrived: &[Block], block: &Block) -> Block {
    let (first_us, last_us) = (block.first_us().unwrap_or(0), block.last_us().unwrap_or(0).saturating_add(999));
    let of_channel = arrived.iter().filter(|stored| stored.channel == block.channel);
    let clipped: Vec<Block> = of_channel.map(|stored| stored.clone().clipped(first_us, last_us)).collect();
    if clipped.is_empty() {
        return Block::empty(block.data_type, block.channel);
    }
    last_write_wins(&clipped.iter().collect::<Vec<_>>())
}

impl Settled {
    /// Writes what was found; false where a sync has come since the rows were read.
    async fn write(&self, tx: &Tx<'_>, (arrivals, now_ms): (i64, i64)) -> Result<bool> {
        let UnverifiedRows { patient, data_type, first_us, last_us, arrival } = &self.unverified;
        // The rows were read before this transaction: a sync that came since would be left out of the count.
        if tx.execute(HOLD, &[patient, &arrivals]).await? == 0 {
            return Ok(false);
        }
        self.count(tx).await?;
        self.replace(tx).await?;
        let number = data_type.number();
        tx.put(FORGET, &[patient, &number, first_us, arrival]).await?;
        let due = DueRange { arrival: 0, data_type: number, first_us: *first_us, last_us: *last_us, ready_ms: now_ms };
        claims::mark(tx, patient, &due).await?;
        let body = json!({ "type": data_type.name(), "from_us": first_us, "to_us": last_us });
        append(tx, patient, &[NewEvent { event_type: EventType::RowsVerified, time_ms: now_ms, body }]).await?;
        Ok(true)
    }

    /// Counts the samples of the quarters again.
    async fn count(&self, tx: &Tx<'_>) -> Result<()> {
        let UnverifiedRows { patient, data_type, .. } = &self.unverified;
        let number = data_type.number();
        let (from_us, end_us) = self.unverified.quarters();
        // A zone that the quarter has no rows of any more must not keep its count.
        tx.put(CLEAR, &[patient, &number, &from_us, &end_us]).await?;
        let mut counts: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        let counted = self.rows.iter().flat_map(|block| tally::count(&block.times_us, &block.zones));
        for ((quarter_us, offset_s), samples) in counted {
            *counts.entry((quarter_us, i64::from(offset_s))).or_default() += samples;
        }
        let rows = counts.iter().map(|((quarter_us, offset_s), samples)| {
            let row: [&dyn Param; 5] = [patient, &number, quarter_us, offset_s, samples];
            row
        });
        tx.put_rows(COUNT, &rows.collect::<Vec<_>>()).await
    }

    /// Puts rows at their exact times. Comes after the count, which knows of each quarter that has any.
    async fn replace(&self, tx: &Tx<'_>) -> Result<()> {
        let UnverifiedRows { patient, data_type, arrival, .. } = &self.unverified;
        for key in &self.gone {
            chunks::delete(tx, patient, *data_type, key).await?;
        }
        chunk_counts::change(tx, patient, *data_type, self.gone.iter().copied(), None).await?;
        for chunk in &self.came {
            chunk_counts::change(tx, patient, *data_type, std::iter::empty(), chunk.block.last_us()).await?;
        }
        let came: Vec<Cow<'_, Prepared>> = self.came.iter().map(Cow::Borrowed).collect();
        if came.is_empty() { Ok(()) } else { chunks::insert_all(tx, patient, *arrival, &came).await }
    }
}
