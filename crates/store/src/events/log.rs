//! Reading the event log of one database.

use boxed_futures::boxed_futures;
use serde_json::Value;

use super::cursor::{LogCursor, Place};
use super::event::EventType;
use crate::engine::{Db, Param, Row, Tx};
use crate::error::{Result, StoreError};
use crate::ids::{LogEpoch, PatientId};
use crate::readers::is_any;
use crate::texts::{record, sql};

/// The event log of one database.
#[derive(Clone, Debug)]
pub struct EventLog {
    pub(super) db: Db,
    pub(super) delete: &'static str,
}

/// Event as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The subject.
    pub patient: PatientId,
    /// Number among the patient's events in this database, from 1.
    pub sequence: i64,
    /// Time at which it happened, ms since 1970.
    pub time_ms: i64,
    /// Type.
    pub event_type: EventType,
    /// Data of the type; an empty object after the patient's erasure.
    pub body: Value,
    /// Place behind it, from which reading goes on.
    pub next: Place,
}

/// Events in the order of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Cursor from which reading goes on.
    pub next: LogCursor,
    /// Whether there is more now.
    pub more: bool,
    /// Whether committed events cannot be read yet because an older transaction is still running.
    pub waits: bool,
}

/// Result of reading from a cursor.
#[derive(Clone, Debug, PartialEq)]
pub enum Followed {
    /// The events behind it.
    Page(EventPage),
    /// The cursor is of another store, or of this one before it was restored from a backup.
    AnotherStore,
    /// Events behind it have been deleted because of their age.
    Expired,
}

/// A row of the log.
struct StoredEvent {
    patient: PatientId,
    sequence: i64,
    time_ms: i64,
    event_type: String,
    body: String,
    position: i64,
}

record! {
    event_columns!(""), read_stored(row) -> StoredEvent {
        patient, sequence, time_ms, event_type = "type", body, position,
    }
}

record! {
    extent_columns!(""), read_extent(row) -> Extent {
        epoch, retained_from, horizon = "(SELECT position FROM event_horizon)",
        waits = "(SELECT COUNT(*) FROM (SELECT position FROM event
            WHERE position >= (SELECT position FROM event_horizon) LIMIT 1) AS unreadable)" by is_any,
    }
}

