//! What is measured and what follows from it: syncs, derivations, summaries, samples, exports, and what pages show.

pub(crate) mod afib;
pub(crate) mod compliance;
pub mod derivations;
pub(crate) mod downloads;
pub(crate) mod events;
pub mod exports;
pub(crate) mod group_event;
pub(crate) mod group_events;
pub mod ingest;
pub(crate) mod kept;
pub(crate) mod lake;
mod lake_listings;
pub(crate) mod latest;
pub(crate) mod live;
pub(crate) mod log_page;
pub(crate) mod movement;
pub(crate) mod patient_rows;
pub mod portal;
pub mod samples;
pub(crate) mod summaries;
mod unreadable;
mod unreadable_log;

use std::sync::Arc;

use self::derivations::turns::Derivations;
use self::exports::counts::ExportCounts;
use self::lake_listings::Listings;
use self::live::listeners::Listeners;
use self::unreadable_log::UnreadableLog;
use crate::core::Core;
use crate::people::People;

/// Samples, and what follows from them.
#[derive(Clone)]
pub struct Data {
    core: Core,
    people: People,
    derivations: Arc<Derivations>,
    exports: Arc<ExportCounts>,
    listeners: Arc<Listeners>,
    listings: Arc<Listings>,
    unreadable: Arc<UnreadableLog>,
}

impl Data {
    /// The service over what all services share, and over the one that knows who takes part.
    pub(crate) fn new(core: Core, people: People) -> Self {
        let (derivations, listeners) = (Arc::new(Derivations::new()), Arc::default());
        let (exports, listings, unreadable) = (Arc::default(), Arc::default(), Arc::default());
        Data { core, people, derivations, exports, listeners, listings, unreadable }
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Data")
    }
}
