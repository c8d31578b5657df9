//! Whether a segment's file still is what was sealed. The format has no checksum of its own that a reader looks at, so a
//! flipped bit can become another value; what hands rows out for good asks here first.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use sha2::{Digest, Sha256};

use super::WrittenSegment;
use super::write::hexadecimal;
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
        let read = objects.read(&object.path, None).await?.ok_or_else(gone)?;
        let (mut hash, mut pieces, mut size) = (Sha256::new(), read.bytes, 0);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            size += piece.len() as u64;
            hash.update(&piece);
        }
        if size != object.bytes || hexadecimal(&hash.finalize()) != object.sha256 {
            return Err(StoreError::Damaged(format!("{} is not what was sealed", object.path)));
        }
        self.paths().insert(object.path.clone());
        Ok(())
    }

    fn paths(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
