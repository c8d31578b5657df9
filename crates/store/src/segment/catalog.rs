//! The catalog of segments: the one place that says which objects hold samples.
//!
//! The order of a sealing is: write the object, publish its row, delete what it replaces. A crash before the row
//! leaves an object that nobody refers to; a crash after it leaves an object in `dead_object`, which is deleted later.

use boxed_futures::boxed_futures;
use vitals::registry::{DataType, Period};

use super::block_sums::Tail;
use super::period::SealedPeriod;
use super::write::WrittenSegment;
use crate::checksum::{self, Of};
use crate::engine::{Columns, Param, Row, Tx, Work};
use crate::error::{Result, StoreError};
use crate::health::chunk_counts;
use crate::health::db::HealthDb;
use crate::health::stored_chunk::ChunkKey;
use crate::ids::PatientId;
use crate::readers::{count, known_type};
use crate::texts::{record, sql};

/// A row of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRow {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// Start of the sealed period, µs.
    pub period_start_us: i64,
    /// Counts the writings of the period, from 1.
    pub generation: i64,
    /// The object.
    pub object: WrittenSegment,
    /// Checksum of the row; `None` of a row of before there were any.
    sum: Option<i64>,
}

impl SegmentRow {
    /// Answers the row.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when it is not what was published.
    pub fn checked(self) -> Result<Self> {
        let numbers = [self.data_type.number(), self.period_start_us, self.generation];
        if checksum::is_intact(self.sum, segment_sum(&self.patient, numbers, &self.object)) {
            return Ok(self);
        }
        let period = SealedPeriod::of(self.data_type, self.period_start_us);
        let times_us = (period.start_us, period.end_us.saturating_sub(1));
        Err(StoreError::damaged_rows(self.data_type.name(), times_us, "a row of the catalog is not what was published"))
    }
}

/// Returns the sum of a catalog row. The numbers are those of type, start of the period, and generation.
fn segment_sum(patient: &PatientId, [data_type, start_us, generation]: [i64; 3], object: &WrittenSegment) -> i64 {
    let (tail_bytes, tail_sum) = tail_columns(object);
    let numbers = [
        data_type,
        start_us,
        generation,
        object.first_us,
        object.last_us,
        object.rows as i64,
        object.bytes as i64,
        tail_bytes.unwrap_or(-1),
        tail_sum.unwrap_or(-1),
    ];
    let texts = format!("{} {}", object.path, object.sha256);
    checksum::of_row(Of::Segment, patient, &numbers, checksum::of_bytes(texts.as_bytes()))
}

fn tail_columns(object: &WrittenSegment) -> (Option<i64>, Option<i64>) {
    (object.tail.map(|tail| tail.bytes as i64), object.tail.map(|tail| i64::from(tail.sum)))
}

/// What a sealing brings about, all at once.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// The sealed period.
    pub period: SealedPeriod,
    /// The generation that was merged; 0 where the period had no segment.
    pub expected_generation: i64,
    /// The object that holds its samples and those of the chunks.
    pub object: WrittenSegment,
    /// The chunks that were merged.
    pub chunks: Vec<ChunkKey>,
    /// The time of the sealing, ms.
    pub sealed_ms: i64,
}

/// A period that has ended and has chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsealedPeriod {
    /// The patient.
    pub patient: PatientId,
    /// The data type.
    pub data_type: DataType,
    /// The period.
    pub period: SealedPeriod,
}

/// The columns of a row of the catalog.
struct SegmentColumns {
    patient: PatientId,
    data_type: DataType,
    period_start_us: i64,
    generation: i64,
    path: String,
    first_us: i64,
    last_us: i64,
    row_count: u64,
    bytes: u64,
    sha256: String,
    tail_bytes: Option<i64>,
    tail_sum: Option<i64>,
    sum: Option<i64>,
}

record! {
    segment_columns!(""), read_columns(columns) -> SegmentColumns {
        patient, data_type by known_type, period_start_us, generation, path, first_us, last_us, row_count by count,
        bytes by count, sha256, tail_bytes, tail_sum, sum,
    }
}
pub(super) use segment_columns;

/// The oldest chunk of a patient and a type.
struct FirstChunk {
    patient: PatientId,
    data_type: DataType,
    first_us: i64,
}

