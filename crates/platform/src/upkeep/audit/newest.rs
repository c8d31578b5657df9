//! The newest checkpoint, by a listing of the objects.

use boxed_futures::boxed_futures;
use store::number_of_checkpoint;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

/// Time after which entries without a checkpoint are worth a word: the service signs once an hour.
const OVERDUE_MS: i64 = 24 * 3_600_000;

/// How far checkpoints of the audit log go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewestCheckpoint {
    /// Number of its entry and time of its object, ms; `None` without any.
    pub newest: Option<(i64, i64)>,
    /// Time of the last moment at which all entries had a checkpoint, ms, as far as that can be known.
    pub signed_ms: i64,
    /// Whether entries have waited for a checkpoint for more than a day, as far as that can be known.
    pub is_overdue: bool,
}

#[boxed_futures]
impl Upkeep {
    /// Returns how far checkpoints of the audit log go. None of them is read.
    pub async fn newest_checkpoint(&self) -> Result<NewestCheckpoint> {
        let end = self.audit_end().await?;
        let listed = self.core.objects().checkpoints().await?;
        let newest = listed.last().and_then(|object| Some((number_of_checkpoint(&object.path)?, object.modified_ms)));
        // Without any, the first entry has waited since the log was sealed at most.
        let (signed, since_ms) = match (newest, end.seal) {
            (Some(newest), _) => newest,
            (None, Some(seal)) => (0, seal.at_ms),
            (None, None) => (0, self.core.now_ms()),
        };
        let now_ms = self.core.now_ms();
        // A log that does not grow gets no other checkpoint, and nothing is wrong with that.
        let signed_ms = if end.number > signed { since_ms } else { now_ms };
        Ok(NewestCheckpoint { newest, signed_ms, is_overdue: now_ms - signed_ms > OVERDUE_MS })
    }
}
