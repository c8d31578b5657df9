//! Messages between the databases that a killed node has left.

use std::time::Duration;

use store::{JobKind, JobSubject};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Interval at which a look is taken, and how old a message must be, so that an operation that is under way is left
/// alone.
const EVERY: Duration = Duration::from_secs(30);
const UNDELIVERED_FOR_MS: i64 = 30_000;

/// Delivers the messages of one database to the other.
pub(crate) struct DeliverMessages;

impl Job for DeliverMessages {
    const SPEC: Spec = Spec::new(JobKind::new("deliver_messages"), Turn::Every(EVERY));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(DeliverMessages)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        let delivered = run.upkeep.core.deliver_pending(UNDELIVERED_FOR_MS).await?;
        if delivered > 0 {
            tracing::info!(delivered, "delivered outbox messages of operations that were cut off");
        }
        Ok(Ended::Done)
    }
}