sql! {
    EPOCH = concat!("SELECT ", extent_columns!(), " FROM store_epoch");
    /// The offset counts rows for every reader alike, so that a cursor of one is good for another.
    AFTER = concat!("SELECT ", event_columns!(), " FROM event
        WHERE position >= $1 AND position < (SELECT position FROM event_horizon) AND type <> 'message'
        ORDER BY position, patient, sequence LIMIT $3 OFFSET $2");
    OF_PATIENT = concat!("SELECT ", event_columns!(), " FROM event
        WHERE patient = $1 AND sequence > $2 AND type NOT IN ('message', 'sync.repeated', 'latest.changed')
        ORDER BY sequence LIMIT $3");
    OLDEST_UNREADABLE = "SELECT MIN(time_ms) FROM event WHERE position >= (SELECT position FROM event_horizon)";
}

/// The row of `store_epoch`, and the horizon: the position from which on nothing can be read yet.
struct Extent {
    epoch: LogEpoch,
    retained_from: i64,
    horizon: i64,
    waits: bool,
}

#[boxed_futures]
impl EventLog {
    /// Makes the log of a database. `delete` is a statement as [`delete_events!`](super::delete_events) makes them.
    pub(crate) fn new(db: Db, delete: &'static str) -> Self {
        EventLog { db, delete }
    }

    /// Reads at most `limit` events behind a cursor. A reader that goes on with the answer's cursor sees every event once,
    /// those of one patient in their order. [`EventType::SHOWN`] says which of them clients are shown.
    pub async fn read_after(&self, cursor: &LogCursor, limit: usize) -> Result<Followed> {
        let cursor = cursor.clone();
        self.db.read(async move |tx| read_after(tx, &cursor, limit).await).await
    }

    /// Returns the events of one patient behind a number, at most `limit`. Every committed event is seen at once.
    pub async fn after(&self, patient: &PatientId, sequence: i64, limit: usize) -> Result<Vec<Event>> {
        let patient = patient.clone();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db
            .read_single(async move |tx| {
                let events = tx.query(OF_PATIENT, &[&patient, &sequence, &limit], read_event).await?;
                Ok(events.into_iter().map(|(event, _)| event).collect())
            })
            .await
    }

    /// Returns the cursor behind every event that can be read now.
    pub async fn end(&self) -> Result<LogCursor> {
        let extent = self.extent().await?;
        Ok(LogCursor { epoch: extent.epoch, place: Place { position: extent.horizon, offset: 0 } })
    }

    /// Returns the cursor before the oldest event that is kept.
    pub async fn oldest(&self) -> Result<LogCursor> {
        let extent = self.extent().await?;
        Ok(LogCursor { epoch: extent.epoch, place: Place { position: extent.retained_from, offset: 0 } })
    }

    /// Returns the age of the oldest committed event that cannot be read yet because an older transaction is still running,
    /// ms; 0 when there is none.
    pub async fn lag_ms(&self, now_ms: i64) -> Result<i64> {
        let oldest = self.db.read_single(async |tx| tx.query_opt(OLDEST_UNREADABLE, &[], |row| row.get(0)).await);
        let oldest: Option<Option<i64>> = oldest.await?;
        Ok(oldest.flatten().map_or(0, |time_ms| (now_ms - time_ms).max(0)))
    }

    async fn extent(&self) -> Result<Extent> {
        self.db.read_single(async |tx| extent(tx).await).await
    }
}

async fn extent(tx: &Tx<'_>) -> Result<Extent> {
    tx.query_opt(EPOCH, &[], read_extent).await?.ok_or_else(|| StoreError::Damaged("the store has no epoch".to_owned()))
}

async fn read_after(tx: &Tx<'_>, cursor: &LogCursor, limit: usize) -> Result<Followed> {
    let Place { position, offset } = cursor.place;
    // One more than asked for shows whether the last one's position has further rows.
    let rows = i64::try_from(limit.max(1)).unwrap_or(i64::MAX - 1) + 1;
    let params: [&dyn Param; 3] = [&position, &offset, &rows];
    // In one round trip: nearly every cursor is valid, so the rows are nearly always needed.
    let (extent, mut found) = futures::try_join!(extent(tx), tx.query(AFTER, &params, read_event))?;
    if extent.epoch != cursor.epoch {
        return Ok(Followed::AnotherStore);
    }
    // Reported, because a reader that has missed events has to read everything once more.
    if position < extent.retained_from {
        return Ok(Followed::Expired);
    }
    let more = found.len() as i64 == rows;
    let behind = if more { found.pop().map(|(_, position)| position) } else { None };
    let next = place_events(&mut found, cursor.place, behind);
    let events = found.into_iter().map(|(event, _)| event).collect();
    let next = LogCursor { epoch: extent.epoch, place: next };
    Ok(Followed::Page(EventPage { events, next, more, waits: extent.waits }))
}

/// Sets the place behind each event; `behind` is the position of the row after the last one. Returns the last place.
fn place_events(found: &mut [(Event, i64)], start: Place, behind: Option<i64>) -> Place {
    let mut place = start;
    for at in 0..found.len() {
        let position = found[at].1;
        let following = found.get(at + 1).map(|(_, position)| *position).or(behind);
        // A position that can be read gains no rows: behind its last one comes the next position.
        place = match following {
            Some(following) if following == position && place.position == position => {
                Place { position, offset: place.offset + 1 }
            }
            Some(following) if following == position => Place { position, offset: 1 },
            _ => Place { position: position + 1, offset: 0 },
        };
        found[at].0.next = place;
    }
    place
}

fn read_event(row: &Row<'_>) -> Result<(Event, i64)> {
    let StoredEvent { patient, sequence, time_ms, event_type, body, position } = read_stored(row)?;
    let event = Event {
        patient,
        sequence,
        time_ms,
        event_type: EventType::from_name(&event_type),
        // A damaged body must not stop every reader of the log at this event.
        body: serde_json::from_str(&body).unwrap_or_else(|error| {
            tracing::error!(%error, "the body of an event is damaged");
            Value::Null
        }),
        next: Place::default(),
    };
    Ok((event, position))
}
