//! How long each operation on objects may take, in one place: whatever is asked of the store of objects goes through
//! [`Deadlines`]. A reader answers 503 within five seconds, and a worker has its turn back.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, UploadPart, coalesce_ranges, collect_bytes,
};

use super::mark::Mark;
use super::silence::Silence;

/// Until the head of an answer of a bucket: somebody waits for it, who is to hear within five seconds that it does not
/// come.
pub(super) const HEAD: Duration = Duration::from_secs(4);
/// The same of a folder, whose files are opened by threads that may be busy: a disk is slow or fails, but is not silent.
pub(super) const HEAD_OF_FILE: Duration = Duration::from_secs(30);
/// What ranges may take beyond that, for each byte at a rate that every disk and line has.
const SLOWEST_BYTES_PER_S: u64 = 256 << 10;
/// Between two pieces of a body. Longer than [`HEAD`]: what was sent already would be lost.
const PAUSE: Duration = Duration::from_secs(10);
/// For an object or a part of one on its way there: 16 MiB over a slow line. Background work waits for it.
const PART: Duration = Duration::from_mins(2);
/// For joining the parts of a large object, which stores may copy.
const JOINING: Duration = Duration::from_mins(5);
/// For the whole of a page of a listing.
const LISTED_PAGE: Duration = Duration::from_secs(30);
/// For the probe of `/readyz`, which answers within a second.
pub(super) const LONGEST_PROBE: Duration = Duration::from_millis(800);

/// A store whose operations end in time.
#[derive(Debug)]
pub(super) struct Deadlines {
    inner: Arc<dyn ObjectStore>,
    silence: Arc<Silence>,
    mark: Arc<Mark>,
    /// Until the head of an answer.
    head: Duration,
}

/// What an operation answers that was not answered in time.
#[derive(Debug, thiserror::Error)]
#[error("the object store does not answer")]
struct NoAnswer;

impl Deadlines {
    /// `head` is [`HEAD`] or [`HEAD_OF_FILE`].
    pub fn new(inner: Arc<dyn ObjectStore>, silence: Arc<Silence>, mark: Arc<Mark>, head: Duration) -> Self {
        Deadlines { inner, silence, mark, head }
    }

    /// Asks for something that a reader waits for.
    async fn asked<T>(&self, limit: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
        if !self.silence.may_ask() {
            return Err(no_answer());
        }
        match runtime::timeout(limit, answer).await {
            Ok(answer) if !answer.as_ref().is_err_and(is_no_answer) => {
                self.silence.answered();
                answer
            }
            _ => {
                self.silence.waited_in_vain();
                Err(no_answer())
            }
        }
    }

    /// Reads a range whose bytes come without a pause of more than a head may take: who waits for it has not been
    /// answered anything yet.
    async fn range(&self, location: &Path, range: Range<u64>) -> Result<Bytes> {
        let size = range.end.saturating_sub(range.start);
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let read = async {
            let found = limited(self.head, self.inner.get_opts(location, options)).await?;
            let pieces = without_pauses(found.into_stream(), self.silence.clone(), self.head);
            collect_bytes(pieces, Some(size)).await
        };
        // The answer is there with its last byte: of a store that stops in the middle of each, everybody would wait for
        // the middle.
        let read = self.found(self.longest(size), read).await?;
        if read.len() as u64 == size {
            return Ok(read);
        }
        let source = format!("{location} has {} bytes of {size} that were asked for", read.len()).into();
        Err(object_store::Error::Generic { store: "objects", source })
    }

    /// The longest time in which so many bytes come.
    fn longest(&self, bytes: u64) -> Duration {
        self.head + Duration::from_secs(bytes / SLOWEST_BYTES_PER_S)
    }

    /// Does the same, of a folder that may be another than it was: what is not there is then away, not deleted.
    async fn found<T>(&self, limit: Duration, answer: impl Future<Output = Result<T>>) -> Result<T> {
        match self.asked(limit, answer).await {
            Err(gone @ object_store::Error::NotFound { .. }) => Err(self.mark.check().await.err().unwrap_or(gone)),
            answer => answer,
        }
    }
}

