//! The event logs of both databases, read with one cursor.

use store::events::{Cursor, Event, EventPage, Followed};

use crate::core::error::Result;
use crate::data::Data;

/// Events of both logs behind a cursor.
#[derive(Debug)]
pub(crate) struct LogPage {
    /// The events; those of one database are in the order of its log.
    pub events: Vec<Event>,
    /// Where to read on.
    pub next: Cursor,
    /// Whether there is more now.
    pub more: bool,
    /// Whether committed events cannot be read yet because an older transaction is still running.
    pub waits: bool,
}

impl Data {
    /// Cursor behind everything that can be read now.
    pub(crate) async fn end_of_events(&self) -> Result<Cursor> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let (users, health) = futures::try_join!(users.end(), health.end())?;
        Ok(Cursor { users, health })
    }

    /// Events behind a cursor, at most `limit` of each database, for the service itself. `None` when the cursor cannot be
    /// followed: it is of another store, or events behind it have been deleted because of their age.
    pub(crate) async fn events_after(&self, cursor: &Cursor, limit: usize) -> Result<Option<LogPage>> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let users = users.read_all_after(&cursor.users, limit);
        let health = health.read_all_after(&cursor.health, limit);
        Ok(match futures::try_join!(users, health)? {
            (Followed::Page(users), Followed::Page(health)) => Some(joined(users, health)),
            _ => None,
        })
    }
}

fn joined(users: EventPage, health: EventPage) -> LogPage {
    let mut events = users.events;
    events.extend(health.events);
    let next = Cursor { users: users.next, health: health.next };
    LogPage { events, next, more: users.more || health.more, waits: users.waits || health.waits }
}
