//! Entries of NEWS over time.

use std::collections::BTreeMap;

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
    TEXTS_BETWEEN = "SELECT time_ms, body FROM news_entry WHERE patient = $1 AND time_ms >= $2 AND time_ms <= $3";
    DELETE = "DELETE FROM news_entry WHERE patient = $1 AND time_ms = $2";
}

impl HealthDb {
    /// A patient's newest entry.
    pub async fn newest_news(&self, patient: &str) -> Result<Option<NewsEntry>> {
        let patient = patient.to_owned();
        self.db.read_single(async move |tx| tx.query_opt(FIND_NEWEST, &[&patient], read_entry).await).await
    }

    /// A patient's last entry before a time, ms.
    pub async fn news_before(&self, patient: &str, time_ms: i64) -> Result<Option<NewsEntry>> {
        let patient = patient.to_owned();
        let read = async move |tx: &Tx<'_>| tx.query_opt(FIND_BEFORE, &[&patient, &time_ms], read_entry).await;
        self.db.look_up(read).await
    }

    /// A patient's entries from a time to another, ms, both included, in the order of time.
    pub async fn news_between(&self, patient: &str, from_ms: i64, to_ms: i64) -> Result<Vec<NewsEntry>> {
        let patient = patient.to_owned();
        self.db.read(async move |tx| tx.query(FIND_BETWEEN, &[&patient, &from_ms, &to_ms], read_entry).await).await
    }
}

/// Makes the entries in some ranges of time, ms, both ends included, and those of `entries` what `entries` says. What is
/// there already is left alone: a late measurement evaluates twelve hours anew, and seldom changes more than a few.
pub(super) async fn replace(tx: &Tx<'_>, patient: &str, ranges: &[(i64, i64)], entries: &[NewsEntry]) -> Result<()> {
    let mut wanted: BTreeMap<i64, String> = BTreeMap::new();
    for entry in entries {
        let body = serde_json::to_string(entry).map_err(|error| StoreError::Damaged(error.to_string()))?;
        wanted.insert(entry.time_ms, body);
    }
    let mut stored: BTreeMap<i64, String> = BTreeMap::new();
    for (from_ms, to_ms) in ranges {
        let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<String>(1)?));
        stored.extend(tx.query(TEXTS_BETWEEN, &[&patient, from_ms, to_ms], read).await?);
    }
    for time_ms in stored.keys().filter(|time_ms| !wanted.contains_key(time_ms)) {
        tx.put(DELETE, &[&patient, time_ms]).await?;
    }
    for (time_ms, body) in wanted.iter().filter(|(time_ms, body)| stored.get(time_ms) != Some(body)) {
        tx.put(PUT, &[&patient, time_ms, body]).await?;
    }
    Ok(())
}

fn read_entry(row: &Row<'_>) -> Result<NewsEntry> {
    parse_entry(&row.get::<String>(0)?)
}

pub(super) fn parse_entry(body: &str) -> Result<NewsEntry> {
    serde_json::from_str(body).map_err(|error| StoreError::Damaged(error.to_string()))
}
