//! The task that writes an archive: begins a try, writes, finishes or gives the export up.

use std::time::Duration;

use store::{ExportJob, ExportState, JobLease, StoreError};

use super::content::write_archive;
use super::request::ExportRequest;
use crate::core::error::{PlatformError, Result};
use crate::jobs::{Ended, Job, Run, Spec, Turn};

/// How long an export is tried while the stores are away.
const GIVEN_UP_AFTER_MS: i64 = 24 * 3_600_000;

/// Writes the archive of an export.
pub(crate) struct Export;

impl Job for Export {
    const SPEC: Spec = Spec { at_once: 2, longest: Duration::from_hours(24), ..Spec::new("export", Turn::Enqueued) };

    fn parse(_subject: &str) -> Option<Self> {
        Some(Export)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let health = run.platform.core.health();
        let Some(job) = health.try_export(&run.lease, run.platform.core.now_ms()).await? else {
            return Err(StoreError::LeaseLost.into());
        };
        if job.state != ExportState::InProgress {
            return Ok(Ended::Done);
        }
        match write(&run, &job).await {
            Ok((path, bytes)) => finish(&run, &path, bytes).await,
            Err(error) => give_up_or_try_again(&run, &job, error).await,
        }
    }

    async fn given_up(run: Run) -> Result<()> {
        give_up(&run, reason(None)).await
    }
}

/// Writes the archive; returns its path and size.
async fn write(run: &Run, job: &ExportJob) -> Result<(String, u64)> {
    let platform = &run.platform;
    let request = ExportRequest::from_json(&job.request)?;
    let JobLease { token, .. } = run.lease;
    let random = u64::from_be_bytes(platform.core.random_bytes());
    let folder = store::export_folder(&job.patient);
    let path = format!("{folder}/{}-{token:03}-{random:016x}.zip", job.id);
    if !platform.core.health().place_export(&run.lease, &path).await? {
        return Err(StoreError::LeaseLost.into());
    }
    let interruption = || run.check();
    let bytes = write_archive(platform, platform.core.objects(), &path, &job.patient, &request, &interruption).await?;
    Ok((path, bytes))
}

async fn finish(run: &Run, path: &str, bytes: u64) -> Result<Ended> {
    let platform = &run.platform;
    if platform.core.health().finish_export(&run.lease, bytes, platform.core.now_ms()).await? {
        tracing::info!(export = %run.lease.subject, bytes, "an export is done");
        return Ok(Ended::Committed);
    }
    platform.core.objects().delete(path).await?;
    Err(StoreError::LeaseLost.into())
}

async fn give_up_or_try_again(run: &Run, job: &ExportJob, error: PlatformError) -> Result<Ended> {
    let passes = matches!(error, PlatformError::Store(StoreError::Unavailable(_) | StoreError::LeaseLost));
    if passes && run.platform.core.now_ms() - job.created_ms < GIVEN_UP_AFTER_MS {
        return Err(error);
    }
    tracing::error!(export = %job.id, %error, "an export was given up");
    give_up(run, reason(Some(&error))).await?;
    Ok(Ended::Committed)
}

async fn give_up(run: &Run, reason: &str) -> Result<()> {
    run.platform.core.health().give_export_up(&run.lease, reason, run.platform.core.now_ms()).await?;
    Ok(())
}

/// Why an export was given up, for whoever asked; the log says more.
fn reason(error: Option<&PlatformError>) -> &'static str {
    match error {
        Some(PlatformError::Store(StoreError::Damaged(_))) => {
            "stored data could not be read; the operator has been told"
        }
        Some(PlatformError::Store(StoreError::Unavailable(_))) => "the storage was away for too long",
        _ => "the archive could not be written; the operator has been told",
    }
}
