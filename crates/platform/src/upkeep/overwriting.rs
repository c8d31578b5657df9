//! What was erased is overwritten where it lay.

use boxed_futures::boxed_futures;

use crate::core::error::Result;
use crate::upkeep::Upkeep;

#[boxed_futures]
impl Upkeep {
    /// Rewrites the database files after erasures, and removes dead rows of a database server; answers how many erasures that
    /// completes. Uploads wait while files are rewritten.
    pub async fn overwrite_erased(&self) -> Result<usize> {
        let erased = self.core.users().erasures_to_overwrite().await?;
        // Rewriting holds up every writer.
        if erased.count() == 0 {
            return Ok(0);
        }
        self.core.users().overwrite_deleted().await?;
        self.core.health().overwrite_deleted().await?;
        let count = erased.count();
        // Last, so that a crash before leads to one rewriting more and not to one less.
        self.core.users().note_overwritten(erased, self.core.now_ms()).await?;
        Ok(count)
    }
}
