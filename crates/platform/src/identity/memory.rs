//! What one node remembers between requests. Losing it costs time, never correctness.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use runtime::HashMap;
use store::{ApiKeyId, ConsentId};
use tokio::sync::Semaphore;

use crate::core::settings::Settings;
use crate::identity::backoff::Backoff;
use crate::identity::keyring::Keyring;
use crate::identity::repeats::Repeats;

/// What one node remembers between requests.
pub(crate) struct Memory {
    /// The keys of the Users Cloud.
    pub users_keys: Keyring,
    /// The keys of the Health Cloud.
    pub health_keys: Keyring,
    /// Lets only so many password hashes be computed at once.
    pub hashing: Arc<Semaphore>,
    /// How many passwords have been checked, of people who exist and of those who do not.
    pub hashes_verified: AtomicU64,
    /// Logins that failed.
    pub backoff: Backoff,
    /// Security events that have come in numbers.
    pub repeats: Repeats,
    /// Consent pages that have been decided on, until when they would be good, ms, by the ticket's record identifier.
    pub used_tickets: Mutex<HashMap<ConsentId, i64>>,
    /// When this node last noted the use of an API key, ms, by the key's record identifier.
    pub key_uses: Mutex<HashMap<ApiKeyId, i64>>,
    /// Origins from which pages of clients call, and when they were read, ms.
    pub origins: Mutex<Option<(i64, Arc<BTreeSet<String>>)>>,
}

impl Memory {
    pub(crate) fn new(settings: &Settings) -> Self {
        Memory {
            users_keys: Keyring::default(),
            health_keys: Keyring::default(),
            hashing: Arc::new(Semaphore::new(settings.password_hashes_at_once.max(1))),
            hashes_verified: AtomicU64::new(0),
            backoff: Backoff::default(),
            repeats: Repeats::default(),
            used_tickets: Mutex::default(),
            key_uses: Mutex::default(),
            origins: Mutex::default(),
        }
    }
}
