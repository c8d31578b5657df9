//! What every service works with: databases, objects, clock, randomness, settings; and what nobody of them owns.
//!
//! It knows none of the services.

pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod audit_keys;
pub(crate) mod change;
pub(crate) mod checks;
mod delivery;
pub(crate) mod error;
pub(crate) mod ids;
pub(crate) mod person;
pub(crate) mod settings;
pub(crate) mod signals;
pub(crate) mod work;

use std::sync::Arc;

use runtime::{Clock, Random};
use store::{DERIVE_KIND, HealthDb, Objects, UsersDb};

use self::audit_keys::AuditKeys;
use self::settings::Settings;
use self::signals::JobSignals;

/// What a process gives its services to work with.
pub struct Environment {
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
    /// The key that seals the signing keys.
    pub master_key: [u8; 32],
    /// What an operator can set.
    pub settings: Settings,
}

/// What all services share. Clones share it.
#[derive(Clone)]
pub struct Core {
    shared: Arc<Shared>,
}

struct Shared {
    environment: Environment,
    audit_keys: AuditKeys,
    signals: Arc<JobSignals>,
}

impl Core {
    /// Returns the core of the services of one process.
    pub(crate) fn new(environment: Environment) -> Self {
        let audit_keys = AuditKeys::of(&environment.master_key);
        Core { shared: Arc::new(Shared { environment, audit_keys, signals: Arc::default() }) }
    }

    /// Returns what an operator can set.
    pub fn settings(&self) -> &Settings {
        &self.shared.environment.settings
    }

    /// Wake-ups for the background work of this node, and counts of it.
    pub fn signals(&self) -> &Arc<JobSignals> {
        &self.shared.signals
    }

    /// Returns the key that seals the signing keys.
    pub(crate) fn master_key(&self) -> &[u8; 32] {
        &self.shared.environment.master_key
    }

    /// Returns the keys of the audit log.
    pub(crate) fn audit_keys(&self) -> &AuditKeys {
        &self.shared.audit_keys
    }

    /// Returns the clock, for what asks it later.
    pub fn clock(&self) -> &Clock {
        &self.shared.environment.clock
    }

    /// Returns the time, ms since 1970.
    pub fn now_ms(&self) -> i64 {
        (self.shared.environment.clock)()
    }

    /// Random bytes.
    pub fn random_bytes<const COUNT: usize>(&self) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        (self.shared.environment.random)(&mut bytes);
        bytes
    }

    /// Wakes the background work of this node: something has become due of a patient.
    pub fn wake_derivations(&self) {
        self.signals().ring(DERIVE_KIND);
    }
}

macro_rules! stores {
    ($visibility:vis) => {
        impl Core {
            /// Who people are.
            $visibility fn users(&self) -> &UsersDb {
                &self.shared.environment.users
            }

            /// Samples of uuids.
            $visibility fn health(&self) -> &HealthDb {
                &self.shared.environment.health
            }

            /// Where sealed segments lie.
            $visibility fn objects(&self) -> &Objects {
                &self.shared.environment.objects
            }
        }
    };
}

// A route that could ask a store would pass by `Readable`. Tests of the crates above look at what a route has left there.
#[cfg(not(feature = "open-stores"))]
stores!(pub(crate));
#[cfg(feature = "open-stores")]
stores!(pub);

impl std::fmt::Debug for Core {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Core")
    }
}
