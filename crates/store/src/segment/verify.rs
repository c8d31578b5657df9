//! Whether a segment's file still is what was sealed. The format has no checksum of its own that a reader looks at, so a
//! flipped bit can become another value; what hands rows out for good asks here first.

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
    /// [`StoreError::Damaged`] when it is not what was sealed, [`StoreError::Unavailable`] when it is not there.
    pub async fn check(&self, objects: &Objects, object: &WrittenSegment) -> Result<()> {
        if self.paths().contains(&object.path) {
            return Ok(());
        }
        let gone = || StoreError::Unavailable(format!("{} is not there", object.path));
        let (size, sha256) = objects.digest(&object.path).await?.ok_or_else(gone)?;
        if size != object.bytes || sha256 != object.sha256 {
            return Err(StoreError::Damaged(format!("{} is not what was sealed", object.path)));
        }
        // For the life of this value: an object is never written a second time under its name.
        self.paths().insert(object.path.clone());
        Ok(())
    }

    fn paths(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
