//! The event logs of both databases, read with one cursor.

use store::events::{Cursor, Followed};

use super::log_page::{LogPage, LostCursor};
use crate::core::error::Result;
use crate::data::Data;

/// Events of each database that are read at once.
const AT_ONCE: usize = 1000;

impl Data {
    /// Cursor behind everything that can be read now.
    pub(crate) async fn end_of_events(&self) -> Result<Cursor> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let (users, health) = futures::try_join!(users.end(), health.end())?;
        Ok(Cursor { users, health })
    }

    /// Cursor before the oldest event that is kept.
    pub(crate) async fn oldest_of_events(&self) -> Result<Cursor> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let (users, health) = futures::try_join!(users.oldest(), health.oldest())?;
        Ok(Cursor { users, health })
    }

    /// Events behind a cursor, at most [`AT_ONCE`] of each database, with those that no client is shown.
    pub(crate) async fn events_after(&self, cursor: &Cursor) -> Result<std::result::Result<LogPage, LostCursor>> {
        let (users, health) = (self.core.users().events(), self.core.health().events());
        let users = users.read_after(&cursor.users, AT_ONCE);
        let health = health.read_after(&cursor.health, AT_ONCE);
        Ok(match futures::try_join!(users, health)? {
            (Followed::Page(users), Followed::Page(health)) => Ok(LogPage { before: cursor.clone(), users, health }),
            // Of two reasons the one that reading from the oldest event does not mend.
            (Followed::AnotherStore, _) | (_, Followed::AnotherStore) => Err(LostCursor::AnotherStore),
            _ => Err(LostCursor::Expired),
        })
    }
}
