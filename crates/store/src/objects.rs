//! Where sealed segments lie: a folder, or any other object store behind the same trait.

use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::error::{Result, StoreError};

/// An object store. Clones share it.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The store behind the trait.
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl Objects {
    /// Objects as files of a folder, which is made when it is not there. What is written is flushed to the disk
    /// before a write answers.
    pub fn folder(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path)
            .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
        let store = LocalFileSystem::new_with_prefix(path)?.with_fsync(true);
        Ok(Objects { store: Arc::new(store) })
    }

    /// Deletes an object. One that is not there any more is no error, so a deletion can be repeated.
    pub async fn delete(&self, path: &str) -> Result<()> {
        let location = Location::parse(path).map_err(|error| StoreError::Damaged(error.to_string()))?;
        match self.store.delete(&location).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
