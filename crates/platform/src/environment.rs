//! What every operation may use: databases, objects, clock, randomness, settings.

use std::sync::Arc;

use runtime::{Clock, Random};
use store::{DERIVE_KIND, DbCounts, HealthDb, Objects, UsersDb};

use crate::derivations::Derivations;
use crate::exports::Export;
use crate::ids::hex;
use crate::jobs::{Job as _, JobSignals};
use crate::memory::Memory;

/// Patients that are read or computed at the same time: while one waits for its rows, another one computes.
const DERIVATIONS_PER_CORE: usize = 2;

/// The service's operations and what they work with. Clones share it.
#[derive(Clone)]
pub struct Platform {
    /// Who people are.
    pub users: UsersDb,
    /// Samples of uuids.
    pub health: HealthDb,
    /// Where sealed segments lie.
    pub objects: Objects,
    /// The time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
    /// The key that seals the signing keys, 32 bytes.
    pub master_key: Arc<[u8; 32]>,
    /// What an operator can set.
    pub settings: Arc<Settings>,
    /// What this node remembers between requests.
    pub(crate) memory: Arc<Memory>,
    /// Wake-ups for the background work of this node, and counts of it.
    pub jobs: Arc<JobSignals>,
    /// What the derivations of this node share.
    pub(crate) derivations: Arc<Derivations>,
}

/// What an operator can set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Minutes that an access token lives.
    pub token_ttl_minutes: i64,
    /// Minutes from its first issue within which a token can be refreshed.
    pub token_refresh_minutes: i64,
    /// Days that a voucher can be used.
    pub voucher_days: i64,
    /// Address of the integration API as clients see it.
    pub integration_url: String,
    /// Address of the Users Cloud as clients see it: the issuer of its tokens.
    pub users_url: String,
    /// Address of the Health Cloud as clients see it: the issuer of its tokens.
    pub health_url: String,
    /// Seconds between two exports of a patient, where an operator has set nothing else in the database.
    pub export_interval_s: i64,
    /// Seconds for which events are kept. The id of a sync is known as long as its event.
    pub event_retention_s: i64,
    /// Minutes after which a session of the portal that nobody uses is locked.
    pub portal_idle_minutes: i64,
    /// Hours after which a session of the portal ends.
    pub portal_session_hours: i64,
    /// How many password hashes may be computed at once.
    pub password_hashes_at_once: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            token_ttl_minutes: 60,
            token_refresh_minutes: 518_400,
            voucher_days: 90,
            integration_url: "http://127.0.0.1:8080/integration".to_owned(),
            users_url: "http://127.0.0.1:8080/users".to_owned(),
            health_url: "http://127.0.0.1:8080/health".to_owned(),
            export_interval_s: 300,
            event_retention_s: 30 * 86_400,
            portal_idle_minutes: 15,
            portal_session_hours: 12,
            password_hashes_at_once: 2,
        }
    }
}

impl Platform {
    /// The service over two open databases and an object store.
    pub fn new(
        users: UsersDb,
        health: HealthDb,
        objects: Objects,
        clock: Clock,
        random: Random,
        master_key: [u8; 32],
        settings: Settings,
    ) -> Self {
        Platform {
            users,
            health,
            objects,
            clock,
            random,
            master_key: Arc::new(master_key),
            memory: Arc::new(Memory::new(&settings)),
            settings: Arc::new(settings),
            jobs: Arc::default(),
            derivations: Arc::new(Derivations::new(DERIVATIONS_PER_CORE * cores())),
        }
    }

    /// Whether both databases and the objects can be written.
    pub async fn check_stores(&self) -> crate::Result<()> {
        self.users.check_writing().await?;
        self.health.check_writing().await?;
        Ok(self.objects.check().await?)
    }

    /// Ends the connections to both databases; files of databases then hold everything without their write-ahead logs.
    /// Operations fail afterwards. Both are closed, also when one of them cannot be closed cleanly.
    pub async fn close_stores(&self) -> crate::Result<()> {
        let (users, health) = futures::join!(self.users.close(), self.health.close());
        Ok(users.and(health)?)
    }

    /// Begins another life of a store that was restored: cursors of before are refused, since events behind them may have
    /// been lost.
    pub async fn begin_epoch(&self) -> crate::Result<()> {
        for log in [self.users.events(), self.health.events()] {
            log.begin_epoch(&hex(&self.random_bytes::<16>())).await?;
        }
        Ok(())
    }

    /// For each database its name and how long the oldest event waits that readers cannot see yet because an older
    /// transaction is still running, ms.
    pub async fn event_lags_ms(&self) -> crate::Result<[(&'static str, i64); 2]> {
        let (users, health) = (self.users.events(), self.health.events());
        let (users, health) = futures::try_join!(users.lag_ms(self.now_ms()), health.lag_ms(self.now_ms()))?;
        Ok([("users", users), ("health", health)])
    }

    /// What both databases have been asked on this node, and what waits for their connections.
    pub fn store_counts(&self) -> [DbCounts; 2] {
        [self.users.counts(), self.health.counts()]
    }

    /// Patients whose derived values wait to be computed, whichever node will do it.
    pub async fn patients_due(&self) -> crate::Result<u64> {
        Ok(self.health.count_due(self.now_ms()).await?)
    }

    /// The id of each derivation, how often this node has computed it and in which time, µs.
    pub fn derivation_counts(&self) -> Vec<(&'static str, u64, u64)> {
        self.derivations.counts.all()
    }

    /// Wakes the background work of this node: something has become due of a patient.
    pub fn wake_derivations(&self) {
        self.jobs.ring(DERIVE_KIND);
    }

    /// Wakes the background work of this node: an export was asked for.
    pub(crate) fn wake_exports(&self) {
        self.jobs.ring(Export::SPEC.name);
    }

    /// The time, ms since 1970.
    pub fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// Random bytes.
    pub fn random_bytes<const COUNT: usize>(&self) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        (self.random)(&mut bytes);
        bytes
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
