//! Writing checkpoints.

use boxed_futures::boxed_futures;
use jiff::Timestamp;
use store::{SealState, StoreError};

use super::checkpoint::{Checkpoint, FORMAT, key_id};
use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Signs the end of the audit log and writes that as an object, unless the last entry has a checkpoint. Returns the
    /// checkpoint; `None` when the log is empty.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the end is not what the service wrote: a signature would vouch for it.
    pub async fn write_checkpoint(&self) -> Result<Option<Checkpoint>> {
        // Read before the end of the log is: what comes meanwhile is not signed.
        let now_ms = self.core.now_ms();
        let Some(checkpoint) = self.checkpoint_of_end().await? else {
            self.last_signed.note(now_ms);
            return Ok(None);
        };
        // Never over one that is there: a bucket may keep objects from being written again.
        if !self.core.objects().has_checkpoint(checkpoint.number).await? {
            let text =
                serde_json::to_string(&checkpoint).map_err(|error| PlatformError::Internal(error.to_string()))?;
            self.core.objects().put_checkpoint(checkpoint.number, text + "\n").await?;
        }
        self.last_signed.note(now_ms);
        Ok(Some(checkpoint))
    }

    /// Returns a signed checkpoint of the end of the audit log; `None` when the log is empty.
    async fn checkpoint_of_end(&self) -> Result<Option<Checkpoint>> {
        let keys = self.core.audit_keys();
        let end = self.core.users().audit_end(&keys.head).await?;
        if end.number == 0 && end.state == SealState::Sealed {
            return Ok(None);
        }
        let (SealState::Sealed, Some(seal)) = (end.state, end.seal) else {
            let message = "the end of the audit log is not what this service wrote, and no checkpoint of it is signed; \
                           `pulseward audit verify` says more";
            return Err(StoreError::Damaged(message.to_owned()).into());
        };
        let now = Timestamp::from_millisecond(self.core.now_ms()).unwrap_or_default();
        let checkpoint = Checkpoint {
            format: FORMAT,
            store: end.store.map(|store| store.to_string()).unwrap_or_default(),
            number: end.number,
            time: format!("{now:.3}"),
            entry_hash: hex(&end.entry_hash),
            sealed_from: seal.from,
            sealed_ms: seal.at_ms,
            key_id: key_id(keys.head.public_key()),
            public_key: hex(keys.head.public_key()),
            signature: String::new(),
        };
        Ok(Some(checkpoint.signed(&keys.signing)))
    }
}