record! {
    first_columns!(""), read_first(row) -> FirstChunk { patient, data_type by known_type, first_us = "MIN(first_us)" }
}

sql! {
    SEGMENTS_BETWEEN = concat!("SELECT ", segment_columns!(), " FROM segment
        WHERE patient = $1 AND data_type = $2 AND first_us <= $4 AND last_us >= $3 ORDER BY period_start_us");
    SEGMENTS_OF = concat!("SELECT ", segment_columns!(), " FROM segment WHERE patient = $1 AND data_type = $2");
    SEGMENT_OF_PERIOD = concat!("SELECT ", segment_columns!(), " FROM segment
        WHERE patient = $1 AND data_type = $2 AND period_start_us = $3");
    /// Also makes publications follow each other, so that a number never becomes visible after a greater one.
    NEXT_NUMBER = "UPDATE catalog_head SET published = published + 1 RETURNING published";
    INSERT_SEGMENT = "INSERT INTO segment (patient, data_type, period_start_us, generation, path, first_us, last_us,
        row_count, bytes, sha256, sealed_ms, published, tail_bytes, tail_sum, sum)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
    REPLACE_SEGMENT = "UPDATE segment SET generation = $4, path = $5, first_us = $6, last_us = $7, row_count = $8,
        bytes = $9, sha256 = $10, sealed_ms = $11, published = $12, tail_bytes = $13, tail_sum = $14, sum = $15
        WHERE patient = $1 AND data_type = $2 AND period_start_us = $3 AND generation = $16";
    DROP_SEGMENT = "DELETE FROM segment
        WHERE patient = $1 AND data_type = $2 AND period_start_us = $3 AND generation = $4";
    INSERT_DEAD = "INSERT INTO dead_object (path, dead_since_ms) VALUES ($1, $2)";
    DELETE_CHUNK = "DELETE FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us = $3 AND channel = $4 AND arrival = $5 AND first_us = $6";
    DEAD_BEFORE = "SELECT path FROM dead_object WHERE dead_since_ms < $1 ORDER BY dead_since_ms, path LIMIT $2";
    FORGET_DEAD = "DELETE FROM dead_object WHERE path = $1";
    /// Reads the primary key's index from one end to the other; it is asked once in a while by the worker that seals.
    UNSEALED_PERIODS = concat!("SELECT ", first_columns!(), " FROM chunk
        WHERE first_us < CASE WHEN (CAST($1 AS BIGINT) >> CAST(data_type AS INTEGER)) & 1 = 1
            THEN CAST($2 AS BIGINT) ELSE CAST($3 AS BIGINT) END
        GROUP BY patient, data_type ORDER BY MIN(first_us), patient, data_type LIMIT $4");
    NEXT_UNSEALED = "SELECT MIN(first_us) FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND first_us >= $3 AND first_us < $4";
}

#[boxed_futures]
impl HealthDb {
    /// Returns the segments of a patient and a type that have samples in a range of times (both ends included), oldest
    /// first.
    pub async fn segments_between(
        &self,
        patient: &PatientId,
        data_type: DataType,
        from_us: i64,
        to_us: i64,
    ) -> Result<Vec<SegmentRow>> {
        let patient = patient.clone();
        self.db.read(async move |tx| segments_between(tx, &patient, data_type, from_us, to_us).await).await
    }

    /// Returns the segment of a period, where it has one.
    pub async fn segment_of(
        &self,
        patient: &PatientId,
        data_type: DataType,
        period: SealedPeriod,
    ) -> Result<Option<SegmentRow>> {
        let patient = patient.clone();
        self.db.read(async move |tx| segment_of(tx, &patient, data_type, period.start_us).await).await
    }

    /// Publishes a segment: its catalog row is added, the object that it replaces is dead, and the merged chunks are
    /// gone, all or nothing.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when the period is no longer at the expected generation or one of the chunks is not
    /// there: another worker has sealed or merged meanwhile. The new object is then nobody's and should be deleted.
    pub async fn publish_segment(&self, publication: Publication) -> Result<()> {
        self.db.write(async move |tx| publish(tx, &publication).await).await
    }

    /// Takes a segment out of the catalog; its object is dead from then on.
    pub(crate) async fn drop_segment(
        &self,
        patient: &PatientId,
        data_type: DataType,
        segment: SegmentRow,
        now_ms: i64,
    ) -> Result<()> {
        let patient = patient.clone();
        self.db
            .write(async move |tx| {
                let params: [&dyn Param; 4] =
                    [&patient, &data_type.number(), &segment.period_start_us, &segment.generation];
                // Of another generation it holds rows that were not looked at.
                if tx.execute(DROP_SEGMENT, &params).await? == 0 {
                    return Err(StoreError::LeaseLost);
                }
                tx.execute(INSERT_DEAD, &[&segment.object.path, &now_ms]).await.map(drop)
            })
            .await
    }

    /// Objects that have been dead since before a time, oldest first, at most `limit`.
    pub async fn dead_objects(&self, before_ms: i64, limit: i64) -> Result<Vec<String>> {
        self.db.read(async move |tx| tx.query(DEAD_BEFORE, &[&before_ms, &limit], |row| row.get(0)).await).await
    }

    /// Deletes a dead object and forgets it. Doing so again changes nothing.
    pub async fn delete_dead_object(&self, path: &str) -> Result<()> {
        // The object first: a crash between leaves a row that names nothing, which the next deletion removes. The other
        // order would leave an object that nobody knows.
        self.objects.delete(path).await?;
        self.forget_dead_object(path).await
    }

    /// Forgets a dead object, after it has been deleted. Forgetting it again changes nothing.
    pub async fn forget_dead_object(&self, path: &str) -> Result<()> {
        let path = path.to_owned();
        self.db.write(async move |tx| tx.execute(FORGET_DEAD, &[&path]).await.map(|_| ())).await
    }

    /// Periods that had ended at a time and have chunks, oldest first, at most `limit`; of each patient and type only the
    /// oldest. An error when any of the list of chunks is damaged.
    pub(crate) async fn unsealed_at_once(&self, ended_by_us: i64, limit: i64) -> Result<Vec<UnsealedPeriod>> {
        let daily = types_sealed_by_the_day();
        // One type of each kind of period represents all of it.
        let day_us = SealedPeriod::of(DataType::Ppg2, ended_by_us).start_us;
        let month_us = SealedPeriod::of(DataType::Activity, ended_by_us).start_us;
        let read = async move |tx: &Tx<'_>| {
            tx.query(UNSEALED_PERIODS, &[&daily, &day_us, &month_us, &limit], read_first).await
        };
        let unsealed = |FirstChunk { patient, data_type, first_us }| UnsealedPeriod {
            patient,
            data_type,
            period: SealedPeriod::of(data_type, first_us),
        };
        Ok(self.db.with_deadlines_of(Work::Scan).read(read).await?.into_iter().map(unsealed).collect())
    }
}

#[boxed_futures]
impl HealthDb {
    /// Returns the first period of a patient and a type that begins at a time or later, has ended by another one, and
    /// has chunks.
    pub async fn unsealed_after(
        &self,
        patient: &PatientId,
        data_type: DataType,
        from_us: i64,
        ended_by_us: i64,
    ) -> Result<Option<UnsealedPeriod>> {
        let patient = patient.clone();
        let read = async move |tx: &Tx<'_>| next_unsealed(tx, &patient, data_type, (from_us, ended_by_us)).await;
        self.db.read_single(read).await
    }
}

/// Returns the first period of a patient and a type that begins at a time or later, has ended by another one, and has
/// chunks.
pub(crate) async fn next_unsealed(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    (from_us, ended_by_us): (i64, i64),
) -> Result<Option<UnsealedPeriod>> {
    let running_us = SealedPeriod::of(data_type, ended_by_us).start_us;
    let params: [&dyn Param; 4] = [patient, &data_type.number(), &from_us, &running_us];
    let first_us = tx.query_opt(NEXT_UNSEALED, &params, |row| row.get::<Option<i64>>(0)).await?.flatten();
    let period = first_us.map(|first_us| SealedPeriod::of(data_type, first_us));
    Ok(period.map(|period| UnsealedPeriod { patient: patient.clone(), data_type, period }))
}

/// Returns the set of the types that are sealed by the day: the bits of their numbers, which need not follow one
/// another.
pub(super) fn types_sealed_by_the_day() -> i64 {
    let daily = DataType::ALL.into_iter().filter(|data_type| data_type.period() == Period::Day);
    daily.fold(0, |set, data_type| set | 1 << data_type.number())
}

/// Returns all segments of a type, without comparing their rows of the catalog with their checksums.
pub(crate) async fn segments_of(tx: &Tx<'_>, patient: &PatientId, data_type: DataType) -> Result<Vec<SegmentRow>> {
    let read = |row: &Row<'_>| read_segment(&mut Columns::of(row));
    tx.query(SEGMENTS_OF, &[patient, &data_type.number()], read).await
}

/// Returns the segments that have samples in a range of times (both ends included), oldest first.
pub(crate) async fn segments_between(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    from_us: i64,
    to_us: i64,
) -> Result<Vec<SegmentRow>> {
    tx.query(SEGMENTS_BETWEEN, &[&patient, &data_type.number(), &from_us, &to_us], |row| {
        read_segment(&mut Columns::of(row))?.checked()
    })
    .await
}

pub(crate) async fn segment_of(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    period_start_us: i64,
) -> Result<Option<SegmentRow>> {
    tx.query_opt(SEGMENT_OF_PERIOD, &[&patient, &data_type.number(), &period_start_us], |row| {
        read_segment(&mut Columns::of(row))?.checked()
    })
    .await
}

/// Reads [`segment_columns!`]; [`SegmentRow::checked`] compares the checksum.
pub(super) fn read_segment(columns: &mut Columns<'_, '_>) -> Result<SegmentRow> {
    let row = read_columns(columns)?;
    let (path, sha256, first_us, last_us) = (row.path, row.sha256, row.first_us, row.last_us);
    let tail = row.tail_bytes.zip(row.tail_sum).map(|(bytes, sum)| Tail { bytes: bytes as u64, sum: sum as u32 });
    Ok(SegmentRow {
        patient: row.patient,
        data_type: row.data_type,
        period_start_us: row.period_start_us,
        generation: row.generation,
        object: WrittenSegment { path, bytes: row.bytes, rows: row.row_count, sha256, first_us, last_us, tail },
        sum: row.sum,
    })
}

async fn publish(tx: &Tx<'_>, publication: &Publication) -> Result<()> {
    let Publication { patient, data_type, period, object, .. } = publication;
    let replaced = segment_of(tx, patient, *data_type, period.start_us).await?;
    let generation = replaced.as_ref().map_or(0, |segment| segment.generation);
    if generation != publication.expected_generation {
        return Err(StoreError::LeaseLost);
    }
    // Between the look and the write another node may come: then the first insert meets a row that is there, and the
    // update finds the generation changed.
    let published = tx.query_opt(NEXT_NUMBER, &[], |row| row.get::<i64>(0)).await?.unwrap_or(0);
    let number = data_type.number();
    let next = generation + 1;
    let (rows, bytes) = (object.rows as i64, object.bytes as i64);
    let (tail_bytes, tail_sum) = tail_columns(object);
    let sum = segment_sum(patient, [number, period.start_us, next], object);
    let mut params: Vec<&dyn Param> = vec![
        patient,
        &number,
        &period.start_us,
        &next,
        &object.path,
        &object.first_us,
        &object.last_us,
        &rows,
        &bytes,
        &object.sha256,
        &publication.sealed_ms,
        &published,
        &tail_bytes,
        &tail_sum,
        &sum,
    ];
    let written = if replaced.is_some() {
        params.push(&generation);
        tx.execute(REPLACE_SEGMENT, &params).await
    } else {
        tx.execute(INSERT_SEGMENT, &params).await
    };
    match written {
        Ok(1) => {}
        Ok(_) | Err(StoreError::Conflict(_)) => return Err(StoreError::LeaseLost),
        Err(error) => return Err(error),
    }
    if let Some(replaced) = replaced {
        // Kept for a while: readers that have looked at the catalog before are still reading it.
        tx.put(INSERT_DEAD, &[&replaced.object.path, &publication.sealed_ms]).await?;
    }
    for chunk in &publication.chunks {
        let key: [&dyn Param; 6] =
            [patient, &data_type.number(), &chunk.last_us, &chunk.channel.0, &chunk.arrival, &chunk.first_us];
        // Each is counted: a chunk that another worker has merged lives on in its successor, and its rows would be
        // there twice.
        if tx.execute(DELETE_CHUNK, &key).await? != 1 {
            return Err(StoreError::LeaseLost);
        }
    }
    chunk_counts::change(tx, patient, *data_type, publication.chunks.iter().copied(), None).await
}
