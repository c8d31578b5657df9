//! `pulseward doctor`: is everything there, is it what was written, how fast does it grow.

use clap::{ArgMatches, Args};
use jiff::SignedDuration;
use platform::{LOST_AFTER_MS, Orphans, Platform, Storage, Verification};
use serde_json::{Value, json};
use store::PutAside;

use crate::commands::simulate::progress_bar;
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::values::parse_span;
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Less room than for so many days of growth is worth a warning.
const ROOM_FOR_DAYS: u64 = 30;

/// Check the stores; ends with status 1 when something is wrong
#[derive(Args)]
pub struct Doctor {
    /// Read every segment and compare it with the checksum in the catalog, and follow the chain of the audit log
    #[arg(long)]
    verify: bool,
    /// Delete objects that no row knows
    #[arg(long)]
    sweep: bool,
    /// Try background work again that was put aside after failures
    #[arg(long)]
    retry: bool,
    /// How old an object that no row knows must be to be taken for lost; less than a day only while nothing runs
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    lost_after: Option<SignedDuration>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Doctor {
    /// Looks, prints what was found, and fails when something is wrong.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store.clone(), matches, file.as_deref())?;
        wiring::with_stores(&store, Expected::Store, async |platform| self.examine(platform).await).await
    }

    async fn examine(&self, platform: &Platform) -> Result<(), Failure> {
        let mut problems: Vec<String> = Vec::new();
        if let Err(error) = platform.upkeep.check_stores().await {
            problems.push(error.to_string());
        }
        // Also after a problem was found: an operator wants the whole picture in one run.
        let storage = platform.upkeep.storage().await?;
        let free = platform.upkeep.object_folder().and_then(free_bytes);
        let full_in_days = free.and_then(|free| free.checked_div(storage.all.bytes_per_day));
        let mut warnings: Vec<String> = full_in_days.and_then(growth_warning).into_iter().collect();
        let orphans = self.orphans(platform).await?;
        // A warning and no problem: uploads that were cut off leave some, and they hurt nobody.
        if !orphans.paths.is_empty() && !self.sweep {
            warnings.push(format!("{} objects that no row knows; --sweep deletes them", orphans.paths.len()));
        }
        if self.retry {
            platform.upkeep.take_jobs_up().await?;
        }
        let put_aside = platform.upkeep.jobs_put_aside().await?;
        problems.extend(put_aside.iter().map(problem_of_job));
        let mut report = json!({
            "bytes": storage.all.bytes,
            "bytes_per_day": storage.all.bytes_per_day,
            "free_bytes": free,
            "full_in_days": full_in_days,
            "groups": storage.groups.iter().map(|(code, group)| group_json(code.as_str(), group)).collect::<Vec<Value>>(),
            "orphans": orphans.paths.len(),
            "orphan_bytes": orphans.bytes,
            "put_aside": put_aside.iter().map(job_json).collect::<Vec<Value>>(),
        });
        if self.verify {
            let verified = verify(platform).await?;
            problems.extend(verified.missing.iter().map(|path| format!("{path} is not there")));
            problems.extend(verified.damaged.iter().map(|path| format!("{path} is not what was written")));
            report["segments"] = verified.segments.into();
            report["segment_bytes"] = verified.bytes.into();
            report["missing"] = json!(verified.missing);
            report["damaged"] = json!(verified.damaged);
            let (entries, broken) = platform.upkeep.verify_audit().await?;
            problems.extend(broken.map(|entry| format!("the audit log is broken at entry {entry}")));
            report["audit_entries"] = entries.into();
        }
        report["warnings"] = json!(warnings);
        report["problems"] = json!(problems);
        report["ok"] = problems.is_empty().into();
        // Before the failure, which only repeats the problems: programs read the report in either case.
        self.output.print(&report)?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Failure::Other(format!("{count} problems: {}", problems.join("; ")))),
        }
    }

    async fn orphans(&self, platform: &Platform) -> Result<Orphans, Failure> {
        let lost_after_ms = self.lost_after.map_or(LOST_AFTER_MS, |span| span.as_millis() as i64);
        // Younger ones may belong to a row that is about to be written.
        let before_ms = platform.core.now_ms() - lost_after_ms;
        let orphans = platform.upkeep.orphans(before_ms).await?;
        if self.sweep {
            platform.upkeep.sweep_orphans(before_ms).await?;
        }
        Ok(orphans)
    }
}

fn problem_of_job(job: &PutAside) -> String {
    let PutAside { kind, subject, failures, error, .. } = job;
    format!("job {kind} {subject} was put aside after {} failed runs: {error}; --retry tries it again", failures.runs)
}

fn job_json(job: &PutAside) -> Value {
    json!({
        "kind": job.kind,
        "subject": job.subject,
        "failed_runs": job.failures.runs,
        "panics": job.failures.panics,
        "error": job.error,
        "failed": job.failed_ms,
        "version": job.version,
    })
}

async fn verify(platform: &Platform) -> Result<Verification, Failure> {
    let bar = progress_bar();
    bar.set_message("verifying");
    let verified = platform.upkeep.verify_segments(|segments| bar.set_position(segments)).await?;
    bar.finish_and_clear();
    Ok(verified)
}

fn group_json(code: &str, group: &Storage) -> Value {
    json!({
        "code": code,
        "patients": group.patients,
        "rows": group.rows,
        "bytes": group.bytes,
        "bytes_per_day": group.bytes_per_day,
    })
}

/// Warns when the disk of the objects has room for a few weeks only.
fn growth_warning(full_in_days: u64) -> Option<String> {
    (full_in_days < ROOM_FOR_DAYS).then(|| {
        format!("the disk of the objects is full in about {full_in_days} days; a retention rule in the groups' settings helps")
    })
}

fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_less_than_a_month_is_worth_a_warning() {
        assert_eq!(growth_warning(ROOM_FOR_DAYS), None);
        for days in [0, ROOM_FOR_DAYS - 1] {
            assert!(growth_warning(days).unwrap().contains(&format!("full in about {days} days")));
        }
    }
}
