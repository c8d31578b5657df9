//! The services of one process, in the order in which they may call one another.

use crate::core::{Core, Environment};
use crate::data::Data;
use crate::identity::Identity;
use crate::people::People;
use crate::upkeep::Upkeep;

/// The services over one core. A service calls those above it in this list only. Clones share them.
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
    /// What keeps a node well.
    pub upkeep: Upkeep,
}

impl Platform {
    /// Returns the services over two open databases and an object store.
    pub fn new(environment: Environment) -> Self {
        let core = Core::new(environment);
        let identity = Identity::new(core.clone());
        let people = People::new(core.clone(), identity.clone());
        let data = Data::new(core.clone(), people.clone());
        let upkeep = Upkeep::new(core.clone(), identity.clone(), data.clone());
        Platform { core, identity, people, data, upkeep }
    }
}

impl std::fmt::Debug for Platform {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Platform")
    }
}
