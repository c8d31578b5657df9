//! Events of both logs, in one order and with one cursor.

use store::EventType;
use store::events::{Cursor, Event, EventPage, LogCursor, Place};

/// Events of both logs behind a cursor.
#[derive(Debug)]
pub(crate) struct LogPage {
    pub before: Cursor,
    pub users: EventPage,
    pub health: EventPage,
}

/// Log of one of the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// Of persons and studies.
    Users,
    /// Of samples and what follows from them.
    Health,
}

/// Places in both logs, without the names of the databases' lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// In the log of the users database.
    pub users: Place,
    /// In the log of the health database.
    pub health: Place,
}

/// An event, and where reading goes on behind it.
#[derive(Debug)]
pub(crate) struct PlacedEvent {
    /// The event.
    pub event: Event,
    /// The log that it is in.
    pub log: Log,
    /// Places behind it and behind all that came before it.
    pub behind: Places,
}

/// Reason why a cursor cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostCursor {
    /// It is of another store, or of this one before it was restored from a backup.
    AnotherStore,
    /// Events behind it have been deleted because of their age.
    Expired,
}

impl Places {
    /// Places of a cursor.
    pub fn of(cursor: &Cursor) -> Self {
        Places { users: cursor.users.place, health: cursor.health.place }
    }

    /// The cursor of these places, in the lives that another cursor names.
    pub fn in_lives_of(self, cursor: &Cursor) -> Cursor {
        let with = |log: &LogCursor, place| LogCursor { epoch: log.epoch.clone(), place };
        Cursor { users: with(&cursor.users, self.users), health: with(&cursor.health, self.health) }
    }

    /// In each log the later one.
    pub fn max(self, other: Self) -> Self {
        Places { users: self.users.max(other.users), health: self.health.max(other.health) }
    }

    /// The place in one log.
    pub fn in_log(self, log: Log) -> Place {
        match log {
            Log::Users => self.users,
            Log::Health => self.health,
        }
    }
}

impl Log {
    /// Name, as identifiers of events have it.
    pub fn name(self) -> &'static str {
        match self {
            Log::Users => "users",
            Log::Health => "health",
        }
    }
}

impl LogPage {
    /// The events; those of one database are in the order of its log.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.users.events.iter().chain(&self.health.events)
    }

    /// Where to read on.
    pub fn next(&self) -> Cursor {
        Cursor { users: self.users.next.clone(), health: self.health.next.clone() }
    }

    /// Whether there is more now.
    pub fn has_more(&self) -> bool {
        self.users.more || self.health.more
    }

    /// Whether committed events cannot be read yet because an older transaction is still running.
    pub fn waits(&self) -> bool {
        self.users.waits || self.health.waits
    }

    /// The events of both logs by their times; those of one log stay in its order, which is that of each patient.
    pub fn into_order(self) -> Vec<PlacedEvent> {
        let mut places = Places::of(&self.before);
        let (mut users, mut health) =
            (self.users.events.into_iter().peekable(), self.health.events.into_iter().peekable());
        let next = || {
            let log = match (users.peek(), health.peek()) {
                (Some(of_users), Some(of_health)) if of_users.time_ms <= of_health.time_ms => Log::Users,
                (Some(_), None) => Log::Users,
                _ => Log::Health,
            };
            let event = match log {
                Log::Users => users.next()?,
                Log::Health => health.next()?,
            };
            match log {
                Log::Users => places.users = event.next,
                Log::Health => places.health = event.next,
            }
            Some(PlacedEvent { event, log, behind: places })
        };
        std::iter::from_fn(next).collect()
    }
}

/// Returns whether clients are shown events of a type.
pub(crate) fn is_shown(event_type: EventType) -> bool {
    EventType::SHOWN.contains(&event_type)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::PatientId;

    use super::*;

    fn place(position: i64) -> Place {
        Place { position, offset: 0 }
    }

    fn log(times: &[i64]) -> EventPage {
        let event = |(at, time_ms): (usize, &i64)| Event {
            patient: PatientId::new("ada"),
            sequence: at as i64 + 1,
            time_ms: *time_ms,
            event_type: EventType::SyncStored,
            body: json!({}),
            next: place(at as i64 + 1),
        };
        let events: Vec<Event> = times.iter().enumerate().map(event).collect();
        let next = LogCursor { epoch: store::LogEpoch::new("e"), place: place(times.len() as i64) };
        EventPage { events, next, more: false, waits: false }
    }

    #[test]
    fn events_of_both_logs_come_by_time_and_each_log_keeps_its_order() {
        let start = || LogCursor { epoch: store::LogEpoch::new("e"), place: place(0) };
        let before = Cursor { users: start(), health: start() };
        // A clock that was set back: the second event of the users' log is older than the first.
        let page = LogPage { before, users: log(&[30, 10]), health: log(&[20, 30, 40]) };
        let found: Vec<_> = page
            .into_order()
            .iter()
            .map(|placed| {
                (placed.log.name(), placed.event.time_ms, placed.behind.users.position, placed.behind.health.position)
            })
            .collect();
        let expected = [
            ("health", 20, 0, 1),
            ("users", 30, 1, 1),
            ("users", 10, 2, 1),
            ("health", 30, 2, 2),
            ("health", 40, 2, 3),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn later_of_two_places_is_taken_in_each_log() {
        let (one, other) = (Places { users: place(3), health: place(1) }, Places { users: place(2), health: place(5) });
        assert_eq!(one.max(other), Places { users: place(3), health: place(5) });
        assert_eq!(one.in_log(Log::Health), place(1));
    }
}
