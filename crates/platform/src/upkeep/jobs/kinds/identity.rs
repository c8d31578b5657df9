//! Sessions, codes and keys that have long ended go.

use std::time::Duration;

use store::{JobKind, JobSubject};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Forgets what has long ended.
pub(crate) struct TidyIdentity;

impl Job for TidyIdentity {
    const SPEC: Spec = Spec::new(JobKind::new("tidy_identity"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(TidyIdentity)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.identity.tidy_identity().await?;
        Ok(Ended::Done)
    }
}
