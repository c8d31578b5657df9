//! Reading an object, or a range of it, as a stream.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use boxed_futures::boxed_futures;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::{GetOptions, GetRange, GetResultPayload, ObjectStore};
use sha2::{Digest as _, Sha256};

use super::store::{Objects, location};
use crate::engine::blocking;
use crate::error::{Result, StoreError};

/// Bytes of a file that are read at once.
const READ_BYTES: u64 = 1 << 20;

/// Which bytes of an object are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From one position to another, both included.
    Between(u64, u64),
    /// From a position to the end.
    From(u64),
    /// So many at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the positions in an object of a size, first and one past the last; none when it has no such byte.
    pub fn within(self, size: u64) -> Option<std::ops::Range<u64>> {
        let range = match self {
            ByteRange::Between(first, last) => first..last.saturating_add(1).min(size),
            ByteRange::From(first) => first..size,
            ByteRange::Last(count) => size.saturating_sub(count)..size,
        };
        (range.start < range.end).then_some(range)
    }
}

/// Bytes of an object on their way.
pub struct ObjectRead {
    /// Size of the whole object.
    pub size: u64,
    /// The positions that are read, first and one past the last.
    pub range: std::ops::Range<u64>,
    /// The bytes.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

impl std::fmt::Debug for ObjectRead {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ObjectRead").field("range", &self.range).finish_non_exhaustive()
    }
}

#[boxed_futures]
impl Objects {
    /// Reads an object, or some positions of it, which must lie within; none when it is not there.
    pub async fn read(&self, path: &str, range: Option<std::ops::Range<u64>>) -> Result<Option<ObjectRead>> {
        let options = GetOptions::new().with_range(range.map(GetRange::Bounded));
        let found = match self.store.get_opts(&location(path)?, options).await {
            Ok(found) => found,
            // Not a fault: retention or a sealing may have replaced the object since its row was read.
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (size, range) = (found.meta.size, found.range.clone());
        let bytes = match found.payload {
            // The store's own stream of a file comes in pieces of 8 KiB, each by way of another thread.
            GetResultPayload::File(file, _) => file_bytes(file, range.clone()),
            GetResultPayload::Stream(stream) => stream.map_err(StoreError::from).boxed(),
        };
        Ok(Some(ObjectRead { size, range, bytes }))
    }

    /// Size and SHA-256 (hexadecimal) of an object, which is read whole; none when it is not there.
    pub async fn digest(&self, path: &str) -> Result<Option<(u64, String)>> {
        let Some(read) = self.read(path, None).await? else { return Ok(None) };
        let (mut digest, mut pieces, mut size) = (Digest::default(), read.bytes, 0);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            size += piece.len() as u64;
            digest.add(&piece);
        }
        Ok(Some((size, digest.finish())))
    }
}

/// SHA-256 of bytes as they come, as the catalog writes it.
#[derive(Debug, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all, hexadecimal.
    #[must_use]
    pub fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

/// Bytes as the catalog writes a SHA-256.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn file_bytes(file: File, range: std::ops::Range<u64>) -> BoxStream<'static, Result<Bytes>> {
    stream::try_unfold((file, range), |(mut file, range)| async move {
        if range.is_empty() {
            return Ok(None);
        }
        blocking(move || {
            let count = READ_BYTES.min(range.end - range.start);
            let mut bytes = Vec::with_capacity(count as usize);
            file.seek(SeekFrom::Start(range.start)).map_err(unreadable)?;
            file.by_ref().take(count).read_to_end(&mut bytes).map_err(unreadable)?;
            // A file that became shorter must not end as if it had been sent whole.
            if bytes.len() as u64 != count {
                return Err(unreadable(std::io::ErrorKind::UnexpectedEof.into()));
            }
            Ok(Some((Bytes::from(bytes), (file, range.start + count..range.end))))
        })
        .await
    })
    .boxed()
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` calls")]
fn unreadable(error: std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("an object cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_with_the_object() {
        assert_eq!(ByteRange::Between(2, 5).within(10), Some(2..6));
        assert_eq!(ByteRange::Between(2, u64::MAX).within(10), Some(2..10));
        assert_eq!(ByteRange::From(9).within(10), Some(9..10));
        assert_eq!(ByteRange::Last(3).within(10), Some(7..10));
        assert_eq!(ByteRange::Last(30).within(10), Some(0..10));
        for nothing in [ByteRange::Between(10, 12), ByteRange::Between(5, 2), ByteRange::From(10), ByteRange::Last(0)] {
            assert_eq!(nothing.within(10), None, "{nothing:?}");
        }
    }
}
