//! Entries of NEWS over time.

use vitals::news_timeline::NewsEntry;

use super::HealthDb;
use crate::engine::{Row, Tx};
use crate::error::{Result, StoreError};
use crate::texts::sql;

sql! {
    FIND_NEWEST = "SELECT body FROM news_entry WHERE patient = $1 ORDER BY time_ms DESC LIMIT 1";
    FIND_BEFORE = "SELECT body FROM news_entry WHERE patient = $1 AND time_ms < $2 ORDER BY time_ms DESC LIMIT 1";
    FIND_BETWEEN = "SELECT body FROM news_entry WHERE patient = $1 AND time_ms >= $2 AND time_ms <= $3 ORDER BY time_ms";
    PUT = "INSERT INTO news_entry (patient, time_ms, body) VALUES ($1, $2, $3)
        ON CONFLICT (patient, time_ms) DO UPDATE SET body = excluded.body";
    DELETE_BETWEEN = "DELETE FROM news_entry WHERE patient = $1 AND time_ms >= $2 AND time_ms <= $3";
}

impl HealthDb {
    /// A patient's newest entry.
    pub async fn newest_news(&self, patient: &str) -> Result<Option<NewsEntry>> {
        let patient = patient.to_owned();
        let read = move |tx: &mut Tx<'_>| tx.query_opt(FIND_NEWEST, &[&patient], read_entry);
        self.db.read(read).await
    }

    /// A patient's last entry before a time, ms.
    pub async fn news_before(&self, patient: &str, time_ms: i64) -> Result<Option<NewsEntry>> {
        let patient = patient.to_owned();
        let read = move |tx: &mut Tx<'_>| tx.query_opt(FIND_BEFORE, &[&patient, &time_ms], read_entry);
        self.db.read(read).await
    }

    /// A patient's entries from a time to another, ms, both included, in the order of time.
    pub async fn news_between(&self, patient: &str, from_ms: i64, to_ms: i64) -> Result<Vec<NewsEntry>> {
        let patient = patient.to_owned();
        self.db.read(move |tx| tx.query(FIND_BETWEEN, &[&patient, &from_ms, &to_ms], read_entry)).await
    }
}

pub(super) fn put(tx: &mut Tx<'_>, patient: &str, entry: &NewsEntry) -> Result<()> {
    let body = serde_json::to_string(entry).map_err(|error| StoreError::Damaged(error.to_string()))?;
    tx.execute(PUT, &[&patient, &entry.time_ms, &body])?;
    Ok(())
}

pub(super) fn delete_between(tx: &mut Tx<'_>, patient: &str, from_ms: i64, to_ms: i64) -> Result<()> {
    tx.execute(DELETE_BETWEEN, &[&patient, &from_ms, &to_ms])?;
    Ok(())
}

fn read_entry(row: &Row<'_>) -> Result<NewsEntry> {
    parse_entry(&row.get::<String>(0)?)
}

pub(super) fn parse_entry(body: &str) -> Result<NewsEntry> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged(error.to_string()))
}
