//! Listening to a board.

use std::collections::VecDeque;

use boxed_futures::boxed_futures;
use store::GroupCode;

use super::board_event::BoardEvent;
use super::changes;
use crate::core::access::Researcher;
use crate::core::error::Result;
use crate::data::Data;
use crate::data::live::follower::follow;
use crate::data::live::listening::{Heard, Listening};

/// A listener of a board.
pub struct BoardListener {
    begins_at: Option<String>,
    waiting: VecDeque<BoardEvent>,
    listening: Listening<BoardEvent>,
}

impl BoardListener {
    /// Cursor behind which this listener hears of everything; none when it has come back with one.
    pub fn begins_at(&self) -> Option<&str> {
        self.begins_at.as_deref()
    }

    /// Returns the next event; `None` when this node is about to stop, or the listening has to begin again.
    pub async fn next(&mut self) -> Option<BoardEvent> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        match self.listening.next().await {
            Heard::Published(event) => Some(event),
            Heard::FellBehind => Some(BoardEvent::Reload),
            Heard::Ended => None,
        }
    }
}

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
        let joined = self.listeners.join_board(&group.code, end);
        if joined.is_first {
            runtime::spawn("follow events for listeners", follow(self.clone()));
        }
        let begins_at = last_seen.is_none().then(|| joined.begins_at.to_string());
        let waiting = match last_seen {
            None => VecDeque::new(),
            // After joining, for the same reason: what is both missed and received is the same row twice.
            Some(last_seen) => changes::missed(self, &group.code, last_seen).await?,
        };
        Ok(BoardListener { begins_at, waiting, listening: joined.listening })
    }
}
