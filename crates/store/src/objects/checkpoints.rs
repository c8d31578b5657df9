//! Signed checkpoints of the audit log, as small objects. They lie here and not in a database, so that a database that is
//! set back to an earlier state does not take them along.

use boxed_futures::boxed_futures;
use object_store::{ObjectStoreExt as _, PutPayload};

use super::store::{ListedObject, Objects, location};
use crate::error::{Result, StoreError};

/// The folder of the checkpoints. No sweep looks into it, and nothing in it is of a person.
pub const CHECKPOINTS: &str = "audit/checkpoints";
/// Where those are put that a restore has set aside.
const SET_ASIDE: &str = "audit/set-aside";
/// A checkpoint has some hundred bytes; what is much larger is none.
pub const LARGEST_CHECKPOINT: u64 = 4096;

/// Returns the path of the checkpoint of an entry.
pub fn checkpoint_path(number: i64) -> String {
    // Their order by name is that by number.
    format!("{CHECKPOINTS}/{number:012}.json")
}

/// Returns the number of the entry whose checkpoint lies at a path; none for a path of another object.
pub fn number_of_checkpoint(path: &str) -> Option<i64> {
    path.strip_prefix(CHECKPOINTS)?.strip_prefix('/')?.strip_suffix(".json")?.parse().ok()
}

#[boxed_futures]
impl Objects {
    /// Returns whether there is a checkpoint of an entry.
    pub async fn has_checkpoint(&self, number: i64) -> Result<bool> {
        Ok(self.size(&checkpoint_path(number)).await?.is_some())
    }

    /// Writes the checkpoint of an entry.
    pub async fn put_checkpoint(&self, number: i64, text: String) -> Result<()> {
        self.store.put(&location(&checkpoint_path(number))?, PutPayload::from(text)).await?;
        Ok(())
    }

    /// Returns the checkpoints that are there, by number.
    pub async fn checkpoints(&self) -> Result<Vec<ListedObject>> {
        let mut listed = self.listed(CHECKPOINTS).await?;
        // What lies there under another name was not written by this program.
        listed.retain(|object| object.path.strip_suffix(".json").is_some());
        listed.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(listed)
    }

    /// Reads a small object whole; `None` when it is not there.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is larger than any checkpoint.
    pub async fn read_checkpoint(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let found = match self.store.get(&location(path)?).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if found.meta.size > LARGEST_CHECKPOINT {
            return Err(StoreError::Damaged(format!("{path} has {} bytes and is no checkpoint", found.meta.size)));
        }
        Ok(Some(found.bytes().await?.to_vec()))
    }

    /// Puts a checkpoint where it is not compared any more; `at_ms` keeps what is set aside at several times apart.
    pub async fn set_checkpoint_aside(&self, path: &str, at_ms: i64) -> Result<()> {
        let Some(name) = path.strip_prefix(CHECKPOINTS) else { return Ok(()) };
        // Somebody else has set it aside when it is gone.
        let Some(bytes) = self.read_checkpoint(path).await? else { return Ok(()) };
        // Written and not copied: only a write is flushed to the disk before the other one is deleted.
        self.store.put(&location(&format!("{SET_ASIDE}/{at_ms}{name}"))?, PutPayload::from(bytes)).await?;
        self.delete(path).await
    }
}
