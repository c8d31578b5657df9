//! An archive on its way to the object store: written on a thread that may block, sent as it grows.

use bytes::Bytes;
use store::{Objects, Upload};

use super::archive::Archive;
use super::request::ArchiveCompression;
use crate::core::error::{PlatformError, Result};

/// An archive that is being written and sent.
pub(super) struct Sink {
    /// None after an error.
    archive: Option<Box<Archive>>,
    upload: Upload,
}

impl Sink {
    pub(super) fn new(objects: &Objects, path: &str, compression: ArchiveCompression) -> Result<Self> {
        let archive = Some(Box::new(Archive::new(compression)));
        Ok(Sink { archive, upload: objects.upload(path)? })
    }

    /// Writes to the archive, then sends what it came to.
    pub(super) async fn write<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Archive) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut archive = self.archive.take().ok_or_else(|| failed("it has failed before"))?;
        // The archive moves to a thread that may block: deflating a piece takes several milliseconds.
        let written = runtime::blocking("write an archive", move || {
            let done = work(&mut archive)?;
            let piece = archive.take_piece();
            Ok::<_, PlatformError>((archive, piece, done))
        });
        let (archive, piece, done) = written.await.map_err(failed)??;
        self.archive = Some(archive);
        if let Some(piece) = piece {
            self.upload.put(Bytes::from(piece)).await?;
        }
        Ok(done)
    }

    /// Ends the archive; answers its size. When this answers, the object is durable.
    pub(super) async fn finish(mut self) -> Result<u64> {
        let archive = self.archive.take().ok_or_else(|| failed("it has failed before"))?;
        let rest = runtime::blocking("end an archive", move || archive.finish()).await.map_err(failed)??;
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
