//! What keeps a node well: background work, sealing, retention, deletion, and what an operator asks.

pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod essentials;
pub(crate) mod integrity;
pub mod jobs;
pub(crate) mod overwriting;
pub(crate) mod retention;
pub(crate) mod scrub;
pub mod seal;
mod sealed_files;
pub(crate) mod stores;
pub(crate) mod sweep;

use std::sync::Arc;

use self::audit::last_signed::LastSigned;
use crate::core::Core;
use crate::data::Data;
use crate::identity::Identity;

/// Background work and care for what is stored. Clones share what it remembers.
#[derive(Clone, Debug)]
pub struct Upkeep {
    core: Core,
    identity: Identity,
    data: Data,
    last_signed: Arc<LastSigned>,
}

impl Upkeep {
    /// Returns the service over what all services share, and over those whose work its jobs do.
    pub(crate) fn new(core: Core, identity: Identity, data: Data) -> Self {
        Upkeep { core, identity, data, last_signed: Arc::default() }
    }
}
