//! Counts and derives rows that arrived while stored rows at their time were damaged.

use std::time::Duration;

use store::JobKind;
use store::JobSubject;

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Unverified ranges that one run looks at.
const BATCH: i64 = 512;

/// Looks whether damaged periods with later rows can be read again.
pub(crate) struct VerifyRows;

impl Job for VerifyRows {
    const SPEC: Spec = Spec::new(JobKind::new("verify_rows"), Turn::Every(Duration::from_mins(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(VerifyRows)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let core = &run.upkeep.core;
        for unverified in core.health().unverified_rows(BATCH).await? {
            // Each is a transaction of its own, so the work can end between any two.
            run.work.check()?;
            match core.health().verify_rows(&unverified, core.now_ms()).await {
                // Rows that did not count before do now.
                Ok(true) => core.wake_derivations(),
                // A sync came in between, or rows before these are not compared yet: the next run does it.
                Ok(false) => {}
                // One that is still damaged waits, and the others go on.
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Ended::Done)
    }
}
