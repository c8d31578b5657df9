//! The services of one process.

use std::sync::Arc;

use store::DbCounts;

use crate::core::ids::hex;
use crate::core::{Core, Environment};
use crate::derivations::Derivations;
use crate::exports::Export;
use crate::identity::Identity;
use crate::jobs::Job as _;
use crate::people::People;
use crate::portal::feed::Boards;

/// Patients that are read or computed at the same time: while one waits for its rows, another one computes.
const DERIVATIONS_PER_CORE: usize = 2;

/// The service's operations and what they work with. Clones share it.
#[derive(Clone)]
pub struct Platform {
    /// What all services share.
    pub core: Core,
    /// Who somebody is.
    pub identity: Identity,
    /// Who takes part.
    pub people: People,
    /// Boards of this node that somebody looks at.
    pub(crate) boards: Arc<Boards>,
    /// What the derivations of this node share.
    pub(crate) derivations: Arc<Derivations>,
}

impl Platform {
    /// The services over two open databases and an object store.
    pub fn new(environment: Environment) -> Self {
        let core = Core::new(environment);
        let identity = Identity::new(core.clone());
        Platform {
            people: People::new(core.clone(), identity.clone()),
            identity,
            boards: Arc::default(),
            derivations: Arc::new(Derivations::new(DERIVATIONS_PER_CORE * cores())),
            core,
        }
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

    /// Patients whose derived values wait to be computed, whichever node will do it.
    pub async fn patients_due(&self) -> crate::Result<u64> {
        Ok(self.core.health().count_due(self.core.now_ms()).await?)
    }

    /// The id of each derivation, how often this node has computed it and in which time, µs.
    pub fn derivation_counts(&self) -> Vec<(&'static str, u64, u64)> {
        self.derivations.counts.all()
    }

    /// Wakes the background work of this node: an export was asked for.
    pub(crate) fn wake_exports(&self) {
        self.core.signals().ring(Export::SPEC.name);
    }
}

/// How many cores the process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl std::fmt::Debug for Platform {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Platform")
    }
}
