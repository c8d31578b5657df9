//! Who somebody is: accounts, logins, sessions, tokens, the keys that sign them, and the authorization server.

pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod backoff;
pub(crate) mod claims;
pub(crate) mod cloud;
pub(crate) mod forgetting;
pub(crate) mod health_sessions;
pub(crate) mod keyring;
pub(crate) mod login;
pub(crate) mod memory;
pub(crate) mod new_password;
pub mod oauth;
pub(crate) mod owner;
pub(crate) mod passwords;
pub mod portal;
pub(crate) mod repeats;
pub(crate) mod security;
pub(crate) mod signing;
pub(crate) mod tokens;
pub(crate) mod users_sessions;
pub(crate) mod verified_tokens;

use std::sync::Arc;

use self::memory::Memory;
use crate::core::Core;

/// Accounts, logins, sessions, tokens and keys. Clones share what it remembers.
#[derive(Clone)]
pub struct Identity {
    core: Core,
    memory: Arc<Memory>,
}

impl Identity {
    /// Returns the service over what all services share.
    pub(crate) fn new(core: Core) -> Self {
        Identity { memory: Arc::new(Memory::new(core.settings())), core }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Identity")
    }
}
