//! The worker that writes archives: claims a job, holds its lease while it writes, finishes or puts it off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::{ExportClaim, StoreError};
use tokio::sync::watch;

use super::content::write_archive;
use super::request::ExportRequest;
use crate::environment::Platform;
use crate::error::{PlatformError, Result};

/// How long a claim holds without being prolonged.
const LEASE_MS: i64 = 60_000;
/// How often it is prolonged.
const PROLONG: Duration = Duration::from_secs(15);
/// How often the worker looks for jobs when nobody rings.
const POLL: Duration = Duration::from_secs(2);
/// A job that could not be done is tried again after this, and after twice as long each further time.
const FIRST_RETRY_MS: i64 = 2_000;
/// The longest time between two tries.
const LONGEST_RETRY_MS: i64 = 5 * 60_000;
/// How long a job is tried while the stores are away.
const GIVEN_UP_AFTER_MS: i64 = 24 * 3_600_000;

/// Writes the archives of exports until it is stopped. Several may run at once, on one node or on many.
#[derive(Debug)]
pub struct ExportWorker {
    platform: Platform,
}

impl ExportWorker {
    /// A worker.
    pub fn new(platform: Platform) -> Self {
        ExportWorker { platform }
    }

    /// Works until `stop` becomes true or its sender is gone; a job at hand is given back.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            match self.work_once(&stop).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "the worker could not look for exports"),
            }
            tokio::select! {
                biased;
                changed = stop.changed() => if changed.is_err() { return },
                () = self.platform.export_bell.notified() => {}
                () = runtime::sleep(POLL) => {}
            }
        }
    }

    /// Does all jobs that are ready; answers how many were worked on.
    pub async fn drain(&self) -> Result<usize> {
        let (_running, stop) = watch::channel(false);
        let mut worked = 0;
        while self.work_once(&stop).await? {
            worked += 1;
        }
        Ok(worked)
    }

    /// Works on the job that has waited longest; false when there is none.
    async fn work_once(&self, stop: &watch::Receiver<bool>) -> Result<bool> {
        let claim = self.platform.health.claim_export(self.platform.now_ms(), LEASE_MS).await?;
        let Some(claim) = claim else { return Ok(false) };
        let lost = Arc::new(AtomicBool::new(false));
        let holding = runtime::spawn("hold an export", hold(self.platform.clone(), claim.clone(), lost.clone()));
        let written = self.write(&claim, stop, &lost).await;
        holding.abort();
        self.conclude(&claim, written).await?;
        Ok(true)
    }

    /// Writes the archive of a job; answers its path and size.
    async fn write(
        &self,
        claim: &ExportClaim,
        stop: &watch::Receiver<bool>,
        lost: &AtomicBool,
    ) -> Result<(String, u64)> {
        let request = ExportRequest::from_json(&claim.job.request)?;
        let patient = &claim.job.patient;
        let random = u64::from_be_bytes(self.platform.random_bytes());
        let folder = store::export_folder(patient);
        let path = format!("{folder}/{}-{:03}-{random:016x}.zip", claim.job.id, claim.token);
        if !self.platform.health.place_export(claim, &path).await? {
            return Err(StoreError::LeaseLost.into());
        }
        let interruption = || match (lost.load(Ordering::Relaxed), *stop.borrow()) {
            (false, false) => Ok(()),
            _ => Err(PlatformError::Store(StoreError::LeaseLost)),
        };
        let bytes =
            write_archive(&self.platform, &self.platform.objects, &path, patient, &request, &interruption).await?;
        Ok((path, bytes))
    }

    async fn conclude(&self, claim: &ExportClaim, written: Result<(String, u64)>) -> Result<()> {
        let health = &self.platform.health;
        let now_ms = self.platform.now_ms();
        let error = match written {
            Ok((path, bytes)) => {
                if health.finish_export(claim, bytes, now_ms).await? {
                    tracing::info!(export = %claim.job.id, bytes, "an export is done");
                } else {
                    self.platform.objects.delete(&path).await?;
                }
                return Ok(());
            }
            Err(error) => error,
        };
        let passes = matches!(error, PlatformError::Store(StoreError::Unavailable(_) | StoreError::LeaseLost));
        if passes && now_ms - claim.job.created_ms < GIVEN_UP_AFTER_MS {
            let retry_ms = retry_ms(claim.job.attempts);
            tracing::warn!(export = %claim.job.id, %error, retry_ms, "an export could not be written and waits");
            health.hold_export(claim, now_ms + retry_ms).await?;
            return Ok(());
        }
        tracing::error!(export = %claim.job.id, %error, "an export was given up");
        health.give_export_up(claim, reason(&error), now_ms).await?;
        Ok(())
    }
}

/// Why an export was given up, for whoever asked; the log says more.
fn reason(error: &PlatformError) -> &'static str {
    match error {
        PlatformError::Store(StoreError::Damaged(_)) => "stored data could not be read; the operator has been told",
        PlatformError::Store(StoreError::Unavailable(_)) => "the storage was away for too long",
        _ => "the archive could not be written; the operator has been told",
    }
}

/// Prolongs the lease of a job until it is lost or the task is ended.
async fn hold(platform: Platform, claim: ExportClaim, lost: Arc<AtomicBool>) {
    loop {
        runtime::sleep(PROLONG).await;
        match platform.health.hold_export(&claim, platform.now_ms() + LEASE_MS).await {
            Ok(true) => {}
            Ok(false) => return lost.store(true, Ordering::Relaxed),
            // The lease may run out; finishing finds that out.
            Err(error) => tracing::warn!(%error, "the lease of an export could not be prolonged"),
        }
    }
}

fn retry_ms(attempts: i64) -> i64 {
    let doublings = attempts.saturating_sub(1).clamp(0, 20);
    (FIRST_RETRY_MS << doublings).min(LONGEST_RETRY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_grows_up_to_a_limit() {
        assert_eq!([1, 2, 3, 60].map(retry_ms), [2_000, 4_000, 8_000, LONGEST_RETRY_MS]);
    }
}
