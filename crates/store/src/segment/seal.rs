//! Sealing: the chunks of a period, and what was sealed of it before, become one segment.
//!
//! The period is read step by step, so the memory that it takes does not grow with it. What arrives meanwhile is not
//! touched and waits for the next sealing.

use boxed_futures::boxed_futures;
use futures::future::try_join_all;
use vitals::block::Block;
use vitals::registry::DataType;
use vitals::zone::SECOND_US;

use super::catalog::SegmentRow;
use super::catalog::{Publication, UnsealedPeriod, segment_of};
use super::name::SegmentName;
use super::period::SealedPeriod;
use super::write::SegmentWriter;
use crate::engine::{Tx, blocking};
use crate::error::{Result, StoreError};
use crate::health::chunk_counts;
use crate::health::db::HealthDb;
use crate::health::reader::merge;
use crate::health::stored_chunk::{ChunkKey, StoredChunk, chunk_columns, key_columns, read_key};
use crate::ids::PatientId;
use crate::texts::sql;

sql! {
    CHUNKS_OF_PERIOD = concat!("SELECT ", key_columns!(), " FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us >= $3 AND last_us < $4 ORDER BY arrival");
    CHUNK = concat!("SELECT ", chunk_columns!(), " FROM chunk
        WHERE patient = $1 AND data_type = $2 AND last_us = $3 AND channel = $4 AND arrival = $5 AND first_us = $6");
}

/// What a sealing came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sealed {
    /// Segments written.
    pub segments: u64,
    /// Rows in them.
    pub rows: u64,
    /// Their size.
    pub bytes: u64,
}

/// Span that is merged at once.
pub(super) const fn step_us(data_type: DataType) -> i64 {
    if data_type.is_waveform() { 600 * SECOND_US } else { 86_400 * SECOND_US }
}

#[boxed_futures]
impl HealthDb {
    /// Seals a period. `random` makes the object's name its own.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another worker sealed the period or merged its chunks meanwhile; nothing is
    /// changed then, and trying again is safe.
    pub async fn seal_period(&self, unsealed: &UnsealedPeriod, now_ms: i64, random: u64) -> Result<Sealed> {
        let asked = unsealed.clone();
        let found = self.db.read(async move |tx| {
            let UnsealedPeriod { patient, data_type, period } = &asked;
            let segment = segment_of(tx, patient, *data_type, period.start_us).await?;
            chunk_counts::compare(tx, patient, *data_type, (period.start_us, period.end_us - 1)).await?;
            Ok((segment, chunks_of_period(tx, patient, *data_type, *period).await?))
        });
        let (segment, chunks) = found.await?;
        if chunks.is_empty() {
            return Ok(Sealed::default());
        }
        let expected_generation = segment.as_ref().map_or(0, |segment| segment.generation);
        let UnsealedPeriod { patient, data_type, period } = unsealed.clone();
        let name =
            SegmentName { patient: patient.clone(), data_type, period, generation: expected_generation + 1, random };
        let mut writer = SegmentWriter::new(&self.objects, &name)?;
        if let Err(error) = self.write_period(&mut writer, unsealed, segment.as_ref(), &chunks).await {
            writer.abort().await?;
            // The object of an erased patient goes after its row, and so may be named and then gone.
            let is_current = self.generation_now(unsealed).await? == expected_generation;
            return Err(if is_current { error } else { StoreError::LeaseLost });
        }
        let Some(object) = writer.finish().await? else { return Ok(Sealed::default()) };
        let sealed = Sealed { segments: 1, rows: object.rows, bytes: object.bytes };
        let publication =
            Publication { patient, data_type, period, expected_generation, object, chunks, sealed_ms: now_ms };
        self.publish_written(publication).await?;
        Ok(sealed)
    }

    /// Seals a period once more without what lies before a time. What has come since the last sealing stays as it is.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`] when another worker seals the period meanwhile; nothing is changed then.
    pub(crate) async fn reseal_from(
        &self,
        whole: &UnsealedPeriod,
        from_us: i64,
        now_ms: i64,
        random: u64,
    ) -> Result<()> {
        let UnsealedPeriod { patient, data_type, period } = whole.clone();
        let Some(segment) = self.segment_of(&patient, data_type, period).await? else { return Ok(()) };
        let expected_generation = segment.generation;
        let name =
            SegmentName { patient: patient.clone(), data_type, period, generation: expected_generation + 1, random };
        let mut writer = SegmentWriter::new(&self.objects, &name)?;
        let kept = SealedPeriod { start_us: from_us, end_us: period.end_us };
        let unsealed = UnsealedPeriod { patient: patient.clone(), data_type, period: kept };
        if let Err(error) = self.write_period(&mut writer, &unsealed, Some(&segment), &[]).await {
            writer.abort().await?;
            return Err(error);
        }
        let Some(object) = writer.finish().await? else {
            return self.drop_segment(&patient, data_type, segment, now_ms).await;
        };
        let publication = Publication {
            patient,
            data_type,
            period,
            expected_generation,
            object,
            chunks: Vec::new(),
            sealed_ms: now_ms,
        };
        self.publish_written(publication).await
    }

