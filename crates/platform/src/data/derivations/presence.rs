//! A command among the nodes: it holds patients and takes no jobs.
//!
//! A lease alone would keep a patient from everybody until it runs out, also when the command was killed long before. As a
//! node, the command gives signs of life; when they stop, the other nodes end its leases within seconds, as those of any
//! node that has died, and nobody has to compare clocks.

use std::time::Duration;

use runtime::Task;
use store::NodeId;

use crate::core::Core;

/// Interval of the signs of life: others take a node for dead that has been silent for three seconds.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// The node that a command is while it works.
pub(super) struct Presence {
    core: Core,
    id: NodeId,
    beats: Task<()>,
}

impl Presence {
    /// Enters, and gives signs of life from now on.
    pub async fn enter(core: &Core) -> store::Result<Self> {
        let id = core.new_node_id();
        enter(core, &id).await?;
        let beats = runtime::spawn("signs of life of a command", beat(core.clone(), id.clone()));
        Ok(Presence { core: core.clone(), id, beats })
    }

    /// Name in leases.
    pub fn id(&self) -> &NodeId {
        &self.id
    }

    /// Leaves: what is still held is free at once.
    pub async fn leave(self) {
        // First, so that no sign of life enters it again.
        self.beats.abort();
        if let Err(error) = self.core.health().leave_node(&self.id, self.core.now_ms()).await {
            tracing::warn!(%error, "this command could not take leave; nodes notice within seconds");
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.beats.abort();
    }
}

async fn beat(core: Core, id: NodeId) {
    loop {
        runtime::sleep(BEAT_EVERY).await;
        let seen = match core.health().beat(&id).await {
            // Silent for too long. What it held may be somebody else's by now, which a commit finds out.
            Ok(None) => enter(&core, &id).await,
            seen => seen.map(drop),
        };
        if let Err(error) = seen {
            tracing::warn!(%error, "this command could not give a sign of life");
        }
    }
}

async fn enter(core: &Core, id: &NodeId) -> store::Result<()> {
    // Under a name that no process has: of two commands on one data folder neither ends the leases of the other.
    let name = format!("command {}", id.as_str());
    core.health().enter_node(id, &name, core.now_ms()).await.map(drop)
}
