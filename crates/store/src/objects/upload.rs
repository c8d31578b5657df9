//! Writing an object part by part, however large it gets.

use bytes::Bytes;
use object_store::buffered::BufWriter;
use tokio::io::AsyncWriteExt;

use super::store::{Objects, location};
use crate::error::{Result, StoreError};

/// Bytes of one part in a bucket. S3 takes ten thousand parts, so an object may have 160 GB.
const PART_BYTES: usize = 16 << 20;
/// Bytes of one part of a file, which may have any number of them. Few, so that the same memory serves all.
const PART_OF_FILE_BYTES: usize = 1 << 20;
/// Parts that may be under way while the next is filled.
// One is sent while the next is filled; more would only take memory, for archives are written in the background.
const PARTS_UNDER_WAY: usize = 1;

/// An object that is being written. Needs the memory of a few parts.
///
/// Nothing of it can be read before [`Upload::finish`] has answered; one that is dropped or aborted before leaves
/// nothing behind but, on some stores, parts that the store itself clears away.
pub struct Upload {
    writer: BufWriter,
    bytes: u64,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Upload").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Objects {
    /// Begins an object.
    pub fn upload(&self, path: &str) -> Result<Upload> {
        let part_bytes = if self.as_folder().is_some() { PART_OF_FILE_BYTES } else { PART_BYTES };
        let writer = BufWriter::with_capacity(self.store.clone(), location(path)?, part_bytes);
        Ok(Upload { writer: writer.with_max_concurrency(PARTS_UNDER_WAY), bytes: 0 })
    }
}

impl Upload {
    /// Adds bytes; waits while too many are under way.
    pub async fn put(&mut self, bytes: Bytes) -> Result<()> {
        self.bytes += bytes.len() as u64;
        Ok(self.writer.put(bytes).await?)
    }

    /// Ends the object; answers its size. When this answers, the object is durable.
    pub async fn finish(mut self) -> Result<u64> {
        // A part that could not be sent shows here at the latest; before, no object has been there.
        self.writer.shutdown().await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(self.bytes)
    }

    /// Gives up; what was already sent is removed.
    pub async fn abort(mut self) -> Result<()> {
        Ok(self.writer.abort().await?)
    }
}