impl std::fmt::Display for Deadlines {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(formatter)
    }
}

#[async_trait]
impl ObjectStore for Deadlines {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.mark.check().await?;
        let put = limited(PART, self.inner.put_opts(location, payload, options)).await;
        if put.is_ok() {
            self.silence.answered();
        }
        put
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.mark.check().await?;
        let inner = limited(PART, self.inner.put_multipart_opts(location, options)).await?;
        Ok(Box::new(LimitedUpload(inner)))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.found(self.head, self.inner.get_opts(location, options)).await?;
        if let GetResultPayload::Stream(pieces) = found.payload {
            found.payload = GetResultPayload::Stream(without_pauses(pieces, self.silence.clone(), PAUSE));
        }
        Ok(found)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Of a bucket each comes as a stream, so that one that is silent is another thing than one that is slow.
        if self.head == HEAD {
            let range = |range| self.range(location, range);
            return coalesce_ranges(ranges, range, OBJECT_STORE_COALESCE_DEFAULT).await;
        }
        let bytes: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        self.found(self.longest(bytes), self.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        limited_items(self.inner.delete_stream(locations))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (listed, mark) = (self.inner.list(prefix), self.mark.clone());
        // An empty folder where a disk was mounted looks as if every object were lost.
        let checked = stream::once(async move { mark.check().await.map(|()| listed) });
        limited_items(checked.flat_map(|listed| match listed {
            Ok(listed) => listed,
            Err(away) => stream::once(async { Err(away) }).boxed(),
        }))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        limited(LISTED_PAGE, self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.mark.check().await?;
        limited(JOINING, self.inner.copy_opts(from, to, options)).await
    }
}

/// An upload in parts whose parts end in time.
#[derive(Debug)]
struct LimitedUpload(Box<dyn MultipartUpload>);

#[async_trait]
impl MultipartUpload for LimitedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        limited(PART, self.0.put_part(data)).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        limited(JOINING, self.0.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        limited(PART, self.0.abort()).await
    }
}

async fn limited<T>(limit: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime::timeout(limit, work).await.unwrap_or_else(|_| Err(no_answer()))
}

/// Ends with an error when an item takes too long.
fn limited_items<T: Send + 'static>(
    items: impl stream::Stream<Item = Result<T>> + Send + 'static,
) -> BoxStream<'static, Result<T>> {
    let next = async |items: Option<BoxStream<'static, Result<T>>>| {
        let mut items = items?;
        match runtime::timeout(LISTED_PAGE, items.next()).await {
            Ok(item) => item.map(|item| (item, Some(items))),
            Err(_) => Some((Err(no_answer()), None)),
        }
    };
    stream::unfold(Some(items.boxed()), next).boxed()
}

/// Returns a body that is broken off when nothing of it comes for too long. Only waiting for the store counts: a slow
/// client does not ask for the next piece.
fn without_pauses(
    pieces: BoxStream<'static, Result<Bytes>>,
    silence: Arc<Silence>,
    longest: Duration,
) -> BoxStream<'static, Result<Bytes>> {
    let next = move |(pieces, silence): (Option<BoxStream<'static, Result<Bytes>>>, Arc<Silence>)| async move {
        let mut pieces = pieces?;
        let Ok(piece) = runtime::timeout(longest, pieces.next()).await else {
            silence.waited_in_vain();
            return Some((Err(no_answer()), (None, silence)));
        };
        piece.map(|piece| (piece, (Some(pieces), silence)))
    };
    stream::unfold((Some(pieces), silence), next).boxed()
}

/// Returns whether an operation was given up because nothing came.
fn is_no_answer(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::Generic { source, .. } if source.is::<NoAnswer>())
}

fn no_answer() -> object_store::Error {
    object_store::Error::Generic { store: "objects", source: Box::new(NoAnswer) }
}
