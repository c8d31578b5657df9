//! Listening to the events of a study.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use boxed_futures::boxed_futures;
use store::GroupCode;
use store::events::Cursor;

use super::follower::follow;
use super::listeners::Published;
use super::listening::{Heard, Listening};
use crate::core::access::Researcher;
use crate::core::error::Result;
use crate::data::Data;
use crate::data::group_event::GroupEvent;
use crate::data::group_events::{EventsFrom, EventsPage, EventsQuery};
use crate::data::log_page::Places;

/// A listener of a study's events, which hears of each once, those of a patient in their order.
pub struct EventListener {
    data: Data,
    group_code: GroupCode,
    query: EventsQuery,
    listening: Listening<Published>,
    waiting: VecDeque<Arc<GroupEvent>>,
    /// Cursor behind everything that the caller has got.
    seen: Cursor,
    /// Cursor behind everything that the caller has got or that waits.
    read: Cursor,
    /// Whether there is more in the logs than what is heard.
    is_behind: bool,
}

impl EventListener {
    /// Returns the next event; `None` when this node is about to stop, or the listening has to begin again. Nothing is
    /// lost when the future is dropped before it is ready.
    pub async fn next(&mut self) -> Result<Option<Arc<GroupEvent>>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.move_to(event.behind);
                return Ok(Some(event));
            }
            // Nothing waits, so the caller is where reading is: behind events of others, too.
            self.seen = self.read.clone();
            if self.is_behind {
                let page = self.data.page_of_group(&self.group_code, self.read.clone(), &self.query).await?;
                self.is_behind = page.has_more;
                self.read = page.next;
                self.waiting = page.events.into();
                continue;
            }
            match self.listening.next().await {
                Heard::Published(Published::Events(events, places)) => self.take(&events, places),
                Heard::Published(Published::Gap) | Heard::FellBehind => self.is_behind = true,
                Heard::Ended => return Ok(None),
            }
        }
    }

    /// Cursor behind everything that the caller has got, and where nothing waits behind what is no concern of the study.
    pub fn cursor(&mut self) -> Cursor {
        let heard = self.data.listeners.heard_up_to(&self.listening);
        if let Some(heard) = heard.filter(|_| self.waiting.is_empty() && !self.is_behind) {
            let places = Places::of(&self.read).max(heard);
            self.read = places.in_lives_of(&self.read);
            self.seen = self.read.clone();
        }
        self.seen.clone()
    }

    fn move_to(&mut self, behind: Places) {
        self.seen = Places::of(&self.seen).max(behind).in_lives_of(&self.seen);
    }

    /// Lets those events wait that were not read from the logs before, between joining and here.
    fn take(&mut self, events: &[Arc<GroupEvent>], places: Places) {
        let read = Places::of(&self.read);
        let is_new = |event: &&Arc<GroupEvent>| {
            self.query.wants(event.event_type) && event.behind.in_log(event.log) > read.in_log(event.log)
        };
        self.waiting.extend(events.iter().filter(is_new).cloned());
        self.read = read.max(places).in_lives_of(&self.read);
    }
}

#[boxed_futures]
impl Data {
    /// Listens to the events of a study behind a place.
    pub async fn listen_to_events(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        query: EventsQuery,
    ) -> Result<EventListener> {
        let group = self.core.group_access(researcher, group_code).await?;
        let begin = self.first_cursor(&query.from).await?;
        // Read at once, so that a cursor which cannot be followed is refused and not answered with a stream that ends.
        let first = self.page_of_group(&group.code, begin, &query).await?;
        self.listen_behind(group.code, query, first).await
    }

    /// Reads events of a study, and where there are none yet waits for the first one, at most so long.
    pub async fn await_events(
        &self,
        researcher: &Researcher,
        group_code: &GroupCode,
        query: EventsQuery,
        wait: Duration,
    ) -> Result<EventsPage> {
        let page = self.events_of_group(researcher, group_code, &query).await?;
        if !page.events.is_empty() || page.has_more || wait.is_zero() {
            return Ok(page);
        }
        let begin = page.next.to_string();
        let mut listener = self.listen_behind(group_code.clone(), query.clone(), page).await?;
        let heard = runtime::timeout(wait, listener.next()).await.ok().transpose()?.flatten();
        if heard.is_none() {
            // Nothing happened, or the node is about to stop: the caller comes back with the cursor.
            return Ok(EventsPage { events: Vec::new(), next: listener.cursor(), has_more: false });
        }
        let query = EventsQuery { from: EventsFrom::Cursor(begin), ..query };
        // Looked up again: the caller may have lost the study while it waited.
        self.events_of_group(researcher, group_code, &query).await
    }

    async fn listen_behind(
        &self,
        group_code: GroupCode,
        query: EventsQuery,
        first: EventsPage,
    ) -> Result<EventListener> {
        let joined = self.listeners.join_readers(&group_code, self.end_of_events().await?);
        if joined.is_first {
            runtime::spawn("follow events for listeners", follow(self.clone()));
        }
        // What came between the page and joining is read from the logs: published it was to others.
        let is_behind = true;
        let EventsPage { events, next, .. } = first;
        let seen = next.clone();
        Ok(EventListener {
            data: self.clone(),
            group_code,
            query,
            listening: joined.listening,
            waiting: events.into(),
            seen,
            read: next,
            is_behind,
        })
    }

    /// Ends everyone's listening, because this node is about to stop.
    pub fn end_listening(&self) {
        self.listeners.closed.send_replace(true);
    }

    /// Notes that a sync was stored or a derivation has ended here.
    pub(crate) fn wake_listeners(&self) {
        self.listeners.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}
