//! Whether a segment's file still is, as a whole, what was sealed. Reads of a few pages check the blocks that they touch
//! (`block_sums.rs`); what hands rows out for good, or writes them into another file, asks here first.

use std::sync::{Arc, Mutex, PoisonError};

use runtime::HashSet;

use super::write::WrittenSegment;
use crate::error::{Result, StoreError};
use crate::objects::Objects;

/// Segments that were read whole and found to be what the catalog says. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Verified(Arc<Mutex<HashSet<String>>>);

impl Verified {
    /// Reads an object once and compares its size and SHA-256 with the catalog; later times nothing is read.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not what was sealed, or not there.
    pub async fn check(&self, objects: &Objects, object: &WrittenSegment) -> Result<()> {
        if self.paths().contains(&object.path) {
            return Ok(());
        }
        compare(objects, object).await?;
        // For the life of this value: an object is never written a second time under its name.
        self.paths().insert(object.path.clone());
        Ok(())
    }

    fn paths(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads an object whole and compares its size and SHA-256 with the catalog.
///
/// # Errors
/// [`StoreError::Damaged`] when it is not what was sealed, or not there.
pub(crate) async fn compare(objects: &Objects, object: &WrittenSegment) -> Result<()> {
    let (size, sha256) = objects.digest(&object.path).await?.ok_or_else(|| StoreError::missing_object(&object.path))?;
    if size == object.bytes && sha256 == object.sha256 {
        return Ok(());
    }
    Err(StoreError::Damaged(format!("{} is not what was sealed", object.path)))
}
