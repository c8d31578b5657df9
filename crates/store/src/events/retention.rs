//! How long events are kept, and when the life of a store ends.

use boxed_futures::boxed_futures;

use super::log::EventLog;
use crate::engine::{Row, Tx};
use crate::error::Result;
use crate::ids::LogEpoch;
use crate::texts::sql;

/// Deletes events below a position, which is none that readers cannot see yet: nothing below it may be written later. What the store
/// itself still has to act on stays, out of sight of readers, and holds up nothing else: a message that is not delivered,
/// and what a database adds as a condition.
macro_rules! delete_events {
    ($also:literal) => {
        concat!("DELETE FROM event WHERE position < $1 AND message IS NULL", $also)
    };
}
pub(crate) use delete_events;

sql! {
    /// Of the oldest events that readers see.
    FIRST_KEPT = "SELECT MIN(position) FROM (SELECT position, time_ms FROM event
        WHERE position >= (SELECT retained_from FROM store_epoch) ORDER BY position LIMIT $2) AS oldest
        WHERE time_ms >= $1";
    FIRST_AND_LAST_OF_OLDEST = "SELECT MIN(position), MAX(position) FROM (SELECT position FROM event
        WHERE position >= (SELECT retained_from FROM store_epoch) ORDER BY position LIMIT $1) AS oldest";
    /// Of events of one transaction, which have one position on PostgreSQL.
    NEWEST_AT = "SELECT MAX(time_ms) FROM event WHERE position = $1";
    NEXT_POSITION = "SELECT MIN(position) FROM event WHERE position > $1";
    HORIZON = "SELECT position FROM event_horizon";
    /// Before events are deleted, and only where some go out of sight: a cursor behind the last of them stays good.
    RETAIN_FROM = "UPDATE store_epoch SET retained_from = $1
        WHERE retained_from < $1 AND EXISTS (SELECT position FROM event WHERE position >= retained_from AND position < $1)";
    BEGIN_EPOCH = "UPDATE store_epoch SET epoch = $1";
    /// Where the newest event lies beyond what the engine's clock will give next, the rows have come from another server.
    RAISE_CLOCK = "UPDATE store_epoch SET position_offset = position_offset + 1
        + (SELECT MAX(position) FROM event) - (SELECT position FROM event_next)
        WHERE (SELECT position FROM event_next) <= (SELECT MAX(position) FROM event)";
}

#[boxed_futures]
impl EventLog {
    /// Deletes events from before a time, oldest first, looking at no more than `limit` of them; returns how many went.
    /// Readers lose a beginning of the log and never a middle: an event that is younger than one to be kept stays, and so
    /// does the newest one. Cursors from before what is left are expired.
    pub async fn expire(&self, before_ms: i64, limit: usize) -> Result<u64> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let delete = self.delete;
        self.db
            .write(async move |tx| {
                let first_kept = match number(tx, FIRST_KEPT, &[&before_ms, &limit]).await? {
                    None => behind_oldest(tx, before_ms, limit).await?,
                    first_kept => first_kept,
                };
                let Some(first_kept) = first_kept else { return Ok(0) };
                // Looked up once: what is deleted must be what is noted, and the horizon rises between two statements.
                let horizon = number(tx, HORIZON, &[]).await?.unwrap_or(0);
                let first_kept = first_kept.min(horizon);
                // Noted before the deletion, in its transaction: no reader sees a gap that its cursor does not show.
                tx.put(RETAIN_FROM, &[&first_kept]).await?;
                tx.execute(delete, &[&first_kept]).await
            })
            .await
    }

    /// Begins another life of the store under a random name, as after a restore from a backup: earlier cursors may be of
    /// events that are not there any more, so they mean nothing from now on.
    pub async fn begin_epoch(&self, epoch: &LogEpoch) -> Result<()> {
        let epoch = epoch.clone();
        self.db.write(async move |tx| tx.put(BEGIN_EPOCH, &[&epoch]).await).await
    }

    /// Sees to it that new events come behind those that are there, also where the rows were moved to a PostgreSQL server
    /// whose transactions have lower numbers: readers would wait until it had counted so far.
    pub(crate) async fn raise_clock(&self) -> Result<()> {
        match self.db.write(async |tx| tx.put(RAISE_CLOCK, &[]).await).await {
            // A page of events that cannot be read: without this the store could not even be verified, and rows that have
            // just been moved are sound.
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "the newest event cannot be read");
                Ok(())
            }
            raised => raised,
        }
    }
}

/// Returns the position up to which events go of which all that were looked at are too old. It is that of the last of them,
/// which stays for the next time, so the log never becomes empty.
async fn behind_oldest(tx: &Tx<'_>, before_ms: i64, limit: i64) -> Result<Option<i64>> {
    let ends = |row: &Row<'_>| Ok((row.get::<Option<i64>>(0)?, row.get::<Option<i64>>(1)?));
    let Some((Some(first), Some(last))) = tx.query_opt(FIRST_AND_LAST_OF_OLDEST, &[&limit], ends).await? else {
        return Ok(None);
    };
    if first != last {
        return Ok(Some(last));
    }
    // All are of one transaction, which has more of them than are looked at. They go together or not at all: a position is
    // what a cursor begins at, and without this nothing would ever go again.
    let is_kept = number(tx, NEWEST_AT, &[&last]).await?.is_some_and(|newest_ms| newest_ms >= before_ms);
    let next = if is_kept { None } else { number(tx, NEXT_POSITION, &[&last]).await? };
    // Without a next one what lies below goes all the same: messages that were delivered since.
    Ok(next.or(Some(last)))
}

async fn number(tx: &Tx<'_>, text: &'static str, params: &[&dyn crate::engine::Param]) -> Result<Option<i64>> {
    Ok(tx.query_opt(text, params, |row| row.get::<Option<i64>>(0)).await?.flatten())
}
