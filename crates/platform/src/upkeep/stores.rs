//! The databases and the objects as a whole: whether they can be written, how far they are, their end.

use std::path::Path;

use boxed_futures::boxed_futures;
use store::{DatabaseFiles, DbCounts, EngineCheck, HoldId, ListedObject, LogEpoch, PatientId};

use crate::core::error::{PlatformError, Result};
use crate::core::ids::hex;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Whether both databases and the objects can be written.
    pub async fn check_stores(&self) -> Result<()> {
        // At once, so that the slowest of them says how long it takes.
        let (users, health) = (self.core.users().check_writing(), self.core.health().check_writing());
        Ok(futures::try_join!(users, health, self.core.objects().check()).map(drop)?)
    }

    /// Returns the folder that the objects lie in; none when they are in a bucket.
    pub fn object_folder(&self) -> Option<&Path> {
        self.core.objects().as_folder()
    }

    /// Returns the objects below a folder of the store.
    pub async fn objects_in(&self, folder: &str) -> Result<Vec<ListedObject>> {
        Ok(self.core.objects().listed(folder).await?)
    }

    /// Keeps dead objects from being deleted for some time, ms: somebody copies them. Returns until when, ms.
    pub async fn hold_objects(&self, id: &HoldId, for_ms: i64) -> Result<i64> {
        let until_ms = self.core.now_ms() + for_ms;
        self.core.health().hold_objects(id, until_ms).await?;
        Ok(until_ms)
    }

    /// Ends a hold; false when there is none of this name.
    pub async fn release_objects(&self, id: &HoldId) -> Result<bool> {
        Ok(self.core.health().release_objects(id).await?)
    }

    /// Returns who keeps dead objects from being deleted, each with the time at which that ends by itself, ms.
    pub async fn object_holds(&self) -> Result<Vec<(HoldId, i64)>> {
        Ok(self.core.health().object_holds(self.core.now_ms()).await?)
    }

    /// Ends what processes held when the databases were copied that this store was restored from.
    pub async fn forget_processes(&self) -> Result<()> {
        Ok(self.core.health().forget_processes(self.core.now_ms()).await?)
    }

    /// Returns the patients who were erased, as the list says that is kept among the objects.
    pub async fn erased(&self) -> Result<Vec<PatientId>> {
        Ok(self.core.objects().erased().await?)
    }

    /// Returns whether either database has a row of a patient.
    pub async fn knows_patient(&self, patient: &PatientId) -> Result<bool> {
        Ok(self.core.users().patient(patient).await?.is_some() || self.core.health().patient(patient).await?.is_some())
    }

    /// Lets the engines check the databases; what each found, with the name of the database.
    pub async fn engine_checks(&self) -> Result<[(&'static str, EngineCheck); 2]> {
        let users = self.core.users().engine_check().await?;
        Ok([("users", users), ("health", self.core.health().engine_check().await?)])
    }

    /// Returns what protects the files of the databases and what damage to their logs is known, each with the name of its
    /// database.
    pub async fn database_files(&self) -> Result<[(&'static str, DatabaseFiles); 2]> {
        let (users, health) = futures::try_join!(self.core.users().files(), self.core.health().files())?;
        Ok([("users", users), ("health", health)])
    }

    /// Returns how many damaged write-ahead logs were kept, each with the name of its database.
    pub fn damaged_log_counts(&self) -> Result<[(&'static str, u64); 2]> {
        let (users, health) = (self.core.users().damaged_log_count()?, self.core.health().damaged_log_count()?);
        Ok([("users", users), ("health", health)])
    }

    /// Rewrites database files whose pages have no checksums, so that they have them; uploads wait meanwhile.
    pub async fn give_page_checksums(&self) -> Result<()> {
        self.core.users().give_page_checksums().await?;
        Ok(self.core.health().give_page_checksums().await?)
    }

    /// Ends the connections to both databases; files of databases then hold everything without their write-ahead logs.
    /// Operations fail afterwards. Both are closed, also when one of them cannot be closed cleanly.
    pub async fn close_stores(&self) -> Vec<PlatformError> {
        let (users, health) = futures::join!(self.core.users().close(), self.core.health().close());
        [users, health].into_iter().filter_map(|closed| closed.err().map(PlatformError::from)).collect()
    }

    /// Begins another life of a store that was restored: cursors of before are refused, since events behind them may have
    /// been lost.
    pub async fn begin_epoch(&self) -> Result<()> {
        for log in [self.core.users().events(), self.core.health().events()] {
            log.begin_epoch(&LogEpoch::new(hex(&self.core.random_bytes::<16>()))).await?;
        }
        Ok(())
    }

    /// For each database its name and how long the oldest event waits that readers cannot see yet because an older
    /// transaction is still running, ms.
    pub async fn event_lags_ms(&self) -> Result<[(&'static str, i64); 2]> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let (users, health) = futures::try_join!(users.lag_ms(self.core.now_ms()), health.lag_ms(self.core.now_ms()))?;
        Ok([("users", users), ("health", health)])
    }

    /// Returns what both databases have been asked on this node, and what waits for their connections.
    pub fn store_counts(&self) -> [DbCounts; 2] {
        [self.core.users().counts(), self.core.health().counts()]
    }
}
