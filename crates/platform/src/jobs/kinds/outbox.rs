//! What one database owes the other after a crash between two steps of an operation.

use std::time::Duration;

use crate::error::Result;
use crate::jobs::{Ended, Job, Run, Spec, Turn};

/// How often a look is taken, and how old an operation must be, so that one that is under way is left alone.
const EVERY: Duration = Duration::from_secs(30);
const OLDER_THAN_MS: i64 = 30_000;

/// Makes the health changes that operations have left.
pub(crate) struct DeliverChanges;

impl Job for DeliverChanges {
    const SPEC: Spec = Spec::new("deliver_changes", Turn::Every(EVERY));

    fn parse(_subject: &str) -> Option<Self> {
        Some(DeliverChanges)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let finished = run.platform.finish_old_intents(OLDER_THAN_MS).await?;
        if finished > 0 {
            tracing::info!(finished, "finished operations that were left half done");
        }
        Ok(Ended::Done)
    }
}

/// Writes the audit entries that exports have left, which makes the exports ready.
pub(crate) struct WriteOwedEntries;

impl Job for WriteOwedEntries {
    const SPEC: Spec = Spec::new("write_owed_entries", Turn::Every(EVERY));

    fn parse(_subject: &str) -> Option<Self> {
        Some(WriteOwedEntries)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.platform.free_owed_exports().await?;
        Ok(Ended::Done)
    }
}
