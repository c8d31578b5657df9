//! What is damaged is looked for and watched.

use std::time::Duration;

use store::{JobKind, JobSubject};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Looks again at sealed files that were found missing or damaged: an operator may have brought them back.
pub(crate) struct LookAtDamagedFiles;

impl Job for LookAtDamagedFiles {
    const SPEC: Spec = Spec::new(JobKind::new("look_at_damaged_files"), Turn::Every(Duration::from_mins(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(LookAtDamagedFiles)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.look_at_damaged_again(&run.work).await?;
        Ok(Ended::Done)
    }
}

/// Reads everything stored, a little at a time, and compares it with its checksums.
pub(crate) struct Scrub;

impl Job for Scrub {
    const SPEC: Spec = Spec::new(JobKind::new("scrub"), Turn::Every(Duration::from_mins(5)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(Scrub)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.scrub(&run.work).await
    }
}
