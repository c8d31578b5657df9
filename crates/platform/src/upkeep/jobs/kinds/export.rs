//! Archives that were asked for are written.

use std::time::Duration;

use store::{EXPORT_KIND, JobSubject};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Writes the archive of an export.
pub(crate) struct Export;

impl Job for Export {
    const SPEC: Spec = Spec { at_once: 2, longest: Duration::from_hours(24), ..Spec::new(EXPORT_KIND, Turn::Enqueued) };

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(Export)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.data.write_export(&run.work).await
    }

    async fn given_up(run: Run) -> Result<()> {
        run.upkeep.data.give_export_up(&run.work, None).await
    }
}
