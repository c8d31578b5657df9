//! Writes a segment to the object store while its blocks come in.

use bytes::Bytes;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use vitals::block::Block;

use super::block_sums::Tail;
use super::encode::{Encoder, LastBytes};
use super::layout::Piece;
use super::name::SegmentName;
use crate::engine::blocking;
use crate::error::{Result, StoreError};
use crate::objects::Objects;

/// Bytes of one part of an upload, the least that S3 takes; a smaller segment is sent whole.
const PART_BYTES: usize = 5 << 20;
/// Parts that may be under way while the next is encoded.
const PARTS_UNDER_WAY: usize = 2;

/// A segment that is being written. Needs the memory of a few parts, however large it gets.
///
/// Nothing of it can be read before [`SegmentWriter::finish`] has answered; one that is dropped or aborted before
/// leaves nothing behind but, on some stores, parts that the store itself clears away.
pub struct SegmentWriter {
    path: String,
    upload: BufWriter,
    /// `None` after an error.
    encoder: Option<Box<Encoder>>,
    hash: Sha256,
    bytes: u64,
}

impl std::fmt::Debug for SegmentWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SegmentWriter")
            .field("path", &self.path)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSegment {
    /// Path in the object store.
    pub path: String,
    /// Size of the object.
    pub bytes: u64,
    /// Number of samples.
    pub rows: u64,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
    /// Time of the earliest sample, µs.
    pub first_us: i64,
    /// Time of the latest sample, µs.
    pub last_us: i64,
    /// Its end; `None` of an object of before there were checksums.
    pub tail: Option<Tail>,
}

impl SegmentWriter {
    /// Begins a segment.
    pub fn new(objects: &Objects, name: &SegmentName) -> Result<Self> {
        let path = name.path();
        let location = Path::parse(&path).map_err(|error| StoreError::Damaged(error.to_string()))?;
        let upload =
            BufWriter::with_capacity(objects.store.clone(), location, PART_BYTES).with_max_concurrency(PARTS_UNDER_WAY);
        let encoder = Some(Box::new(Encoder::new(name)?));
        Ok(SegmentWriter { path, upload, encoder, hash: Sha256::new(), bytes: 0 })
    }

    /// Adds blocks of one or several channels. All of them must begin after the blocks of earlier calls have ended.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when they do not.
    pub async fn push(&mut self, blocks: Vec<Block>) -> Result<()> {
        // Not put back after an error: what was encoded by halves must not become an object.
        let mut encoder = self.encoder.take().ok_or_else(failed)?;
        let (encoder, bytes) = blocking(move || {
            let bytes = encoder.add(blocks)?;
            Ok((encoder, bytes))
        })
        .await?;
        self.encoder = Some(encoder);
        self.send(bytes).await
    }

    /// Ends the segment. When this answers, the object is durable; `None` when no row was pushed, and then there is
    /// no object.
    pub async fn finish(mut self) -> Result<Option<WrittenSegment>> {
        let encoder = self.encoder.take().ok_or_else(failed)?;
        let LastBytes { bytes, tail, pieces } = blocking(move || encoder.finish()).await?;
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
            return Ok(None);
        };
        let (first_us, last_us) = (first.first_us, last.last_us);
        self.send(bytes).await?;
        // Only a shutdown that has ended makes the object durable, and only then may a row name it.
        self.upload.shutdown().await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let rows = pieces.iter().flat_map(|piece: &Piece| &piece.runs).map(|(_, rows)| *rows as u64).sum();
        let sha256 = crate::objects::hexadecimal(&self.hash.finalize());
        let (path, bytes, tail) = (self.path, self.bytes, Some(tail));
        Ok(Some(WrittenSegment { path, bytes, rows, sha256, first_us, last_us, tail }))
    }

    /// Gives up; what was already sent is removed.
    pub async fn abort(mut self) -> Result<()> {
        Ok(self.upload.abort().await?)
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // While they pass, so that nothing has to be read back.
        self.hash.update(&bytes);
        self.bytes += bytes.len() as u64;
        Ok(self.upload.put(Bytes::from(bytes)).await?)
    }
}

fn failed() -> StoreError {
    StoreError::Damaged("the segment's writer has failed before".to_owned())
}
