//! Where sealed segments lie: a folder, or any other object store behind the same trait.

use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use crate::error::{Result, StoreError};

/// The folder of the list of the erased: an object for each, which holds when, ms.
const ERASED: &str = "erased";

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

    /// The paths of the objects below a folder.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let folder = Location::parse(folder).map_err(|error| StoreError::Damaged(error.to_string()))?;
        let found = self.store.list(Some(&folder)).map_ok(|object| object.location.to_string());
        Ok(found.try_collect().await?)
    }

    /// Adds a patient to the list of the erased. It lies here and not in a database, so that whoever restores a backup
    /// of the databases can read who was erased since. Adding him again changes nothing.
    pub async fn note_erased(&self, patient: &str, at_ms: i64) -> Result<()> {
        let location = Location::parse(format!("{ERASED}/{patient}"));
        let location = location.map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.store.put(&location, PutPayload::from(at_ms.to_string())).await?;
        Ok(())
    }

    /// The uuids of all patients who were ever erased.
    pub async fn erased(&self) -> Result<Vec<String>> {
        let mut paths = self.list(ERASED).await?;
        paths.sort_unstable();
        let uuid_of = |path: &String| path.rsplit('/').next().map(str::to_owned);
        Ok(paths.iter().filter_map(uuid_of).collect())
    }
}
