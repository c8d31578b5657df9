//! Whose objects these are: the identity of the store lies among them, as it does in both databases.

use boxed_futures::boxed_futures;
use object_store::{ObjectStoreExt as _, PutPayload};

use super::store::{Objects, Place, location};
use crate::engine::blocking;
use crate::error::{Result, StoreError};
use crate::ids::StoreId;

/// The object that holds the identity.
pub const STORE_ID: &str = "store.id";

#[boxed_futures]
impl Objects {
    /// Returns the identity of the store that these objects belong to; none when they belong to none yet.
    pub async fn identity(&self) -> Result<Option<StoreId>> {
        let found = match self.store.get(&location(STORE_ID)?).await {
            Ok(found) => found.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = std::str::from_utf8(&found).map_err(|_| StoreError::Damaged(format!("{STORE_ID} is no text")))?;
        Ok(Some(StoreId::new(text.trim())))
    }

    /// Returns whether objects can be read just now: then it is one object by itself that gives an error.
    pub async fn can_be_read(&self) -> bool {
        self.identity().await.is_ok()
    }

    /// Says whose objects these are.
    pub async fn set_identity(&self, id: &StoreId) -> Result<()> {
        self.store.put(&location(STORE_ID)?, PutPayload::from(format!("{id}\n"))).await?;
        Ok(())
    }

    /// From now on nothing is read or written while the identity is not there. Of a bucket, which is there or does not
    /// answer, nothing more is asked.
    pub fn require_identity(&self) {
        if let Place::Folder(folder) = &self.place {
            self.mark.expect(folder.join(STORE_ID));
        }
    }

    /// Returns whether a folder of objects is where it should be; a bucket always is.
    pub async fn is_there(&self) -> Result<bool> {
        let Place::Folder(folder) = self.place.clone() else { return Ok(true) };
        blocking(move || Ok(folder.is_dir())).await
    }
}
