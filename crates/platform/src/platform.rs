//! The services of one process.

use store::DbCounts;

use crate::core::ids::hex;
use crate::core::{Core, Environment};
use crate::data::Data;
use crate::identity::Identity;
use crate::people::People;

/// The service's operations and what they work with. Clones share it.
#[derive(Clone)]
pub struct Platform {
    /// What all services share.
    pub core: Core,
    /// Who somebody is.
    pub identity: Identity,
    /// Who takes part.
    pub people: People,
    /// What is measured, and what follows from it.
    pub data: Data,
}

impl Platform {
    /// The services over two open databases and an object store.
    pub fn new(environment: Environment) -> Self {
        let core = Core::new(environment);
        let identity = Identity::new(core.clone());
        let people = People::new(core.clone(), identity.clone());
        let data = Data::new(core.clone(), people.clone());
        Platform { core, identity, people, data }
    }

    /// Whether both databases and the objects can be written.
    pub async fn check_stores(&self) -> crate::Result<()> {
        self.core.users().check_writing().await?;
        self.core.health().check_writing().await?;
        Ok(self.core.objects().check().await?)
    }

    /// Ends the connections to both databases; files of databases then hold everything without their write-ahead logs.
    /// Operations fail afterwards. Both are closed, also when one of them cannot be closed cleanly.
    pub async fn close_stores(&self) -> crate::Result<()> {
        let (users, health) = futures::join!(self.core.users().close(), self.core.health().close());
        Ok(users.and(health)?)
    }

    /// Begins another life of a store that was restored: cursors of before are refused, since events behind them may have
    /// been lost.
    pub async fn begin_epoch(&self) -> crate::Result<()> {
        for log in [self.core.users().events(), self.core.health().events()] {
            log.begin_epoch(&hex(&self.core.random_bytes::<16>())).await?;
        }
        Ok(())
    }

    /// For each database its name and how long the oldest event waits that readers cannot see yet because an older
    /// transaction is still running, ms.
    pub async fn event_lags_ms(&self) -> crate::Result<[(&'static str, i64); 2]> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let (users, health) = futures::try_join!(users.lag_ms(self.core.now_ms()), health.lag_ms(self.core.now_ms()))?;
        Ok([("users", users), ("health", health)])
    }

    /// What both databases have been asked on this node, and what waits for their connections.
    pub fn store_counts(&self) -> [DbCounts; 2] {
        [self.core.users().counts(), self.core.health().counts()]
    }
}

impl std::fmt::Debug for Platform {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Platform")
    }
}