    /// Publishes an object that was written. It is deleted only where the catalog certainly does not name it: after a
    /// connection that broke while it committed nobody knows, and an object that no row names is found later by
    /// [`find_lost_objects`](Self::find_lost_objects).
    async fn publish_written(&self, publication: Publication) -> Result<()> {
        let path = publication.object.path.clone();
        let published = self.publish_segment(publication).await;
        if matches!(published, Err(StoreError::LeaseLost)) {
            self.objects.delete(&path).await?;
        }
        published
    }

    /// Returns the number of writings of a period by now, 0 when it has no segment.
    async fn generation_now(&self, unsealed: &UnsealedPeriod) -> Result<i64> {
        let UnsealedPeriod { patient, data_type, period } = unsealed.clone();
        let segment = self.db.read(async move |tx| segment_of(tx, &patient, data_type, period.start_us).await);
        Ok(segment.await?.map_or(0, |segment| segment.generation))
    }

    async fn write_period(
        &self,
        writer: &mut SegmentWriter,
        unsealed: &UnsealedPeriod,
        segment: Option<&SegmentRow>,
        chunks: &[ChunkKey],
    ) -> Result<()> {
        let UnsealedPeriod { patient, data_type, period } = unsealed;
        let data_type = *data_type;
        let reader = match segment {
            Some(row) => Some(self.open_to_merge(row).await?),
            None => None,
        };
        let mut from_us = period.start_us;
        while from_us < period.end_us {
            // A step at a time: a day of a waveform in memory would be hundreds of megabytes.
            let to_us = (from_us + step_us(data_type)).min(period.end_us) - 1;
            let mut arrived: Vec<Block> = Vec::new();
            if let Some(reader) = &reader {
                let mut pieces = reader.read(from_us..=to_us, None)?;
                while let Some(blocks) = pieces.next().await? {
                    arrived.extend(blocks);
                }
            }
            let overlaps = |chunk: &&ChunkKey| chunk.first_us <= to_us && chunk.last_us >= from_us;
            let keys: Vec<ChunkKey> = chunks.iter().filter(overlaps).copied().collect();
            if !keys.is_empty() {
                arrived.extend(self.chunk_blocks(patient.clone(), data_type, keys).await?);
            }
            if !arrived.is_empty() {
                let blocks = blocking(move || Ok(merge(arrived, from_us, to_us))).await?;
                writer.push(blocks).await?;
            }
            from_us = to_us + 1;
        }
        Ok(())
    }

    async fn chunk_blocks(&self, patient: PatientId, data_type: DataType, keys: Vec<ChunkKey>) -> Result<Vec<Block>> {
        self.db
            .read(async move |tx| try_join_all(keys.iter().map(|key| chunk_block(tx, &patient, data_type, key))).await)
            .await
    }
}

/// Returns the chunks of a period in the order of their arrival.
pub(super) async fn chunks_of_period(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    period: SealedPeriod,
) -> Result<Vec<ChunkKey>> {
    let params: [&dyn crate::engine::Param; 4] = [&patient, &data_type.number(), &period.start_us, &period.end_us];
    tx.query(CHUNKS_OF_PERIOD, &params, read_key).await
}

/// Returns the rows of a chunk. [`StoreError::LeaseLost`] when it has been merged or sealed meanwhile.
pub(super) async fn chunk_block(
    tx: &Tx<'_>,
    patient: &PatientId,
    data_type: DataType,
    key: &ChunkKey,
) -> Result<Block> {
    let params: [&dyn crate::engine::Param; 6] =
        [&patient, &data_type.number(), &key.last_us, &key.channel.0, &key.arrival, &key.first_us];
    let found = tx.query_opt(CHUNK, &params, StoredChunk::read).await?;
    let found = found.ok_or(StoreError::LeaseLost)?;
    if found.key() != *key || found.type_number() != data_type.number() {
        let reason = "an index of chunks leads to another row";
        return Err(StoreError::damaged_rows(data_type.name(), (key.first_us, key.last_us), reason));
    }
    found.rows(patient)
}
