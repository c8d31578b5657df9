//! What there is to check and to tidy: every object of the catalog, which objects nobody knows, how much is stored.

use boxed_futures::boxed_futures;
use runtime::HashSet;

use super::catalog::{SegmentRow, read_segment, segment_columns};
use crate::engine::{Columns, Param, Row, Work};
use crate::error::Result;
use crate::health::db::HealthDb;
use crate::ids::{HoldId, PatientId};
use crate::readers::{count, pair};
use crate::texts::{in_lists, list_of_64, record, sql};

record! {
    sealed_columns!(""), read_sealed(row) -> StoredAmount {
        patient, bytes = "CAST(SUM(bytes) AS BIGINT)" by count, rows = "CAST(SUM(row_count) AS BIGINT)" by count,
        recent_bytes = "CAST(SUM(CASE WHEN period_start_us >= $1 THEN bytes ELSE 0 END) AS BIGINT)" by count,
        recent_from_us = "MIN(CASE WHEN period_start_us >= $1 THEN first_us END)",
    }
}

record! {
    unsealed_columns!(""), read_unsealed(row) -> StoredAmount {
        patient, bytes = "CAST(SUM(LENGTH(payload)) AS BIGINT)" by count,
        rows = "CAST(SUM(row_count) AS BIGINT)" by count,
        recent_bytes = "CAST(SUM(CASE WHEN first_us >= $1 THEN LENGTH(payload) ELSE 0 END) AS BIGINT)" by count,
        recent_from_us = "MIN(CASE WHEN first_us >= $1 THEN first_us END)",
    }
}

sql! {
    SEGMENTS_BY_PATH = concat!("SELECT ", segment_columns!(), "
        FROM segment WHERE path > $1 ORDER BY path LIMIT 1000");
    SEGMENT_AT = concat!("SELECT ", segment_columns!(), " FROM segment WHERE path = $1");
    SEGMENT_PATHS = concat!("SELECT path FROM segment WHERE path IN (", list_of_64!(), ")");
    DEAD_PATHS = concat!("SELECT path FROM dead_object WHERE path IN (", list_of_64!(), ")");
    EXPORT_PATHS = concat!("SELECT path FROM export_job WHERE path IN (", list_of_64!(), ")");
    SEALED_BYTES = concat!("SELECT ", sealed_columns!(), " FROM segment GROUP BY patient");
    UNSEALED_BYTES = concat!("SELECT ", unsealed_columns!(), " FROM chunk GROUP BY patient");
    HOLD = "INSERT INTO object_hold (id, until_ms) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms";
    RELEASE = "DELETE FROM object_hold WHERE id = $1";
    HOLDS = "SELECT id, until_ms FROM object_hold WHERE until_ms > $1 ORDER BY until_ms, id";
    HELD = "SELECT MAX(until_ms) FROM object_hold WHERE until_ms > $1";
}

/// How much of a patient is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAmount {
    /// The patient.
    pub patient: PatientId,
    /// Bytes, compressed as they lie.
    pub bytes: u64,
    /// Samples; those of chunks that replace others are counted twice.
    pub rows: u64,
    /// Bytes of what was measured lately.
    pub recent_bytes: u64,
    /// The first sample of that, µs.
    pub recent_from_us: Option<i64>,
}

#[boxed_futures]
impl HealthDb {
    /// Returns the catalog in the order of the paths, a thousand rows behind a path; an empty path is before all.
    pub async fn segments_by_path(&self, behind: &str) -> Result<Vec<SegmentRow>> {
        let behind = behind.to_owned();
        self.db
            .read(async move |tx| {
                tx.query(SEGMENTS_BY_PATH, &[&behind], |row| read_segment(&mut Columns::of(row))).await
            })
            .await
    }

    /// Returns the segment whose object lies at a path.
    pub async fn segment_at(&self, path: &str) -> Result<Option<SegmentRow>> {
        let path = path.to_owned();
        let read = |row: &Row<'_>| read_segment(&mut Columns::of(row));
        self.db.read_single(async move |tx| tx.query_opt(SEGMENT_AT, &[&path], read).await).await
    }

    /// Of some paths, those that a row knows: a segment's, a dead object's or an export's.
    pub async fn known_paths(&self, paths: Vec<String>) -> Result<HashSet<String>> {
        self.db
            .read(async move |tx| {
                let mut known = HashSet::default();
                in_lists(&paths, async |list| {
                    // In one snapshot: a path that moves from one table to another meanwhile is known all the time.
                    for text in [SEGMENT_PATHS, DEAD_PATHS, EXPORT_PATHS] {
                        known.extend(tx.query(text, list, |row| row.get::<String>(0)).await?);
                    }
                    Ok(())
                })
                .await?;
                Ok(known)
            })
            .await
    }

    /// Returns how much of each patient is stored, and how much of that was measured since a time, µs. Who has sealed
    /// and unsealed samples is there twice.
    pub async fn stored_amounts(&self, recent_since_us: i64) -> Result<Vec<StoredAmount>> {
        self.db
            .with_deadlines_of(Work::Scan)
            .read(async move |tx| {
                let since: [&dyn Param; 1] = [&recent_since_us];
                let mut amounts = tx.query(SEALED_BYTES, &since, read_sealed).await?;
                amounts.extend(tx.query(UNSEALED_BYTES, &since, read_unsealed).await?);
                Ok(amounts)
            })
            .await
    }

    /// Keeps dead objects from being deleted until a time: somebody copies them.
    pub async fn hold_objects(&self, id: &HoldId, until_ms: i64) -> Result<()> {
        let id = id.clone();
        self.db.write(async move |tx| tx.execute(HOLD, &[&id, &until_ms]).await.map(drop)).await
    }

    /// Ends a hold; false when there is none of this name.
    pub async fn release_objects(&self, id: &HoldId) -> Result<bool> {
        let id = id.clone();
        self.db.write(async move |tx| Ok(tx.execute(RELEASE, &[&id]).await? > 0)).await
    }

    /// Returns who holds objects, each with the time at which the hold ends by itself, ms.
    pub async fn object_holds(&self, now_ms: i64) -> Result<Vec<(HoldId, i64)>> {
        self.db.read(async move |tx| tx.query(HOLDS, &[&now_ms], pair).await).await
    }

    /// Returns until when objects are held at most; none when nobody holds them.
    pub async fn objects_held_until(&self, now_ms: i64) -> Result<Option<i64>> {
        let held = self.db.read(async move |tx| tx.query_opt(HELD, &[&now_ms], |row| row.get::<Option<i64>>(0)).await);
        Ok(held.await?.flatten())
    }
}
