//! The databases and the objects as a whole: whether they can be written, how far they are, their end.

use store::DbCounts;

use crate::core::error::Result;
use crate::core::ids::hex;
use crate::upkeep::Upkeep;

impl Upkeep {
    /// Whether both databases and the objects can be written.
    pub async fn check_stores(&self) -> Result<()> {
        self.core.users().check_writing().await?;
        self.core.health().check_writing().await?;
        Ok(self.core.objects().check().await?)
    }

    /// Ends the connections to both databases; files of databases then hold everything without their write-ahead logs.
    /// Operations fail afterwards. Both are closed, also when one of them cannot be closed cleanly.
    pub async fn close_stores(&self) -> Result<()> {
        let (users, health) = futures::join!(self.core.users().close(), self.core.health().close());
        Ok(users.and(health)?)
    }

    /// Begins another life of a store that was restored: cursors of before are refused, since events behind them may have
    /// been lost.
    pub async fn begin_epoch(&self) -> Result<()> {
        for log in [self.core.users().events(), self.core.health().events()] {
            log.begin_epoch(&hex(&self.core.random_bytes::<16>())).await?;
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

    /// What both databases have been asked on this node, and what waits for their connections.
    pub fn store_counts(&self) -> [DbCounts; 2] {
        [self.core.users().counts(), self.core.health().counts()]
    }
}
