//! Bracelets that send nothing more are noted.

use std::time::Duration;

use store::{JobKind, JobSubject, StoreError};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Patients that a run looks at; when there are more, the next run follows at once.
const PATIENTS_AT_ONCE: i64 = 512;
/// Patients after whose failures a run ends, one after the other: then it is the store and not the patients.
const FAILURES_IN_A_ROW: usize = 8;

/// Notes which bracelets have fallen silent.
pub(crate) struct NoteSilence;

impl Job for NoteSilence {
    // Two nodes may run it at once when a lease is lost: the transaction looks again, so a silence is one event.
    const SPEC: Spec = Spec::new(JobKind::new("note_silence"), Turn::Every(Duration::from_mins(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(NoteSilence)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let core = &run.upkeep.core;
        let now_ms = core.now_ms();
        let patients = core.health().possibly_silent(now_ms, PATIENTS_AT_ONCE).await?;
        let is_cut = patients.len() as i64 == PATIENTS_AT_ONCE;
        let mut failed_in_a_row = 0;
        let mut first_error: Option<StoreError> = None;
        for patient in patients {
            // Each is a transaction of its own, so the work can end between any two.
            run.work.check()?;
            match core.health().note_silence(&patient, now_ms).await {
                Ok(_) => failed_in_a_row = 0,
                Err(error) if failed_in_a_row == FAILURES_IN_A_ROW => return Err(error.into()),
                // A row that is held must not hide the silence of all others.
                Err(error) => {
                    tracing::warn!(%patient, %error, "whether a bracelet is silent could not be noted");
                    failed_in_a_row += 1;
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) => Err(error.into()),
            None if is_cut => Ok(Ended::AgainIn(Duration::ZERO)),
            None => Ok(Ended::Done),
        }
    }
}
