//! Who takes part: studies and their settings, enrolment, members, patients, bracelets, erasure, and the log of it all.

pub(crate) mod alarms;
pub(crate) mod audit_log;
pub(crate) mod bracelets;
pub(crate) mod enrolment;
pub(crate) mod erasure;
pub(crate) mod group_settings;
pub(crate) mod groups;
pub(crate) mod hcps;
pub(crate) mod news_settings;
pub(crate) mod patients;
pub(crate) mod profile;

use crate::core::Core;
use crate::identity::Identity;

/// Studies, their members and their patients.
#[derive(Clone, Debug)]
pub struct People {
    core: Core,
    identity: Identity,
}

impl People {
    /// Returns the service over what all services share, and over the one that knows who somebody is.
    pub(crate) fn new(core: Core, identity: Identity) -> Self {
        People { core, identity }
    }
}
