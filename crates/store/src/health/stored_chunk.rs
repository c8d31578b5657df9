//! A chunk as it is read, and the check that it is what was stored.

use vitals::block::Block;
use vitals::registry::{Channel, DataType};

use crate::checksum::{self, Of};
use crate::engine::Columns;
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
    pub data_type: DataType,
    pub key: ChunkKey,
    row_count: i64,
    sum: Option<i64>,
    payload: Vec<u8>,
}

/// The columns of a chunk's row behind its patient and its type.
pub(crate) struct ChunkColumns {
    channel: Channel,
    first_us: i64,
    last_us: i64,
    arrival: i64,
    row_count: i64,
    sum: Option<i64>,
    /// One that is gone must be found by its sum, and not be an error of the database for which all is tried again.
    payload: Option<Vec<u8>>,
}

/// Reads a channel.
fn channel(columns: &mut Columns<'_, '_>) -> Result<Channel> {
    columns.take().map(Channel)
}

record! {
    key_columns!(""), pub(crate) read_key(row) -> ChunkKey { channel by channel, first_us, last_us, arrival }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(crate) use key_columns;

record! {
    chunk_columns!(""), pub(crate) read_chunk(columns) -> ChunkColumns {
        channel by channel, first_us, last_us, arrival, row_count, sum, payload,
    }
}
#[expect(clippy::single_component_path_imports, reason = "a macro is visible to other files by an import alone")]
pub(crate) use chunk_columns;

impl ChunkColumns {
    /// Returns the key of the chunk, which may be damaged itself.
    pub fn key(&self) -> ChunkKey {
        let ChunkColumns { channel, first_us, last_us, arrival, .. } = *self;
        ChunkKey { channel, first_us, last_us, arrival }
    }

    /// Returns the chunk of a type.
    pub fn of_type(self, data_type: DataType) -> StoredChunk {
        let key = self.key();
        let ChunkColumns { row_count, sum, payload, .. } = self;
        StoredChunk { data_type, key, row_count, sum, payload: payload.unwrap_or_default() }
    }
}

impl StoredChunk {
    /// Reads [`chunk_columns!`].
    pub fn read(data_type: DataType, columns: &mut Columns<'_, '_>) -> Result<Self> {
        Ok(read_chunk(columns)?.of_type(data_type))
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
        let content = checksum::of_bytes(&self.payload);
        let made = chunk_sum(patient, self.data_type, &self.key, self.row_count, content);
        if checksum::is_intact(self.sum, made) {
            return Ok(());
        }
        let reason = "the checksum of a chunk is another one";
        Err(StoreError::damaged_rows(self.data_type.name(), (self.key.first_us, self.key.last_us), reason))
    }

    /// Returns the samples.
    ///
    /// # Errors
    /// [`StoreError::DamagedRows`] when the row or its payload is not what was stored.
    pub fn rows(&self, patient: &PatientId) -> Result<Block> {
        self.check(patient)?;
        let decoded = payload::decode(self.data_type, self.key.channel, &self.payload);
        of_rows(decoded, self.data_type.name(), (self.key.first_us, self.key.last_us))
    }
}

/// Fails where a chunk was found twice, or outside of the range that was asked for: an entry of a damaged index leads to
/// another row than its own, which is then missing.
pub(crate) fn check_found(data_type: DataType, found: &[&StoredChunk], (from_us, to_us): (i64, i64)) -> Result<()> {
    let key_of = |chunk: &&StoredChunk| (chunk.key.channel, chunk.key.last_us, chunk.key.first_us, chunk.key.arrival);
    let mut keys: Vec<_> = found.iter().map(key_of).collect();
    keys.sort_unstable();
    let is_twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
    if is_twice || found.iter().any(|chunk| chunk.key.last_us < from_us || chunk.key.first_us > to_us) {
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
