//! The audit log as an operator takes it: brought back from a backup, or after something was found.

use std::collections::BTreeSet;

use boxed_futures::boxed_futures;
use store::{KnownEntry, LARGEST_CHECKPOINT, SealState};

use super::judge::{CheckpointFault, Judge};
use crate::core::error::Result;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Seals a log that was brought back without a seal or under another master key, and sets aside the checkpoints of what
    /// came after the backup: entries with their numbers will follow. Returns how many were set aside.
    pub async fn take_restored_audit_log(&self) -> Result<u64> {
        if matches!(self.audit_end().await?.state, SealState::Unsealed | SealState::OtherKey) {
            return self.take_audit_log_as_it_is().await;
        }
        self.set_outdated_aside().await
    }

    /// Lets the key of this store guard the audit log as it is, whatever its end shows, and sets aside the checkpoints of
    /// entries that it does not have. Returns how many were set aside.
    pub async fn take_audit_log_as_it_is(&self) -> Result<u64> {
        self.seal_audit_log_again().await?;
        self.set_outdated_aside().await
    }

    async fn set_outdated_aside(&self) -> Result<u64> {
        let outdated = self.outdated_checkpoints().await?;
        // One time for all of them, so that what was set aside together lies together.
        let now_ms = self.core.now_ms();
        for path in &outdated {
            self.core.objects().set_checkpoint_aside(path, now_ms).await?;
        }
        Ok(outdated.len() as u64)
    }

    /// Returns the paths of checkpoints whose entries the log does not have, or has others in their place. Those that are
    /// nobody's stay for `audit verify` to report.
    async fn outdated_checkpoints(&self) -> Result<BTreeSet<String>> {
        let (users, key) = (self.core.users(), &self.core.audit_keys().head);
        let judge = Judge::of(&users.audit_end(key).await?, &users.retired_audit_keys(key).await?, key.public_key());
        let (mut signed, mut outdated) = (Vec::<(KnownEntry, String)>::new(), BTreeSet::new());
        for object in self.core.objects().checkpoints().await? {
            // What is too large for one is left like everything else that cannot be read.
            if object.bytes > LARGEST_CHECKPOINT {
                continue;
            }
            let Some(bytes) = self.core.objects().read_checkpoint(&object.path).await? else { continue };
            match judge.read(&bytes) {
                Ok((entry, _)) => signed.push((entry, object.path)),
                Err(CheckpointFault::Seal) => {
                    outdated.insert(object.path);
                }
                Err(_) => {}
            }
        }
        signed.sort_by_key(|(entry, _)| entry.number);
        let known = signed.iter().map(|(entry, _)| *entry).collect();
        let verdict = users.verify_audit_against(key, known).await?;
        for (at, (entry, path)) in signed.into_iter().enumerate() {
            // Of what lies behind a break in the chain only the end is known.
            let is_behind = entry.number > verdict.end.number;
            if is_behind || verdict.differing.binary_search(&at).is_ok() {
                outdated.insert(path);
            }
        }
        Ok(outdated)
    }
}
