//! The bytes of a sealed file: fetched in parts, and checked before anyone reads them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use parquet::DecodeResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};

use super::block_sums::{BlockSums, Tail, cut_out};
use super::layout::sums_text;
use super::write::WrittenSegment;
use crate::error::{Result, StoreError};
use crate::objects::Objects;

/// How much of the end is fetched at first of a file of which it is not known how long its end is. The metadata of all
/// but the largest segments lie in it.
const FOOTER_BYTES: u64 = 64 << 10;

/// How much is compared with its checksums at once: a bucket is asked for it in one or a few requests.
const CHECKED_AT_ONCE: u64 = 4 << 20;

/// An object of which the catalog says how long it is, and what its end is.
#[derive(Clone, Debug)]
pub(super) struct SealedFile {
    objects: Objects,
    location: Path,
    bytes: u64,
    /// `None` of a file of before there were checksums.
    tail: Option<Tail>,
}

impl SealedFile {
    pub(super) fn of(objects: &Objects, object: &WrittenSegment) -> Result<Self> {
        let location = Path::parse(&object.path).map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok(SealedFile { objects: objects.clone(), location, bytes: object.bytes, tail: object.tail })
    }

    pub(super) fn location(&self) -> &Path {
        &self.location
    }

    /// Returns the metadata, with the places of the pages.
    pub(super) async fn metadata(&self) -> Result<ParquetMetaData> {
        let fetched_at_first = self.tail.map_or(FOOTER_BYTES, |tail| tail.bytes);
        // Of the page index only the places of the pages are wanted: which rows to read, the list of pieces says.
        let decoder = ParquetMetaDataPushDecoder::try_new(self.bytes)?;
        let mut decoder =
            decoder.with_column_index_policy(PageIndexPolicy::Skip).with_offset_index_policy(PageIndexPolicy::Required);
        let end = self.bytes.saturating_sub(fetched_at_first)..self.bytes;
        let mut ranges = vec![end];
        loop {
            let data = self.fetch(&ranges).await?;
            if let Some(tail) = self.tail
                && !data.first().is_some_and(|end| tail.is(end))
            {
                return Err(StoreError::Damaged("the end of a segment is not what was sealed".to_owned()));
            }
            let decoded = guarded(|| {
                decoder.push_ranges(ranges, data)?;
                Ok(decoder.try_decode()?)
            })?;
            ranges = match decoded {
                DecodeResult::Data(metadata) => return Ok(metadata),
                // A known end holds all metadata. What leads out of it could not be checked.
                DecodeResult::NeedsData(ranges) if self.tail.is_none() => ranges,
                DecodeResult::NeedsData(_) | DecodeResult::Finished => {
                    return Err(StoreError::Damaged("a segment has no metadata".to_owned()));
                }
            };
        }
    }

    /// Returns the bytes of pages, after they have been compared with the checksums that the metadata list.
    pub(super) async fn pages(&self, metadata: &ParquetMetaData, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.tail.is_none() {
            // A file of before there were checksums, which was read whole and compared with its digest.
            return self.fetch(ranges).await;
        }
        let sums = sums_of(metadata)?;
        let blocks = sums.around(ranges)?;
        let data = self.fetch(&blocks).await?;
        blocks.iter().zip(&data).try_for_each(|(at, data)| sums.check(at, data))?;
        Ok(cut_out(ranges, &blocks, &data))
    }

    /// Compares pages with the checksums that the metadata list, some megabytes at a time and as long as `go_on` says.
    /// Nothing is decoded, and nothing is kept.
    pub(super) async fn check(
        &self,
        metadata: &ParquetMetaData,
        ranges: &[Range<u64>],
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        if self.tail.is_none() {
            return Ok(());
        }
        let sums = sums_of(metadata)?;
        for blocks in sums.in_lots(sums.around(ranges)?, CHECKED_AT_ONCE) {
            if !go_on() {
                return Ok(());
            }
            let data = self.fetch(&blocks).await?;
            blocks.iter().zip(&data).try_for_each(|(at, data)| sums.check(at, data))?;
        }
        Ok(())
    }

    async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Asked for, it would look as if the objects were away, and be tried again and again.
        if ranges.iter().any(|range| range.start > range.end || range.end > self.bytes) {
            return Err(StoreError::Damaged("a segment names bytes beyond its end".to_owned()));
        }
        match self.objects.store.get_ranges(&self.location, ranges).await {
            Ok(parts) => Ok(parts),
            Err(object_store::Error::NotFound { .. }) => Err(StoreError::missing_object(self.location.as_ref())),
            Err(error) => Err(if self.is_cut_short().await {
                StoreError::Damaged("a segment is shorter than its list says".to_owned())
            } else {
                error.into()
            }),
        }
    }

    /// Returns whether the object has lost its end. Where nobody can say, it has not.
    async fn is_cut_short(&self) -> bool {
        self.objects.store.head(&self.location).await.is_ok_and(|found| found.size < self.bytes)
    }
}

/// Returns the checksums that the metadata list.
fn sums_of(metadata: &ParquetMetaData) -> Result<BlockSums<'_>> {
    let text = sums_text(metadata.file_metadata().key_value_metadata());
    let none = || StoreError::Damaged("a segment has no list of checksums".to_owned());
    BlockSums::read(text.ok_or_else(none)?)
}

/// Runs the Parquet library on bytes that may be damaged. It was written for files that one trusts: where the bytes
/// contradict each other it can panic, which is damage of this file and of nothing else. What it has worked on is dropped.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(StoreError::Damaged("a segment: its bytes contradict each other".to_owned())))
}
