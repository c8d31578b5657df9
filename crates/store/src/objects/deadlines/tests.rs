//! Tests of `deadlines.rs`.

use std::sync::atomic::{AtomicBool, Ordering};

use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use runtime::Instant;

use super::*;
use crate::error::StoreError;
use crate::objects::Objects;

/// Objects in memory that do not answer while they are to be silent.
#[derive(Debug, Default)]
struct Mute {
    inner: InMemory,
    is_silent: AtomicBool,
    /// Bodies begin, and do not come to their end.
    stops_in_bodies: AtomicBool,
}

impl Mute {
    async fn speak(&self) {
        if self.is_silent.load(Ordering::SeqCst) {
            futures::future::pending::<()>().await;
        }
    }
}

impl std::fmt::Display for Mute {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("mute")
    }
}

#[async_trait]
impl ObjectStore for Mute {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.speak().await;
        let mut found = self.inner.get_opts(location, options).await?;
        if self.stops_in_bodies.load(Ordering::SeqCst) {
            let begin = stream::iter([Ok(Bytes::from_static(b"b"))]);
            found.payload = GetResultPayload::Stream(begin.chain(stream::pending()).boxed());
        }
        Ok(found)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

async fn mute_store() -> (Arc<Mute>, Objects) {
    let mute = Arc::new(Mute::default());
    mute.inner.put(&Path::from("a"), "bytes".into()).await.expect("written");
    (mute.clone(), Objects::of_test(mute))
}

fn is_away<T>(answer: &crate::Result<T>) -> bool {
    matches!(answer, Err(StoreError::Unavailable(text)) if text.contains("does not answer"))
}

#[tokio::test(start_paused = true)]
async fn silent_store_holds_the_first_reader_for_seconds_and_the_next_not_at_all() {
    let (mute, objects) = mute_store().await;
    assert_eq!(objects.size("a").await.expect("there"), Some(5));
    mute.is_silent.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    assert!(is_away(&objects.size("a").await));
    assert_eq!(begun.elapsed(), HEAD);
    for _ in 0..1000 {
        assert!(is_away(&objects.read("a", None).await));
    }
    assert_eq!(begun.elapsed(), HEAD, "the next ones do not wait");
    // After a while one tries, and the others go on failing at once meanwhile.
    runtime::sleep(Duration::from_secs(2)).await;
    let (tried, other) = futures::join!(objects.size("a"), objects.size("a"));
    assert!(is_away(&tried) && is_away(&other));
    assert_eq!(begun.elapsed(), HEAD + Duration::from_secs(2) + HEAD);

    mute.is_silent.store(false, Ordering::SeqCst);
    runtime::sleep(Duration::from_secs(2)).await;
    assert_eq!(objects.size("a").await.expect("there"), Some(5));
    assert_eq!(objects.size("a").await.expect("there"), Some(5), "one answer is enough");
}

#[tokio::test(start_paused = true)]
async fn probe_of_a_silent_store_answers_within_a_second() {
    let (mute, objects) = mute_store().await;
    objects.check().await.expect("there");
    mute.is_silent.store(true, Ordering::SeqCst);
    // It is slow as far as one can know, since it has answered just now.
    let begun = Instant::now();
    objects.check().await.expect("slow");
    assert!(is_away(&objects.size("a").await));
    assert!(is_away(&objects.check().await));
    assert!(begun.elapsed() < HEAD + 2 * Duration::from_secs(1), "{:?}", begun.elapsed());
    runtime::sleep(Duration::from_secs(20)).await;
    let begun = Instant::now();
    assert!(is_away(&objects.check().await));
    assert!(begun.elapsed() <= Duration::from_secs(1));
}

/// A large range may take long, and one of which nothing comes may not.
#[tokio::test(start_paused = true)]
async fn range_that_stops_coming_holds_its_reader_for_seconds() {
    let mute = Arc::new(Mute::default());
    let path = Path::from("large");
    mute.inner.put(&path, vec![7; 16 << 20].into()).await.expect("written");
    let store = Deadlines::new(mute.clone(), Arc::default(), Arc::default(), HEAD);
    let ranges = [0..10, (8 << 20)..(16 << 20)];
    let read = store.get_ranges(&path, &ranges).await.expect("there");
    assert_eq!(read.iter().map(Bytes::len).collect::<Vec<_>>(), [10, 8 << 20]);
    mute.stops_in_bodies.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    assert!(store.get_ranges(&path, &ranges).await.is_err());
    assert_eq!(begun.elapsed(), HEAD);
    for _ in 0..1000 {
        assert!(store.get_ranges(&path, &ranges).await.is_err());
    }
    assert_eq!(begun.elapsed(), HEAD, "the next ones do not wait");
    // After a while one tries, and hears the head of an answer; the others go on failing at once.
    runtime::sleep(Duration::from_secs(2)).await;
    let (tried, other) = futures::join!(store.get_ranges(&path, &ranges), async {
        runtime::sleep(Duration::from_secs(1)).await;
        let asked = Instant::now();
        assert!(store.get_ranges(&path, &ranges).await.is_err());
        asked.elapsed()
    });
    assert!(tried.is_err());
    assert_eq!(other, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn body_that_stops_coming_is_broken_off() {
    let stuck = stream::iter([Ok(Bytes::from_static(b"x"))]).chain(stream::pending()).boxed();
    let mut pieces = without_pauses(stuck, Arc::default(), PAUSE);
    let begun = Instant::now();
    assert!(pieces.next().await.is_some_and(|piece| piece.is_ok()));
    assert!(pieces.next().await.is_some_and(|piece| piece.is_err()));
    assert!(pieces.next().await.is_none());
    assert_eq!(begun.elapsed(), PAUSE);
}
