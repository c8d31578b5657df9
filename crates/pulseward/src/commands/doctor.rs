//! `pulseward doctor`: is everything there, is it what was written, how fast does it grow.

mod database_files;
mod disks;
mod essentials;
mod problems;

use clap::{ArgMatches, Args};
use jiff::SignedDuration;
use platform::{Damage, LOST_AFTER_MS, Orphans, Platform, Storage, Verification};
use serde_json::{Value, json};
use store::{EngineCheck, HoldId, ObjectFault, PutAside, ScrubState};

use self::problems::Problems;
use crate::commands::audit::report::problems as audit_problems;
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::values::{iso, parse_span};
use crate::wiring::Expected;
use crate::{logging, wiring};

/// Check the stores; ends with status 1 when something is wrong
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is given or not")]
pub struct Doctor {
    /// Read every segment and compare it with the checksum in the catalog, and follow the audit log as `audit verify` does
    #[arg(long)]
    verify: bool,
    /// Delete objects that no row knows
    #[arg(long)]
    sweep: bool,
    /// Try background work again that was put aside after failures
    #[arg(long)]
    retry: bool,
    /// Rewrite database files whose pages have no checksums, so that they have them; uploads wait meanwhile
    #[arg(long)]
    rewrite: bool,
    /// End what keeps objects from being deleted, by the name in `holds`: nobody copies them any more
    #[arg(long, value_name = "HOLD")]
    release: Option<String>,
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
        wiring::with_stores(&store, Expected::Store, async |platform| self.examine(platform, &store).await).await
    }

    async fn examine(&self, platform: &Platform, store: &StoreOptions) -> Result<(), Failure> {
        let mut problems = Problems::default();
        if let Err(error) = platform.upkeep.check_stores().await {
            problems.push(error.to_string());
        }
        let stores_answer = problems.is_empty();
        problems.extend(platform.upkeep.damaged_essentials().await?.iter().map(essentials::problem));
        // Also after a problem was found: an operator wants the whole picture in one run.
        let storage = problems.unless_found("how much is stored", platform.upkeep.storage().await)?;
        let disks = disks::examine(store, platform.upkeep.object_folder(), &storage.all);
        let mut warnings: Vec<String> = disks.full_in_days.and_then(disks::growth_warning).into_iter().collect();
        if self.rewrite {
            platform.upkeep.give_page_checksums().await?;
        }
        let files = platform.upkeep.database_files().await?;
        warnings.extend(database_files::warnings(&files));
        let orphans = problems.unless_found("objects that no row knows", self.orphans(platform).await)?;
        // A warning and no problem: uploads that were cut off leave some, and they hurt nobody.
        if !orphans.paths.is_empty() && !self.sweep {
            warnings.push(format!("{} objects that no row knows; --sweep deletes them", orphans.paths.len()));
        }
        // Without the stores nothing is known of what is missing.
        let mut checkpoint = None;
        if stores_answer {
            problems.unless_found("the list of sealed files", platform.upkeep.look_for_missing().await)?;
            let newest = problems.unless_found("the newest checkpoint", platform.upkeep.newest_checkpoint().await)?;
            checkpoint = newest.newest;
            // No problem: where no node works in the background, that is what an operator wants to hear and not a fault.
            if newest.is_overdue {
                warnings.push("the audit log has grown for a day without a signed checkpoint".to_owned());
            }
        }
        if let Some(hold) = &self.release
            && !platform.upkeep.release_objects(&HoldId::new(hold.as_str())).await?
        {
            return Err(Failure::Usage(format!("nothing of the name {hold} holds objects")));
        }
        let holds = problems.unless_found("the list of holds", platform.upkeep.object_holds().await)?;
        if self.retry {
            platform.upkeep.take_jobs_up().await?;
        }
        let put_aside = problems.unless_found("the list of jobs", platform.upkeep.jobs_put_aside().await)?;
        problems.extend(put_aside.iter().map(problem_of_job));
        problems.extend(database_files::problems(&files));
        let scrub = problems.unless_found("the state of the pass", platform.upkeep.scrub_state().await)?;
        let mut report = json!({
            "bytes": storage.all.bytes,
            "bytes_per_day": storage.all.bytes_per_day,
            "database_bytes": disks.database_bytes,
            "database_bytes_per_day": disks.database_bytes_per_day,
            "database_free_bytes": disks.database_free_bytes,
            "free_bytes": disks.free_bytes,
            "full_in_days": disks.full_in_days,
            "groups": storage.groups.iter().map(|(code, group)| group_json(code.as_str(), group)).collect::<Vec<Value>>(),
            "orphans": orphans.paths.len(),
            "orphan_bytes": orphans.bytes,
            "holds": holds.iter().map(|(id, until_ms)| json!({"id": id, "until": iso(*until_ms)})).collect::<Vec<Value>>(),
            "scrub": scrub.as_ref().map(scrub_json),
            "missing_files": 0,
            "damaged_files": 0,
            "page_checksums": database_files::checksums_json(&files),
            "damaged_logs": database_files::logs_json(&files),
            "time_zone_tables": vitals::zone::tables_version(),
            "audit_checkpoint": checkpoint.map(|(number, at_ms)| {
                let age_s = (platform.core.now_ms() - at_ms).div_euclid(1_000);
                json!({"number": number, "at": iso(at_ms), "age_s": age_s})
            }),
            "put_aside": put_aside.iter().map(job_json).collect::<Vec<Value>>(),
        });
        if self.verify {
            verify_everything(platform, &mut report, (&mut problems, &mut warnings)).await?;
        }
        // After the reading of all files, which notes what it finds.
        let damage = problems.unless_found("the list of damaged files", platform.upkeep.damage().await)?;
        problems.extend(problem_of_files(&damage));
        let rows = problems.unless_found("the list of damaged rows", platform.upkeep.damaged_rows().await)?;
        if let (Some(example), false) = (&rows.example, self.verify) {
            problems
                .push(format!("damaged rows, such as of {example}: {} stretches; --verify names them", rows.stretches));
        }
        report["missing_files"] = damage.count(ObjectFault::Missing).into();
        report["damaged_files"] = damage.count(ObjectFault::Damaged).into();
        report["warnings"] = json!(warnings);
        let problems = problems.into_lines();
        report["problems"] = json!(problems);
        report["ok"] = problems.is_empty().into();
        // Before the failure, which only repeats the problems: programs read the report in either case.
        self.output.print(&report)?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Failure::Other(format!("{count} problems: {}", problems.join("; ")))),
        }
    }

    async fn orphans(&self, platform: &Platform) -> platform::Result<Orphans> {
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

/// Reads everything that is stored, however much of it is damaged, and adds what it found.
async fn verify_everything(
    platform: &Platform,
    report: &mut Value,
    (problems, warnings): (&mut Problems, &mut Vec<String>),
) -> Result<(), Failure> {
    let verified = problems.unless_found("the sealed files", verify(platform).await)?;
    report["segments"] = verified.segments.into();
    report["segment_bytes"] = verified.bytes.into();
    report["missing"] = json!(verified.missing);
    report["damaged"] = json!(verified.damaged);
    problems.extend(verified.unlisted.iter().map(ToString::to_string));
    let audit = platform.upkeep.verify_audit_log(std::iter::empty::<platform::Result<_>>()).await.map(Some);
    let audit = problems.unless_found("the users database: the audit log", audit)?;
    let faults = audit.as_ref().map(audit_problems).unwrap_or_default();
    problems.extend(faults.into_iter().map(|fault| format!("audit log: {fault}")));
    report["audit_entries"] = audit.map(|audit| audit.entries).into();
    let (rows, damaged) = problems.unless_found("rows and pages", verify_rows(platform).await)?;
    report["rows"] = rows.into();
    report["damaged_rows"] = json!(damaged);
    problems.extend(damaged);
    for (database, EngineCheck { findings, unchecked }) in platform.upkeep.engine_checks().await? {
        report["engine_check"][database] = unchecked.is_empty().into();
        problems.extend(findings.into_iter().map(|line| format!("the {database} database: {line}")));
        // A part that could not be checked is not known to be damaged.
        warnings.extend(unchecked.into_iter().map(|line| format!("the {database} database: {line}")));
    }
    Ok(())
}

/// Looks at every row of the health database and every page of both; answers how many rows there are, and what is damaged.
async fn verify_rows(platform: &Platform) -> platform::Result<(u64, Vec<String>)> {
    let bar = progress_bar();
    bar.set_message("verifying rows");
    let (rows, damaged) = platform.upkeep.verify_rows(|rows| bar.set_position(rows)).await?;
    bar.finish_and_clear();
    Ok((rows, damaged.iter().map(ToString::to_string).collect()))
}

fn scrub_json(state: &ScrubState) -> Value {
    json!({
        "pass": state.pass,
        "stage": state.stage,
        "begun_at": iso(state.begun_ms),
        "ended_at": state.ended_ms.map(iso),
        "files": state.files,
        "rows": state.rows,
        "bytes": state.bytes,
    })
}

/// Returns how many sealed files cannot be read, and one of them by name: of a lost disk there are thousands.
fn problem_of_files(damage: &Damage) -> Option<String> {
    let objects = damage.any()?;
    let what = match objects.fault {
        ObjectFault::Missing => "is not there",
        ObjectFault::Damaged => "is not what was written",
    };
    let (missing, damaged) = (damage.count(ObjectFault::Missing), damage.count(ObjectFault::Damaged));
    Some(format!("sealed files: {missing} missing, {damaged} damaged; {} {what}", objects.example))
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

async fn verify(platform: &Platform) -> platform::Result<Verification> {
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
