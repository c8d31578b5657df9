//! A chunk as it is read, and the check that it is what was stored.

use vitals::block::Block;
use vitals::registry::{Channel, DataType};

use crate::checksum::{self, Of};
use crate::engine::{Columns, Param, Row};
use crate::error::{Result, StoreError, of_rows};
use crate::ids::PatientId;
use crate::payload;
use crate::texts::record;

/// The primary key of a chunk, within a patient and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkKey {
    /// The channel.
    pub channel: Channel,
    /// Time of its first sample, µs.
    pub first_us: i64,
    /// Time of its last sample, µs.
    pub last_us: i64,
    /// Number of the sync that brought it.
    pub arrival: i64,
}

/// A row of chunks. Its rows are reached through [`StoredChunk::rows`] alone, which checks them first.
#[derive(Clone, Debug)]
pub(crate) struct StoredChunk {
    /// Number of the type. Not the type: what verifies rows must get past one that this version does not know.
    data_type: i64,
    channel: Channel,
    first_us: i64,
    last_us: i64,
    arrival: i64,
    row_count: i64,
    sum: Option<i64>,
    payload: Vec<u8>,
}

/// Reads a channel.
fn channel(columns: &mut Columns<'_, '_>) -> Result<Channel> {
    columns.take().map(Channel)
}

/// Reads a payload.
fn payload(columns: &mut Columns<'_, '_>) -> Result<Vec<u8>> {
    // One that is gone must be found by its sum, and not be an error of the database for which all is tried again.
    Ok(columns.take::<Option<Vec<u8>>>()?.unwrap_or_default())
}

record! {
    key_columns!(""), pub(crate) read_key(row) -> ChunkKey { channel by channel, first_us, last_us, arrival }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(crate) use key_columns;

record! {
    chunk_columns!(""), pub(crate) read_chunk(columns) -> StoredChunk {
        data_type, channel by channel, first_us, last_us, arrival, row_count, sum, payload by payload,
    }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(crate) use chunk_columns;

impl StoredChunk {
    /// Reads a row of [`chunk_columns!`].
    pub fn read(row: &Row<'_>) -> Result<Self> {
        read_chunk(&mut Columns::of(row))
    }

    /// Returns the row of some rows, which has neither the number of its sync nor its sum yet.
    pub fn of(block: &Block) -> Result<Self> {
        Ok(StoredChunk {
            data_type: block.data_type.number(),
            channel: block.channel,
            first_us: block.first_us().unwrap_or(0),
            last_us: block.last_us().unwrap_or(0),
            // Both are known in the transaction alone, which the payload must not be encoded in.
            arrival: 0,
            sum: None,
            row_count: block.rows() as i64,
            payload: payload::encode(block)?,
        })
    }

    /// Returns the sum of the payload.
    pub fn content(&self) -> u32 {
        checksum::of_bytes(&self.payload)
    }

    /// Returns the sum of the row as a sync of a number brings it; `content` is that of its payload.
    pub fn sum_of(&self, patient: &PatientId, data_type: DataType, arrival: i64, content: u32) -> i64 {
        chunk_sum(patient, data_type, &ChunkKey { arrival, ..self.key() }, self.row_count, content)
    }

    /// Returns what is written of the row, in the order of the statement.
    pub fn params<'row>(
        &'row self,
        patient: &'row dyn Param,
        arrival: &'row i64,
        sum: &'row i64,
    ) -> [&'row dyn Param; 9] {
        let StoredChunk { data_type, channel, first_us, last_us, row_count, payload, .. } = self;
        [patient, data_type, &channel.0, first_us, arrival, last_us, row_count, sum, payload]
    }

    /// Returns the key, which may be damaged itself.
    pub fn key(&self) -> ChunkKey {
        let StoredChunk { channel, first_us, last_us, arrival, .. } = *self;
        ChunkKey { channel, first_us, last_us, arrival }
    }

    /// Returns whether the chunk reaches into a range, µs, both ends included.
    pub fn reaches_into(&self, (from_us, to_us): (i64, i64)) -> bool {
        self.first_us <= to_us && self.last_us >= from_us
    }

    /// Returns the number of the type, which this version may not know.
    pub fn type_number(&self) -> i64 {
        self.data_type
    }

    /// Returns the type.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when this version does not know it.
    fn data_type(&self) -> Result<DataType> {
        let unknown = || StoreError::Damaged("a chunk is of an unknown type".to_owned());
        DataType::from_number(self.data_type).ok_or_else(unknown)
    }

