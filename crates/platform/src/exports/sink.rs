//! An archive on its way to the object store: written on a thread that may block, sent as it grows.

use bytes::Bytes;
use store::{Objects, Upload};

use super::archive::Archive;
use super::request::ArchiveCompression;
use crate::error::{PlatformError, Result};

/// Bytes after which what is written is handed to the upload.
const HANDED_OVER_AT: usize = 1 << 20;

/// An archive that is being written and sent.
pub(super) struct Sink {
    /// None after an error.
    archive: Option<Box<Archive>>,
    upload: Upload,
    waiting: Vec<u8>,
}

impl Sink {
    pub(super) fn new(objects: &Objects, path: &str, compression: ArchiveCompression) -> Result<Self> {
        let archive = Some(Box::new(Archive::new(compression)));
        Ok(Sink { archive, upload: objects.upload(path)?, waiting: Vec::new() })
    }

    /// Writes to the archive, then sends what it came to.
    pub(super) async fn write<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Archive) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut archive = self.archive.take().ok_or_else(|| failed("it has failed before"))?;
        let mut waiting = std::mem::take(&mut self.waiting);
        let written = tokio::task::spawn_blocking(move || {
            let done = work(&mut archive)?;
            if waiting.is_empty() {
                waiting = archive.take();
            } else {
                waiting.extend(archive.take());
            }
            Ok::<_, PlatformError>((archive, waiting, done))
        });
        let (archive, waiting, done) = written.await.map_err(failed)??;
        self.archive = Some(archive);
        if waiting.len() >= HANDED_OVER_AT {
            self.upload.put(Bytes::from(waiting)).await?;
        } else {
            self.waiting = waiting;
        }
        Ok(done)
    }

    /// Ends the archive; answers its size. When this answers, the object is durable.
    pub(super) async fn finish(mut self) -> Result<u64> {
        let archive = self.archive.take().ok_or_else(|| failed("it has failed before"))?;
        let rest = tokio::task::spawn_blocking(move || archive.finish()).await.map_err(failed)??;
        self.upload.put(Bytes::from(self.waiting)).await?;
        self.upload.put(Bytes::from(rest)).await?;
        Ok(self.upload.finish().await?)
    }

    /// Gives up, and removes what has been sent.
    pub(super) async fn abort(self) {
        if let Err(error) = self.upload.abort().await {
            // The path is in the job and becomes a dead object.
            tracing::debug!(%error, "a half-written archive could not be removed");
        }
    }
}

fn failed(error: impl std::fmt::Display) -> PlatformError {
    PlatformError::Internal(format!("writing an archive: {error}"))
}
