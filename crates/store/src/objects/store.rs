//! The store that objects lie in: put, list, delete, and the list of the erased.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxed_futures::boxed_futures;
use futures::TryStreamExt;
use object_store::aws::AmazonS3;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use super::deadlines::{Deadlines, HEAD, HEAD_OF_FILE, LONGEST_PROBE};
use super::mark::Mark;
use super::silence::Silence;
use crate::error::{Result, StoreError};
use crate::ids::PatientId;

/// The folder of the list of the erased: an object for each, which holds when, ms.
pub(super) const ERASED: &str = "erased";
/// An object that says nothing: whether it can be written says whether the store is there.
const PROBE: &str = "probe";

/// An object store. Clones share it.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The store behind the trait, whose operations end in time.
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The same store, asked once: where the other tries again, this one reports what it was answered.
    probe: Arc<dyn ObjectStore>,
    pub(super) place: Place,
    pub(super) mark: Arc<Mark>,
    silence: Arc<Silence>,
}

/// What an object store can do in addition to what all can.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Files of a folder.
    Folder(PathBuf),
    /// A bucket, which signs addresses; all objects lie below the prefix.
    Bucket { signer: Arc<AmazonS3>, prefix: String },
    /// Memory of a test.
    #[cfg(test)]
    Memory,
}

/// An object as a listing reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Path in the store.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// When it was written, ms since 1970.
    pub modified_ms: i64,
}

#[boxed_futures]
impl Objects {
    /// Objects as files of a folder, which is made when it is not there. What is written is flushed to the disk
    /// before a write answers.
    pub fn folder(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path)
            .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))?;
        Self::existing_folder(path)
    }

    /// The same of a folder that has to be there.
    pub fn existing_folder(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            let message = format!("the folder of the objects, {}, is not there: is its disk mounted?", path.display());
            return Err(StoreError::Unavailable(message));
        }
        // A row of the catalog may outlive a loss of power only together with its object.
        let store = LocalFileSystem::new_with_prefix(path)?.with_fsync(true);
        Ok(Self::within_deadlines(Arc::new(store), Place::Folder(path.to_owned())))
    }

    /// Objects in a store, each of whose operations ends in time.
    pub(super) fn within_deadlines(store: Arc<dyn ObjectStore>, place: Place) -> Self {
        Self::with_probe(store.clone(), store, place)
    }

    /// The same, of a store that tries again by itself. `probe` is this store and does not.
    pub(super) fn with_probe(store: Arc<dyn ObjectStore>, probe: Arc<dyn ObjectStore>, place: Place) -> Self {
        let (silence, mark) = (Arc::<Silence>::default(), Arc::<Mark>::default());
        let head = if matches!(place, Place::Folder(_)) { HEAD_OF_FILE } else { HEAD };
        let [store, probe] =
            [store, probe].map(|store| Arc::new(Deadlines::new(store, silence.clone(), mark.clone(), head)));
        Objects { store, probe, place, mark, silence }
    }

    /// Objects of a test, in a store of its own.
    #[cfg(test)]
    pub(crate) fn of_test(store: Arc<dyn ObjectStore>) -> Self {
        Self::within_deadlines(store, Place::Memory)
    }

    /// The folder that the objects are files of; none when they lie in a bucket.
    pub fn as_folder(&self) -> Option<&Path> {
        if let Place::Folder(path) = &self.place { Some(path) } else { None }
    }

    /// Whether objects can be written just now; answers within a second. A store that is slow but has answered others
    /// lately counts as there; one that answers with an error does not.
    pub async fn check(&self) -> Result<()> {
        match runtime::timeout(LONGEST_PROBE, self.check_once()).await {
            Ok(checked) => checked,
            Err(_) if self.silence.has_answered_recently() => Ok(()),
            Err(_) => Err(StoreError::Unavailable("the object store does not answer".to_owned())),
        }
    }

    async fn check_once(&self) -> Result<()> {
        let probe = Location::from(PROBE);
        if self.as_folder().is_some() {
            self.probe.put(&probe, "a disk that is full shows here".into()).await?;
            return Ok(());
        }
        // A question costs less than a write, and a bucket does not fill up.
        match self.probe.head(&probe).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes an object. One that is not there any more is no error, so a deletion can be repeated.
    pub async fn delete(&self, path: &str) -> Result<()> {
        match self.store.delete(&location(path)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The size of an object; none when it is not there.
    pub async fn size(&self, path: &str) -> Result<Option<u64>> {
        match self.store.head(&location(path)?).await {
            Ok(object) => Ok(Some(object.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder that no object is left in, whose name can identify a person; a bucket has none. One that is not
    /// empty, or not there, stays as it is.
    pub fn remove_empty_folder(&self, folder: &str) {
        if let Place::Folder(root) = &self.place {
            // Objects may have come meanwhile, and a folder that stays does no harm.
            let _ = std::fs::remove_dir(root.join(folder));
        }
    }

    /// The objects below a folder, which is a whole part of their paths.
    pub async fn listed(&self, folder: &str) -> Result<Vec<ListedObject>> {
        let found = self.store.list(Some(&location(folder)?)).map_ok(|object| ListedObject {
            path: object.location.to_string(),
            bytes: object.size,
            modified_ms: object.last_modified.timestamp_millis(),
        });
        Ok(found.try_collect().await?)
    }

    /// Adds a patient to the list of the erased. It lies here and not in a database, so that anyone who restores a
    /// backup of the databases can read who was erased since. Adding them again changes nothing.
    pub async fn note_erased(&self, patient: &PatientId, at_ms: i64) -> Result<()> {
        let location = Location::parse(format!("{ERASED}/{patient}"));
        let location = location.map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.store.put(&location, PutPayload::from(at_ms.to_string())).await?;
        Ok(())
    }

    /// The uuids of all patients who were ever erased.
    pub async fn erased(&self) -> Result<Vec<PatientId>> {
        let mut paths: Vec<String> = self.listed(ERASED).await?.into_iter().map(|object| object.path).collect();
        paths.sort_unstable();
        let uuid_of = |path: &String| path.rsplit('/').next().map(PatientId::new);
        Ok(paths.iter().filter_map(uuid_of).collect())
    }
}

pub(super) fn location(path: &str) -> Result<Location> {
    Location::parse(path).map_err(|error| StoreError::Damaged(error.to_string()))
}