    /// Length of the payload.
    pub fn payload_bytes(&self) -> usize {
        self.payload.len()
    }

    /// Compares the row and its payload with their checksum, without decoding it.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when either is not what was stored.
    pub fn check(&self, patient: &PatientId) -> Result<()> {
        let data_type = self.data_type()?;
        let made = chunk_sum(patient, data_type, &self.key(), self.row_count, checksum::of_bytes(&self.payload));
        if checksum::is_intact(self.sum, made) {
            return Ok(());
        }
        let reason = "the checksum of a chunk is another one";
        Err(StoreError::damaged_rows(data_type.name(), (self.first_us, self.last_us), reason))
    }

    /// Returns the samples.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the row or its payload is not what was stored.
    pub fn rows(&self, patient: &PatientId) -> Result<Block> {
        self.check(patient)?;
        let data_type = self.data_type()?;
        let decoded = payload::decode(data_type, self.channel, &self.payload);
        of_rows(decoded, data_type.name(), (self.first_us, self.last_us))
    }
}

/// Fails where a chunk was found twice, or of another type or outside of the range that was asked for: an entry of a damaged
/// index leads to another row than its own, which is then missing.
pub(crate) fn check_found(data_type: DataType, found: &[StoredChunk], (from_us, to_us): (i64, i64)) -> Result<()> {
    let key_of = |chunk: &StoredChunk| (chunk.channel, chunk.last_us, chunk.first_us, chunk.arrival);
    let mut keys: Vec<_> = found.iter().map(key_of).collect();
    keys.sort_unstable();
    let is_twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
    let is_of_others =
        |chunk: &StoredChunk| chunk.data_type != data_type.number() || !chunk.reaches_into((from_us, to_us));
    if is_twice || found.iter().any(is_of_others) {
        let reason = "an index of chunks leads to other rows";
        return Err(StoreError::damaged_rows(data_type.name(), (from_us, to_us), reason));
    }
    Ok(())
}

/// Returns the sum of a chunk's row. `content` is that of its payload.
pub(super) fn chunk_sum(patient: &PatientId, data_type: DataType, key: &ChunkKey, row_count: i64, content: u32) -> i64 {
    let ChunkKey { channel, first_us, last_us, arrival } = *key;
    let numbers = [data_type.number(), channel.0, first_us, last_us, arrival, row_count];
    checksum::of_row(Of::Chunk, patient, &numbers, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(data_type: i64, sum: Option<i64>) -> StoredChunk {
        let block = Block::empty(DataType::Bioz, Channel(0));
        let payload = payload::encode(&block).expect("encoded");
        StoredChunk { data_type, channel: Channel(0), first_us: 5, last_us: 9, arrival: 1, row_count: 0, sum, payload }
    }

    #[test]
    fn rows_of_a_chunk_with_another_sum_or_an_unknown_type_are_damaged() {
        let ada = PatientId::new("ada");
        let known = chunk(DataType::Bioz.number(), None);
        let sum = chunk_sum(&ada, DataType::Bioz, &known.key(), 0, checksum::of_bytes(&known.payload));
        assert!(chunk(DataType::Bioz.number(), Some(sum)).rows(&ada).is_ok());
        // The sum covers the type as the row has it, and whose row it is.
        for (patient, number, sum) in [
            (&ada, DataType::Bioz.number(), sum + 1),
            (&ada, DataType::Activity.number(), sum),
            (&ada, i64::MAX, sum),
            (&PatientId::new("bob"), DataType::Bioz.number(), sum),
        ] {
            let error = chunk(number, Some(sum)).rows(patient).expect_err("damaged");
            assert!(error.is_damage(), "{error}");
        }
    }

    #[test]
    fn chunk_of_another_type_or_range_or_twice_was_not_asked_for() {
        let of = |data_type: DataType| chunk(data_type.number(), None);
        let check = |found: &[StoredChunk], range| check_found(DataType::Bioz, found, range).is_ok();
        assert!(check(&[of(DataType::Bioz)], (9, 20)) && check(&[of(DataType::Bioz)], (0, 5)));
        assert!(!check(&[of(DataType::Activity)], (0, 20)));
        assert!(!check(&[of(DataType::Bioz)], (10, 20)) && !check(&[of(DataType::Bioz)], (0, 4)));
        assert!(!check(&[of(DataType::Bioz), of(DataType::Bioz)], (0, 20)));
    }
}
