//! How long events are kept, and when the life of a store ends.

use super::log::EventLog;
use crate::engine::Tx;
use crate::error::Result;
use crate::texts::sql;

/// The first event to keep among the oldest ones: of those from before a time, what the store itself still has to act on,
/// which is a message that is not delivered, and what a database adds as a condition.
macro_rules! first_kept {
    ($also:literal) => {
        concat!(
            "SELECT MIN(position) FROM (SELECT position, patient, sequence, time_ms, type, message FROM event
            ORDER BY position LIMIT $2) AS oldest WHERE time_ms >= $1 OR message IS NOT NULL",
            $also
        )
    };
}
pub(crate) use first_kept;

sql! {
    LAST_OF_OLDEST = "SELECT MAX(position) FROM (SELECT position FROM event ORDER BY position LIMIT $1) AS oldest";
    /// Only what readers could see already: nothing below the position may be written later.
    DELETE_BEFORE = "DELETE FROM event WHERE position < $1 AND position < (SELECT position FROM event_horizon)";
    RETAIN_FROM = "UPDATE store_epoch SET retained_from = $1
        WHERE retained_from < $1 AND $1 <= (SELECT position FROM event_horizon)";
    BEGIN_EPOCH = "UPDATE store_epoch SET epoch = $1";
    /// Where the newest event lies beyond what the engine's clock will give next, the rows have come from another server.
    RAISE_CLOCK = "UPDATE store_epoch SET position_offset = position_offset + 1
        + (SELECT MAX(position) FROM event) - (SELECT position FROM event_next)
        WHERE (SELECT position FROM event_next) <= (SELECT MAX(position) FROM event)";
}

impl EventLog {
    /// Deletes events from before a time, oldest first, looking at no more than `limit` of them; returns how many went.
    /// The log loses a beginning and never a middle: an event that is younger than one to be kept stays, and so does the
    /// newest one. Cursors from before what is left are expired.
    pub async fn expire(&self, before_ms: i64, limit: usize) -> Result<u64> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let text = self.first_kept;
        self.db
            .write(async move |tx| {
                let first_kept = match position(tx, text, &[&before_ms, &limit]).await? {
                    None => position(tx, LAST_OF_OLDEST, &[&limit]).await?,
                    first_kept => first_kept,
                };
                let Some(first_kept) = first_kept else { return Ok(0) };
                let deleted = tx.execute(DELETE_BEFORE, &[&first_kept]).await?;
                if deleted > 0 {
                    tx.put(RETAIN_FROM, &[&first_kept]).await?;
                }
                Ok(deleted)
            })
            .await
    }

    /// Begins another life of the store under a random name, as after a restore from a backup: earlier cursors may be of
    /// events that are not there any more, so they mean nothing from now on.
    pub async fn begin_epoch(&self, epoch: &str) -> Result<()> {
        let epoch = epoch.to_owned();
        self.db.write(async move |tx| tx.put(BEGIN_EPOCH, &[&epoch]).await).await
    }

    /// Sees to it that new events come behind those that are there, also where the rows were moved to a PostgreSQL server
    /// whose transactions have lower numbers: readers would wait until it had counted so far.
    pub(crate) async fn raise_clock(&self) -> Result<()> {
        self.db.write(async |tx| tx.put(RAISE_CLOCK, &[]).await).await
    }
}

async fn position(tx: &Tx<'_>, text: &'static str, params: &[&dyn crate::engine::Param]) -> Result<Option<i64>> {
    Ok(tx.query_opt(text, params, |row| row.get::<Option<i64>>(0)).await?.flatten())
}
