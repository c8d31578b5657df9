//! The catalog as a list of files: which segments there are of some patients, in the order in which they were published.

use super::catalog::{SegmentRow, read_segment, segment_columns};
use crate::engine::{Columns, Param, Row};
use crate::error::Result;
use crate::health::db::HealthDb;
use crate::ids::PatientId;
use crate::texts::{LIST_LENGTH, in_lists, list_of_64, sql};

sql! {
    PUBLISHED_AFTER = concat!(
        "SELECT ", segment_columns!(), ", published, sealed_ms FROM segment
        WHERE published > $65 AND patient IN (", list_of_64!(), ") ORDER BY published LIMIT $66");
}

/// A segment and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeSegment {
    /// Counts publications: a segment that becomes visible later has a greater number.
    pub published: i64,
    /// When it was sealed, ms.
    pub sealed_ms: i64,
    /// The row of the catalog.
    pub segment: SegmentRow,
}

impl HealthDb {
    /// Segments of some patients that were published after a number, in the order of their numbers, at most `limit`.
    pub async fn lake_segments(&self, patients: Vec<PatientId>, after: i64, limit: i64) -> Result<Vec<LakeSegment>> {
        self.db
            .read(async move |tx| {
                let mut found = Vec::new();
                in_lists(&patients, async |list| {
                    let mut params: Vec<&dyn Param> = Vec::with_capacity(LIST_LENGTH + 2);
                    params.extend_from_slice(list);
                    params.extend([&after as &dyn Param, &limit]);
                    found.extend(tx.query(PUBLISHED_AFTER, &params, read_lake_segment).await?);
                    Ok(())
                })
                .await?;
                // Each list of patients came in order by itself. Cut only now, since the first of all can be in any of
                // them.
                found.sort_unstable_by_key(|segment| segment.published);
                found.truncate(limit as usize);
                Ok(found)
            })
            .await
    }
}

fn read_lake_segment(row: &Row<'_>) -> Result<LakeSegment> {
    let mut columns = Columns::of(row);
    let segment = read_segment(&mut columns)?.checked()?;
    Ok(LakeSegment { published: columns.take()?, sealed_ms: columns.take()?, segment })
}
