//! What follows from a failed run: how long to wait, and when to put the work aside.

use std::time::Duration;

use store::{Failures, JobFailure, NEVER_MS, StoreError};

use super::job::{Spec, Turn};
use crate::core::error::PlatformError;

/// A failed run is tried again after this, and after twice as long each further time.
const FIRST_RETRY_MS: i64 = 1_000;
/// The longest time between two tries.
const LONGEST_RETRY_MS: i64 = 5 * 60_000;
/// Panics after which work is put aside: it would panic again.
const PANICS: i64 = 3;
/// Failed runs after which work is put aside, where the failure is none that passes by itself.
const FAILED_RUNS: i64 = 10;
/// Work that was put aside after errors is tried again after this: what it reads may have been put right. After panics
/// only a newer version of the program or a person helps.
const ASIDE_MS: i64 = 86_400_000;
/// Longest text of an error that is kept.
const LONGEST_ERROR: usize = 300;

/// Reason why a run has no result.
#[derive(Debug)]
pub(super) enum Cause {
    /// The work returned an error.
    Error(PlatformError),
    /// It panicked. Its place went to the log; what it said is kept nowhere: it can hold anything.
    Panic,
    /// It took too long.
    TimeOut(Duration),
}

impl Cause {
    /// Returns whether the lease is lost or given back, which is no failure.
    pub fn is_loss(&self) -> bool {
        matches!(self, Cause::Error(PlatformError::Store(StoreError::LeaseLost)))
    }

    /// Returns whether what the work is about has gone, so that nothing is left to do.
    pub fn is_gone(&self) -> bool {
        matches!(self, Cause::Error(PlatformError::Store(StoreError::Gone(_))))
    }

    /// Returns whether the failure passes when the stores are back.
    fn passes(&self) -> bool {
        matches!(self, Cause::Error(PlatformError::Store(StoreError::Unavailable(_))))
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Error(error) => error.fmt(formatter),
            Cause::Panic => formatter.write_str("panicked; the log says where"),
            Cause::TimeOut(limit) => write!(formatter, "took longer than {} s", limit.as_secs()),
        }
    }
}

/// Judges a failed run by the failures before it.
pub(super) fn judge(cause: &Cause, before: Failures, spec: &Spec, version: &str, now_ms: i64) -> JobFailure {
    let is_panic = matches!(cause, Cause::Panic);
    let failures = Failures { runs: before.runs + 1, panics: before.panics + i64::from(is_panic) };
    // A task that runs by itself has nothing that could be put right in it: it goes on trying.
    let is_scheduled = matches!(spec.turn, Turn::Every(_));
    // A store that is away for a day must not put all work aside.
    let is_hopeless = !cause.passes() && !is_scheduled && failures.runs >= FAILED_RUNS;
    let retry_ms = if is_panic && failures.panics >= PANICS {
        NEVER_MS
    } else if is_hopeless {
        now_ms + ASIDE_MS
    } else {
        now_ms + wait_ms(failures.runs)
    };
    let is_aside = retry_ms == NEVER_MS || is_hopeless;
    let mut error = cause.to_string();
    if let Some((end, _)) = error.char_indices().nth(LONGEST_ERROR) {
        error.truncate(end);
    }
    JobFailure { failures, error, failed_ms: now_ms, retry_ms, put_aside: is_aside.then(|| version.to_owned()) }
}

fn wait_ms(failed_runs: i64) -> i64 {
    let doublings = failed_runs.saturating_sub(1).clamp(0, 20);
    (FIRST_RETRY_MS << doublings).min(LONGEST_RETRY_MS)
}

#[cfg(test)]
mod tests {
    use store::JobKind;

    use super::*;

    const SPEC: Spec = Spec::new(JobKind::new("test"), Turn::Enqueued);

    fn error(error: StoreError) -> Cause {
        Cause::Error(error.into())
    }

    fn judged(cause: &Cause, runs: i64, panics: i64) -> (i64, bool) {
        let failure = judge(cause, Failures { runs, panics }, &SPEC, "1.0", 0);
        (failure.retry_ms, failure.put_aside.is_some())
    }

    #[test]
    fn waiting_grows_up_to_a_limit() {
        assert_eq!([1, 2, 3, 40].map(wait_ms), [1_000, 2_000, 4_000, LONGEST_RETRY_MS]);
    }

    #[test]
    fn third_panic_puts_work_aside_until_a_newer_version() {
        assert_eq!(judged(&Cause::Panic, 0, 0), (1_000, false));
        assert_eq!(judged(&Cause::Panic, 1, 1), (2_000, false));
        assert_eq!(judged(&Cause::Panic, 2, 2), (NEVER_MS, true));
    }

    #[test]
    fn tenth_error_that_does_not_pass_puts_work_aside_for_a_day() {
        let damaged = error(StoreError::Damaged("a file".to_owned()));
        assert_eq!(judged(&damaged, 8, 0), (256_000, false));
        assert_eq!(judged(&damaged, 9, 0), (ASIDE_MS, true));
        assert_eq!(judged(&damaged, 30, 0), (ASIDE_MS, true));
        assert_eq!(judged(&Cause::TimeOut(Duration::from_secs(1)), 9, 0), (ASIDE_MS, true));
        let away = error(StoreError::Unavailable("no connection".to_owned()));
        assert_eq!(judged(&away, 99, 0), (LONGEST_RETRY_MS, false));
    }

    #[test]
    fn task_that_runs_by_itself_is_put_aside_by_panics_alone() {
        let spec = Spec::new(JobKind::new("test"), Turn::Every(Duration::from_secs(1)));
        let damaged = error(StoreError::Damaged("a file".to_owned()));
        let failures = Failures { runs: 99, panics: 2 };
        assert_eq!(judge(&damaged, failures, &spec, "1.0", 0).put_aside, None);
        assert_eq!(judge(&Cause::Panic, failures, &spec, "1.0", 0).put_aside.as_deref(), Some("1.0"));
    }

    #[test]
    fn kept_text_of_an_error_is_short_and_says_nothing_of_a_panic() {
        let long = error(StoreError::Damaged("ö".repeat(1_000)));
        assert_eq!(judge(&long, Failures::default(), &SPEC, "1.0", 0).error.chars().count(), LONGEST_ERROR);
        let panicked = judge(&Cause::Panic, Failures::default(), &SPEC, "1.0", 0);
        assert_eq!(panicked.error, "panicked; the log says where");
    }
}
