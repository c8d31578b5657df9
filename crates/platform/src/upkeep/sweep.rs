//! Objects that nobody knows: left by a process that was killed between writing an object and noting it.
//!
//! They harm nobody, since nothing is read that no row names, but they take room and hold samples. An object that is
//! being written is not yet known either, so only old ones are taken for lost.

use boxed_futures::boxed_futures;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

/// Where objects lie that a row must know.
const FOLDERS: [&str; 2] = ["v1", "exports"];
/// Paths that are looked up at once.
const AT_ONCE: usize = 4096;
/// How long writing an object takes at most, and much longer.
pub const LOST_AFTER_MS: i64 = 24 * 3_600_000;

/// What a look at all objects has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Paths of objects that no row knows.
    pub paths: Vec<String>,
    /// Their size.
    pub bytes: u64,
}

#[boxed_futures]
impl Upkeep {
    /// Objects that no row knows and that were written before a time, ms.
    pub async fn orphans(&self, written_before_ms: i64) -> Result<Orphans> {
        let mut orphans = Orphans::default();
        for folder in FOLDERS {
            let mut listed = self.core.objects().listed(folder).await?;
            // An object is written before its row is committed, so a young one without a row is not lost.
            listed.retain(|object| object.modified_ms < written_before_ms);
            for some in listed.chunks(AT_ONCE) {
                let known =
                    // After the listing: an object whose row is committed in between is known, and the other way round
                    // it would seem lost.
                    self.core.health().known_paths(some.iter().map(|object| object.path.clone()).collect()).await?;
                for object in some.iter().filter(|object| !known.contains(&object.path)) {
                    orphans.paths.push(object.path.clone());
                    orphans.bytes += object.bytes;
                }
            }
        }
        Ok(orphans)
    }

    /// Deletes objects that no row knows and that were written before a time, ms, and files that were being written
    /// then; answers how many.
    pub async fn sweep_orphans(&self, written_before_ms: i64) -> Result<u64> {
        let orphans = self.orphans(written_before_ms).await?;
        for path in &orphans.paths {
            self.core.objects().delete(path).await?;
        }
        let unfinished = self.core.objects().sweep_unfinished(written_before_ms).await?;
        Ok(orphans.paths.len() as u64 + unfinished)
    }
}
