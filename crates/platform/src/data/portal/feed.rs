//! Live events of boards, and their listeners.
//!
//! While a board has a listener, one task of this node follows the event logs (`follower.rs`) and publishes what it finds.
//! A listener joins at the task's place in the logs; what it missed before is read from the logs themselves, so it may
//! come back to another node, or to this one after a restart.

use std::collections::VecDeque;

use boxed_futures::boxed_futures;
use store::GroupCode;

use super::boards::BoardListener;
use super::follower;
use crate::core::access::Researcher;
use crate::core::error::Result;
use crate::data::Data;

#[boxed_futures]
impl Data {
    /// Listens to the board of a study. `last_seen` is the cursor of the last event that the caller has seen, when it
    /// comes back: what it missed comes first, or it is published to read the board again.
    pub async fn listen_to_board(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        last_seen: Option<&str>,
    ) -> Result<BoardListener> {
        let group = self.core.group_access(researcher, group_code).await?;
        // Before joining: an event between the two is then delivered, at worst twice, and never lost.
        let end = self.end_of_events().await?;
        let boards = &self.boards;
        let (receiver, begins_at, is_first) = boards.join(&group.code, end);
        if is_first {
            runtime::spawn("follow events for boards", follower::follow(self.clone()));
        }
        let begins_at = last_seen.is_none().then(|| begins_at.to_string());
        let waiting = match last_seen {
            None => VecDeque::new(),
            // After joining, for the same reason: what is both missed and received is the same row twice.
            Some(last_seen) => follower::missed(self, &group.code, last_seen).await?,
        };
        Ok(BoardListener { begins_at, waiting, receiver, closed: boards.closed.subscribe() })
    }

    /// Ends everyone's listening, because this node is about to stop.
    pub fn close_boards(&self) {
        self.boards.closed.send_replace(true);
    }

    /// Notes that a sync was stored or a derivation has ended here.
    pub(crate) fn wake_boards(&self) {
        self.boards.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}
