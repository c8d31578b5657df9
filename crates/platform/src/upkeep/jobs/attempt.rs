//! One run of one task: guarded, timed, counted, and its lease ended by what came of it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use runtime::Instant;
use tracing::Instrument as _;

use super::job::{Kind, Run};
use super::queue;
use super::verdict::{Cause, judge};
use crate::core::signals::{EndedRun, Outcome};
use crate::core::work::Ended;

/// Time for which the end of a lease is tried to be written when the database is away, and the pause between. It is
/// about as long as the lease, so that a patient whose derivation met an outage moves on when it is over, and not when
/// the lease runs out.
const LONGEST_SETTLE: Duration = Duration::from_secs(50);
const PAUSE: Duration = Duration::from_secs(1);

/// How a run ended, for the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether more of the subject is due at once.
    pub is_partial: bool,
}

/// Runs a task. Does not panic, whatever the task does.
pub(super) async fn attempt(kind: Kind, run: Run, version: &str) -> Report {
    let spec = &kind.spec;
    let jobs = run.upkeep.core.signals().clone();
    // Nothing of a person: subjects are ids, types and times.
    let span = tracing::error_span!("job", kind = spec.kind.name(), subject = %run.work.lease.subject,
        attempt = run.work.lease.failures.runs + 1);
    jobs.began(spec.kind);
    let begun = Instant::now();
    let guarded = AssertUnwindSafe(guarded(kind, run, version)).catch_unwind().instrument(span).await;
    // A panic outside the guarded work is one of the engine: the lease runs out by itself.
    let lost = (Report { outcome: Outcome::Panicked, is_partial: false }, false);
    let (report, is_put_aside) = guarded.unwrap_or(lost);
    jobs.ended(spec.kind, EndedRun { outcome: report.outcome, took: begun.elapsed(), is_put_aside });
    report
}

/// Runs the work and ends its lease; returns also whether it was put aside.
async fn guarded(kind: Kind, run: Run, version: &str) -> (Report, bool) {
    let longest = kind.spec.longest;
    let work = AssertUnwindSafe(async { kind.run(run.clone()).await }).catch_unwind();
    let ended = match runtime::timeout(longest, work).await {
        Ok(Ok(Ok(ended))) => Ok(ended),
        Ok(Ok(Err(error))) => Err(Cause::Error(error)),
        Ok(Err(_panic)) => Err(Cause::Panic),
        Err(_) => Err(Cause::TimeOut(longest)),
    };
    let report = |outcome| Report { outcome, is_partial: false };
    match ended {
        Ok(Ended::Committed) => (report(Outcome::Done), false),
        Ok(Ended::CommittedInPart) => (Report { outcome: Outcome::Done, is_partial: true }, false),
        Ok(Ended::Done) => (report(finish(&kind, &run, None).await), false),
        Ok(Ended::AgainIn(wait)) => (report(finish(&kind, &run, i64::try_from(wait.as_millis()).ok()).await), false),
        Err(cause) if cause.is_gone() => (report(finish(&kind, &run, None).await), false),
        Err(cause) if cause.is_loss() => {
            tracing::debug!("another node has the job, or this one stops");
            settle("give a job back", || queue::give_back(&run.upkeep.core, &kind, &run.work.lease)).await;
            (report(Outcome::Lost), false)
        }
        Err(cause) => fail(&kind, run, &cause, version).await,
    }
}

async fn finish(kind: &Kind, run: &Run, again_in_ms: Option<i64>) -> Outcome {
    let ended = || queue::finish(&run.upkeep.core, kind, &run.work.lease, again_in_ms);
    // Work that another node has taken over is done twice, which changes nothing.
    if settle("end a job", ended).await == Some(true) { Outcome::Done } else { Outcome::Lost }
}

async fn fail(kind: &Kind, run: Run, cause: &Cause, version: &str) -> (Report, bool) {
    let core = &run.upkeep.core;
    let now_ms = core.now_ms();
    let failure = judge(cause, run.work.lease.failures, &kind.spec, version, now_ms);
    let (failed_runs, is_aside) = (failure.failures.runs, failure.put_aside.is_some());
    if is_aside {
        tracing::error!(%cause, failed_runs, "a job was put aside; pulseward doctor lists it");
    } else {
        let retry_in_ms = failure.retry_ms - now_ms;
        tracing::error!(%cause, failed_runs, retry_in_ms, "a job failed and will be tried again");
    }
    let noted = settle("note a failed job", || queue::fail(core, kind, &run.work.lease, failure.clone())).await;
    if is_aside
        && noted == Some(true)
        && let Err(error) = kind.given_up(run.clone()).await
    {
        tracing::warn!(%error, "what is left of a job that was put aside could not be ended");
    }
    let outcome = if matches!(cause, Cause::Panic) { Outcome::Panicked } else { Outcome::Failed };
    (Report { outcome, is_partial: false }, is_aside)
}

/// Writes the end of a run; `None` when the database stays away. Then the lease is given back when the engine next
/// prolongs what it holds, or runs out.
async fn settle<T, F>(what: &'static str, mut write: impl FnMut() -> F) -> Option<T>
where
    F: Future<Output = store::Result<T>>,
{
    let begun = Instant::now();
    let mut is_known = false;
    loop {
        match write().await {
            Ok(written) => return Some(written),
            Err(error) if begun.elapsed() + PAUSE >= LONGEST_SETTLE => {
                tracing::error!(%error, what, "the end of a job could not be written; its lease runs out by itself");
                return None;
            }
            // Once for each job: an outage is reported by what notices it.
            Err(error) if !is_known => {
                is_known = true;
                tracing::warn!(%error, what, "the end of a job could not be written and is tried again");
            }
            Err(_) => {}
        }
        runtime::sleep(PAUSE).await;
    }
}
