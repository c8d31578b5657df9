//! This node among the others: entering, signs of life, and noticing who has died.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;
use store::{NodeId, NodeView};

use super::queue::LEASE;
use crate::core::Core;

/// Interval at which a node looks for work and gives a sign of life.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Interval at which it looks while another node seems to be late.
const LOOK_CLOSELY: Duration = Duration::from_millis(500);
/// A node whose beat has not changed for so long is dead. Its last beat was seen up to [`LOOK_EVERY`] late, so work
/// passes on within five seconds.
const SILENT: Duration = Duration::from_secs(3);
/// Interval at which a node that leaves looks whether rows that others held are free, and the pause between.
const LAST_LOOKS: u32 = 5;
const LAST_PAUSE: Duration = Duration::from_millis(100);

/// The process that works: its name and its version.
#[derive(Clone, Debug)]
pub struct NodeName {
    /// The same after a restart; no two processes that live at the same time may have the same.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// What a look came to.
pub(super) enum Look {
    /// What is due, and when to look again at the latest.
    Seen(NodeView, Duration),
    /// The node was entered just now: its leases of before, if there were any, have ended.
    Entered,
}

/// This node's row.
pub(super) struct Membership {
    core: Core,
    name: NodeName,
    /// None until it is entered.
    id: Option<NodeId>,
    is_alone: bool,
    look_every: Duration,
    /// The lowest beat of all, and since when it is that.
    lowest: Option<(i64, Instant)>,
    /// Beats of the others while one of them is late.
    late: BTreeMap<NodeId, (i64, Instant)>,
    /// Until when leases of nodes that have ended can turn up: a row was held when they were removed, or a claim was still
    /// on its way to the server.
    late_until: Option<Instant>,
}

impl Membership {
    pub fn new(core: Core, name: NodeName) -> Self {
        Membership {
            core,
            name,
            id: None,
            is_alone: true,
            look_every: LOOK_EVERY,
            lowest: None,
            late: BTreeMap::new(),
            late_until: None,
        }
    }

    /// Looks for work in another interval, so that a test sees what else finds it.
    #[cfg(test)]
    pub fn set_look_every(&mut self, look_every: Duration) {
        self.look_every = look_every;
    }

    /// Name of this life in leases; none while it is not entered.
    pub fn id(&self) -> Option<&NodeId> {
        self.id.as_ref()
    }

    /// Gives a sign of life, looks for work and for dead nodes; enters the node first where it has to be.
    pub async fn look(&mut self) -> store::Result<Look> {
        let Some(id) = self.id.clone() else { return self.enter().await };
        let health = self.core.health();
        // Nobody looks out for a node that is alone, which therefore writes nothing.
        let mut view = if self.is_alone { health.look_for_work(&id).await? } else { health.beat(&id).await? };
        // Another node has come, which will watch this one's beat from now on.
        if self.is_alone && view.is_some_and(|view| view.nodes > 1) {
            view = health.beat(&id).await?;
        }
        let Some(view) = view else {
            tracing::warn!("this node counted as dead, because it was silent for too long; it enters again");
            self.id = None;
            self.expect_late_leases();
            return self.enter().await;
        };
        self.is_alone = view.nodes < 2;
        let is_late = !self.is_alone && self.observe(&id, view.lowest_beat).await?;
        // After the sign of life, which must not wait for it. What was freed is seen at the next look.
        let has_freed = self.end_late_leases().await? > 0;
        Ok(Look::Seen(view, if is_late || has_freed { LOOK_CLOSELY } else { self.look_every }))
    }

    async fn enter(&mut self) -> store::Result<Look> {
        let id = self.core.new_node_id();
        let earlier = self.core.health().enter_node(&id, &self.name.name, self.core.now_ms()).await?;
        if earlier > 0 {
            tracing::info!(earlier, "the work of an earlier process on this data folder goes on");
            self.expect_late_leases();
        }
        self.id = Some(id);
        (self.is_alone, self.lowest) = (true, None);
        self.late.clear();
        Ok(Look::Entered)
    }

    /// Returns whether some node is late. One that has been silent for too long is removed.
    async fn observe(&mut self, own_id: &NodeId, lowest_beat: i64) -> store::Result<bool> {
        let now = Instant::now();
        let (beat, since) = *self.lowest.get_or_insert((lowest_beat, now));
        let has_risen = beat != lowest_beat;
        if has_risen {
            self.lowest = Some((lowest_beat, now));
            if self.late.is_empty() {
                return Ok(false);
            }
        } else if now - since < LOOK_EVERY / 2 {
            // The looks of two nodes need not take turns exactly.
            return Ok(false);
        }
        let beats = self.core.health().beats().await?;
        // Who has given a sign since is not late. Who has not stays: of nodes that die together, the second has been silent
        // for as long as the first, after whose end the lowest beat is that of the second.
        self.late.retain(|id, (seen, _)| beats.iter().any(|(other, beat)| other == id && beat == seen));
        let is_late = !has_risen || !self.late.is_empty();
        for (id, beat) in beats.into_iter().filter(|(id, _)| id != own_id) {
            if !has_risen {
                let first_seen = if beat == lowest_beat { since } else { now };
                self.late.entry(id.clone()).or_insert((beat, first_seen));
            }
            if self.late.get(&id).is_some_and(|(_, silent_since)| now - *silent_since >= SILENT) {
                self.bury(&id, beat).await?;
            }
        }
        Ok(is_late)
    }

    async fn bury(&mut self, id: &NodeId, beat: i64) -> store::Result<()> {
        self.late.remove(id);
        // Only with the beat that was seen: a node that has given a sign since is alive.
        if self.core.health().remove_dead_node(id, beat, self.core.now_ms()).await? {
            tracing::warn!(node = %id, "a node has died; its work is taken over");
            self.expect_late_leases();
        }
        Ok(())
    }

    /// Looks out for leases of a node that has ended for as long as one can last.
    fn expect_late_leases(&mut self) {
        self.late_until = Some(Instant::now() + LEASE);
    }

    /// Ends late leases of nodes that have ended; returns how many there were.
    async fn end_late_leases(&mut self) -> store::Result<u64> {
        self.late_until = self.late_until.filter(|until| *until > Instant::now());
        if self.late_until.is_none() {
            return Ok(0);
        }
        let found = self.core.health().end_late_leases(self.core.now_ms()).await?;
        if found > 0 {
            tracing::info!(found, "late leases of a node that has ended were ended; its work is taken over");
        }
        Ok(found)
    }

    /// Leaves: what the node still holds is free.
    pub async fn leave(&mut self) {
        let Some(id) = self.id.take() else { return };
        if let Err(error) = self.core.health().leave_node(&id, self.core.now_ms()).await {
            tracing::warn!(%error, "this node could not take leave; others notice within seconds");
            return;
        }
        // Rows that syncs held just then: nobody knows this node any more, so nobody else would look for them.
        for _ in 0..LAST_LOOKS {
            let left = self.core.health().end_late_leases(self.core.now_ms()).await;
            if !left.is_ok_and(|left| left > 0) {
                return;
            }
            runtime::sleep(LAST_PAUSE).await;
        }
    }
}
