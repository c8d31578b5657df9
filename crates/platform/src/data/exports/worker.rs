//! Writing an archive: begins a try, writes, finishes or gives the export up.

use store::{ExportJob, ExportState, StoreError};

use super::content::{Place, write_archive};
use super::request::ExportRequest;
use crate::core::access::Readable;
use crate::core::error::{PlatformError, Result};
use crate::core::work::{Ended, Work};
use crate::data::Data;

/// Time for which an export is tried while the stores are away.
const GIVEN_UP_AFTER_MS: i64 = 24 * 3_600_000;

impl Data {
    /// Writes the archive of the export that is held.
    pub(crate) async fn write_export(&self, work: &Work) -> Result<Ended> {
        let Some(job) = self.core.health().try_export(&work.lease, self.core.now_ms()).await? else {
            return Err(StoreError::LeaseLost.into());
        };
        if job.state != ExportState::InProgress {
            return Ok(Ended::Done);
        }
        match self.write_archive_of(work, &job).await {
            Ok((path, bytes)) => self.finish_export(work, &path, bytes).await,
            Err(error) => self.give_up_or_try_again(work, &job, error).await,
        }
    }

    /// Gives the export that is held up, because of an error or because it was put aside.
    pub(crate) async fn give_export_up(&self, work: &Work, error: Option<&PlatformError>) -> Result<()> {
        if self.core.health().give_export_up(&work.lease, reason(error), self.core.now_ms()).await? {
            self.exports.failed();
        }
        Ok(())
    }

    /// Writes the archive; returns its path and size.
    async fn write_archive_of(&self, work: &Work, job: &ExportJob) -> Result<(String, u64)> {
        let request = ExportRequest::from_json(&job.request)?;
        let token = work.lease.token;
        let random = u64::from_be_bytes(self.core.random_bytes());
        let folder = store::export_folder(&job.patient);
        // A path of its own for each try: a node that lost its lease and still writes cannot touch the newer archive.
        let path = format!("{folder}/{}-{token:03}-{random:016x}.zip", job.id);
        // Noted before the first byte, so that what a crash leaves is found and deleted.
        if !self.core.health().place_export(&work.lease, &path).await? {
            return Err(StoreError::LeaseLost.into());
        }
        let interruption = || work.check();
        let place = Place { path: &path, patient: &Readable::for_export(job) };
        let bytes = write_archive(&self.core, place, &request, &interruption).await?;
        Ok((path, bytes))
    }

    async fn finish_export(&self, work: &Work, path: &str, bytes: u64) -> Result<Ended> {
        if self.core.health().finish_export(&work.lease, bytes, self.core.now_ms()).await? {
            self.exports.done(bytes);
            tracing::info!(export = %work.lease.subject, bytes, "an export is done");
            return Ok(Ended::Committed);
        }
        // The lease was lost: another node writes its own archive, and this one belongs to nobody.
        self.core.objects().delete(path).await?;
        Err(StoreError::LeaseLost.into())
    }

    async fn give_up_or_try_again(&self, work: &Work, job: &ExportJob, error: PlatformError) -> Result<Ended> {
        // Everything else would fail the same way at each try.
        let passes = matches!(error, PlatformError::Store(StoreError::Unavailable(_) | StoreError::LeaseLost));
        if passes && self.core.now_ms() - job.created_ms < GIVEN_UP_AFTER_MS {
            return Err(error);
        }
        tracing::error!(export = %job.id, %error, "an export was given up");
        self.give_export_up(work, Some(&error)).await?;
        Ok(Ended::Committed)
    }
}

/// Returns why an export was given up, for the account that asked; the log says more.
fn reason(error: Option<&PlatformError>) -> &'static str {
    match error {
        Some(PlatformError::Store(error)) if error.is_damage() => {
            "stored data could not be read; the operator has been notified"
        }
        Some(PlatformError::Store(StoreError::Unavailable(_))) => "the storage was away for too long",
        _ => "the archive could not be written; the operator has been notified",
    }
}
